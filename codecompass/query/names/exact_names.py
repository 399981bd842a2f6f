"""Definitions with exactly a given name, qualified name or `symbol_id`, and the order of definitions that share a name.

A `symbol_id` is computed from indexed facts, so it outlives the server: it refers to exactly the definition that it was made
for, or to nothing any more. A `result_id` stands for lines without a symbol and cannot be looked up; `path:line` can.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass import identity, lazy
from codecompass.errors import SymbolNotFound
from codecompass.languages import described
from codecompass.languages.records import CLASS_LIKE, DOCUMENT_KINDS, FUNCTION_LIKE, UNBOUND_KINDS, SymbolKind, Visibility
from codecompass.query.filters import has_kind, passes
from codecompass.query.search_hits import KIND_WEIGHT
from codecompass.query.words.query_words import name_parts
from codecompass.scan.path_roles import role_of_file
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

Reading = Literal["exact", "qualified", "frame", "case_insensitive", "words", "scope", "parts", "bare", "fuzzy", "similar"]
"""How a name was read, the strictest reading first; `name_lookup` implements the looser ones."""

NameMatch = Literal["exact", "case", "parts", "similar"]
"""How well a definition matches the requested name."""

MAX_NAMESAKES: Final = 1000
"""Definitions of one name that are read and sorted."""

NO_FILTER: Final = Filter()

_NO_DEFINITION: Final[frozenset[SymbolKind]] = frozenset({"impl", "test", "use"})
_VALUES: Final[frozenset[SymbolKind]] = frozenset({"const", "var"})
_VISIBILITY_RANK: Final[Mapping[Visibility, int]] = {"private": 2, "protected": 1, "internal": 1}


class NamedDefinition(Struct, frozen=True):
    """A definition and the strictest reading that finds it."""

    row: SymbolRow
    reading: Reading


def find_exactly(snapshot: Snapshot, name: str) -> list[SymbolRow]:
    """Returns the definitions with exactly this name or qualified name; else those that differ only in case."""
    return [named.row for named in exactly(snapshot, name.strip(), Filter(), None)]


def ordered(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    """Sorts definitions before declarations and `impl` blocks, own code first, types and functions before members' values.

    Then: product code before examples and tests, definitions not nested in one of the same name (a constructor in its class,
    an Elixir struct in its module), types before functions before methods, public before internal before private, by path.
    Fields and constants of a class or an enumeration come late: people name them together with their owner, and there are so
    many of them (`name`, `state`) that they would hide everything else.
    """
    known = list(rows)
    if len(known) < 2:
        return known
    defined = _Defined(known)
    namesakes = {row.id for row in known if row.kind not in _NO_DEFINITION}
    return sorted(known, key=lambda row: _place_in_order(row, defined, is_inner=row.parent_id in namesakes))


def without_declarations(rows: Sequence[SymbolRow]) -> list[SymbolRow]:
    """Returns the rows that define something, or all of them if none does."""
    defined = _Defined(rows)
    kept = [row for row in rows if row.kind not in _NO_DEFINITION and not defined.elsewhere(row)]
    return kept or list(rows)


def _place_in_order(row: SymbolRow, defined: "_Defined", *, is_inner: bool) -> tuple[object, ...]:
    role = role_of_file(row.path, row.role_rank)
    is_member = row.parent_kind in CLASS_LIKE
    return (
        row.kind in _NO_DEFINITION,
        defined.elsewhere(row),
        role.is_generated or role.is_vendored,
        _is_told_by_owner(row),
        role.rank,
        is_inner,
        -KIND_WEIGHT["method" if is_member and row.kind == "fn" else row.kind],
        _VISIBILITY_RANK.get(row.visibility, 0),
        row.path.count("/"),
        row.path,
        row.line_start,
        row.ordinal,
    )


def _is_told_by_owner(row: SymbolRow) -> bool:
    """Whether a row is a field, a constant inside something, or a line that only names a module (`mod x;`, `namespace A;`)."""
    if row.kind == "module":
        return row.line_start == row.line_end
    return row.kind == "field" or (row.kind in _VALUES and row.parent_kind is not None)


class _Defined:
    """The definitions among the rows of one name, to recognise the declarations that belong to them."""

    def __init__(self, rows: Sequence[SymbolRow]) -> None:
        languages = {row.language for row in rows}
        self._bodies: set[str] = set()
        self._by_owner: set[tuple[tuple[str, ...], str, str]] = set()
        self._is_by_itself = not any(_has_declarations(language) for language in languages)
        if self._is_by_itself:
            return
        defining = [row for row in rows if not _is_only_declared(row)]
        self._bodies = {
            row.name for row in defining if row.kind == "macro" or (row.kind in FUNCTION_LIKE and not is_prototype(row))
        }
        # Deriving owners from qualified names is the most expensive step, and few trees have declaration files.
        if len(defining) < len(rows):
            self._by_owner = {(_declaration_endings(row), row.name, _owner(row)) for row in defining}

    def elsewhere(self, row: SymbolRow) -> bool:
        """Whether a row declares what another row defines: a prototype, or a name of the same owner in a declaration file.
        Declarations of a library in another language have no other definition."""
        if self._is_by_itself:
            return False
        if _is_only_declared(row):
            return (_declaration_endings(row), row.name, _owner(row)) in self._by_owner
        return is_prototype(row) and row.name in self._bodies


def _has_declarations(language: str) -> bool:
    """Whether in a language one place can declare what another defines."""
    traits = described(language)
    return bool(traits.binding.declaration_endings) or traits.calls.has_prototypes


def _is_only_declared(row: SymbolRow) -> bool:
    """Whether a row is in a file that contains only declarations."""
    return row.path.endswith(_declaration_endings(row))


def _declaration_endings(row: SymbolRow) -> tuple[str, ...]:
    """Returns the endings of files that declare what a language defines: languages that share them define it in common."""
    return described(row.language).binding.declaration_endings


def is_prototype(row: SymbolRow) -> bool:
    """Whether a row is the declaration of a function that is defined elsewhere."""
    return row.signature.endswith(";") and row.kind in FUNCTION_LIKE and described(row.language).calls.has_prototypes


def _owner(row: SymbolRow) -> str:
    parts = name_parts(row.qualified_name) if row.parent_kind in CLASS_LIKE else ()
    return parts[-2] if len(parts) > 1 else ""


class Namesakes:
    """Reads the definitions of names, each once for a question that reads a name in several ways."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._facts = snapshot.facts
        self._bound: dict[str, list[SymbolRow]] = {}

    def bound(self, name: str) -> list[SymbolRow]:
        """Returns the definitions of a name, ignoring ASCII case, without those of UNBOUND_KINDS."""
        rows = self._bound.get(name)
        if rows is None:
            rows = self._bound[name] = self._facts.symbols_named(name, MAX_NAMESAKES)
        return rows

    def unbound(self, name: str) -> list[SymbolRow]:
        """Returns the definitions of UNBOUND_KINDS with a name, ignoring ASCII case."""
        return self._facts.unbound_named(name, MAX_NAMESAKES)


def exactly(
    snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None, namesakes: Namesakes | None = None
) -> list[NamedDefinition]:
    """Returns the definitions with exactly this name, else those whose qualified name ends in it, else ignoring case; those of
    DOCUMENT_KINDS only if `kinds` are given or no others have the name."""
    namesakes = Namesakes(snapshot) if namesakes is None else namesakes
    whole = _named(namesakes, name, where, kinds)
    exact = [row for row in whole if row.name == name]
    if exact:
        return [NamedDefinition(row, "exact") for row in ordered(exact)]
    parts = name_parts(name)
    if parts and parts != (name,):
        # JavaScript names may begin with `$`, which marks a variable in PHP.
        marked = f"${parts[-1]}"
        for last in (marked, parts[-1]) if marked in name else parts[-1:]:
            ends = _named(namesakes, last, where, kinds)
            same = (
                [row for row in ends if row.name == last] if len(parts) == 1 else [row for row in ends if _ends_with(row, parts)]
            )
            if same:
                return [NamedDefinition(row, "qualified") for row in ordered(same)]
        folded = tuple(part.lower() for part in parts)
        whole = whole or [row for row in ends if len(parts) == 1 or _ends_with(row, folded, fold=True)]
    return [NamedDefinition(row, "case_insensitive") for row in ordered(whole)]


def _named(namesakes: Namesakes, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    """Returns the definitions of a name that pass the filters, ignoring ASCII case."""
    rows = allowed(namesakes.bound(name), where, kinds)
    code = [row for row in rows if row.kind not in DOCUMENT_KINDS] if kinds is None else rows
    if kinds is None and code:
        return code
    if kinds is None or kinds & UNBOUND_KINDS:
        rows += allowed(namesakes.unbound(name), where, kinds)
    return rows


def _ends_with(row: SymbolRow, parts: tuple[str, ...], *, fold: bool = False) -> bool:
    """Whether a definition's qualified name ends in `parts`; leading parts may come from the file's path."""
    qualified = name_parts(row.qualified_name.lower() if fold else row.qualified_name)
    if qualified[-len(parts) :] == parts:
        return True
    path = name_parts((row.path.lower() if fold else row.path).rpartition(".")[0] or row.path)
    if len(parts) > len(qualified) + len(path) + 1:
        return False
    ending = row.path.rpartition(".")[2]
    return any(parts[-count:] == qualified[-count:] and _is_tail(path, parts[:-count], ending) for count in range(1, len(parts)))


def _is_tail(path: tuple[str, ...], front: tuple[str, ...], ending: str) -> bool:
    # `handler.rs::run` splits into `handler`, `rs`, `run`: the extension may stand between.
    is_file = len(front) > 1 and front[-1].lower() == ending.lower()
    return path[-len(front) :] == front or (is_file and path[-len(front) + 1 :] == front[:-1])


def allowed(rows: Iterable[SymbolRow], where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    """Returns the rows that pass a request's filters, in their order."""
    kept = list(rows) if kinds is None else [row for row in rows if has_kind(row, kinds)]
    if where == NO_FILTER:
        return kept
    is_allowed = passes(where)
    return [row for row in kept if is_allowed(row.file_id, row.file_language)]


_HANDLE: Final = lazy.pattern(r"[0-9a-f]{16}")


def is_handle(text: str) -> bool:
    """Whether a text has the form of a `symbol_id` or `result_id`."""
    return _HANDLE.fullmatch(text.strip()) is not None


def symbol_handle(snapshot: Snapshot, row: SymbolRow) -> str:
    """Returns the `symbol_id` of a definition."""
    return identity.symbol_id(snapshot.project_id, row.path, row.kind, row.line_start, row.name, row.ordinal)


def symbol_of_handle(snapshot: Snapshot, text: str) -> SymbolRow | None:
    """Returns the definition whose `symbol_id` is `text`; None if there is none or the text is not a handle."""
    if not is_handle(text):
        return None
    handle = text.strip()
    candidates = snapshot.facts.symbols_with_id_prefix(identity.id_prefix(handle))
    return next((row for row in candidates if symbol_handle(snapshot, row) == handle), None)


def outdated(handle: str) -> SymbolNotFound:
    """Returns the error for a handle that no longer refers to anything."""
    return SymbolNotFound(
        f"no symbol has the id {handle.strip()} now: its file has changed since, or it is the result_id of a place that is no "
        "symbol. Ask again with the name, or with path:line.",
        symbol_id=handle.strip(),
    )
