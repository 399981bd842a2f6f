"""Which definitions differ between the two versions of files: added, removed, changed, renamed, moved. Pure.

`definition_matching` decides which definitions are the same. Whether one differs is decided by its own lines alone
(`definition_tree`): one that only moved within its file has not changed, nor has a class whose methods changed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.query.definition_matching import Matched, MatchingWork, Pair, matched, moved_definitions
from codecompass.query.definition_tree import Definition, Node, nodes_of
from codecompass.query.file_versions import ChangedFile, FileVersion
from codecompass.query.options import no_deadline
from codecompass.query.version_differences import ChangedLines, Part, Piece, aligned, alignment_lines, parts_that_differ

Change = Literal["added", "removed", "changed", "renamed", "moved"]

MAX_ALIGNED_LINES: Final = 200
"""Limit for aligning a moved definition line by line; the time can grow with the third power of the lines."""

MAX_DEFINITIONS: Final = 5_000
"""Limit for one version of a file; if it has more, its definitions are not compared."""

NOT_ALL_MATCHED: Final = (
    "too many definitions differ to compare each with each in time: some that were renamed or moved are listed as removed and "
    "added, or without their lines. Pass path"
)


class DefinitionChange(Struct, frozen=True, kw_only=True):
    """A definition that differs."""

    change: Change
    parts: tuple[Part, ...] = ()
    """What differs besides its name and its place."""
    old: Definition | None = None
    new: Definition | None = None
    pieces: tuple[Piece, ...] = ()
    """Its own lines that differ, in order."""
    n_inner: int = 0
    """Definitions nested in one that was added or removed."""

    @property
    def at(self) -> Definition:
        """The definition on the new side, or on the old side if it was removed."""
        found = self.new if self.new is not None else self.old
        assert found is not None
        return found


class FileDefinitions(Struct, frozen=True, kw_only=True):
    """The definitions of a file that differ, in line order, and `pieces` of changed lines outside of them."""

    file: ChangedFile
    changes: tuple[DefinitionChange, ...]
    pieces: tuple[Piece, ...]


class ComparedDefinitions(Struct, frozen=True):
    """The differences of each file, in the order of the files. `warnings` say what was left out."""

    files: tuple[FileDefinitions, ...]
    warnings: tuple[str, ...] = ()


def definition_changes(files: Sequence[ChangedFile], is_expired: Callable[[], bool] = no_deadline) -> ComparedDefinitions:
    """Returns the differences in each file. A moved definition is listed in the file that it moved to.

    If the time is up or too much would have to be compared, the rest is matched by name alone.
    """
    work = MatchingWork(is_expired)
    compared = [_ComparedFile(file, work) for file in files]
    moved = moved_definitions([each.matched for each in compared], work)
    found = tuple(each.result(moved) for each in compared)
    return ComparedDefinitions(found, (NOT_ALL_MATCHED,) if work.is_cut else ())


class _ComparedFile:
    """The matched definitions of one file."""

    def __init__(self, file: ChangedFile, work: MatchingWork) -> None:
        self.file = file
        self._work = work
        self._lines = ChangedLines(file.change.hunks, file.old, file.new)
        self.matched = Matched([], [], [])
        # If one version cannot be parsed, the fate of the other's definitions is unknown.
        versions = [version for version in (file.old, file.new) if version is not None]
        is_known = all(version.has_symbols and len(version.symbols) <= MAX_DEFINITIONS for version in versions)
        pending = [(nodes_of(file.old), nodes_of(file.new))] if is_known else []
        while pending:
            found = matched(*pending.pop(), work)
            self.matched.pairs.extend(found.pairs)
            self.matched.removed.extend(found.removed)
            self.matched.added.extend(found.added)
            pending += [(pair.old.children, pair.new.children) for pair in found.pairs]

    def result(self, moved: Mapping[int, Node]) -> FileDefinitions:
        """Returns the differences. `moved` maps the `id()` of each moved definition to its counterpart in the other version."""
        changes = [change for pair in self.matched.pairs if (change := self._changed(pair)) is not None]
        for node in self.matched.added:
            before = moved.get(id(node))
            if before is not None:
                changes.append(_moved(before, node, self._work))
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

    def _outside(self) -> tuple[Piece, ...]:
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


def _moved(old: Node, new: Node, work: MatchingWork) -> DefinitionChange:
    before, after = old.lines(old.span), new.lines(new.span)
    pieces: tuple[Piece, ...] = ()
    if max(len(before), len(after)) <= MAX_ALIGNED_LINES and work.takes(alignment_lines(before, after)):
        pieces = tuple(aligned(old.definition.head_start, before, new.definition.head_start, after))
    parts = parts_that_differ(old, new) if [line.strip() for line in old.text()] != [line.strip() for line in new.text()] else ()
    return DefinitionChange(change="moved", parts=parts, old=old.definition, new=new.definition, pieces=pieces)
