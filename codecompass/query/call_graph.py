"""`get_call_graph`: callers and callees of a function over several steps, and what a change of a definition affects."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, get_args

from msgspec import Struct

from codecompass.formatting import count
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Usage
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import CallGraphReply, GraphEdge, GraphNode, Impact
from codecompass.protocol.requests import Confidence, GetCallGraph
from codecompass.query.asked_definitions import if_several
from codecompass.query.hierarchy import TypeTree, overridden, overriding
from codecompass.query.metadata import answer_metadata
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.options import no_deadline
from codecompass.query.uses.chosen_symbol import ChosenSymbols, choose_symbols, left_out_by_path
from codecompass.query.uses.definitions import FileNames, entity
from codecompass.query.uses.found_uses import FoundUse, FoundUses, Uses
from codecompass.query.uses.symbol_places import SymbolPlaces, symbol_key
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

CALLING_ROLES: Final = frozenset({"call", "construct", "decorate", "read"})
"""Roles by which the code around a use runs what it uses. A function that is passed on is called by somebody."""

NAMING_ROLES: Final = frozenset({"inherit", "type"})
"""Roles by which the code around a use of a type depends on it without running any of it: what a change affects, too."""

CALLS: Final[frozenset[Usage]] = frozenset({"call", "decorate"})
ANY_USAGE: Final[frozenset[Usage]] = frozenset(get_args(Usage))

MAX_LINES_PER_EDGE: Final = 5
MAX_IMPORTERS: Final = 20


class Step(Struct, frozen=True):
    """An edge of the graph: from a given symbol to a neighbour."""

    neighbour: SymbolRow
    lines: tuple[int, ...]
    confidence: Confidence


class Neighbours:
    """Finds callers and callees of symbols, for one question."""

    def __init__(self, snapshot: Snapshot, is_expired: Callable[[], bool], *, with_naming: bool = False) -> None:
        self._snapshot = snapshot
        self._with_naming = with_naming
        self.uses: Final = Uses(snapshot, is_expired)
        self.found: Final[dict[int, FoundUses]] = {}
        self._overloads: Final[dict[int, tuple[SymbolRow, ...]]] = {}
        """The overloads that a symbol stands for."""

    def callers(self, row: SymbolRow) -> Iterator[Step]:
        """Yields the functions that use a symbol, product code before tests, by path and line."""
        return self.callers_in(row, self.uses.of(row))

    def callers_in(self, row: SymbolRow, found: FoundUses) -> Iterator[Step]:
        """Yields the functions around the uses that were found of a symbol; those that only name a type if nothing else uses it,
        or if all that depends on it is wanted."""
        self.found[row.id] = found
        sure = [use for use in found.uses if use.confidence != "possible" or len(use.fits) > 1]
        calling = [use for use in sure if use.role in CALLING_ROLES]
        if self._with_naming or not calling:
            calling = [use for use in sure if use.role in CALLING_ROLES | NAMING_ROLES]
        by_caller: dict[int, Step] = {}
        for use in calling:
            around = use.enclosing
            if around is None or around.id == row.id:
                continue
            if around.parent_id == row.id and around.kind not in FUNCTION_LIKE:
                continue
            known = by_caller.get(around.id)
            lines = (use.line,) if known is None else (*known.lines, use.line)
            confidence = use.confidence if known is None or known.confidence != "exact" else "exact"
            by_caller[around.id] = Step(around, lines, confidence)
        yield from by_caller.values()

    def callees(self, row: SymbolRow, usages: frozenset[Usage] = CALLS) -> Iterator[Step]:
        """Yields what a definition uses in one of the `usages`, by default what it calls, in line order."""
        if lexical_rules(row.language) is None:
            return
        file = self.uses.binder.definitions.file_of(row)
        # Of overloads only one has a body.
        bodies = [each for each in file.symbols if each.name == row.name and each.kind != "impl" and entity(each) == entity(row)]
        for step in self.used_in(file, [(each.line_start, each.line_end) for each in bodies], usages):
            if entity(step.neighbour) != entity(row) and step.neighbour.kind not in ("module", "field", "var", "const"):
                yield step
                if usages is CALLS:
                    yield from (Step(each, step.lines, "likely") for each in overriding(self.uses, step.neighbour))

    def used_in(self, file: FileNames, spans: Sequence[tuple[int, int]], usages: frozenset[Usage]) -> Iterator[Step]:
        """Yields what the lines of a file use in one of the `usages`, by the first line that does.

        `spans` are pairs of a first and a last line.
        """
        by_definition: dict[int, Step] = {}
        for each in self.uses.of_names.all_of(file.file_id, file.language):
            for number, use in enumerate(each.uses):
                if use.usage not in usages or not any(first <= use.line <= last for first, last in spans):
                    continue
                binding = self.uses.binder.bind(each.name, use, file)
                if binding.certainty not in ("exact", "likely") or not binding.symbols:
                    continue
                definition = _with_a_body(self.uses.overloaded(binding.symbols, file, each.name, number, use))
                known = by_definition.get(definition.id)
                lines = (use.line,) if known is None else (*known.lines, use.line)
                confidence: Confidence = "exact" if binding.certainty == "exact" else "likely"
                by_definition[definition.id] = Step(definition, lines, confidence)
        yield from sorted(by_definition.values(), key=lambda step: step.lines[0])


class _Graph(Neighbours):
    """Builds the graph breadth first: each symbol once, at its least distance."""

    def __init__(self, snapshot: Snapshot, chosen: ChosenSymbols, request: GetCallGraph, is_expired: Callable[[], bool]) -> None:
        super().__init__(snapshot, is_expired, with_naming=request.direction == "impact")
        self.keeps: Final = chosen.keeps
        self._file_ids = chosen.file_ids
        self.outside: Final[set[int]] = set()
        """Symbols that the request's path leaves out."""
        self._roots = chosen.symbols
        self._request = request
        self.is_expired: Final = is_expired
        self.nodes: dict[int, tuple[SymbolRow, int]] = {row.id: (row, 0) for row in chosen.rows}
        self.edges: list[tuple[int, int, Step]] = []
        self.is_cut = False

    def keeps_use(self, use: FoundUse) -> bool:
        """Whether a use is in a file that may be returned."""
        return self._file_ids is None or use.file.file_id in self._file_ids

    def grow(self) -> None:
        """Adds neighbours level by level, up to the depth and limit of the request."""
        is_callees = self._request.direction == "callees"
        level = [row for row, _ in self.nodes.values()]
        steps = self._callees_of_roots() if is_callees else self._callers_of_roots()
        for distance in range(1, self._request.depth + 1):
            following: list[SymbolRow] = []
            for row in level:
                if distance > 1 and self.is_expired():
                    self.is_cut = True
                    return
                found = steps.get(row.id)
                if found is None:
                    found = self.callees(row) if is_callees else self.callers(row)
                for step in found:
                    self.is_cut = self.is_cut or (row.id in self.found and self.found[row.id].is_cut)
                    neighbour = step.neighbour
                    if not self._request.include_tests and self.uses.is_test(neighbour):
                        continue
                    if not self.keeps(neighbour):
                        self.outside.add(neighbour.id)
                        continue
                    if neighbour.id not in self.nodes:
                        if len(self.nodes) > self._request.limit:
                            self.is_cut = True
                            continue
                        self.nodes[neighbour.id] = (neighbour, distance)
                        following.append(neighbour)
                    ends = (row.id, neighbour.id) if is_callees else (neighbour.id, row.id)
                    self.edges.append((*ends, step))
            level = following
            steps = {}

    def _callers_of_roots(self) -> dict[int, Iterator[Step]]:
        """Returns the callers of each symbol asked for, whose uses are found in one pass."""
        found = self.uses.of_symbols(self._roots)
        return {symbol.row.id: self._callers_of(symbol.row, found.of(n)) for n, symbol in enumerate(self._roots)}

    def _callers_of(self, row: SymbolRow, found: FoundUses) -> Iterator[Step]:
        """Yields the callers of a symbol that was asked for; a change also reaches those that call what it overrides."""
        seen: set[int] = set()
        for step in self.callers_in(row, found):
            seen.add(step.neighbour.id)
            yield step
        if self._request.direction != "impact":
            return
        for base in overridden(self.uses, row):
            for step in self.callers(base):
                if step.neighbour.id not in seen:
                    seen.add(step.neighbour.id)
                    yield Step(step.neighbour, step.lines, "likely")

    def _callees_of_roots(self) -> dict[int, Iterator[Step]]:
        """Returns what each symbol asked for calls, in all its places."""
        return {symbol.row.id: self._callees_of(symbol) for symbol in self._roots}

    def _callees_of(self, symbol: SymbolPlaces) -> Iterator[Step]:
        seen: set[int] = set()
        # Places of one name in one file are read together.
        for row in {(row.file_id, entity(row)): row for row in reversed(symbol.rows)}.values():
            for step in self.callees(row):
                if step.neighbour.id not in seen and symbol_key(step.neighbour) not in symbol.keys:
                    seen.add(step.neighbour.id)
                    yield step


def _with_a_body(symbols: Iterable[SymbolRow]) -> SymbolRow:
    """Returns the definition among declarations of one function: the longest."""
    return max(symbols, key=lambda row: (row.line_end - row.line_start, -row.id))


def get_call_graph(
    snapshot: Snapshot,
    request: GetCallGraph,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
) -> CallGraphReply:
    """Returns callers or callees by distance, nearest first, each symbol once; with `impact` callers and all else that a change
    of the symbol affects. At most `limit` symbols besides the one asked for.

    Raises SymbolNotFound or AmbiguousSymbol for too many definitions.
    """
    chosen = choose_symbols(snapshot, request.symbol_name, request.path, state.workspace, is_expired)
    roots = chosen.rows
    graph = _Graph(snapshot, chosen, request, is_expired)
    graph.grow()
    impact = _impact(graph, roots) if request.direction == "impact" else None
    numbers = {row_id: number for number, row_id in enumerate(graph.nodes)}
    nodes = tuple(_node(snapshot, graph, row, numbers[row.id], distance) for row, distance in graph.nodes.values())
    edges = tuple(
        GraphEdge(
            caller=numbers[caller],
            callee=numbers[callee],
            lines=tuple(dict.fromkeys(step.lines))[:MAX_LINES_PER_EDGE],
            confidence=step.confidence,
        )
        for caller, callee, step in graph.edges
    )
    n_found = len(nodes) - len(roots)
    warnings = (f"only {n_found} symbols are shown; raise limit, or ask for one of them",) * graph.is_cut
    found = graph.found.get(roots[0].id)
    if not n_found and found is not None and not graph.is_cut:
        warnings = _why_no_callers(found)
    n_outside = len(graph.outside)
    warnings = (*chosen.warnings, *left_out_by_path(n_outside, n_outside + n_found, "symbols"), *warnings)
    return CallGraphReply(
        direction=request.direction,
        definitions=if_several(snapshot, chosen.symbols),
        nodes=nodes,
        edges=edges,
        impact=impact,
        metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=graph.is_cut),
    )


def _why_no_callers(found: FoundUses) -> tuple[str, ...]:
    """Returns a warning that explains why there are no callers; none if the name is used nowhere."""
    possible = sum(use.confidence == "possible" for use in found.uses)
    parts = [f"{count(found.n_elsewhere, 'use')} of the name bind elsewhere"] * bool(found.n_elsewhere)
    parts += [f"{possible} fit several definitions (find_references lists them with confidence possible)"] * bool(possible)
    return (f"0 callers; {', '.join(parts)}",) if parts else ()


def _impact(graph: _Graph, roots: Sequence[SymbolRow]) -> Impact:
    """Returns what else a change affects, with counts."""
    subtypes: dict[int, SymbolRow] = {}
    overrides: dict[int, SymbolRow] = {}
    importing: set[str] = set()
    for root in roots:
        if root.kind in CLASS_LIKE:
            subtypes.update((row.id, row) for row in _all_subtypes(graph, root))
        else:
            overrides.update((row.id, row) for row in overriding(graph.uses, root))
        found = graph.found.get(root.id)
        importing.update(use.file.path for use in (found.uses if found else ()) if use.role == "import" and graph.keeps_use(use))
    callers = [(row, distance) for row, distance in graph.nodes.values() if distance]
    distances = Counter(distance for row, distance in callers if not graph.uses.is_test(row))
    return Impact(
        callers_by_distance=tuple(distances[distance] for distance in range(1, max(distances, default=0) + 1)),
        tests=sum(graph.uses.is_test(row) for row, _ in callers),
        subtypes=tuple(_place(row) for row in subtypes.values() if graph.keeps(row)),
        overriding=tuple(_place(row) for row in overrides.values() if graph.keeps(row)),
        importing_files=len(importing),
        importers=tuple(sorted(importing)[:MAX_IMPORTERS]),
    )


def _place(row: SymbolRow) -> str:
    return f"{row.path}:{row.line_start} {row.qualified_name}"


def _all_subtypes(graph: _Graph, type_: SymbolRow) -> list[SymbolRow]:
    """Returns the direct and indirect subtypes of a type, near ones first."""
    tree = TypeTree(graph.uses, "subtypes", graph.is_expired)
    near_first = sorted(tree.below(type_), key=lambda found: found.depth)
    return [found.type for found in near_first if isinstance(found.type, SymbolRow) and found.confidence != "possible"]


def _node(snapshot: Snapshot, graph: _Graph, row: SymbolRow, number: int, distance: int) -> GraphNode:
    return GraphNode(
        id=number,
        symbol_id=symbol_handle(snapshot, row),
        path=row.path,
        line_start=row.line_start,
        line_end=row.line_end,
        kind=row.kind,
        name=row.name,
        qualified_name=row.qualified_name,
        distance=distance,
        is_test=graph.uses.is_test(row),
    )
