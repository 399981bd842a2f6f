"""Edits JSON with comments and trailing commas, as in configuration files; layout and comments stay.

The text is parsed to nodes, which know their places; only the values to be set are encoded, and every other character is copied.
Offsets count characters.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cli.hosts.places import BOM, NotEditable, canonical, newline_of

MAX_DEPTH: Final = 100
"""Texts nested more deeply are refused: the parser recurses once per level."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z_]+")
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)


class _Member(Struct, frozen=True):
    """A member of an object, or an item of an array, whose name is its value.

    `start` is the offset of its name, `comma` that of the comma after the value, None without one.
    """

    name: object
    start: int
    value: "_Node"
    comma: int | None


class _Node(Struct, frozen=True):
    """A value and its place: `text[start:end]`. `members` is empty unless it is an object or an array."""

    start: int
    end: int
    value: object
    members: tuple[_Member, ...] = ()

    def member(self, name: object) -> _Member | None:
        """Returns the member of that name; of several, the last one, as JSON parsers do."""
        return next((each for each in reversed(self.members) if each.name == name), None)


def parse(text: str) -> object:
    """Returns the one value in `text`. A text of white space and comments alone is an empty object. Raises NotEditable."""
    return _Parser(text).document().value


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with the value at `path` replaced by `value`; a missing member is added, with the objects on the way.

    Raises NotEditable, also if a value on the way is not an object.
    """
    node, depth = _deepest(text, path)
    if depth == len(path):
        if canonical(node.value) == canonical(value):
            return text
        return text[: node.start] + _rendered(value, _indent_at(text, node.start), text) + text[node.end :]
    if node.start == node.end:
        is_ended = not text.removeprefix(BOM).strip() or text.endswith("\n")
        return assign(text + ("{}\n" if is_ended else "\n{}\n"), path, value)
    if not isinstance(node.value, Mapping):
        raise _error(text, node.start, f"{_shown(path[:depth])} is not an object")
    for missing in reversed(path[depth + 1 :]):
        value = {missing: value}
    return _with_member(text, node, path[depth], value)


def add_items(text: str, path: Sequence[str], items: Sequence[object]) -> str:
    """Returns `text` with the items that the array at `path` lacks appended to it. Raises NotEditable as `assign` does."""
    for item in items:
        node, depth = _deepest(text, path)
        if depth < len(path):
            return assign(text, path, list(items))
        if not isinstance(node.value, list):
            raise _error(text, node.start, f"{_shown(path)} is not an array")
        text = text if item in node.value else _with_member(text, node, None, item)
    return text


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the member at `path`, however often it is there. Comments around it stay. Raises NotEditable."""
    return _without(text, path[:-1], path[-1:], dict)


def remove_items(text: str, path: Sequence[str], items: Sequence[object]) -> str:
    """Returns `text` without these items of the array at `path`; items that it lacks are ignored. Raises NotEditable."""
    return _without(text, path, items, list)


def _deepest(text: str, path: Sequence[str]) -> tuple[_Node, int]:
    """Returns the node at the longest part of `path` that exists, and how many names that are."""
    node = _Parser(text).document()
    for depth, name in enumerate(path):
        member = node.member(name) if isinstance(node.value, Mapping) else None
        if member is None:
            return node, depth
        node = member.value
    return node, len(path)


def _with_member(text: str, node: _Node, name: str | None, value: object) -> str:
    """Returns `text` with a member, or without a name an item, behind the last one and its comments."""
    newline, closing, outer = newline_of(text), node.end - 1, _indent_at(text, node.start)
    is_spread = not node.members or "\n" in text[node.start : node.members[0].start]
    indent = outer if node.members else outer + _unit(text)
    if node.members and is_spread:
        indent = _indent_at(text, node.members[0].start)
    member = ("" if name is None else f"{_rendered(name, '', text)}: ") + _rendered(value, indent, text)
    if not node.members:
        comments = text[node.start + 1 : closing].rstrip()
        return f"{text[: node.start + 1]}{comments}{newline}{indent}{member}{newline}{outer}{text[closing:]}"
    last = node.members[-1]
    if last.comma is None:
        end, comma, ended = last.value.end, ",", ""
    else:
        end, comma, ended = last.comma + 1, "", ","
    tail = text[end:closing]
    comments = tail.rstrip()
    if not is_spread and "\n" not in tail:
        return f"{text[:end]}{comma}{comments} {member}{ended}{text[closing:]}"
    blank = tail[len(comments) :] or newline + outer
    return f"{text[:end]}{comma}{comments}{newline}{indent}{member}{ended}{blank}{text[closing:]}"


def _without(text: str, path: Sequence[str], names: Sequence[object], kind: type) -> str:
    """Returns `text` without these members of the container of this kind at `path`."""
    for name in names:
        while True:
            node, depth = _deepest(text, path)
            member = node.member(name) if depth == len(path) and isinstance(node.value, kind) else None
            if member is None:
                break
            text = _cut(text, node, member)
    return text


def _cut(text: str, node: _Node, removed: _Member) -> str:
    end = removed.value.end if removed.comma is None else removed.comma + 1
    if len(node.members) == 1:
        before, after = text[node.start + 1 : removed.start].rstrip(), text[end : node.end - 1]
        return text[: node.start + 1] + before + (after if before or after.strip() else "") + text[node.end - 1 :]
    # The white space before the member goes with it, at most one line ending included.
    start = len(text[: removed.start].rstrip(" \t"))
    start -= 2 if text[:start].endswith("\r\n") else int(text[:start].endswith("\n"))
    if removed.comma is not None:
        return text[:start] + text[end:]
    # The last member: the comma before it is removed too, but nothing between them.
    comma = node.members[-2].comma
    assert comma is not None
    return text[:comma] + text[comma + 1 : start] + text[end:]


def _indent_at(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset].removeprefix(BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Returns the text's unit of indentation."""
    first = _INDENT.search(text)
    return "  " if first is None else "\t" if "\t" in first[1] else first[1]


def _rendered(value: object, indent: str, text: str) -> str:
    """Returns a value as JSON in the layout of `text`."""
    if isinstance(value, Mapping) and value:
        newline, inner = newline_of(text), indent + _unit(text)
        members = [f"{newline}{inner}{_rendered(name, '', text)}: {_rendered(item, inner, text)}" for name, item in value.items()]
        return f"{{{','.join(members)}{newline}{indent}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_rendered(item, indent, text) for item in value)}]"
    return msgspec.json.encode(value).decode()


def _shown(path: Sequence[str]) -> str:
    return f'"{".".join(path)}"' if path else "the file's content"


def _error(text: str, offset: int, problem: str) -> NotEditable:
    line, column = text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)
    return NotEditable(f"line {line}, column {column}: {problem}")


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text

    def document(self) -> _Node:
        start = self._next(len(BOM) if self._text.startswith(BOM) else 0)
        if start == len(self._text):
            return _Node(start, start, {})
        node = self._value(start, 0)
        end = self._next(node.end)
        if end != len(self._text):
            raise _error(self._text, end, "there is something after the end of the value")
        return node

    def _value(self, offset: int, depth: int) -> _Node:
        if depth > MAX_DEPTH:
            raise _error(self._text, offset, f"nested deeper than {MAX_DEPTH} levels")
        character = self._text[offset : offset + 1]
        if character in ("{", "["):
            return self._container(offset, depth, is_object=character == "{")
        pattern = _STRING if character == '"' else _SCALAR
        value, end = self._decoded(pattern, offset, "a value is missing here" if character else "the file ends too early")
        return _Node(offset, end, value)

    def _container(self, offset: int, depth: int, *, is_object: bool) -> _Node:
        text, closing = self._text, "}" if is_object else "]"
        members: list[_Member] = []
        at = self._next(offset + 1)
        while text[at : at + 1] != closing:
            start, name = at, None
            if is_object:
                name, at = self._decoded(_STRING, at, 'a name in double quotes or "}" is missing here')
                at = self._next(at)
                if text[at : at + 1] != ":":
                    raise _error(text, at, 'a ":" is missing here')
                at = self._next(at + 1)
            value = self._value(at, depth + 1)
            at = self._next(value.end)
            comma = at if text[at : at + 1] == "," else None
            members.append(_Member(name if is_object else value.value, start, value, comma))
            if comma is not None:
                at = self._next(comma + 1)
            elif text[at : at + 1] != closing:
                raise _error(text, at, f'a "," or "{closing}" is missing here')
        values = [each.value.value for each in members]
        made = {each.name: each.value.value for each in members} if is_object else values
        return _Node(offset, at + 1, made, tuple(members))

    def _next(self, offset: int) -> int:
        """Returns the offset of what is no white space or comment."""
        found = _BLANK.match(self._text, offset)
        assert found is not None
        if self._text.startswith("/*", found.end()):
            raise _error(self._text, found.end(), "this comment has no end")
        return found.end()

    def _decoded(self, pattern: re.Pattern[str], offset: int, problem: str) -> tuple[object, int]:
        """Returns the scalar that the pattern matches, and its end."""
        found = pattern.match(self._text, offset)
        if found is None:
            raise _error(self._text, offset, problem)
        try:
            return msgspec.json.decode(found[0]), found.end()
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise _error(self._text, offset, "this is no JSON value") from error
