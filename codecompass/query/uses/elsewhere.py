"""The lines with a name that are not bound to the definitions asked for: what they may mean instead, the most doubtful first.

They are the uses that fit several definitions or another one, and the whole words that no use is read from: in files without a
grammar, in other languages, in strings and comments. Whoever looks for dead code needs them; an answer that only counted them
would pass for "unused".
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages.records import FUNCTION_LIKE
from codecompass.languages.uses.expressions import LITERAL
from codecompass.languages.uses.lexical_rules import family_of, lexical_rules
from codecompass.protocol.replies import ElsewhereUse
from codecompass.query.excerpts import enclosing_of
from codecompass.query.options import QueryOptions
from codecompass.query.source_lines import lines_of
from codecompass.query.uses.definitions import FileNames, code_around, is_member
from codecompass.query.uses.found_uses import FoundUse, FoundUses, OtherUse, Uses, role_of_use
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.query.uses.use_lines import shown_line
from codecompass.query.verbatim import scan_whole
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

REASONS: Final = (
    "several fit",
    "unknown receiver",
    "unresolved import",
    "local name",
    "key",
    "other language",
    "text",
    "other type",
    "other package",
    "other definition",
    "local or text",
    "document",
)
"""Why a line is not bound, in the order of the answer: the most likely to be a use after all first."""

DOUBTFUL: Final = frozenset(REASONS[:4])
"""Reasons for which a line may well be a use of the definition."""

MAX_NAMESAKES: Final = 1_000


class ElsewhereLine(Struct, frozen=True):
    """A line with the name. `use` is None for text."""

    file_id: int
    path: str
    line: int
    reason: str
    is_test: bool
    role: str = ""
    file: FileNames | None = None


class Asked(Struct, frozen=True):
    """The uses that were found of the symbols asked for, the files that may be returned (None for all), and warnings so far."""

    found: FoundUses
    symbols: tuple[SymbolPlaces, ...]
    file_ids: frozenset[int] | None = None
    warnings: tuple[str, ...] = ()


class Elsewhere:
    """Collects the lines for one question."""

    def __init__(self, snapshot: Snapshot, asked: Asked, uses: Uses) -> None:
        self._snapshot = snapshot
        self._symbols = asked.symbols
        self._uses = uses
        self._file_ids = asked.file_ids
        self._by_line: dict[tuple[int, int], ElsewhereLine] = {}
        self._bound: set[tuple[int, int]] = set()
        self.warnings: tuple[str, ...] = ()

    def add_uses(self, found: FoundUses, unlisted: Sequence[FoundUse]) -> None:
        """Adds the uses that are bound to nothing that was asked for, and those that may be but are not listed."""
        left_out = set(map(id, unlisted))
        self._bound = {(use.file.file_id, use.line) for use in found.uses if id(use) not in left_out}
        for use in unlisted:
            self._add(ElsewhereLine(use.file.file_id, use.file.path, use.line, REASONS[0], use.is_test, use.role, use.file))
        kind = self._symbols[0].row.kind
        for other in found.others:
            file = other.file
            is_test = self._uses.is_test_file(file.path)
            role = role_of_use(other.use, kind)
            self._add(ElsewhereLine(file.file_id, file.path, other.use.line, _reason(other), is_test, role, file))

    def add_text(self, options: QueryOptions, is_expired: Callable[[], bool]) -> None:
        """Adds the other lines with the name as a whole word, as many as a scan counts; not those of the definitions
        themselves."""
        for name in dict.fromkeys(row.name for symbol in self._symbols for row in symbol.rows):
            where = Filter() if self._file_ids is None else Filter(file_ids=tuple(sorted(self._file_ids)))
            found = scan_whole(self._snapshot, name, where, None, options, is_expired)
            self.warnings += (found.scanned.warning,) if found.scanned.warning else ()
            by_file: dict[int, list[int]] = {}
            for each in found.lines:
                by_file.setdefault(each.file_id, []).append(each.line)
            namesakes = self._namesakes(name)
            files = self._snapshot.facts.indexed_files(sorted(by_file))
            for file_id, lines in by_file.items():
                file = files[file_id]
                left_out, others = self._heads(sorted(lines), namesakes.get(file_id, ()))
                path_role = role_of(file.path)
                reason = "document" if path_role.is_prose else self._why_text(file.language)
                for line in lines:
                    if line not in left_out:
                        said = "other definition" if line in others else reason
                        self._add(ElsewhereLine(file_id, file.path, line, said, path_role.is_test))

    def lines(self, role: str | None, *, include_tests: bool) -> list[ElsewhereLine]:
        """Returns the lines by reason, product code before tests, by path and line."""
        kept = [
            line for line in self._by_line.values() if (role is None or line.role == role) and (include_tests or not line.is_test)
        ]
        kept.sort(key=lambda line: (REASONS.index(line.reason), line.is_test, line.path, line.line))
        return kept

    @property
    def n_elsewhere(self) -> int:
        """How many lines are bound to something else or to nothing; those that may be bound to what was asked for count apart."""
        return sum(line.reason != REASONS[0] for line in self._by_line.values())

    def _add(self, line: ElsewhereLine) -> None:
        key = (line.file_id, line.line)
        if key in self._bound or (self._file_ids is not None and line.file_id not in self._file_ids):
            return
        known = self._by_line.get(key)
        if known is None or (line.file is not None and REASONS.index(line.reason) < REASONS.index(known.reason)):
            self._by_line[key] = line

    def _namesakes(self, name: str) -> dict[int, list[SymbolRow]]:
        by_file: dict[int, list[SymbolRow]] = {}
        for row in self._snapshot.facts.symbols_named(name, MAX_NAMESAKES):
            if row.name == name and row.kind != "use":
                by_file.setdefault(row.file_id, []).append(row)
        return by_file

    def _heads(self, lines: Sequence[int], rows: Sequence[SymbolRow]) -> tuple[set[int], set[int]]:
        """Returns the lines that belong to the definitions asked for, and those that name another definition."""
        asked = {row.id for symbol in self._symbols for row in symbol.rows}
        own: set[int] = set()
        others: set[int] = set()
        for row in rows:
            inside = [line for line in lines if row.line_start <= line <= row.line_end]
            if row.id not in asked:
                others.update(inside[:1])
            elif row.kind in FUNCTION_LIKE:
                own.update(inside)
            else:
                own.update(inside[:1])
        return own, others - own

    def _why_text(self, language: str) -> str:
        if lexical_rules(language) is None:
            return "text"
        families = {family_of(row.language) for symbol in self._symbols for row in symbol.rows}
        return "local or text" if family_of(language) in families else "other language"


def _reason(other: OtherUse) -> str:
    """Returns why a use is bound to nothing that was asked for."""
    use, file = other.use, other.file
    if other.bound_to:
        target = other.bound_to[0]
        if is_member(target):
            return "other type"
        return "other definition" if target.path.rpartition("/")[0] == file.directory else "other package"
    if use.usage == "key":
        return "key"
    if use.receiver == LITERAL:
        return "other type"
    first = use.receiver.replace("::", ".").strip("&*() ").partition(".")[0]
    imported = file.imports.get(first, ()) if first else ()
    if imported and not any(row.target for row in imported):
        return "unresolved import"
    return "unknown receiver" if use.receiver else "local name"


def elsewhere_uses(
    snapshot: Snapshot, lines: Sequence[ElsewhereLine], names: Sequence[str], *, has_text: bool
) -> Iterator[ElsewhereUse]:
    """Yields the lines as an answer shows them."""
    for line in lines:
        text = lines_of(snapshot, line.file_id, line.line, line.line) if has_text else []
        around = None if line.file is None else code_around(line.file, line.line)[0]
        yield ElsewhereUse(
            path=line.path,
            line_start=line.line,
            reason=line.reason,
            role=line.role,
            enclosing=enclosing_of(around),
            is_test=line.is_test,
            text=shown_line(text[0], names) if text else "",
        )
