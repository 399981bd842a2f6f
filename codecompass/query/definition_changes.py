"""Which definitions differ between the two versions of files: added, removed, changed, renamed, moved. Pure.

Definitions are matched level by level: by name and kind first, then the ones that are left by how alike they are (renamed in
their file), then across all files (moved). A definition has its own lines: those of its range, with annotations and comments
directly above it, without the lines of definitions in it. What differs is told by these lines alone, so a definition that only
stands elsewhere in its file has not changed, and a class not because of its methods. Blank lines never count.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages.records import Symbol, SymbolKind
from codecompass.query.file_versions import ChangedFile, FileVersion
from codecompass.query.source_lines import comment_marks
from codecompass.scan.git_changes import Hunk

Change = Literal["added", "removed", "changed", "renamed", "moved"]
Part = Literal["signature", "body"]

RENAMED_FROM: Final = 0.6
"""How alike two definitions of one level must be, by their characters, for one to be the other under a new name."""

MOVED_FROM: Final = 0.5
MEMBER_MOVED_FROM: Final = 0.8
"""The same for definitions of one name in two files; members of types often have one name and little else in common."""

MAX_PAIRS: Final = 2_500
"""Pairs of definitions of one level that are compared to find renames."""

MAX_NAMESAKES: Final = 20
MAX_ALIGNED_LINES: Final = 200
"""Of a moved definition, that are aligned line by line; the time can grow with the third power of them."""

MAX_DEFINITIONS: Final = 5_000
"""Of one version of a file; the definitions of one with more are not compared."""

_GROUPS: Final[Mapping[SymbolKind, str]] = {
    "fn": "callable", "method": "callable", "class": "type", "struct": "type", "enum": "type", "trait": "type",
    "interface": "type", "type": "type", "const": "value", "var": "value", "field": "value",
}  # fmt: skip
_ANNOTATION: Final = ("@", "#[", "#![", "[", "template")
_CLOSING: Final = (")", "]", "}")


class Piece(Struct, frozen=True):
    """Lines that differ: `removed` from `old` on, `added` from `new` on. Lines count from 1."""

    old: int
    removed: tuple[str, ...]
    new: int
    added: tuple[str, ...]


class Definition(Struct, frozen=True, kw_only=True):
    """A definition in one version of a file. `head_start` is the line of the first annotation or comment directly above it;
    `scope` are the names of the definitions around it, outermost first."""

    path: str
    language: str
    symbol: Symbol
    scope: tuple[str, ...]
    head_start: int

    @property
    def local_name(self) -> str:
        """The name with those of the definitions around it."""
        return ".".join((*self.scope, self.symbol.name))


class DefinitionChange(Struct, frozen=True, kw_only=True):
    """A definition that differs.

    `parts` say what differs besides its name and its place. `pieces` are its own lines that differ, in order. `n_inner` counts
    the definitions in one that was added or removed.
    """

    change: Change
    parts: tuple[Part, ...] = ()
    old: Definition | None = None
    new: Definition | None = None
    pieces: tuple[Piece, ...] = ()
    n_inner: int = 0

    @property
    def at(self) -> Definition:
        """The definition as it is on the side of the head, or was."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


class FileDefinitions(Struct, frozen=True, kw_only=True):
    """The definitions of a file that differ, in the order of their lines, and `pieces` of lines that are in none of them."""

    file: ChangedFile
    changes: tuple[DefinitionChange, ...]
    pieces: tuple[Piece, ...]


class Node:
    """A definition of one version, with those in it."""

    def __init__(self, definition: Definition, version: FileVersion) -> None:
        self.definition = definition
        self.version = version
        self.children: list[Node] = []
        self._own: tuple[int, ...] | None = None

    @property
    def symbol(self) -> Symbol:
        return self.definition.symbol

    @property
    def group(self) -> str:
        return _GROUPS.get(self.symbol.kind, self.symbol.kind)

    def lines(self, numbers: Iterable[int]) -> list[str]:
        return [self.version.lines[number - 1] for number in numbers if 0 < number <= len(self.version.lines)]

    @property
    def span(self) -> range:
        """All its lines, with those above it that belong to it."""
        return range(self.definition.head_start, self.symbol.line_end + 1)

    @property
    def own(self) -> tuple[int, ...]:
        """Its lines without those of definitions in it."""
        if self._own is None:
            inner = {number for child in self.children for number in child.span}
            self._own = tuple(number for number in self.span if number not in inner)
        return self._own

    def own_text(self) -> list[str]:
        return [line for line in self.lines(self.own) if line.strip()]

    def text(self) -> list[str]:
        return [line for line in self.lines(self.span) if line.strip()]

    def descendants(self) -> Iterator["Node"]:
        pending = list(self.children)
        while pending:
            node = pending.pop()
            yield node
            pending += node.children


def nodes_of(version: FileVersion | None) -> list[Node]:
    """Returns the outermost definitions of a file, in the order of their lines."""
    if version is None:
        return []
    made: list[Node | None] = []
    top: list[Node] = []
    last_end: dict[int, int] = {}
    functions: dict[int, Symbol] = {}
    for symbol in version.symbols:
        parent = made[symbol.parent] if 0 <= symbol.parent < len(made) else None
        if symbol.kind == "use" or _is_set_in_a_function(symbol, functions.get(symbol.parent)):
            made.append(None)
            continue
        if _GROUPS.get(symbol.kind) == "callable":
            functions[symbol.parent] = symbol
        above = max(last_end.get(symbol.parent, 0), 0 if parent is None else parent.symbol.line_start)
        scope = () if parent is None else (*parent.definition.scope, parent.symbol.name)
        definition = Definition(
            path=version.path,
            language=version.language,
            symbol=symbol,
            scope=scope,
            head_start=_head_start(version, symbol.line_start, above),
        )
        node = Node(definition, version)
        made.append(node)
        (top if parent is None else parent.children).append(node)
        last_end[symbol.parent] = max(last_end.get(symbol.parent, 0), symbol.line_end)
    return top


def _is_set_in_a_function(symbol: Symbol, before: Symbol | None) -> bool:
    """Whether a definition is a line of the function before it, as a field is that a constructor sets."""
    return before is not None and before.line_start < symbol.line_start and symbol.line_end <= before.line_end


def _head_start(version: FileVersion, line: int, above: int) -> int:
    """Returns the first line of the annotations and comments directly above a definition; none is at or above `above`."""
    lines = version.lines
    if not 0 < line <= len(lines):
        return line
    marks = (*comment_marks(version.language), *_ANNOTATION)
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    start = line
    for number in range(line - 1, above, -1):
        text = lines[number - 1]
        bare = text.lstrip()
        if not bare:
            break
        is_mark = bare.startswith(marks)
        if not is_mark and len(text) - len(bare) <= indent and not bare.startswith(_CLOSING):
            break
        if is_mark:
            start = number
    return start


def definition_changes(files: Sequence[ChangedFile]) -> list[FileDefinitions]:
    """Returns for each file what differs in it. A definition that was moved is with the file that it is in now."""
    matches = [_Match(file) for file in files]
    moved = _moves(matches)
    return [match.result(moved) for match in matches]


class _Pair(Struct, frozen=True):
    old: Node
    new: Node


class _Match:
    """The definitions of one file, matched."""

    def __init__(self, file: ChangedFile) -> None:
        self.file = file
        self.pairs: list[_Pair] = []
        self.removed: list[Node] = []
        self.added: list[Node] = []
        # Where one version cannot be parsed, nothing is known of what became of the definitions of the other.
        versions = [version for version in (file.old, file.new) if version is not None]
        is_known = all(version.has_symbols and len(version.symbols) <= MAX_DEFINITIONS for version in versions)
        old, new = (nodes_of(file.old), nodes_of(file.new)) if is_known else ([], [])
        pending = [(old, new)]
        while pending:
            before, after = pending.pop()
            for pair in self._matched(before, after):
                self.pairs.append(pair)
                pending.append((pair.old.children, pair.new.children))

    def _matched(self, old: list[Node], new: list[Node]) -> list[_Pair]:
        """Returns the definitions of one level that are the same; those that are left are gone or new."""
        pairs: list[_Pair] = []
        for key in (_by_name_and_kind, _by_name):
            groups: dict[object, tuple[list[Node], list[Node]]] = {}
            for side, nodes in enumerate((old, new)):
                for node in nodes:
                    groups.setdefault(key(node), ([], []))[side].append(node)
            for before, after in groups.values():
                if before and after:
                    pairs += _in_turn(before, after)
            old, new = _left(old, [pair.old for pair in pairs]), _left(new, [pair.new for pair in pairs])
        pairs += _renamed(old, new)
        self.removed += _left(old, [pair.old for pair in pairs])
        self.added += _left(new, [pair.new for pair in pairs])
        return pairs

    def result(self, moved: Mapping[int, Node]) -> FileDefinitions:
        """Returns what differs. `moved` has the old definition of each new one that was moved, by identity, and the reverse."""
        changes = [change for pair in self.pairs if (change := self._changed(pair)) is not None]
        for node in self.added:
            before = moved.get(id(node))
            if before is not None:
                changes.append(_moved(before, node))
            else:
                changes.append(_whole("added", node))
        changes += [_whole("removed", node) for node in self.removed if id(node) not in moved]
        changes.sort(key=lambda change: (change.at.symbol.line_start, change.new is None))
        return FileDefinitions(file=self.file, changes=tuple(changes), pieces=self._outside())

    def _changed(self, pair: _Pair) -> DefinitionChange | None:
        is_renamed = pair.old.symbol.name != pair.new.symbol.name
        is_same = pair.old.own_text() == pair.new.own_text() and pair.old.symbol.signature == pair.new.symbol.signature
        parts = () if is_same else _parts(pair)
        if not parts and not is_renamed:
            return None
        return DefinitionChange(
            change="renamed" if is_renamed else "changed",
            parts=parts,
            old=pair.old.definition,
            new=pair.new.definition,
            pieces=tuple(self._pieces(set(pair.old.own), set(pair.new.own))),
        )

    def _pieces(self, old: set[int], new: set[int]) -> Iterator[Piece]:
        """Yields what differs within these lines, without pieces that are blank lines alone."""
        for hunk in self.file.change.hunks:
            yield from pieces_of(hunk, self.file.old, self.file.new, old, new)

    def _outside(self) -> tuple[Piece, ...]:
        """Returns what differs in no definition: neither in one that is reported nor in one that only stands elsewhere now."""
        inside_old = {number for pair in self.pairs for number in pair.old.own}
        inside_new = {number for pair in self.pairs for number in pair.new.own}
        inside_old |= {number for node in self.removed for number in node.span}
        inside_new |= {number for node in self.added for number in node.span}
        old = set(range(1, _n_lines(self.file.old) + 1)) - inside_old
        new = set(range(1, _n_lines(self.file.new) + 1)) - inside_new
        return tuple(self._pieces(old, new))


def _n_lines(version: FileVersion | None) -> int:
    return 0 if version is None else len(version.lines)


def pieces_of(
    hunk: Hunk, old: FileVersion | None, new: FileVersion | None, old_lines: set[int], new_lines: set[int]
) -> Iterator[Piece]:
    """Yields the lines of a hunk that are among these, in runs; none where all are blank."""
    gone = [number for number in range(hunk.old, hunk.old + hunk.n_old) if number in old_lines]
    came = [number for number in range(hunk.new, hunk.new + hunk.n_new) if number in new_lines]
    before, after = list(_runs(gone, old)), list(_runs(came, new))
    for at in range(max(len(before), len(after))):
        first_old, removed = before[at] if at < len(before) else (hunk.old, ())
        first_new, added = after[at] if at < len(after) else (hunk.new, ())
        if any(line.strip() for line in (*removed, *added)):
            yield Piece(first_old, removed, first_new, added)


def _runs(numbers: Sequence[int], version: FileVersion | None) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields consecutive lines together: the number of the first, and their text."""
    lines = () if version is None else version.lines
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            yield numbers[start], tuple(lines[number - 1] for number in numbers[start:at] if number <= len(lines))
            start = at


def _by_name_and_kind(node: Node) -> object:
    return node.symbol.name, node.symbol.kind


def _by_name(node: Node) -> object:
    return node.symbol.name, node.group


def _left(nodes: Iterable[Node], taken: Iterable[Node]) -> list[Node]:
    known = {id(node) for node in taken}
    return [node for node in nodes if id(node) not in known]


def _in_turn(old: Sequence[Node], new: Sequence[Node]) -> list[_Pair]:
    """Returns pairs of definitions of one name: those with the same text first, then the same signature, then in order."""
    pairs: list[_Pair] = []
    before, after = list(old), list(new)
    for key in (lambda node: tuple(node.text()), lambda node: node.symbol.signature, lambda _node: None):
        if not before or not after:
            break
        waiting: dict[object, list[Node]] = {}
        for node in reversed(before):
            waiting.setdefault(key(node), []).append(node)
        for node in after:
            same = waiting.get(key(node))
            if same:
                pairs.append(_Pair(same.pop(), node))
        before, after = _left(before, [pair.old for pair in pairs]), _left(after, [pair.new for pair in pairs])
    return pairs


def _renamed(old: Sequence[Node], new: Sequence[Node]) -> list[_Pair]:
    """Returns pairs of definitions that are the same but for their names, the most alike first."""
    if not old or not new or len(old) * len(new) > MAX_PAIRS:
        return []
    bags = {id(node): _bag(node) for node in (*old, *new)}
    scored = sorted(
        (
            (-_likeness(bags[id(before)], bags[id(after)]), n_before, n_after)
            for n_before, before in enumerate(old)
            for n_after, after in enumerate(new)
            if before.group == after.group and _may_be_renamed(before, after)
        ),
    )
    pairs: list[_Pair] = []
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    for score, n_before, n_after in scored:
        if -score < RENAMED_FROM:
            break
        if n_before not in taken_old and n_after not in taken_new:
            taken_old.add(n_before)
            taken_new.add(n_after)
            pairs.append(_Pair(old[n_before], new[n_after]))
    return pairs


def _may_be_renamed(old: Node, new: Node) -> bool:
    """Whether two definitions have enough to them to be told apart from others: a single line must be the same."""
    if min(len(old.text()), len(new.text())) > 1:
        return True
    return _bag(old) == _bag(new)


def _bag(node: Node) -> Counter[str]:
    """Returns the lines of a definition without its own name and their indentation."""
    name = re.compile(rf"(?<!\w){re.escape(node.symbol.name)}(?!\w)")
    return Counter(name.sub("\0", line.strip()) for line in node.text())


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Returns how much of the characters of the larger text is in both, 0 to 1."""
    larger = max(sum(len(line) * count for line, count in bag.items()) for bag in (one, other))
    return sum(len(line) * count for line, count in (one & other).items()) / larger if larger else 0.0


def _parts(pair: _Pair) -> tuple[Part, ...]:
    """Returns what of a definition differs besides its name."""
    old, new = pair.old, pair.new
    # Under its own name and without it: a definition may call itself, and another one of its old name.
    plain, named = [(_Text(old, has_name=keeps), _Text(new, has_name=keeps)) for keeps in (False, True)]

    def differs(of: Callable[[_Text], object]) -> bool:
        return all(of(before) != of(after) for before, after in (plain, named))

    has_signature = differs(lambda text: text.signature) or differs(lambda text: text.annotations) or old.group != new.group
    has_body = differs(lambda text: text.body) or differs(lambda text: text.comments)
    has_body = has_body or (not has_signature and differs(lambda text: text.head))
    return (*(("signature",) if has_signature else ()), *(("body",) if has_body else ()))


class _Text:
    """The own lines of a definition in its parts, its name replaced but for `has_name`."""

    def __init__(self, node: Node, *, has_name: bool) -> None:
        symbol = node.symbol
        name = re.compile(r"(?!)" if has_name else rf"(?<!\w){re.escape(symbol.name)}(?!\w)")
        is_value = node.group == "value"
        said = "" if symbol.kind == "test" else symbol.signature.partition("=")[0] if is_value else symbol.signature
        own = [name.sub("\0", line) for line in node.lines(n for n in node.own if n >= symbol.line_start) if line.strip()]
        is_cut = symbol.signature.endswith("…")
        n_head = _n_head_lines(own, len(_dense(name.sub("\0", symbol.signature))), is_cut=is_cut)
        self.head, self.body = own[:n_head], own[n_head:]
        self.signature = _dense("".join(self.head) if is_cut else name.sub("\0", said))
        above = [line.strip() for line in node.lines(range(node.definition.head_start, symbol.line_start)) if line.strip()]
        marks = comment_marks(node.version.language)
        self.comments = [line for line in above if _is_comment(line, marks)]
        self.annotations = [line for line in above if not _is_comment(line, marks)]


def _n_head_lines(own: Sequence[str], n_characters: int, *, is_cut: bool) -> int:
    """Returns how many lines a signature stands on: as many as have its characters, and where it was cut, until all its brackets
    are closed."""
    taken = depth = 0
    for number, line in enumerate(own, 1):
        taken += len(_dense(line))
        depth += sum(line.count(mark) for mark in "([") - sum(line.count(mark) for mark in ")]")
        if taken >= n_characters and (not is_cut or depth <= 0):
            return number
    return len(own)


def _is_comment(line: str, marks: tuple[str, ...]) -> bool:
    return line.startswith(marks) and not line.startswith(("#[", "#!["))


def _dense(text: str) -> str:
    return "".join(text.split())


def _whole(change: Change, node: Node) -> DefinitionChange:
    lines = tuple(node.lines(node.span))
    start = node.definition.head_start
    is_new = change == "added"
    return DefinitionChange(
        change=change,
        old=None if is_new else node.definition,
        new=node.definition if is_new else None,
        pieces=(Piece(0, (), start, lines) if is_new else Piece(start, lines, 0, ()),),
        n_inner=sum(1 for _ in node.descendants()),
    )


def _moves(matches: Sequence[_Match]) -> dict[int, Node]:
    """Returns which definitions that are gone from one place came to another: each by the identity of the other."""
    waiting: dict[tuple[str, str], list[Node]] = {}
    for match in matches:
        for node in match.removed:
            waiting.setdefault((node.symbol.name, node.group), []).append(node)
    found: dict[int, Node] = {}
    if not waiting:
        return found
    for match in matches:
        for node in match.added:
            candidates = waiting.get((node.symbol.name, node.group), [])[:MAX_NAMESAKES]
            scored = [(_move_score(before, node), -number) for number, before in enumerate(candidates)]
            score, number = max(scored, default=(0.0, 0))
            if score > 0.0:
                before = candidates[-number]
                waiting[node.symbol.name, node.group].remove(before)
                found[id(node)] = before
                found[id(before)] = node
    return found


def _move_score(old: Node, new: Node) -> float:
    """Returns how alike two definitions of one name are, 0 where that is too little for the one to be the other."""
    score = _likeness(_bag(old), _bag(new))
    is_member = bool(old.definition.scope or new.definition.scope)
    has_same_owner = old.definition.scope == new.definition.scope
    return score if score >= (MEMBER_MOVED_FROM if is_member and not has_same_owner else MOVED_FROM) else 0.0


def _moved(old: Node, new: Node) -> DefinitionChange:
    before, after = old.lines(old.span), new.lines(new.span)
    pieces: tuple[Piece, ...] = ()
    if len(before) <= MAX_ALIGNED_LINES and len(after) <= MAX_ALIGNED_LINES:
        pieces = tuple(_aligned(old.definition.head_start, before, new.definition.head_start, after))
    parts = _parts(_Pair(old, new)) if [line.strip() for line in old.text()] != [line.strip() for line in new.text()] else ()
    return DefinitionChange(change="moved", parts=parts, old=old.definition, new=new.definition, pieces=pieces)


def _aligned(first_old: int, old: Sequence[str], first_new: int, new: Sequence[str]) -> Iterator[Piece]:
    """Yields what differs between two texts, their indentation apart."""
    matcher = difflib.SequenceMatcher(None, [line.strip() for line in old], [line.strip() for line in new], autojunk=False)
    for tag, at, until, new_at, new_until in matcher.get_opcodes():
        removed, added = tuple(old[at:until]), tuple(new[new_at:new_until])
        if tag != "equal" and any(line.strip() for line in (*removed, *added)):
            yield Piece(first_old + at, removed, first_new + new_at, added)
