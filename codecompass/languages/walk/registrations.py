"""Definitions that a file registers with a framework by annotations or calls: routes (`POST /orders`), tasks.

A language says what its files register (`Language.registers`), from the tree and the symbols that the walk has found. Here the
results become symbols. They are leaves: what stands in a route's lines keeps its own parent.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct, structs

from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, MAX_QUALIFIED_NAME, Symbol, SymbolKind

MAX_REGISTRATIONS: Final = 3_000
"""Of one file, and matches that are looked up in its tree, each past all that is before it."""

MAX_ROUTE: Final = 300
"""Characters of a method and path, which are a name."""

MAX_ARGUMENTS: Final = 4_000
"""Bytes of the arguments of an annotation or call that are read for paths and methods."""


class Registration(Struct, frozen=True):
    """One definition. Offsets are bytes of the source."""

    name: str
    kind: SymbolKind
    start: int
    end: int
    signature: str
    qualified_name: str = ""
    """Empty if it is the name."""


Registers = Callable[[Node, bytes, str, Sequence[Symbol]], Iterable[Registration]]
"""Returns what a file registers, from its root, its source, its path and its symbols in source order."""


def route(method: str, path: str, start: int, end: int, handler: str) -> Registration:
    """Returns the route for a method, empty for any, and a path; `handler` is what serves it, empty if unknown."""
    name = f"{method} {path}".strip()
    return Registration(name, "route", start, end, f"{name} -> {handler}" if handler else name)


_SLASHES: Final = re.compile(r"/{2,}")


def joined(*parts: str) -> str:
    """Returns the parts of a path with one slash before each, and one at the end if the last part has one."""
    return _SLASHES.sub("/", "/" + "/".join(part for part in parts if part)) if any(parts) else "/"


def with_registrations(
    symbols: list[Symbol], found: Iterable[Registration], source: bytes, clean: Callable[[str], str]
) -> list[Symbol]:
    """Returns symbols and registrations in one list by line; a registration comes before what begins in its first line."""
    known: set[tuple[str, int]] = set()
    ordered: list[tuple[int, int, Registration]] = []
    line, counted = 1, 0
    for item in sorted(found, key=lambda each: each.start)[:MAX_REGISTRATIONS]:
        line += source.count(b"\n", counted, item.start)
        counted = item.start
        if len(item.name) <= MAX_ROUTE and item.name.strip() and (item.name, line) not in known:
            known.add((item.name, line))
            ordered.append((line, line + source.count(b"\n", item.start, item.end), item))
    if not ordered:
        return symbols
    merged: list[Symbol] = []
    new_index: dict[int, int] = {-1: -1}
    around: list[int] = []
    at = 0

    def add_until(last_line: int) -> None:
        nonlocal at
        while at < len(ordered) and ordered[at][0] <= last_line:
            first, last, item = ordered[at]
            at += 1
            while around and merged[around[-1]].line_end < first:
                around.pop()
            parent = next((each for each in reversed(around) if _encloses(merged[each], first, last)), -1)
            qualified = item.qualified_name or item.name
            merged.append(
                Symbol(
                    name=item.name,
                    kind=item.kind,
                    qualified_name=qualified if len(qualified) <= MAX_QUALIFIED_NAME else item.name,
                    line_start=first,
                    line_end=last,
                    signature=clean(item.signature),
                    parent=parent,
                )
            )

    for index, symbol in enumerate(symbols):
        add_until(symbol.line_start)
        while around and merged[around[-1]].line_end < symbol.line_start:
            around.pop()
        new_index[index] = len(merged)
        around.append(len(merged))
        parent = new_index[symbol.parent]
        merged.append(symbol if parent == symbol.parent else structs.replace(symbol, parent=parent))
    add_until(source.count(b"\n") + 1)
    return merged


def _encloses(symbol: Symbol, first: int, last: int) -> bool:
    return symbol.line_start < first and symbol.line_end >= last


# What annotations say.


class Argument(Struct, frozen=True):
    """A string or a word in the arguments of a call or annotation."""

    name: str
    """The name of the argument that it belongs to, empty for one by position."""
    value: str
    is_text: bool
    position: int
    """Of the argument, from 0."""


_TOKEN: Final = re.compile(
    r"(?P<name>\b[A-Za-z_]\w*+)\s*+(?:=(?![=>])|:(?!:))|[rRuUbBfF@$]{0,2}(?P<text>\"(?>(?:[^\"\\\n]++|\\.)*)\"|'(?>(?:[^'\\\n]++|\\.)*)'|`[^`]*+`)"
    r"|(?P<word>[A-Za-z_\\][\w.:\\]*+)|(?P<open>[\[({])|(?P<close>[\])}])|,|(?P<comment>//[^\n]*+|/\*.*?\*/)",
    re.DOTALL,
)


def arguments_of(text: str) -> list[Argument]:
    """Returns the strings and words in a list of arguments, which begins with its parenthesis or without one."""
    found: list[Argument] = []
    name, depth, position = "", 0, 0
    inner = 1 if text.lstrip().startswith("(") else 0
    for match in _TOKEN.finditer(text[:MAX_ARGUMENTS]):
        kind = match.lastgroup
        if kind == "name":
            name = match["name"]
        elif kind == "text":
            found.append(Argument(name, match["text"][1:-1], True, position))
        elif kind == "word":
            found.append(Argument(name, match["word"], False, position))
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind is None and depth <= inner:
            name, position = "", position + 1
    return found


class Annotation(Struct, frozen=True):
    """What one annotation says about the routes of the function or type below it."""

    methods: tuple[str, ...] = ()
    """Empty if it names none."""
    paths: tuple[str, ...] | None = None
    """None if it names none."""
    is_prefix_only: bool = False
    """Whether it makes no route of a function."""


def annotated_routes(
    root: Node,
    source: bytes,
    symbols: Sequence[Symbol],
    pattern: re.Pattern[bytes],
    nodes: frozenset[str],
    read: Callable[[re.Match[bytes], str], Annotation | None],
    completed: Callable[[str, Symbol, Symbol | None], str] | None = None,
) -> Iterator[Registration]:
    """Yields the routes of functions with annotations, whose paths begin with those of annotations of their types.

    Args:
        pattern: finds annotations.
        nodes: the types of nodes one of which an annotation is; text that looks like one elsewhere is none. Empty if they are
            not in the tree: then one is none only in a comment or a string.
        read: returns what an annotation says, from the match and its source; None for another one.
        completed: returns a path with its placeholders filled in, for a function and its type.
    """
    above: dict[int, list[tuple[Annotation, int]]] = {}
    """By the index of the symbol: its annotations with where they begin."""
    at, line, counted = 0, 1, 0
    for match in islice(pattern.finditer(source), MAX_REGISTRATIONS):
        start, end = _span(root, source, match, nodes)
        if end < 0:
            continue
        said = read(match, source[start : min(end, start + MAX_ARGUMENTS)].decode("utf-8", "replace"))
        if said is None:
            continue
        line += source.count(b"\n", counted, end)
        counted = end
        while at < len(symbols) and symbols[at].line_start < line:
            at += 1
        if at < len(symbols):
            above.setdefault(at, []).append((said, start))
    ends = _LineEnds(source)
    prefixes = {index: _prefixes(said) for index, said in above.items() if symbols[index].kind in CLASS_LIKE}
    for index, annotations in above.items():
        function = symbols[index]
        if function.kind not in FUNCTION_LIKE:
            continue
        owner = symbols[function.parent] if function.parent >= 0 else None
        start = min(start for _, start in annotations)
        for method, written in _routes_of([said for said, _ in annotations]):
            for prefix in prefixes.get(function.parent, ("",)):
                path = joined(prefix, written) if not written.startswith("~/") else written[1:]
                if completed is not None:
                    path = completed(path, function, owner)
                handler = f"{owner.name}.{function.name}" if owner is not None else function.name
                yield route(method, path, start, ends.end(function.line_end), handler)


def _span(root: Node, source: bytes, match: re.Match[bytes], nodes: frozenset[str]) -> tuple[int, int]:
    """Returns where an annotation begins and ends; the end is -1 if it is none."""
    start, end = match.start(), match.end()
    if nodes:
        found = annotation_node(root, start, nodes)
        return (start, -1) if found is None else (start, found.end_byte)
    around = root.descendant_for_byte_range(start, start + 1)
    if around is None or "comment" in around.type or "string" in around.type:
        return start, -1
    if source[end : end + 1] != b"(":
        return start, end
    depth = 0
    for bracket in re.finditer(rb"[()]", source[end : end + MAX_ARGUMENTS]):
        depth += 1 if bracket[0] == b"(" else -1
        if not depth:
            return start, end + bracket.end()
    return start, -1


def annotation_node(root: Node, start: int, nodes: frozenset[str]) -> Node | None:
    """Returns the annotation at a byte; None if there is none, as in a comment or string."""
    node = root.descendant_for_byte_range(start, start + 1)
    for _ in range(4):
        if node is None or node.start_byte != start:
            return None
        if node.type in nodes:
            return node
        node = node.parent
    return None


def _prefixes(annotations: Sequence[tuple[Annotation, int]]) -> tuple[str, ...]:
    return tuple(path for said, _ in annotations for path in said.paths or ()) or ("",)


def _routes_of(annotations: Sequence[Annotation]) -> Iterator[tuple[str, str]]:
    """Yields (method, path). An annotation with a method only takes the paths of those without one, and the other way round."""
    alone = [path for said in annotations if not said.methods and not said.is_prefix_only for path in said.paths or ()]
    has_methods = False
    for said in annotations:
        if said.methods:
            has_methods = True
            for method in said.methods:
                for path in said.paths if said.paths is not None else alone or [""]:
                    yield method, path
    if not has_methods:
        yield from (("", path) for path in alone)


class _LineEnds:
    """Finds where lines end, for line numbers that ascend."""

    def __init__(self, source: bytes) -> None:
        self._ends = [match.start() for match in re.finditer(rb"\n", source)]
        self._ends.append(len(source))

    def end(self, line: int) -> int:
        return self._ends[min(line, len(self._ends)) - 1]


def verbs(words: str) -> Mapping[str, str]:
    """Returns the methods of HTTP by words in lower case, of which `all` and `any` are for any method."""
    return {word: "" if word in ("all", "any") else word.upper() for word in words.split()}


HTTP: Final = verbs("get post put patch delete head options")
