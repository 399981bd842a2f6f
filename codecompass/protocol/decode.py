"""Decodes arguments from JSON or the command line into a request and warnings.

Lenient if the meaning is clear (an integral string for a number, a limit out of range, an argument under the name that another
tool gives it), strict otherwise: a misspelt argument or choice is an error that suggests the right one, never silently the
default. The length of each value is checked before it is used.
Raises InvalidInput, InvalidStrategy or InvalidMaxTokens, with `data` {field, value, constraint}, and `allowed` if there is a list
of choices.

The argument `workspace` can mean several projects: `*`, a list, or comma-separated names. A list is stored in the request as one
text whose items end with NUL, which no path and no name contains.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, assert_never

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.protocol.aliases import MODE_FLAGS, meant_arguments, plain_name
from codecompass.protocol.arguments import ARGUMENTS, Argument
from codecompass.protocol.file_uris import without_uris
from codecompass.protocol.requests import (
    ALL_PROJECTS,
    MAX_PROJECT_ID_LENGTH,
    MAX_WORDS,
    PROJECT_ID_PATTERN,
    REQUESTS,
    AnyRequest,
    SearchCode,
)

SHOWN_VALUE_LENGTH: Final = 100
"""How many characters of a refused value the error repeats."""

ALL_FILES: Final = "*"
"""The query of `search_code` that lists every file; that of a call with a path and without a query."""

_PROJECT_ID: Final = lazy.pattern(PROJECT_ID_PATTERN.strip("^$"))
# Possessive quantifiers, so that the time is linear in the length whatever follows a run of blanks, zeros or digits.
_INTEGRAL: Final = lazy.pattern(r"\s*+([+-]?)([0-9]++)(?:\.0*+)?\s*+")
_MANY_DIGITS: Final = 18

_OF_FILES: Final = frozenset({"path", "why_not"})
"""Arguments that name files of the workspace."""

ORGANISATION: Final = "org:"
"""Prefix of the labels of an organisation's repositories. A name with this prefix is only looked up there."""

MAX_ORGANISATION_NAME: Final = 300

_END: Final = "\0"
_ELSEWHERE: Final = lazy.pattern(r"[\w][\w.+@~-]*(?:[/:][\w.+@~-]+)*(?:://[\w.+@~:/-]+)?", re.ASCII)
"""A name, `owner/name`, or an address. Not a path: what begins with `/`, `.` or `~` is local and must not be sent to a server."""


class Decoded(Struct, frozen=True):
    """A request, and a warning for `metadata.warnings` for each argument that was adjusted."""

    request: AnyRequest
    warnings: tuple[str, ...] = ()


class _Value(Struct, frozen=True):
    value: object
    warning: str | None = None


def decode(tool: str, arguments: Mapping[str, object]) -> Decoded:
    """Returns the request for `tool` with these arguments. A null counts as an absent argument."""
    if tool not in ARGUMENTS:
        raise InvalidInput(
            f"unknown tool {_shown(tool)}{_nearest(tool, ARGUMENTS)} Tools: {', '.join(ARGUMENTS)}.",
            field="tool",
            value=_plain(tool),
            allowed=sorted(ARGUMENTS),
        )
    known = ARGUMENTS[tool]
    values: dict[str, object] = {}
    warnings: list[str] = []
    others: dict[str, object] = {}
    for name, given in arguments.items():
        if name not in known:
            others[name] = given
        elif given is not None:
            _keep(values, warnings, name, _parsed(known[name], given))
    warnings += _take_others(tool, others, values)
    if tool == SearchCode.tool and "query" not in values and "path" in values and values.get("mode", "files") == "files":
        values |= {"query": ALL_FILES, "mode": "files"}
    for argument in known.values():
        if argument.is_required and argument.name not in values:
            raise InvalidInput(
                f"{tool} needs the argument {argument.name}. Pass it as a non-empty string.",
                field=argument.name,
                constraint="required",
            )
    request: AnyRequest = msgspec.convert(values, type=REQUESTS[tool])
    return Decoded(request, tuple(warnings))


def _keep(values: dict[str, object], warnings: list[str], name: str, parsed: _Value) -> None:
    if parsed.value is not None:
        values[name] = parsed.value
    if parsed.warning is not None:
        warnings.append(parsed.warning)


def _take_others(tool: str, others: Mapping[str, object], values: dict[str, object]) -> list[str]:
    """Adds arguments with names of other tools to `values`; returns warnings that say what was taken as what.

    Raises InvalidInput for a name that means nothing here, and for a value that contradicts another one.
    """
    known = ARGUMENTS[tool]
    taken: list[str] = []
    warnings: list[str] = []
    for name, given in others.items():
        mode = MODE_FLAGS.get(plain_name(name)) if "mode" in known and isinstance(given, bool) else None
        targets = ("mode",) if mode is not None else meant_arguments(name, known)
        if not targets:
            raise InvalidInput(
                f"unknown argument {_shown(name)} of {tool}{_nearest(name, known)} Known arguments: {', '.join(sorted(known))}.",
                field=_plain(name),
                constraint="known argument",
                allowed=sorted(known),
            )
        if given is None or (mode is not None and given is False):
            continue
        target, parsed = _first_parsed(known, targets, given if mode is None else mode)
        if values.get(target, parsed.value) != parsed.value:
            raise _contradiction(name, target, parsed.value, values[target])
        _keep(values, warnings, target, parsed)
        taken.append(f"{_plain(name)} as {f'{target} {mode}' if mode else target}")
    return ([f"took {', '.join(taken)}"] if taken else []) + warnings


def _first_parsed(known: Mapping[str, Argument], targets: Sequence[str], given: object) -> tuple[str, _Value]:
    """Returns the first of the arguments that takes the value, with the value. Raises the error of the first if none does."""
    refusals: list[CodeCompassError] = []
    for target in targets:
        try:
            return target, _parsed(known[target], given)
        except CodeCompassError as error:
            refusals.append(error)
    raise refusals[0]


def _contradiction(name: str, target: str, value: object, other: object) -> InvalidInput:
    both = ""
    if target == "path" and isinstance(value, str) and isinstance(other, str) and "/" not in value and "," not in value + other:
        both = f" For files that fit both: path {other.rstrip('/')}/**/{value}"
    return InvalidInput(
        f"{_plain(name)} is taken as {target}, which is given too, as {_shown(other)}. Pass {target} alone.{both}",
        field=_plain(name),
        value=_plain(value),
        constraint=f"not together with another {target}",
    )


def listed_projects(names: Iterable[str]) -> str:
    """Returns the `workspace` text for a list of names or paths of projects."""
    return "".join(name + _END for name in names)


def several_projects(workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names or paths of the projects that a `workspace` lists, `*` for all; None if it is one path.

    A text with commas is a list if no item has a slash: `api,web`, but not `/srv/a,b`. Items with the prefix `org:` may have
    slashes: `api,org:shop/web` is a list.
    """
    if workspace is None:
        return None
    text = workspace.strip()
    if text == ALL_PROJECTS:
        return (ALL_PROJECTS,)
    if _END in workspace:
        return tuple(dict.fromkeys(workspace.split(_END)[:-1]))
    items = tuple(dict.fromkeys(item for part in text.split(",") if (item := part.strip())))
    is_list = "," in text and bool(items) and not any("/" in item and not item.startswith(ORGANISATION) for item in items)
    return items if is_list else None


def asked_elsewhere(name: str) -> str | None:
    """Returns NAME for `org:NAME`; None for a name without that prefix, or nothing after it."""
    return name.strip().removeprefix(ORGANISATION) or None if name.strip().startswith(ORGANISATION) else None


def may_be_elsewhere(name: str) -> bool:
    """Returns whether `name`, which is unknown locally, may be a repository or group of an organisation, and is not a path."""
    text = name.strip()
    is_plain = len(text) <= MAX_ORGANISATION_NAME and _ELSEWHERE.fullmatch(text) is not None
    return is_plain and not {".", ".."}.intersection(text.split("/"))


def _parsed(argument: Argument, given: object) -> _Value:
    """Returns the decoded value; None if it counts as absent."""
    if argument.form == "project_id":
        return _Value(_project_id(argument.name, given))  # has its own message for a value that is too long
    _check_length(argument, given)
    match argument.value_type:
        case "text":
            return _Value(_text(argument, given))
        case "choice":
            return _Value(_choice(argument, given))
        case "number":
            return _number(argument, given)
        case "flag":
            return _Value(_flag(argument, given))
        case _:
            assert_never(argument.value_type)


def _check_length(argument: Argument, value: object) -> None:
    """Raises InvalidInput for a text, or a list of texts, that is longer than the argument allows."""
    field, bound = argument.name, argument.max_length
    if isinstance(value, str):
        length = len(value)
    elif isinstance(value, list):
        if len(value) > MAX_WORDS:
            raise InvalidInput(
                f"{field} has {len(value):,} items; at most {MAX_WORDS} are taken. Send fewer.",
                field=field,
                constraint=f"at most {MAX_WORDS} items",
            )
        length = sum(len(item) + 1 for item in value if isinstance(item, str)) - 1
    else:
        return
    if length > bound:
        raise InvalidInput(
            f"{field} has {length:,} characters; at most {bound:,} are taken. Shorten it and call again.",
            field=field,
            value=_plain(value),
            constraint=f"at most {bound} characters",
        )


def well_formed(text: str) -> str:
    """Returns `text` with lone surrogates replaced by U+FFFD, because they can be neither stored nor sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _plain(value: object) -> object:
    """Returns the value for an error: shortened, and of a type that JSON can represent."""
    if isinstance(value, str):
        text = well_formed(value[: SHOWN_VALUE_LENGTH + 1])
        return text if len(text) <= SHOWN_VALUE_LENGTH else text[:SHOWN_VALUE_LENGTH] + "…"
    if isinstance(value, int) and abs(value) >= 10**SHOWN_VALUE_LENGTH:
        return "a number of very many digits"
    if isinstance(value, bool | int | float):
        return value
    return type(value).__name__


def _shown(value: object) -> str:
    plain = _plain(value)
    return repr(plain) if isinstance(value, str) else str(plain)


def _nearest(word: str, known: Iterable[str]) -> str:
    import difflib

    found = difflib.get_close_matches(word[:SHOWN_VALUE_LENGTH].lower(), tuple(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else "."


def _refusal(
    field: str,
    value: object,
    constraint: str,
    allowed: tuple[str, ...] | None = None,
    error: type[CodeCompassError] = InvalidInput,
) -> CodeCompassError:
    meant = _nearest(value, allowed) if allowed and isinstance(value, str) else "."
    return error(
        f"{field} must be {constraint}, not {_shown(value)}{meant} Correct the argument and call again.",
        field=field,
        value=_plain(value),
        constraint=constraint,
        allowed=None if allowed is None else list(allowed),
    )


def _project_id(field: str, value: object) -> str:
    # Checked first, so that an invalid name reaches neither the registry nor the disk.
    if not isinstance(value, str):
        raise _refusal(field, value, "a string")
    if len(value) > MAX_PROJECT_ID_LENGTH or _PROJECT_ID.fullmatch(value) is None:
        raise InvalidInput(
            "Project identifier must be lowercase alphanumeric with hyphens: 1 to 50 characters, like client-a or "
            f"my-project-123, not {_shown(value)}. The known ones are listed by: codecompass projects list",
            field=field,
            value=_plain(value),
            constraint=f"Must match pattern: {PROJECT_ID_PATTERN}",
        )
    return value


def _text(argument: Argument, value: object) -> str | None:
    field = argument.name
    if argument.form == "words":
        return _words(argument, value)
    if argument.form == "workspaces" and isinstance(value, list):
        return _projects(field, value)
    if not isinstance(value, str):
        raise _refusal(field, value, "a string")
    if argument.form in ("machine_path", "workspaces"):
        # A path on this machine keeps its surrogates, which represent bytes that are not UTF-8.
        if "\0" in value:
            raise _refusal(field, value, "a path without a NUL character")
        # Agents set arguments that they do not need to an empty text. As a path it would mean the current directory.
        return without_uris(value) if value.strip() else None
    if argument.name in _OF_FILES:
        value = without_uris(value)
    if argument.form != "any" and not value.strip():
        if argument.form == "optional":
            return None
        raise _refusal(field, value, "a string with something in it")
    return well_formed(value)


def _projects(field: str, value: list[object]) -> str:
    names = [name.strip() for name in value if isinstance(name, str) and "\0" not in name]
    if len(names) < len(value) or not all(names):
        raise _refusal(field, value, "a path, or a list of names of projects")
    return listed_projects(names)


def _words(argument: Argument, value: object) -> str:
    """Returns comma-separated words. Agents also send a list of words, even where only one is expected."""
    field, allowed = argument.name, argument.values
    items: list[object] = value if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    texts = [well_formed(without_uris(item) if field in _OF_FILES else item) for item in texts]
    if len(texts) < len(items):
        raise _refusal(field, value, "a string, or a list of strings")
    text = ",".join(texts)
    if not text.strip(" \t\r\n,"):
        raise _refusal(field, value, "a string with something in it")
    if not allowed:
        return text
    words = list(dict.fromkeys(word for part in text.split(",") if (word := part.strip())))
    for word in words:
        if word not in allowed:
            raise _refusal(field, word, f"one of {', '.join(allowed)}, or several with commas between", allowed)
    return ",".join(words)


def _choice(argument: Argument, value: object) -> str:
    if not isinstance(value, str) or value not in argument.values:
        raise _refusal(argument.name, value, f"one of {', '.join(argument.values)}", argument.values, argument.error)
    return value


def _flag(argument: Argument, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise _refusal(argument.name, value, "true or false")


def _number(argument: Argument, value: object) -> _Value:
    field, lowest, highest = argument.name, argument.lowest, argument.highest
    number = _integral(value)
    if number is None:
        raise _refusal(field, value, f"a whole number from {lowest} to {highest}")
    if number < lowest and argument.error_below is not None:
        raise _refusal(field, value, f"a whole number of {lowest} or more", error=argument.error_below)
    clamped = min(max(number, lowest), highest)
    if clamped == number:
        return _Value(number)
    return _Value(clamped, f"{field} {_shown(value)} is out of the range {lowest}..{highest}; {clamped} was used")


def _integral(value: object) -> int | None:
    """Returns the integer that `value` is, also if written as `5.0` or `"5"`; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        match = _INTEGRAL.fullmatch(value)
        if match is None:
            return None
        # Any longer number is out of every range, and int() refuses text of thousands of digits.
        significant = match[2].lstrip("0") or "0"
        digits = significant if len(significant) <= _MANY_DIGITS else "9" * _MANY_DIGITS
        return int(match[1] + digits)
    return None
