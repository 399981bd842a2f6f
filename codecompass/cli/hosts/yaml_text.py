"""Edits YAML as people keep it in configuration files: a mapping in a section at the top, line by line.

    section:                    <- found by its name at the beginning of a line
      name: value               <- its members, indented by spaces
      ours:
        member: value           <- one line each; values that span several lines are kept, and not changed

Understands no more of YAML than that, and refuses what is ambiguous. The counterpart of `json_text`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

_BOM: Final = "\ufeff"
_SECTION: Final = r"""(?P<quote>["']?){name}(?P=quote)[ \t]*:(?P<rest>[ \t].*|)"""
_MEMBER: Final = re.compile(r"""(?P<indent> *)(?P<quote>["']?)(?P<name>[\w.-]+)(?P=quote)[ \t]*:(?P<rest>[ \t].*|)""")


class NotYaml(Exception):
    """The text has a layout that cannot be edited here. The message says where."""


class _Lines(Struct, frozen=True):
    """The lines of a text, with their endings, and the half-open ranges of the section and of our block; -1 if it is missing."""

    lines: tuple[str, ...]
    header: int = -1
    end: int = -1
    indent: str = ""
    start: int = -1
    stop: int = -1


def value_at(text: str, path: Sequence[str]) -> object:
    """Returns the members of the mapping at `path`, a section and a name, None if there is none.

    A value is decoded if it is valid JSON, else it is its text. Raises NotYaml.
    """
    found = _found(text, path)
    if len(path) == 1:
        return None if found.header < 0 else {} if not _members(found) else {"": "".join(_members(found))}
    if found.start < 0:
        return None
    members: dict[str, object] = {}
    for name, first, last in _own(found):
        member = _member(found.lines[first])
        assert member is not None
        rest = member["rest"].strip() + "".join(found.lines[first + 1 : last]).rstrip()
        members[name] = _decoded(rest)
    return members


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with `value` at `path`: a mapping in a section, or a member of it. Raises NotYaml."""
    found = _found(text, path[:2])
    newline = "\r\n" if "\r\n" in text else "\n"
    if len(path) == 3:
        return _with_line(found, path[2], value, newline)
    assert isinstance(value, Mapping)
    if found.start >= 0:
        if value_at(text, path) == _listed(value):
            return text
        block = _block(path[1], value, found.indent, newline)
        return "".join((*found.lines[: found.start], *block, *found.lines[found.stop :]))
    indent = found.indent or "  "
    block = _block(path[1], value, indent, newline)
    if found.header < 0:
        lines = list(found.lines)
        if lines and not lines[-1].endswith("\n") and lines[-1].removeprefix(_BOM):
            lines[-1] += newline
        return "".join((*lines, f"{path[0]}:{newline}", *block))
    header = found.lines[found.header]
    bare = re.sub(r":[ \t]*(\{[ \t]*\}|~|null)", ":", header.rstrip("\r\n"), count=1)
    ended = bare + (header[len(header.rstrip("\r\n")) :] or newline)
    return "".join((*found.lines[: found.header], ended, *block, *found.lines[found.header + 1 :]))


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the mapping at `path`, or without a section that is empty. Raises NotYaml."""
    found = _found(text, path[:2])
    if len(path) == 1:
        first, last = found.header, found.header + 1
    elif len(path) == 2:
        first, last = found.start, found.stop
    else:
        first, last = next(((first, last) for name, first, last in _own(found) if name == path[2]), (-1, -1))
    return text if first < 0 else "".join((*found.lines[:first], *found.lines[last:]))


def _found(text: str, path: Sequence[str]) -> _Lines:
    # Not splitlines(), which splits at more line endings than YAML.
    lines = tuple(re.findall(r"[^\n]*\n|[^\n]+\Z", text))
    section = re.compile(_SECTION.format(name=re.escape(path[0])))
    headers = [index for index, line in enumerate(lines) if section.fullmatch(line.removeprefix(_BOM).rstrip("\r\n"))]
    for index, line in enumerate(lines):
        bare = line.removeprefix(_BOM)
        if bare.startswith(("---", "...")) and any(each.strip() and each[0] != "#" for each in lines[:index]):
            raise NotYaml(f"line {index + 1}: a second document begins here")
        is_inside = any(_begins(each) for each in lines[:index])
        is_unusual = bare[:1] in "{[?&!*|>%" or (bare[:1] in " \t-" and not is_inside)
        if bare.strip() and is_unusual and not bare.startswith(("---", "...")) and bare.lstrip()[0] != "#":
            raise NotYaml(f"line {index + 1}: the name of a setting is expected")
    if len(headers) > 1:
        raise NotYaml(f"line {headers[1] + 1}: {path[0]} is there twice")
    if not headers:
        return _Lines(lines)
    return _section(lines, headers[0], path)


def _section(lines: tuple[str, ...], header: int, path: Sequence[str]) -> _Lines:
    match = re.fullmatch(_SECTION.format(name=re.escape(path[0])), lines[header].removeprefix(_BOM).rstrip("\r\n"))
    assert match is not None
    end = next((at for at in range(header + 1, len(lines)) if _begins(lines[at])), len(lines))
    inline = _without_comment(match["rest"])
    inside = [at for at in range(header + 1, end) if lines[at].strip() and not lines[at].lstrip().startswith("#")]
    if inline and (inline.replace(" ", "") not in ("{}", "~", "null") or inside):
        raise NotYaml(f"line {header + 1}: {path[0]} is not written as a block")
    if not inside:
        return _Lines(lines, header, end)
    first = lines[inside[0]]
    indent = first[: len(first) - len(first.lstrip(" "))]
    if not indent or _member(first) is None:
        raise NotYaml(f"line {inside[0] + 1}: a member of {path[0]}, indented by spaces, is expected")
    start = stop = -1
    if len(path) > 1:
        members = {at: member for at in inside if (member := _member(lines[at], indent)) is not None}
        named = [at for at, member in members.items() if member["name"] == path[1]]
        if len(named) > 1:
            raise NotYaml(f"line {named[1] + 1}: {path[1]} is there twice")
        if named:
            start = named[0]
            stop = next((at for at in inside if at > start and not lines[at].startswith(indent + " ")), None) or end
            while stop > start + 1 and (not lines[stop - 1].strip() or lines[stop - 1].lstrip().startswith("#")):
                stop -= 1
            if _without_comment(members[start]["rest"]):
                raise NotYaml(f"line {start + 1}: {path[1]} is not written as a block")
    return _Lines(lines, header, end, indent, start, stop)


def _without_comment(text: str) -> str:
    return re.sub(r"(^|[ \t])#.*", "", text).strip()


def _own(found: _Lines) -> list[tuple[str, int, int]]:
    """Returns the members of our block: name, first line, line after the last."""
    if found.start < 0:
        return []
    inside = range(found.start + 1, found.stop)
    firsts: list[tuple[str, int]] = []
    indent = None
    for at in inside:
        member = _member(found.lines[at], indent)
        if member is not None:
            indent = member["indent"]
            firsts.append((member["name"], at))
    ends = [at for _, at in firsts[1:]] + [found.stop]
    return [(name, at, end) for (name, at), end in zip(firsts, ends, strict=True)]


def _with_line(found: _Lines, name: str, value: object, newline: str) -> str:
    own = _own(found)
    if not own:
        raise NotYaml(f"line {found.start + 1}: there is no member to go by")
    member = _member(found.lines[own[0][1]])
    assert member is not None
    line = f"{member['indent']}{name}: {_encoded(value)}"
    for each, first, last in own:
        if each == name:
            return "".join((*found.lines[:first], _ended(line, found.lines[last - 1]), *found.lines[last:]))
    lines = list(found.lines)
    if not lines[found.stop - 1].endswith("\n"):
        lines[found.stop - 1] += newline
    return "".join((*lines[: found.stop], line + newline, *lines[found.stop :]))


def _ended(line: str, replaced: str) -> str:
    return line + replaced[len(replaced.rstrip("\r\n")) :]


def _block(name: str, value: Mapping[str, object], indent: str, newline: str) -> list[str]:
    return [f"{indent}{name}:{newline}"] + [f"{indent * 2}{each}: {_encoded(item)}{newline}" for each, item in value.items()]


def _encoded(value: object) -> str:
    """Returns a value as JSON, which is YAML too; words that need no quotes have none."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z/][\w./-]*", value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _listed(value: Mapping[str, object]) -> dict[str, object]:
    return {name: _decoded(_encoded(item)) for name, item in value.items()}


def _members(found: _Lines) -> tuple[str, ...]:
    return tuple(line for line in found.lines[found.header + 1 : found.end] if line.strip() and line.lstrip()[0] != "#")


def _member(line: str, indent: str | None = None) -> re.Match[str] | None:
    """Returns the match of a member's line, None for another line or another indentation."""
    found = _MEMBER.fullmatch(line.rstrip("\r\n"))
    return found if found is not None and indent in (None, found["indent"]) else None


def _begins(line: str) -> bool:
    """Whether a member of the top level starts on this line."""
    bare = line.removeprefix(_BOM)
    # The items of a list can begin in the same column as its name.
    return bool(bare.strip()) and bare[0] not in " \t#-\r\n" and not bare.startswith("...")
