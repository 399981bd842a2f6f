"""Edits JSON with comments and trailing commas, as in configuration files; layout and comments stay.

    parse -> Node: an object knows the place of each of its members in the text
    assign, remove_member, add_items, remove_items: text -> text, every other character unchanged

Offsets count characters. Only the values to be set are encoded; everything else is copied from the text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

MAX_DEPTH: Final = 100
"""Texts nested more deeply are refused: the parser recurses once per level."""

DEFAULT_UNIT: Final = "  "

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR: Final = re.compile(r"[-+.0-9A-Za-z_]+")
_INDENT: Final = re.compile(r"^([ \t]+)\S", re.MULTILINE)

_BOM: Final = "\ufeff"


class NotJson(Exception):
    """The text is not JSON with comments. The message has line and column, from 1."""

    def __init__(self, text: str, offset: int, problem: str) -> None:
        self.line = text.count("\n", 0, offset) + 1
        self.column = offset - (text.rfind("\n", 0, offset) + 1) + 1
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


class Member(Struct, frozen=True):
    """A member of an object. `start` is the offset of its name, `comma` that of the comma after the value, None without one."""

    name: str
    start: int
    value: "Node"
    comma: int | None


class Node(Struct, frozen=True):
    """A value and its place: `text[start:end]`. `members` is None unless it is an object, `items` unless it is an array."""

    start: int
    end: int
    value: object
    members: tuple[Member, ...] | None = None
    items: "tuple[Node, ...] | None" = None

    def member(self, name: str) -> Member | None:
        """Returns the member of that name; of several, the last one, as JSON parsers do."""
        return next((each for each in reversed(self.members or ()) if each.name == name), None)


def parse(text: str) -> Node:
    """Returns the one value in `text`. A text of white space and comments alone is an empty object. Raises NotJson."""
    return _Parser(text).document()


def value_at(text: str, path: Sequence[str]) -> object:
    """Returns the value at `path` (dicts, lists, scalars), None if there is none. Raises NotJson."""
    node = _node_at(parse(text), path)
    return None if node is None else node.value


def assign(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with the value at `path` replaced by `value`; a missing member is added, with the objects on the way.

    Raises NotJson, also if a value on the way is not an object.
    """
    node = _node_at(parse(text), path)
    if node is None:
        return _added(text, path, value)
    if _same(node.value, value):
        return text
    return text[: node.start] + _rendered(value, _indent_at(text, node.start), _Layout(text)) + text[node.end :]


def add_items(text: str, path: Sequence[str], items: Sequence[object]) -> str:
    """Returns `text` with the items that the array at `path` lacks appended to it. Raises NotJson as `assign` does."""
    node = _node_at(parse(text), path)
    if node is None:
        return _added(text, path, list(items))
    if node.items is None:
        raise NotJson(text, node.start, f"{_shown(path)} is not an array")
    present = [item.value for item in node.items]
    missing = [_rendered(item, "", _Layout(text)) for item in items if item not in present]
    if not missing:
        return text
    if not node.items:
        return f"{text[: node.start + 1]}{', '.join(missing)}{text[node.start + 1 :]}"
    layout, end = _Layout(text), node.items[-1].end
    is_spread = "\n" in text[node.start : node.items[0].start]
    between = f",{layout.newline}{_indent_at(text, node.items[0].start)}" if is_spread else ", "
    return text[:end] + "".join(between + item for item in missing) + text[end:]


def remove_items(text: str, path: Sequence[str], items: Sequence[object]) -> str:
    """Returns `text` without these items of the array at `path`; items that it lacks are ignored. Raises NotJson."""
    for item in items:
        node = _node_at(parse(text), path)
        nodes = () if node is None or node.items is None else node.items
        position = next((index for index, each in enumerate(nodes) if each.value == item), None)
        if position is None:
            continue
        start, end = nodes[position].start, nodes[position].end
        if position + 1 < len(nodes):
            end = nodes[position + 1].start
        elif position:
            start = nodes[position - 1].end
        else:
            # The only item: a comma after it is removed too.
            assert node is not None
            behind = text[end : node.end - 1]
            end = node.end - 1 if not behind.replace(",", "").strip() else end
        text = text[:start] + text[end:]
    return text


def remove_member(text: str, path: Sequence[str]) -> str:
    """Returns `text` without the member at `path`, however often it is there. Comments around it stay. Raises NotJson."""
    while True:
        node: Node | None = _node_at(parse(text), path[:-1])
        removed = None if node is None else node.member(path[-1])
        if node is None or removed is None:
            return text
        text = _without(text, node, removed)


def _without(text: str, node: Node, removed: Member) -> str:
    assert node.members is not None
    position = node.members.index(removed)
    end = removed.value.end if removed.comma is None else removed.comma + 1
    if len(node.members) == 1:
        return _emptied(text, node, removed.start, end)
    start = _line_start(text, removed.start)
    if removed.comma is None:
        # The last member: the comma before it is removed too, but nothing between them.
        before = node.members[position - 1]
        assert before.comma is not None
        return text[: before.comma] + text[before.comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _node_at(node: Node | None, path: Sequence[str]) -> Node | None:
    for name in path:
        found = None if node is None else node.member(name)
        node = None if found is None else found.value
    return node


def _added(text: str, path: Sequence[str], value: object) -> str:
    """Returns `text` with a new member at `path`, of which at least the last name does not exist."""
    root = parse(text)
    if root.start == root.end:
        text = (text if not text.removeprefix(_BOM).strip() else _line_ended(text)) + "{}\n"
        root = parse(text)
    node, depth = root, 0
    while (found := node.member(path[depth])) is not None:
        node, depth = found.value, depth + 1
    if node.members is None:
        raise NotJson(text, node.start, f"{_shown(path[:depth])} is not an object")
    for missing in reversed(path[depth + 1 :]):
        value = {missing: value}
    return _with_member(text, node, path[depth], value)


class _Layout:
    """The layout of a text: its unit of indentation and its line endings."""

    def __init__(self, text: str) -> None:
        first = _INDENT.search(text)
        self.unit = DEFAULT_UNIT if first is None else "\t" if "\t" in first[1] else first[1]
        self.newline = "\r\n" if "\r\n" in text else "\n"


def _with_member(text: str, node: Node, name: str, value: object) -> str:
    layout = _Layout(text)
    assert node.members is not None
    closing = node.end - 1
    outer = _indent_at(text, node.start)
    if not node.members:
        indent = outer + layout.unit
        member = f"{_rendered(name, '', layout)}: {_rendered(value, indent, layout)}"
        comments = text[node.start + 1 : closing].rstrip()
        return f"{text[: node.start + 1]}{comments}{layout.newline}{indent}{member}{layout.newline}{outer}{text[closing:]}"
    last = node.members[-1]
    is_spread = "\n" in text[node.start : node.members[0].start]
    indent = _indent_at(text, node.members[0].start) if is_spread else outer
    member = f"{_rendered(name, '', layout)}: {_rendered(value, indent, layout)}"
    tail_start = last.value.end if last.comma is None else last.comma + 1
    tail = text[tail_start:closing]
    between = text[last.value.end : tail_start] if last.comma is not None else ","
    ended = "," if last.comma is not None else ""
    if not is_spread and "\n" not in tail:
        return f"{text[: last.value.end]}{between}{tail.rstrip()} {member}{ended}{text[closing:]}"
    kept = tail.rstrip()
    return (
        f"{text[: last.value.end]}{between}{kept}{layout.newline}{indent}{member}{ended}"
        f"{tail[len(kept) :] or layout.newline + outer}{text[closing:]}"
    )


def _emptied(text: str, node: Node, start: int, end: int) -> str:
    before, after = text[node.start + 1 : start].rstrip(), text[end : node.end - 1]
    if not before and not after.strip():
        return text[: node.start + 1] + text[node.end - 1 :]
    return text[: node.start + 1] + before + after + text[node.end - 1 :]


def _line_start(text: str, offset: int) -> int:
    """Returns the offset at which the white space before `offset` starts, at most one line ending included."""
    while offset and text[offset - 1] in " \t":
        offset -= 1
    if offset and text[offset - 1] == "\n":
        offset -= 2 if text[offset - 2 : offset] == "\r\n" else 1
    return offset


def _indent_at(text: str, offset: int) -> str:
    start = text.rfind("\n", 0, offset) + 1
    line = text[start:offset].removeprefix(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _rendered(value: object, indent: str, layout: _Layout) -> str:
    if isinstance(value, Mapping) and value:
        inner = indent + layout.unit
        members = f",{layout.newline}".join(
            f"{inner}{_rendered(name, '', layout)}: {_rendered(item, inner, layout)}" for name, item in value.items()
        )
        return f"{{{layout.newline}{members}{layout.newline}{indent}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_rendered(item, indent, layout) for item in value)}]"
    return msgspec.json.encode(value).decode()


def _same(left: object, right: object) -> bool:
    return msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")


def _shown(path: Sequence[str]) -> str:
    return f'"{".".join(path)}"' if path else "the file's content"


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text

    def document(self) -> Node:
        start = self._after_blank(len(_BOM) if self.text.startswith(_BOM) else 0)
        if start == len(self.text):
            return Node(start, start, {}, ())
        node = self._value(start, 0)
        end = self._after_blank(node.end)
        if end != len(self.text):
            raise NotJson(self.text, end, "there is something after the end of the value")
        return node

    def _value(self, offset: int, depth: int) -> Node:
        text = self.text
        if depth > MAX_DEPTH:
            raise NotJson(text, offset, f"nested deeper than {MAX_DEPTH} levels")
        character = text[offset : offset + 1]
        if character in ("{", "["):
            return self._container(offset, depth)
        found = (_STRING if character == '"' else _SCALAR).match(text, offset)
        if found is None:
            raise NotJson(text, offset, "a value is missing here" if character else "the file ends too early")
        return Node(offset, found.end(), self._decoded(found), None)

    def _container(self, offset: int, depth: int) -> Node:
        text, is_object = self.text, self.text[offset] == "{"
        closing = "}" if is_object else "]"
        members: list[Member] = []
        at = self._after_blank(offset + 1)
        while text[at : at + 1] != closing:
            name, begins = self._name(at) if is_object else ("", at)
            value = self._value(begins, depth + 1)
            after = self._after_blank(value.end)
            comma = after if text[after : after + 1] == "," else None
            members.append(Member(name, at, value, comma))
            at = after if comma is None else self._after_blank(comma + 1)
            if comma is None and text[at : at + 1] != closing:
                raise NotJson(text, at, f'a "," or "{closing}" is missing here')
        if is_object:
            return Node(offset, at + 1, {member.name: member.value.value for member in members}, tuple(members))
        items = tuple(member.value for member in members)
        return Node(offset, at + 1, [item.value for item in items], None, items)

    def _name(self, offset: int) -> tuple[str, int]:
        """Returns the name of a member and where its value begins."""
        name = _STRING.match(self.text, offset)
        if name is None:
            raise NotJson(self.text, offset, 'a name in double quotes or "}" is missing here')
        colon = self._after_blank(name.end())
        if self.text[colon : colon + 1] != ":":
            raise NotJson(self.text, colon, 'a ":" is missing here')
        return str(self._decoded(name)), self._after_blank(colon + 1)

    def _after_blank(self, offset: int) -> int:
        found = _BLANK.match(self.text, offset)
        assert found is not None
        if self.text.startswith("/*", found.end()):
            raise NotJson(self.text, found.end(), "this comment has no end")
        return found.end()

    def _decoded(self, found: re.Match[str]) -> object:
        try:
            return msgspec.json.decode(found[0])
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            raise NotJson(self.text, found.start(), "this is no JSON value") from error
