"""Which definitions differ between the two versions of files (added, removed, changed, renamed, moved), and what differs in each:
its signature, which includes annotations, or its body, and the lines. Blank lines never count. Pure.

`definition_matching` decides which definitions are the same. Whether one differs is decided by its own lines alone
(`file_versions.DefinitionNode`): one that only moved within its file has not changed, nor has a class whose methods changed.
"""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.query.differences.definition_matching import Matched, MatchingBudget, Pair, matched, moved_definitions
from codecompass.query.differences.file_versions import ChangedFile, DefinitionNode, FileVersion, VersionedDefinition, nodes_of
from codecompass.query.options import no_deadline
from codecompass.query.source_lines import comment_marks
from codecompass.scan.git_changes import Hunk

Change = Literal["added", "removed", "changed", "renamed", "moved"]
Part = Literal["signature", "body"]

MAX_ALIGNED_LINES: Final = 200
"""Limit for aligning a moved definition line by line; the time can grow with the third power of the lines."""

MAX_DEFINITIONS: Final = 5_000
"""Limit for one version of a file; if it has more, its definitions are not compared."""

NOT_ALL_MATCHED: Final = (
    "too many definitions differ to compare each with each in time: some that were renamed or moved are listed as removed and "
    "added, or without their lines. Pass path"
)


class LineDifference(Struct, frozen=True):
    """Lines that differ: `removed` starts at line `old`, `added` at line `new`. Lines count from 1."""

    old: int
    removed: tuple[str, ...]
    new: int
    added: tuple[str, ...]


class DefinitionChange(Struct, frozen=True, kw_only=True):
    """A definition that differs."""

    change: Change
    parts: tuple[Part, ...] = ()
    """What differs besides its name and its place."""
    old: VersionedDefinition | None = None
    new: VersionedDefinition | None = None
    pieces: tuple[LineDifference, ...] = ()
    """Its own lines that differ, in order."""
    n_inner: int = 0
    """Definitions nested in one that was added or removed."""

    @property
    def at(self) -> VersionedDefinition:
        """The definition on the new side, or on the old side if it was removed."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


class FileDefinitions(Struct, frozen=True, kw_only=True):
    """The definitions of a file that differ, in line order, and `pieces` of changed lines outside of them."""

    file: ChangedFile
    changes: tuple[DefinitionChange, ...]
    pieces: tuple[LineDifference, ...]


class ComparedDefinitions(Struct, frozen=True):
    """The differences of each file, in the order of the files. `warnings` say what was left out."""

    files: tuple[FileDefinitions, ...]
    warnings: tuple[str, ...] = ()


def definition_changes(files: Sequence[ChangedFile], is_expired: Callable[[], bool] = no_deadline) -> ComparedDefinitions:
    """Returns the differences in each file. A moved definition is listed in the file that it moved to.

    If the time is up or too much would have to be compared, the rest is matched by name alone.
    """
    budget = MatchingBudget(is_expired)
    compared = [_ComparedFile(file, budget) for file in files]
    moved = moved_definitions([each.matched for each in compared], budget)
    found = tuple(each.result(moved) for each in compared)
    return ComparedDefinitions(found, (NOT_ALL_MATCHED,) if budget.is_cut else ())


class _ComparedFile:
    """The matched definitions of one file."""

    def __init__(self, file: ChangedFile, budget: MatchingBudget) -> None:
        self.file = file
        self._budget = budget
        self._lines = ChangedLines(file.change.hunks, file.old, file.new)
        self.matched = Matched([], [], [])
        # If one version cannot be parsed, the fate of the other's definitions is unknown.
        versions = [version for version in (file.old, file.new) if version is not None]
        is_known = all(version.has_symbols and len(version.symbols) <= MAX_DEFINITIONS for version in versions)
        pending = [(nodes_of(file.old), nodes_of(file.new))] if is_known else []
        while pending:
            found = matched(*pending.pop(), budget)
            self.matched.pairs.extend(found.pairs)
            self.matched.removed.extend(found.removed)
            self.matched.added.extend(found.added)
            pending += [(pair.old.children, pair.new.children) for pair in found.pairs]

    def result(self, moved: Mapping[int, DefinitionNode]) -> FileDefinitions:
        """Returns the differences. `moved` maps the `id()` of each moved definition to its counterpart in the other version."""
        changes = [change for pair in self.matched.pairs if (change := self._changed(pair)) is not None]
        for node in self.matched.added:
            before = moved.get(id(node))
            if before is not None:
                changes.append(_moved(before, node, self._budget))
            else:
                changes.append(_whole("added", node))
        changes += [_whole("removed", node) for node in self.matched.removed if id(node) not in moved]
        changes.sort(key=lambda change: (change.at.symbol.line_start, change.new is None))
        return FileDefinitions(file=self.file, changes=tuple(changes), pieces=self._outside())

    def _changed(self, pair: Pair) -> DefinitionChange | None:
        is_renamed = pair.old.symbol.name != pair.new.symbol.name
        is_same = pair.old.own_text() == pair.new.own_text() and pair.old.symbol.signature == pair.new.symbol.signature
        parts = () if is_same else parts_that_differ(pair.old, pair.new)
        if not parts and not is_renamed:
            return None
        return DefinitionChange(
            change="renamed" if is_renamed else "changed",
            parts=parts,
            old=pair.old.definition,
            new=pair.new.definition,
            pieces=tuple(self._lines.among(pair.old.own, pair.new.own)),
        )

    def _outside(self) -> tuple[LineDifference, ...]:
        """Returns changed lines outside definitions, whether these are reported or only moved within the file."""
        inside_old = {number for pair in self.matched.pairs for number in pair.old.own}
        inside_new = {number for pair in self.matched.pairs for number in pair.new.own}
        inside_old |= {number for node in self.matched.removed for number in node.span}
        inside_new |= {number for node in self.matched.added for number in node.span}
        old = set(range(1, _n_lines(self.file.old) + 1)) - inside_old
        new = set(range(1, _n_lines(self.file.new) + 1)) - inside_new
        return tuple(self._lines.among(sorted(old), sorted(new)))


def _n_lines(version: FileVersion | None) -> int:
    return 0 if version is None else len(version.lines)


def _whole(change: Change, node: DefinitionNode) -> DefinitionChange:
    lines = tuple(node.lines(node.span))
    start = node.definition.head_start
    is_new = change == "added"
    return DefinitionChange(
        change=change,
        old=None if is_new else node.definition,
        new=node.definition if is_new else None,
        pieces=(LineDifference(0, (), start, lines) if is_new else LineDifference(start, lines, 0, ()),),
        n_inner=sum(1 for _ in node.descendants()),
    )


def _moved(old: DefinitionNode, new: DefinitionNode, budget: MatchingBudget) -> DefinitionChange:
    before, after = old.lines(old.span), new.lines(new.span)
    pieces: tuple[LineDifference, ...] = ()
    if max(len(before), len(after)) <= MAX_ALIGNED_LINES and budget.spend(alignment_lines(before, after)):
        pieces = tuple(aligned(old.definition.head_start, before, new.definition.head_start, after))
    parts = parts_that_differ(old, new) if [line.strip() for line in old.text()] != [line.strip() for line in new.text()] else ()
    return DefinitionChange(change="moved", parts=parts, old=old.definition, new=new.definition, pieces=pieces)


class ChangedLines:
    """The lines of a file that differ. Those of one definition are found without reading the others."""

    def __init__(self, hunks: Sequence[Hunk], old: FileVersion | None, new: FileVersion | None) -> None:
        self._hunks = hunks
        self._old, self._new = old, new
        self._of_old = {line: at for at, hunk in enumerate(hunks) for line in range(hunk.old, hunk.old + hunk.n_old)}
        self._of_new = {line: at for at, hunk in enumerate(hunks) for line in range(hunk.new, hunk.new + hunk.n_new)}

    def among(self, old_lines: Sequence[int], new_lines: Sequence[int]) -> Iterator[LineDifference]:
        """Yields the differences in these lines (ascending), in runs by hunk; none if all are blank."""
        gone, came = _by_hunk(old_lines, self._of_old), _by_hunk(new_lines, self._of_new)
        for at in sorted(gone.keys() | came.keys()):
            yield from self._pieces(self._hunks[at], gone.get(at, []), came.get(at, []))

    def _pieces(self, hunk: Hunk, gone: Sequence[int], came: Sequence[int]) -> Iterator[LineDifference]:
        before, after = list(_runs(gone, self._old)), list(_runs(came, self._new))
        for at in range(max(len(before), len(after))):
            first_old, removed = before[at] if at < len(before) else (hunk.old, ())
            first_new, added = after[at] if at < len(after) else (hunk.new, ())
            if any(line.strip() for line in (*removed, *added)):
                yield LineDifference(first_old, removed, first_new, added)


def _by_hunk(lines: Iterable[int], hunks: Mapping[int, int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for line in lines:
        at = hunks.get(line)
        if at is not None:
            found.setdefault(at, []).append(line)
    return found


def alignment_lines(old: Iterable[str], new: Iterable[str]) -> int:
    """Returns an upper bound for the work of `aligned`, in compared lines: large if lines repeat in both texts."""
    before, after = Counter(line.strip() for line in old), Counter(line.strip() for line in new)
    n_matches = sum(count * after[line] for line, count in before.items())
    return 1 + n_matches * min(before.total(), after.total()) // 20


def _runs(numbers: Sequence[int], version: FileVersion | None) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields runs of consecutive lines: the number of the first, and their text."""
    lines = () if version is None else version.lines
    start = 0
    for at in range(1, len(numbers) + 1):
        if at == len(numbers) or numbers[at] != numbers[at - 1] + 1:
            yield numbers[start], tuple(lines[number - 1] for number in numbers[start:at] if number <= len(lines))
            start = at


def aligned(first_old: int, old: Sequence[str], first_new: int, new: Sequence[str]) -> Iterator[LineDifference]:
    """Yields the differences between two texts, ignoring indentation."""
    matcher = difflib.SequenceMatcher(None, [line.strip() for line in old], [line.strip() for line in new], autojunk=False)
    for tag, at, until, new_at, new_until in matcher.get_opcodes():
        removed, added = tuple(old[at:until]), tuple(new[new_at:new_until])
        if tag != "equal" and any(line.strip() for line in (*removed, *added)):
            yield LineDifference(first_old + at, removed, first_new + new_at, added)


def parts_that_differ(old: DefinitionNode, new: DefinitionNode) -> tuple[Part, ...]:
    """Returns which parts of a definition differ, apart from its name."""
    # Compared with and without masked names: a definition may call itself, or another one that has its old name.
    plain, named = [(_Text(old, has_name=keeps), _Text(new, has_name=keeps)) for keeps in (False, True)]

    def differs(of: Callable[[_Text], object]) -> bool:
        return all(of(before) != of(after) for before, after in (plain, named))

    has_signature = differs(lambda text: text.signature) or differs(lambda text: text.annotations) or old.group != new.group
    has_body = differs(lambda text: text.body) or differs(lambda text: text.comments)
    has_body = has_body or (not has_signature and differs(lambda text: text.head))
    return (*(("signature",) if has_signature else ()), *(("body",) if has_body else ()))


class _Text:
    """The own lines of a definition by part; its name is masked unless `has_name`."""

    def __init__(self, node: DefinitionNode, *, has_name: bool) -> None:
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
    """Returns how many lines a signature spans: as many as have its characters and, if it was cut, until all its brackets are
    closed."""
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
