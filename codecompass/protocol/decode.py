"""Arguments from JSON or the command line -> a request and the warnings that go with it.

Lenient where the meaning is plain (an integral string for a number, a limit out of its range), strict where it is not:
a misspelt argument or list value is an error that says what was meant, never silently the default. The length of each value
is checked before anything is done with it. Raises InvalidInput, InvalidStrategy or InvalidMaxTokens, with `data` {field,
value, constraint} and `allowed` where there is a list.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from codecompass.errors import CodeCompassError, InvalidInput, InvalidMaxTokens, InvalidStrategy
from codecompass.protocol import requests
from codecompass.protocol.kinds import KINDS_ON_INPUT
from codecompass.protocol.requests import AnyRequest, Request

SHOWN_VALUE_LENGTH: Final = 100
"""Characters of a refused value that the error repeats."""

PROJECT_ID_PATTERN: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""As the schema of the tools writes it. Matched in full: `$` alone would let a line end through."""

MAX_ARGUMENT_LENGTH: Final = requests.MAX_QUERY_LENGTH
"""Characters of a number, or of true and false, where it is written as text."""

_PROJECT_ID: Final = re.compile(PROJECT_ID_PATTERN.strip("^$"))
# Possessive: a long run of blanks, zeros or digits is looked at once, whatever follows it.
_INTEGRAL: Final = re.compile(r"\s*+([+-]?)([0-9]++)(?:\.0*+)?\s*+")
_MANY_DIGITS: Final = 18


class Decoded(Struct, frozen=True):
    """A request and what was adjusted to make it one, in sentences for `metadata.warnings`."""

    request: AnyRequest
    warnings: tuple[str, ...] = ()


class _Value(Struct, frozen=True):
    value: object
    warning: str | None = None


_Parser = Callable[[str, object], _Value]


def decode(tool: str, arguments: Mapping[str, object]) -> Decoded:
    """Returns the request that `arguments` make for `tool`. A null is as good as an absent argument."""
    if tool not in _FIELDS:
        raise InvalidInput(
            f"unknown tool {_shown(tool)}{_nearest(tool, _FIELDS)} Tools: {', '.join(_FIELDS)}.",
            field="tool",
            value=_plain(tool),
            allowed=sorted(_FIELDS),
        )
    fields, bounds = _FIELDS[tool], _BOUNDS[tool]
    values: dict[str, object] = {}
    warnings: list[str] = []
    for name, argument in arguments.items():
        if name not in fields:
            meant = _nearest(name, fields)
            raise InvalidInput(
                f"unknown argument {_shown(name)} of {tool}{meant} Known arguments: {', '.join(sorted(fields))}.",
                field=_plain(name),
                constraint="known argument",
                allowed=sorted(fields),
            )
        if argument is None:
            continue
        if fields[name] is not _project_id:  # which says its bound in words of its own
            _check_length(name, argument, bounds[name])
        parsed = fields[name](name, argument)
        if parsed.value is None:
            continue
        values[name] = parsed.value
        if parsed.warning is not None:
            warnings.append(parsed.warning)
    request_type = _TYPES[tool]
    for field in msgspec.structs.fields(request_type):
        if field.required and field.name not in values:
            raise InvalidInput(
                f"{tool} needs the argument {field.name}. Pass it as a non-empty string.",
                field=field.name,
                constraint="required",
            )
    request: AnyRequest = msgspec.convert(values, type=request_type)
    return Decoded(request, tuple(warnings))


def argument_length(tool: str, argument: str) -> int:
    """Returns how many characters an argument may have: in all, where it is a list. Raises KeyError for an unknown one."""
    return _BOUNDS[tool][argument]


def _check_length(field: str, value: object, bound: int) -> None:
    """Raises InvalidInput for a text, or a list of texts, that is longer than the definition of the argument allows."""
    if isinstance(value, str):
        length = len(value)
    elif isinstance(value, list):
        if len(value) > requests.MAX_WORDS:
            raise InvalidInput(
                f"{field} has {len(value):,} items; at most {requests.MAX_WORDS} are taken. Send fewer.",
                field=field,
                constraint=f"at most {requests.MAX_WORDS} items",
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
    """Returns `text` with lone surrogates replaced by U+FFFD: they can neither be stored nor be sent."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _has_surrogates(text) else text


def _has_surrogates(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _plain(value: object) -> object:
    """The value as an error repeats it: short, and something that JSON can carry."""
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


def _nearest(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    found = difflib.get_close_matches(word[:SHOWN_VALUE_LENGTH].lower(), tuple(known), n=1, cutoff=0.5)
    return f"; did you mean {found[0]!r}?" if found else "."


def _refusal(
    field: str,
    value: object,
    constraint: str,
    allowed: tuple[str, ...] | None = None,
    error: type[CodeCompassError] = InvalidInput,
) -> CodeCompassError:
    return error(
        f"{field} must be {constraint}, not {_shown(value)}. Correct the argument and call again.",
        field=field,
        value=_plain(value),
        constraint=constraint,
        allowed=None if allowed is None else list(allowed),
    )


def _text(field: str, value: object) -> _Value:
    if not isinstance(value, str):
        raise _refusal(field, value, "a string")
    return _Value(well_formed(value))


def _path_of_machine(field: str, value: object) -> _Value:
    # A path of this machine keeps the surrogates by which the system writes bytes that are not UTF-8.
    if not isinstance(value, str):
        raise _refusal(field, value, "a string")
    if "\0" in value:
        raise _refusal(field, value, "a path without a NUL character")
    # Agents fill arguments that they do not need with an empty text. As a path it would be the current directory.
    return _Value(value if value.strip() else None)


def _optional_text(field: str, value: object) -> _Value:
    parsed = _text(field, value)
    return parsed if str(parsed.value).strip() else _Value(None)


def _project_id(field: str, value: object) -> _Value:
    # Checked before anything is looked up: a name that cannot be one reaches neither the registry nor the disk.
    if not isinstance(value, str):
        raise _refusal(field, value, "a string")
    if len(value) > requests.MAX_PROJECT_ID_LENGTH or _PROJECT_ID.fullmatch(value) is None:
        raise InvalidInput(
            "Project identifier must be lowercase alphanumeric with hyphens: 1 to 50 characters, like client-a or "
            f"my-project-123, not {_shown(value)}. The known ones are listed by: codecompass projects list",
            field=field,
            value=_plain(value),
            constraint=f"Must match pattern: {PROJECT_ID_PATTERN}",
        )
    return _Value(value)


def _filled_text(field: str, value: object) -> _Value:
    parsed = _text(field, value)
    if not str(parsed.value).strip():
        raise _refusal(field, value, "a string with something in it")
    return parsed


def _boolean(field: str, value: object) -> _Value:
    if isinstance(value, bool):
        return _Value(value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return _Value(value.lower() == "true")
    raise _refusal(field, value, "true or false")


def _choice(*allowed: str, error: type[CodeCompassError] = InvalidInput) -> _Parser:
    def parse(field: str, value: object) -> _Value:
        if not isinstance(value, str) or value not in allowed:
            raise _refusal(field, value, f"one of {', '.join(allowed)}", allowed, error)
        return _Value(value)

    return parse


def _words(field: str, value: object) -> _Value:
    """Words with commas between them, or in a list, as agents write where one word would do."""
    items: list[object] = value if isinstance(value, list) else [value]
    texts = [well_formed(item) for item in items if isinstance(item, str)]
    if len(texts) < len(items):
        raise _refusal(field, value, "a string, or a list of strings")
    text = ",".join(texts)
    if not text.strip(" \t\r\n,"):
        raise _refusal(field, value, "a string with something in it")
    return _Value(text)


def _choices(*allowed: str) -> _Parser:
    def parse(field: str, value: object) -> _Value:
        words = [word.strip() for word in str(_words(field, value).value).split(",")]
        words = list(dict.fromkeys(word for word in words if word))
        for word in words:
            if word not in allowed:
                raise _refusal(field, word, f"one of {', '.join(allowed)}, or several with commas between", allowed)
        return _Value(",".join(words))

    return parse


def _integer(lowest: int, highest: int) -> _Parser:
    def parse(field: str, value: object) -> _Value:
        number = _integral(value)
        if number is None:
            raise _refusal(field, value, f"a whole number from {lowest} to {highest}")
        clamped = min(max(number, lowest), highest)
        if clamped == number:
            return _Value(number)
        return _Value(clamped, f"{field} {_shown(value)} is out of the range {lowest}..{highest}; {clamped} was used")

    return parse


def _max_tokens(field: str, value: object) -> _Value:
    number = _integral(value)
    if number is not None and number < 1:
        raise _refusal(field, value, "a whole number of 1 or more", error=InvalidMaxTokens)
    return _integer(1, requests.MAX_MAX_TOKENS)(field, value)


def _integral(value: object) -> int | None:
    """The whole number that `value` is, also when written as `5.0` or `"5"`; None for anything else."""
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
        # Beyond any range either way, and int() refuses text of thousands of digits.
        significant = match[2].lstrip("0") or "0"
        digits = significant if len(significant) <= _MANY_DIGITS else "9" * _MANY_DIGITS
        return int(match[1] + digits)
    return None


_COMMON: Final[dict[str, _Parser]] = {"workspace": _path_of_machine, "project_id": _project_id, "ref": _optional_text}
_LIMIT: Final = _integer(1, requests.MAX_LIMIT)
_SHAPE: Final[dict[str, _Parser]] = {
    "limit": _LIMIT,
    "language": _words,
    "path": _words,
    "kind": _choices(*KINDS_ON_INPUT),
    "detail_level": _choice(*requests.DETAIL_LEVELS),
    "docs": _boolean,
    "compact": _boolean,
    "freshness_policy": _choice(*requests.FRESHNESS_POLICIES),
    "ranking_explain_level": _choice(*requests.EXPLAIN_LEVELS),
}
_JOB: Final[dict[str, _Parser]] = {"force": _boolean, "wait_seconds": _integer(0, requests.MAX_WAIT_SECONDS)}

_FIELDS: Final[Mapping[str, Mapping[str, _Parser]]] = {
    "search_code": {
        **_COMMON,
        **_SHAPE,
        "query": _filled_text,
        "mode": _choice(*requests.SEARCH_MODES),
        "timeout_ms": _integer(1, requests.MAX_TIMEOUT_MS),
        "why_not": _filled_text,
    },
    "locate_symbol": {**_COMMON, **_SHAPE, "name": _filled_text},
    "get_file_outline": {
        **_COMMON,
        "path": _filled_text,
        "depth": _choice(*requests.OUTLINE_DEPTHS),
        "language": _text,
        "limit": _integer(1, requests.MAX_OUTLINE_LIMIT),
    },
    "get_symbol_hierarchy": {
        **_COMMON,
        "symbol_name": _filled_text,
        "path": _filled_text,
        "direction": _choice(*requests.DIRECTIONS),
    },
    "find_related_symbols": {
        **_COMMON,
        "symbol_name": _filled_text,
        "path": _filled_text,
        "scope": _choice(*requests.SCOPES),
        "limit": _LIMIT,
    },
    "get_code_context": {
        **_COMMON,
        "query": _filled_text,
        "max_tokens": _max_tokens,
        "strategy": _choice(*requests.STRATEGIES, error=InvalidStrategy),
        "detail_level": _choice(*requests.CONTEXT_DETAILS),
        "language": _words,
    },
    "index_status": {**_COMMON, "path": _filled_text},
    "index_repo": {**_COMMON, **_JOB},
    "sync_repo": {**_COMMON, **_JOB},
    "index_repository": {**_COMMON, "repo_path": _path_of_machine},
    "health_check": _COMMON,
}

_TYPES: Final[Mapping[str, type[AnyRequest]]] = {
    request.tool: request
    for request in (
        requests.SearchCode,
        requests.LocateSymbol,
        requests.GetFileOutline,
        requests.GetSymbolHierarchy,
        requests.FindRelatedSymbols,
        requests.GetCodeContext,
        requests.IndexStatus,
        requests.IndexRepo,
        requests.SyncRepo,
        requests.IndexRepository,
        requests.HealthCheck,
    )
}


def _bound_of(annotation: object) -> int:
    """The length that a field's type allows, also where it may be absent."""
    for one in (annotation, *get_args(annotation)):
        if get_origin(one) is Literal:
            return requests.MAX_WORD_LENGTH
        for meta in getattr(one, "__metadata__", ()):
            if isinstance(meta, Meta) and meta.max_length is not None:
                return meta.max_length
    return MAX_ARGUMENT_LENGTH


_BOUNDS: Final[Mapping[str, Mapping[str, int]]] = {
    tool: {field.name: _bound_of(field.type) for field in msgspec.structs.fields(request)} for tool, request in _TYPES.items()
}


def argument_names(tool: str) -> tuple[str, ...]:
    """Returns the arguments that `tool` takes. Raises KeyError for an unknown tool."""
    return tuple(_FIELDS[tool])


__all__ = ["Decoded", "Request", "argument_length", "argument_names", "decode", "well_formed"]
