"""Places in code as compact text: each path once, followed by its hits with line numbers.

    src/flask/views.py
    78-95 def View.dispatch_request(self) -> ft.ResponseReturnValue
    in class View 16-135
    83:        raise NotImplementedError()

A heading has the line range of a definition, and its signature with the qualified name; after `in` it is the definition that
encloses the lines. Numbered lines are exactly those of the file. Lines count from 1, ranges are inclusive.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.formatting import count
from codecompass.protocol.kinds import SYMBOL_KINDS
from codecompass.protocol.replies import (
    ContextItem,
    Excerpt,
    HierarchyNode,
    OutlineNode,
    Reference,
    RelatedSymbol,
    Result,
)

SIGNATURE_CHARACTERS: Final = 120
"""The longest heading; the rest is cut."""

CUT: Final = "…"
LINES: Final = "lines"
"""The type of a result that consists of matching lines, each complete in itself."""

STALE: Final = "warning: this file has changed since it was indexed; its lines may stand elsewhere now"

_SEPARATOR: Final = lazy.pattern(r"(::|[.#\\/:])")
_CONTROL: Final = {code: "�" for code in (*range(32), 127, 0x85, 0x2028, 0x2029) if chr(code) != "\t"}
"""Characters that would end a line or control a terminal."""

# fmt: off
_KIND_WORDS: Final = frozenset(SYMBOL_KINDS) | {
    "def", "func", "function", "fun", "val", "let", "namespace", "mod", "object", "record", "protocol",
    "extension", "typedef", "define", "defn", "defp", "defmodule", "defmacro", "defprotocol", "defimpl",
    "macro_rules", "sub", "data", "newtype", "instance", "union", "package", "actor", "table", "view", "procedure",
    "trigger", "index", "test", "describe", "it", "local", "alias", "using", "delegate", "event"
}
# fmt: on
"""Words before the name in a signature that tell the kind of the definition."""


class PlaceText(Struct, frozen=True):
    """The text for one place in a file: headings, numbered lines, both or neither."""

    path: str
    lines: tuple[str, ...]
    is_stale: bool = False
    is_alone: bool = False
    """Whether it may be written on the line of its path."""


def one_line(text: str) -> str:
    """Returns the text with every character that ends a line or controls a terminal replaced by U+FFFD."""
    return text.translate(_CONTROL) if not text.isprintable() else text


def grouped(entries: Iterable[PlaceText]) -> Iterator[str]:
    """Yields the lines of all entries, grouped by path, in the order in which the paths first occur. A file with nothing but one
    matching line takes one line: `path:line:text`."""
    by_path: dict[str, list[str]] = {}
    stale, alone = set(), set()
    for entry in entries:
        by_path.setdefault(entry.path, []).extend(entry.lines)
        if entry.is_alone:
            alone.add(entry.path)
        if entry.is_stale:
            stale.add(entry.path)
    is_after_block = False
    for index, (path, lines) in enumerate(by_path.items()):
        is_line = len(lines) == 1 and path in alone and path not in stale
        if index and (is_after_block or not is_line):
            yield ""
        is_after_block = not is_line
        if is_line:
            yield f"{one_line(path)}:{lines[0]}"
            continue
        yield one_line(path)
        if path in stale:
            yield STALE
        yield from lines


def place_of(hit: Result | Reference) -> str:
    """Returns the path of a hit, after the label of its project in an answer about several."""
    return f"{hit.project}:{hit.path}" if hit.project else hit.path


def hit_entries(results: Sequence[Result]) -> Iterator[PlaceText]:
    """Yields an entry for each hit."""
    for result in results:
        excerpt = result.excerpt
        is_alone = result.result_type == LINES or (excerpt is not None and not excerpt.lines and not result.signature)
        yield PlaceText(place_of(result), tuple(_hit(result)), is_stale=result.stale, is_alone=is_alone)


def n_items_shown(result: Result, unit: str) -> int:
    """Returns how many of what is counted a result shows: its matching lines, or itself."""
    lines = () if result.excerpt is None or result.result_type != LINES else result.excerpt.lines
    return max(1, len(lines), len(result.matched_lines)) if unit == "line" else 1


def context_entries(items: Sequence[ContextItem]) -> Iterator[PlaceText]:
    """Yields an entry for each piece of context."""
    for item in items:
        yield PlaceText(item.path, tuple(context_lines(item)), is_stale=item.stale)


def context_lines(item: ContextItem) -> list[str]:
    """Returns the lines for a piece of context, below its path."""
    has_code = item.excerpt is not None and bool(item.excerpt.lines)
    name = Name(item.kind, item.name, item.qualified_name, "" if has_code else item.signature, item.path)
    heading = f"{span(item.line_start, item.line_end)} {described(name)}" if item.name else ""
    return [heading or span(item.line_start, item.line_end), *_numbered(item.excerpt)]


def location_lines(results: Sequence[Result]) -> Iterator[str]:
    """Yields a line for each hit: path, lines, kind and name."""
    for result in results:
        named = f" {described(_name(result, signature=''))}" if result.name else ""
        at = f":{span(result.line_start, result.line_end)}" if result.result_type != "file" else ""
        yield f"{one_line(place_of(result))}{at}{named}"


def outline_lines(nodes: Sequence[OutlineNode], path: str, depth: int = 0) -> Iterator[str]:
    """Yields the symbol tree of a file: the line range and signature of each definition, indented by its depth."""
    for node in gathered(nodes):
        name = Name(node.kind, node.name, "", node.signature, path)
        yield f"{'  ' * depth}{span(node.line_start, node.line_end)} {described(name)}"
        yield from outline_lines(node.children, path, depth + 1)


def hierarchy_lines(nodes: Sequence[HierarchyNode]) -> Iterator[str]:
    """Yields a chain or a tree of symbols, a line for each; with the path if it differs from that of the previous line."""
    path = ""
    for node in _flattened(nodes):
        at = "" if node.path == path else f"{one_line(node.path)}:"
        path = node.path
        name = Name(node.kind, node.name, node.qualified_name, node.signature, node.path)
        yield f"{'  ' * node.depth}{at}{span(node.line_start, node.line_end)} {described(name)}"


def related_lines(related: Sequence[RelatedSymbol]) -> Iterator[str]:
    """Yields related symbols grouped by relation, then by path."""
    by_relation: dict[str, list[RelatedSymbol]] = {}
    for symbol in related:
        by_relation.setdefault(symbol.relation, []).append(symbol)
    for index, (relation, symbols) in enumerate(by_relation.items()):
        if index:
            yield ""
        yield f"{relation.replace('_', ' ')}:"
        yield from grouped(
            PlaceText(
                symbol.path,
                (
                    f"{span(symbol.line_start, symbol.line_end)} "
                    + described(Name(symbol.kind, symbol.name, symbol.qualified_name, symbol.signature, symbol.path)),
                ),
            )
            for symbol in symbols
        )


CONFIDENCE_MARKS: Final = {"exact": "", "likely": "~", "possible": "?"}


class Name(Struct, frozen=True):
    """The name of a definition in its forms, and its path, which can repeat a part of the qualified name."""

    kind: str
    name: str
    qualified_name: str
    signature: str
    path: str


def described(of: Name) -> str:
    """Returns a definition as a heading: its signature with the qualified name, otherwise its kind and qualified name.

    A signature that does not tell the kind is prefixed with it: `method public int Counter.next()`.
    """
    name = one_line(of.name)
    qualified = one_line(short_name(of))
    signature = one_line(of.signature.strip())
    found = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", signature) if name else None
    if found is None:
        return f"{of.kind} {qualified}".strip()
    before = signature[: found.start()]
    # The signature may already name the scope: `func (s *Server) Run()`, `void Server::run()`.
    scope = re.findall(r"\w+", qualified.removesuffix(name))
    own = name if scope and scope[-1] in re.findall(r"\w+", before) else qualified
    text = before + own + signature[found.end() :]
    if _KIND_WORDS.isdisjoint(re.findall(r"\w+", before.lower())):
        text = f"{of.kind} {text}"
    return text if len(text) <= SIGNATURE_CHARACTERS else text[: SIGNATURE_CHARACTERS - 1] + CUT


def short_name(of: Name) -> str:
    """Returns the qualified name without leading parts that are in the path; the class of a method stays."""
    name = of.qualified_name
    if not name.endswith(of.name):
        return of.name
    parts = _SEPARATOR.split(name[: len(name) - len(of.name)])  # names and separators by turns
    said = set(re.split(r"[/.]", of.path))
    least = 3 if of.kind == "method" else 1
    while len(parts) > least and parts[0] in said:
        del parts[:2]
    return "".join(parts) + of.name


def span(first: int, last: int) -> str:
    """Returns a line range: `12-30`, or `12`."""
    return str(first) if last <= first else f"{first}-{last}"


def gathered(nodes: Sequence[OutlineNode]) -> list[OutlineNode]:
    """Returns the nodes with each run of imports joined into one, because readers want the definitions."""
    found: list[OutlineNode] = []
    for node in nodes:
        previous = found[-1] if found else None
        if node.kind == "use" and previous is not None and previous.kind == "use":
            found[-1] = msgspec.structs.replace(previous, name=f"{previous.name}, {node.name}", line_end=node.line_end)
        else:
            found.append(node)
    return found


def _hit(result: Result) -> Iterator[str]:
    excerpt = result.excerpt or Excerpt()
    if result.result_type == LINES:
        yield from _numbered(excerpt)
        return
    around = excerpt.enclosing
    if result.result_type == "symbol" or (result.name and around is None):
        signature = "" if excerpt.is_whole else result.signature
        # An exact match is not marked.
        marked = f" [{result.match}]" if result.match not in ("", "exact") else ""
        yield f"{span(result.line_start, result.line_end)} {described(_name(result, signature=signature))}{marked}"
    elif around is not None:
        name = Name(around.kind, around.name, around.qualified_name, "", result.path)
        yield f"in {described(name)} {span(around.line_start, around.line_end)}"
    elif not excerpt.lines and result.result_type != "file":
        yield span(result.line_start, result.line_end)
    yield from _numbered(excerpt)
    yield from further_lines(result)


def further_lines(result: Result) -> Iterator[str]:
    """Yields what there is beside a hit: `also name:line, name:line` in its file, and how many others are nearly the same."""
    if result.also:
        yield "also " + ", ".join(f"{one_line(each.name)}:{each.line_start}" for each in result.also)
    if result.copies:
        yield f"+{result.copies} nearly the same"


def _name(result: Result, *, signature: str) -> Name:
    return Name(result.kind, result.name, result.qualified_name, signature, result.path)


def _numbered(excerpt: Excerpt | None) -> Iterator[str]:
    if excerpt is None:
        return
    for line in excerpt.lines:
        yield f"{line.line}:{one_line(line.text)}"
    if excerpt.n_omitted:
        yield f"{CUT} {count(excerpt.n_omitted, 'more line')}"


def _flattened(nodes: Sequence[HierarchyNode]) -> Iterator[HierarchyNode]:
    for node in nodes:
        yield node
        yield from _flattened(node.children)
