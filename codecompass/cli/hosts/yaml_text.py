"""Edits YAML as people keep it in configuration files: block mappings, whose members begin on lines of their own.

    section:                    <- a member of the document
      name: value               <- its members, indented by spaces
      ours:
        member: value           <- values that span several lines are kept, and only replaced as a whole

Understands no more of YAML than that, and refuses what is ambiguous.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cli.hosts.places import BOM, NotEditable, newline_of

_MEMBER: Final = re.compile(
    r"""(?P<indent>\ *)(?P<name>"[^"]*"|'[^']*'|[^\s?:,\[\]{}#&*!|>'"%@`-][^:#]*?)[ \t]*:(?P<rest>[ \t].*|)""", re.VERBOSE
)
_EMPTY: Final = re.compile(r":[ \t]*(\{[ \t]*\}|~|null)")
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})
_ENTRY: Final = 2
"""Depth of an entry. Mappings within it are written on one line."""


class _Member(Struct, frozen=True):
    """A member of a mapping: the lines from `first` to before `stop`, without comments behind them; `rest` follows the colon."""

    name: str
    indent: str
    rest: str
    first: int
    stop: int


def parse(text: str) -> object:
    """Returns the text's mappings. A value is decoded if it is valid JSON, else it is its text. Raises NotEditable."""
    lines = _lines(text)
    return {member.name: _value(lines, member) for member in _document(lines)}


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with `value` at `path`: an entry of a section, or a member of it. Raises NotEditable."""
    newline, lines = newline_of(text), _lines(text)
    found = _found(lines, path)
    is_entry, is_there = len(path) <= _ENTRY, len(found) == len(path)
    start = stop = len(lines)
    indent = ""
    if is_there:
        start, stop, indent = found[-1].first, found[-1].stop, found[-1].indent
        if is_entry:
            _inner(lines, found[-1])
        if _value(lines, found[-1]) == _as_read(value):
            return text
    elif found:
        header = found[-1]
        inner = _inner(lines, header)
        start = stop = header.first + 1 if is_entry else header.stop
        indent = inner[0].indent if inner else header.indent + "  "
        if _bare(header.rest):
            lines[header.first] = _EMPTY.sub(":", lines[header.first], count=1)
    made: list[str] = []
    for name in path[len(found) : -1]:
        made.append(f"{indent}{name}:")
        indent += "  "
    if is_entry and isinstance(value, Mapping):
        made += [f"{indent}{path[-1]}:", *(f"{indent * 2}{name}: {_encoded(item)}" for name, item in value.items())]
    else:
        made.append(f"{indent}{path[-1]}: {_encoded(value)}")
    if start and not lines[start - 1].endswith("\n"):
        lines[start - 1] += newline
    return _mark(text) + "".join((*lines[:start], *(line + newline for line in made), *lines[stop:]))


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the member at `path`; unchanged if there is none. Raises NotEditable."""
    lines = _lines(text)
    found = _found(lines, path)
    if len(found) < len(path):
        return text
    return _mark(text) + "".join((*lines[: found[-1].first], *lines[found[-1].stop :]))


def _lines(text: str) -> list[str]:
    # Not splitlines(), which splits at more line endings than YAML.
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text.removeprefix(BOM))


def _mark(text: str) -> str:
    return BOM if text.startswith(BOM) else ""


def _found(lines: Sequence[str], path: Sequence[str]) -> list[_Member]:
    """Returns the members on the path, as far as there are any."""
    found: list[_Member] = []
    for name in path:
        members = [each for each in (_inner(lines, found[-1]) if found else _document(lines)) if each.name == name]
        if len(members) > 1:
            raise NotEditable(f"line {members[1].first + 1}: {name} is there twice")
        if not members:
            break
        found += members
    return found


def _document(lines: Sequence[str]) -> list[_Member]:
    first = 0
    for at, line in enumerate(lines):
        if line.startswith(("---", "...")):
            if first or any(map(_has_content, lines[:at])) or _bare(line[3:]):
                raise NotEditable(f"line {at + 1}: a second document begins here")
            first = at + 1
    return _members(lines, first, len(lines))


def _inner(lines: Sequence[str], member: _Member) -> list[_Member]:
    """Returns the members of a member, none of an empty one. Raises NotEditable if it is no block mapping."""
    if _bare(member.rest).replace(" ", "") not in ("", "{}", "~", "null"):
        raise NotEditable(f"line {member.first + 1}: {member.name} is not written as a block")
    return _members(lines, member.first + 1, member.stop)


def _members(lines: Sequence[str], first: int, stop: int) -> list[_Member]:
    members: list[_Member] = []
    for at in range(first, stop):
        if not _has_content(lines[at]):
            continue
        line = lines[at].rstrip("\r\n")
        indent = members[0].indent if members else line[: len(line) - len(line.lstrip(" "))]
        match = _MEMBER.fullmatch(line)
        if match is not None and match["indent"] == indent:
            members.append(_Member(match["name"].strip("\"'"), indent, match["rest"].strip(), at, at + 1))
        elif not members or not line.startswith(indent) or line[len(indent)] in "{[?&!*|>%":
            raise NotEditable(f"line {at + 1}: the name of a setting is expected")
        else:
            # The items of a list can begin in the same column as its name.
            members[-1] = msgspec.structs.replace(members[-1], stop=at + 1)
    return members


def _value(lines: Sequence[str], member: _Member) -> object:
    try:
        return {each.name: _value(lines, each) for each in _inner(lines, member)}
    except NotEditable:
        return _decoded(member.rest + "".join(lines[member.first + 1 : member.stop]).rstrip())


def _has_content(line: str) -> bool:
    return line.lstrip()[:1] not in ("", "#")


def _bare(text: str) -> str:
    """Returns the text behind a colon without its comment."""
    return re.sub(r"(^|[ \t])#.*", "", text).strip()


def _encoded(value: object) -> str:
    """Returns a value as JSON, which is YAML too; words that need no quotes have none."""
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z/][\w./-]*", value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value)


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _as_read(value: object) -> object:
    """Returns a value as `parse` returns it after it was written."""
    if isinstance(value, Mapping):
        return {name: _as_read(item) for name, item in value.items()}
    return _decoded(_encoded(value))
