"""What a review comment speaks of: the definitions that it names or suggests, those that the quoted lines use, what its words
describe, and last a test of the place that it is on and that place itself, which its reader has before them.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages.records import DOCUMENT_KINDS, SymbolKind
from codecompass.query.differences.companions import Change, companions
from codecompass.query.filters import passes
from codecompass.query.names.named_locations import AskedLines, files_at, places_of_lines
from codecompass.query.search_hits import KIND_WEIGHT, Hit, RankedPlace, Signals, definition_place, file_place
from codecompass.query.source_lines import lines_of
from codecompass.query.words.query_words import name_parts
from codecompass.query.words.review_comment import ReviewComment, is_name_of_code, naming
from codecompass.scan.git_change_history import ChangeHistory
from codecompass.store.rows import FileRow, IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

SAID: Final = 1.0
QUOTED: Final = 0.5
"""What the definition of a name gains, in units of the best place's score: one that the comment says or suggests, and one of the
quoted lines."""

IMPORTED: Final = 1.5
"""Factor for definitions in files that the commented file imports, and in its own directory."""

MOST_NAMESAKES: Final = 3
"""Definitions of a name outside of imported files, from which on it says nothing."""

LOOKED_UP: Final = 50

MOST_QUOTED: Final = 4
"""Definitions of names in the quoted lines that gain."""

MOST_TESTS: Final = 1
"""Files with tests of the commented place on a page. Other files that change with it take places of what comments speak of."""

LINES_AROUND: Final = 6
"""Lines before and after a commented line that count as quoted if the comment quotes none."""

_NOT_MEANT: Final[frozenset[SymbolKind]] = DOCUMENT_KINDS | {"use", "field", "var", "test", "impl", "module"}


class Commented(Struct, frozen=True):
    """A comment, the file that it is on, and the definition there around its line, the line, or the whole file."""

    comment: ReviewComment
    file: FileRow
    place: RankedPlace
    is_said: bool
    """Whether the text of the comment names the file."""

    @property
    def notice(self) -> str:
        """How the question was read."""
        return f"as a review comment on {self.file.path}: what it speaks of, its own place last"

    def last_hits(self, snapshot: Snapshot, above: Sequence[RankedPlace], history: ChangeHistory) -> list[Hit]:
        """Returns the test of the commented place, if it is not shown, and the place itself: the last hits, below others."""
        names = () if self.place.symbol is None else (self.place.symbol.name,)
        change = Change(paths=(self.file.path,), names=names, words=dict.fromkeys(self.comment.quoted, 1))
        found = companions(snapshot, change, history, limit=MOST_TESTS)
        shown = {place.file.path for place in above}
        paths = [each.path for each in found.tests if each.path not in shown]
        files = [file for file in map(snapshot.facts.file, paths) if file is not None]
        least = min((place.score for place in above), default=1.0) / 2
        return [*(Hit(place=_whole(file, least)) for file in files), Hit(place=replace(self.place, score=least / 2))]


def commented_place(snapshot: Snapshot, comment: ReviewComment, path: str, root: str) -> Commented | None:
    """Returns a comment with its place; None if no file or several have its path. `path` is the argument of the question."""
    files = files_at(snapshot, comment.path, root)
    if len(files) != 1:
        return None
    file, line = files[0], comment.line
    if line:
        comment = comment if comment.quoted else naming(comment, _around(snapshot, file, line))
        place = places_of_lines(snapshot, AskedLines(file.path, line, line), root)[0]
    else:
        place = _whole(file, 1.0)
    return Commented(comment, file, place, is_said=comment.path != path)


def _whole(file: FileRow, score: float) -> RankedPlace:
    return file_place(IndexedFile(file.id, file.path, file.language, file.line_count), score, Signals(exact=1.0, path=1.0))


def _around(snapshot: Snapshot, file: FileRow, line: int) -> list[str]:
    """Returns the lines around a commented one, the nearest first, as a review shows them."""
    first = max(1, line - LINES_AROUND)
    numbered = enumerate(lines_of(snapshot, file.id, first, line + LINES_AROUND), first)
    return [text for _, text in sorted(numbered, key=lambda each: abs(each[0] - line))]


def with_context(snapshot: Snapshot, commented: Commented, ranked: Sequence[RankedPlace], where: Filter) -> list[RankedPlace]:
    """Returns the places found by the words of a comment together with the definitions that its names mean, best first, without
    those in the commented file."""
    best = ranked[0].score if ranked else 1.0
    is_allowed = passes(where)
    by_file: dict[int, float] = {}
    for place in ranked:
        by_file.setdefault(place.file.id, place.score)
    gains: dict[int, tuple[float, SymbolRow]] = {}
    for gain, row in _meant(snapshot, commented.comment, commented.file):
        if is_allowed(row.file_id, row.file_language) and gains.get(row.id, (0.0, row))[0] < gain:
            gains[row.id] = (gain, row)
    named = [
        definition_place(
            row, by_file.get(row.file_id, 0.0) + best * gain, Signals(exact=1.0, definition=1.0, kind=KIND_WEIGHT[row.kind])
        )
        for gain, row in gains.values()
    ]
    others = [place for place in (*named, *ranked) if place.file.id != commented.file.id]
    return sorted(others, key=lambda place: -place.score)


def _meant(snapshot: Snapshot, comment: ReviewComment, own: FileRow) -> Iterator[tuple[float, SymbolRow]]:
    """Yields the definitions that the names of a comment mean, with what each gains."""
    imported = {row.target for row in snapshot.facts.imports_of(own.id) if row.target}
    for name in comment.said:
        yield from _defined(snapshot, name, own, imported, SAID)
    n_found = 0
    for name in comment.quoted:
        found = list(_defined(snapshot, name, own, imported, QUOTED)) if is_name_of_code(name) else []
        yield from found
        n_found += bool(found)
        if n_found == MOST_QUOTED:
            return


def _defined(snapshot: Snapshot, name: str, own: FileRow, imported: set[str], gain: float) -> Iterator[tuple[float, SymbolRow]]:
    parts = name_parts(name)
    if not parts:
        return
    rows = [
        row
        for row in snapshot.facts.symbols_named(parts[-1], LOOKED_UP)
        if row.name == parts[-1]
        and row.kind not in _NOT_MEANT
        and row.role_rank == 0
        and (len(parts) == 1 or name_parts(row.qualified_name)[-len(parts) :] == parts)
    ]
    if any(row.file_id == own.id for row in rows):
        return
    near = [row for row in rows if _is_near(row.path, own.path, imported)]
    chosen = near or rows
    if len(chosen) <= MOST_NAMESAKES:
        factor = gain * (IMPORTED if near else 1.0) / len(chosen) if chosen else 0.0
        yield from ((factor, row) for row in chosen)


def _is_near(path: str, own: str, imported: set[str]) -> bool:
    directory = path.rpartition("/")[0]
    return path in imported or f"{directory}/" in imported or directory == own.rpartition("/")[0]
