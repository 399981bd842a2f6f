"""Finds tests that are calls with a title and a block (`it("adds", () => {..})`, `test "adds" do`) in the text.

The walk does not enter such blocks, which are most of a test file, so they are searched separately: a pattern finds lines that
look like the beginning of a test, and the tree (or the indentation, where the grammar is unreliable) confirms it and gives the
end. For a file without tests this is one pass of a short pattern.
"""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

from msgspec import Struct, structs

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import SIGNATURE_LIMIT, Symbol

MAX_TITLE: Final = 200
"""Characters of a title that are kept in the name."""

MAX_MATCHES: Final = 3_000
"""Matches in one file that are checked. Each is looked up in the tree, past all statements before it."""

MAX_BLOCK_BYTES: Final = 200_000
"""Bytes after the title in which the end of the block is searched for by the indentation."""

MAX_QUALIFIED_NAME: Final = 1_000
"""Characters of the enclosing test's qualified name from which a test is qualified by its title alone."""

MAX_DEPTH: Final = 100
"""Tests within tests. Deeper ones become siblings of the last of these."""

_ESCAPED: Final = lazy.pattern(r"\\(['\"`\\])")
_BLANKS: Final = frozenset(b" \t\r\n")
_NOT_CODE: Final = ("comment", "string", "heredoc", "template")

DOUBLE_QUOTED: Final = rb"\"([^\"\\\n]*(?:\\.[^\"\\\n]*)*)\""
QUOTED: Final = rb"(?:" + DOUBLE_QUOTED + rb"|'([^'\\\n]*(?:\\.[^'\\\n]*)*)')"
"""A title in quotes."""


class BlockTest(Struct, frozen=True):
    """A test or a group of tests. Lines are 1-based and inclusive."""

    title: str
    line_start: int
    line_end: int
    signature: str


class BlockTestSyntax(Struct, frozen=True, kw_only=True):
    """How tests are written in a language."""

    pattern: re.Pattern[bytes]
    """Begins with a line break and blanks. It is tried on every line, so the rest must be alternatives that each begin with a
    literal: then one character decides for nearly all lines. The group `head` begins with the first word, the last group is the
    text between the quotes, and the optional group `lead`, if it matched, precedes the title in the name."""
    block: re.Pattern[bytes]
    """Must match between the title and the end of the test."""
    computed: re.Pattern[bytes] | None = None
    """If it matches in a title, the title is computed and the test is left out."""
    nodes: frozenset[str] = frozenset()
    """The test ends with the largest node of these types that begins at `head`, starting from the smallest node with head and
    title. Without `nodes` it ends at the first line with the indentation of the head and then one of `closers`."""
    statements: frozenset[str] = frozenset()
    """If not empty, that node must be of one of these types."""
    closers: tuple[bytes, ...] = (b"}",)
    title_of: Callable[[Node], tuple[int, int] | None] | None = None
    """Returns the byte range of the title in a node if the pattern matched none."""

    def find(self, root: Node, source: bytes) -> list[BlockTest]:
        """Returns the tests of a file by line, groups before their members."""
        found: list[BlockTest] = []
        # The pattern needs a line break before the first line. Offsets in this text are those in the source plus one.
        text = b"\n" + source
        line, counted = 1, 1
        for match in islice(self.pattern.finditer(text), MAX_MATCHES):
            start = match.start("head")
            span = self._span(root, text, match, start)
            if span is None:
                continue
            name = self._name(text, match, span)
            if not name:
                continue
            line += text.count(b"\n", counted, start)
            counted = start
            found.append(BlockTest(name, line, line + text.count(b"\n", start, span[2]), _signature(text, start, span[1])))
        return found

    def _span(self, root: Node, text: bytes, match: re.Match[bytes], start: int) -> tuple[int, int, int] | None:
        """Returns where the title begins and ends, and where the test ends; None if it is not a test."""
        # The title is the last group, whichever quotes it is in.
        first, last = match.span(match.lastindex or 0) if match.lastgroup != "head" else (-1, -1)
        if self.nodes:
            node = self._node(root, start - 1, max(match.end("head"), last) - 1)
            if node is None:
                return None
            if first < 0:
                title = self.title_of(node) if self.title_of is not None else None
                if title is None:
                    return None
                first, last = title[0] + 1, title[1] + 1
            end = node.end_byte + 1
            while text[end - 1] in _BLANKS:
                end -= 1
        else:
            inner = root.descendant_for_byte_range(start - 1, start)
            # In Scala a test may begin with a string.
            begins = inner is not None and inner.start_byte == start - 1 and "string" in inner.type
            if inner is None or (not begins and any(word in inner.type for word in _NOT_CODE)):
                return None
            end = self._end_of_block(text, match, last)
        return None if self.block.search(text, last, end) is None else (first, last, end)

    def _name(self, text: bytes, match: re.Match[bytes], span: tuple[int, int, int]) -> str:
        title = text[span[0] : span[1]]
        if self.computed is not None and self.computed.search(title) is not None:
            return ""
        name = title.decode("utf-8", "replace")
        if "\\" in name:
            name = _ESCAPED.sub(r"\1", name)
        if "lead" in self.pattern.groupindex and match["lead"]:
            name = f"{match['lead'].decode('utf-8', 'replace').replace(chr(34), '')} {name}"
        name = " ".join(name.split())
        return name if len(name) <= MAX_TITLE else name[: MAX_TITLE - 1].rstrip() + "…"

    def _node(self, root: Node, start: int, end: int) -> Node | None:
        node = root.descendant_for_byte_range(start, end)
        if node is None or node.start_byte != start or node.type not in self.nodes:
            return None
        # Finding a parent walks down from the root, so it is done only as long as needed.
        while node.type not in self.statements:
            outer = node.parent
            if outer is None or outer.start_byte != start or outer.type not in self.nodes:
                return None if self.statements else node
            node = outer
        return node

    def _end_of_block(self, text: bytes, match: re.Match[bytes], after: int) -> int:
        """Returns the end of the line that closes the block, or of its first line if none does."""
        line_end = text.find(b"\n", after)
        if line_end < 0:
            return len(text)
        if not text[after:line_end].rstrip().endswith(self.closers):
            indent = text[match.start() + 1 : match.start("head")]
            closings = [
                at
                for closer in self.closers
                if (at := text.find(b"\n" + indent + closer, line_end, line_end + MAX_BLOCK_BYTES)) >= 0
            ]
            if closings:
                closing = text.find(b"\n", min(closings) + 1)
                return len(text) if closing < 0 else closing
        return line_end


def _signature(text: bytes, start: int, title_end: int) -> str:
    """Returns the source from the first word to the end of the line in which the title ends."""
    end = text.find(b"\n", title_end, title_end + SIGNATURE_LIMIT)
    return text[start : end if end >= 0 else title_end + SIGNATURE_LIMIT].decode("utf-8", "replace").rstrip(" {;,\r\t")


def with_tests(
    symbols: list[Symbol], tests: list[BlockTest], module: tuple[str, ...], separator: str, clean: Callable[[str], str]
) -> list[Symbol]:
    """Returns symbols and tests in one list by line. A symbol in a test gets the test as its parent and keeps its names.

    `symbols` come by line, parents before their members; `module` and `separator` make the qualified names of tests.
    """
    merged: list[Symbol] = []
    new_index: dict[int, int] = {-1: -1}
    open_items: list[tuple[int, bool, int]] = []
    for line, is_symbol, index in _in_order(symbols, tests):
        last = symbols[index].line_end if is_symbol else tests[index].line_end
        while open_items and (open_items[-1][0] < last or open_items[-1][0] < line):
            open_items.pop()
        inner = open_items[min(len(open_items), MAX_DEPTH) - 1][2] if open_items else -1
        if is_symbol:
            symbol = symbols[index]
            is_in_test = bool(open_items) and not open_items[-1][1]
            parent = inner if is_in_test else new_index[symbol.parent]
            new_index[index] = len(merged)
            merged.append(symbol if parent == symbol.parent else structs.replace(symbol, parent=parent))
        else:
            test = tests[index]
            outer = merged[inner].qualified_name if inner >= 0 else separator.join(module)
            is_short = len(outer) <= MAX_QUALIFIED_NAME
            merged.append(
                Symbol(
                    name=test.title,
                    kind="test",
                    qualified_name=f"{outer}{separator}{test.title}" if outer and is_short else test.title,
                    line_start=test.line_start,
                    line_end=test.line_end,
                    signature=test.signature if _is_clean(test.signature) else clean(test.signature),
                    parent=inner,
                )
            )
        open_items.append((last, is_symbol, len(merged) - 1))
    return merged


def _is_clean(signature: str) -> bool:
    return "\n" not in signature and "  " not in signature and len(signature) <= SIGNATURE_LIMIT


def _in_order(symbols: list[Symbol], tests: list[BlockTest]) -> Iterator[tuple[int, bool, int]]:
    """Yields (line, whether it is a symbol, index). On one line a test comes before symbols, because it begins the line."""
    at = 0
    for index, symbol in enumerate(symbols):
        while at < len(tests) and tests[at].line_start <= symbol.line_start:
            yield tests[at].line_start, False, at
            at += 1
        yield symbol.line_start, True, index
    for rest in range(at, len(tests)):
        yield tests[rest].line_start, False, rest
