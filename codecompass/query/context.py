"""`get_code_context`: the best code for a question, as much as fits into a token budget.

Besides the hits of a search it contains their surroundings: the definitions that they use, the code that uses them, and tests.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, SymbolKind
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import CodeContextReply, ContextItem, Excerpt, MatchedLine
from codecompass.protocol.requests import GetCodeContext, SearchCode, Strategy
from codecompass.query.call_graph import ANY_USAGE, Neighbours
from codecompass.query.filters import chosen_files
from codecompass.query.metadata import answer_metadata
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.path_globs import relative_request
from codecompass.query.search import find
from codecompass.query.search_hits import Hit, RankedPlace, Signals, definition_place
from codecompass.query.shaping import result_handle, stable_handle
from codecompass.query.source_lines import excerpt, fitting_lines, lines_of
from codecompass.query.token_budget import envelope_tokens, item_tokens
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

CANDIDATES: Final = 50
BEST_HITS: Final = 6
"""Most hits that are listed first and whose surroundings are looked up."""

BEST_SHARE: Final = 0.5
"""Least score of such a hit, as a share of the best hit's."""

NEEDS_SHARE: Final = 0.25
"""Share of the budget that is reserved for the surroundings of the best hits; they get no more."""

NEED_SCALE: Final = 0.5
"""Factor from the score of a hit to that of a definition in its surroundings."""

BODY_LINES: Final = 80
BODY_CHARACTERS: Final = 6_000
SUGGESTION: Final = "Use locate_symbol for specific symbols, or increase max_tokens"
LEAST_BUDGET: Final = 100
"""No answer is shorter than this, whatever the name of the workspace."""

READ_LINES: Final = 80
"""Lines of a place that are read."""

MAX_USED: Final = 10
MAX_USERS: Final = 4
MAX_TESTS: Final = 3

LINES_AROUND: Final = 8
"""Lines before and after matching lines outside of a definition."""

PLACES_WITH_USERS: Final = 2
"""Places whose users and tests are looked up: that costs more than finding what a place uses."""

MAX_USING_FILES: Final = 80
"""Most files that may use the name of a place; the users of a commoner name say little, and cost as much as the search."""

USED_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "class", "struct", "enum", "trait", "interface", "type", "macro"}
)


def get_code_context(
    snapshot: Snapshot,
    request: GetCodeContext,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> CodeContextReply:
    """Returns signatures (`breadth`) or bodies (`depth`): the best hits; the signatures of what they use, of what uses
    them and of their tests; the other hits. Items that do not fit are skipped. `detail_level` overrides the strategy.

    The whole encoded answer stays within `max_tokens` as `token_budget` counts them. If no item fits, the best one whose bare
    location fits is returned.

    Raises InvalidMaxTokens, with the `minimum`, if the budget is smaller than an answer without items.
    """
    strategy = request.strategy or options.default_strategy
    detail = request.detail_level or ("body" if strategy == "depth" else "signature")
    request = relative_request(request, state.workspace)
    search = SearchCode(query=request.query, language=request.language, path=request.path)
    hits = find(snapshot, search, CANDIDATES, options, is_expired, root=state.workspace)
    make = _text_item if options.answers == "text" else _item
    places = list({_lines_of(place): place for place in map(_widened, hits.shown)}.values())
    groups = _groups(snapshot, places, make, is_expired, with_body=detail == "body")
    if request.path is not None:
        groups = _within(groups, snapshot, request.path)
    candidates = [*groups.best, *groups.needs, *groups.others]
    # Room for the largest envelope: that of an incomplete answer, with figures of at least three digits.
    widest = max(request.max_tokens, LEAST_BUDGET)
    warnings = (*((hits.notice,) if hits.notice else ()), *hits.warnings)
    empty = _reply(snapshot, strategy, warnings, state, (), len(candidates), widest)
    envelope = envelope_tokens(empty, request.max_tokens, options.answers, "code", ", or use locate_symbol")
    free = request.max_tokens - envelope
    kept = _filling(groups, free)
    is_brief = bool(candidates) and not kept
    if is_brief:
        kept = _fitting([_brief(item) for item in candidates], free)[:1]
    used = envelope + sum(item_tokens(item) for item in kept)
    return _reply(
        snapshot,
        strategy,
        warnings,
        state,
        tuple(kept),
        len(candidates),
        used,
        is_brief=is_brief,
        is_partial=hits.is_partial,
    )


def _widened(hit: Hit) -> RankedPlace:
    """Returns the place of a hit; for lines outside of a definition with what is around them."""
    place = hit.place
    if not hit.matched_lines or place.symbol is not None:
        return place
    last = max(place.line_end, min(place.line_end + LINES_AROUND, place.file.line_count))
    return msgspec.structs.replace(place, line_start=max(1, place.line_start - LINES_AROUND), line_end=last)


def _lines_of(place: RankedPlace) -> tuple[int, int, int]:
    return place.file.id, place.line_start, place.line_end


class _Groups(Struct, frozen=True):
    best: tuple[ContextItem, ...]
    needs: tuple[ContextItem, ...]
    others: tuple[ContextItem, ...]


class _ItemMaker(Protocol):
    def __call__(self, snapshot: Snapshot, place: RankedPlace, *, with_body: bool) -> ContextItem: ...


def _groups(
    snapshot: Snapshot, places: Sequence[RankedPlace], make: _ItemMaker, is_expired: Callable[[], bool], *, with_body: bool
) -> _Groups:
    enough = BEST_SHARE * places[0].final_score if places else 0.0
    product = [place for place in places if place.final_score >= enough and role_of(place.file.path).rank == 0]
    best = product[:BEST_HITS] or list(places[:1])
    others = [place for place in places if place not in best]
    needs = []
    for row, by in surroundings(snapshot, best, is_expired):
        item = make(snapshot, definition_place(row, by.score, Signals()), with_body=False)
        needs.append(msgspec.structs.replace(item, score=round(NEED_SCALE * by.final_score, 4)))
    items = {
        _identity(item): item
        for item in (
            *(make(snapshot, place, with_body=with_body) for place in others),
            *needs,
            *(make(snapshot, place, with_body=with_body) for place in best),
        )
    }
    # A definition that is both a hit and in the surroundings is listed once, at its first position.
    taken: set[tuple[str, int, int]] = set()

    def once(wanted: Iterable[tuple[str, int, int]]) -> tuple[ContextItem, ...]:
        fresh = [key for key in dict.fromkeys(wanted) if key not in taken]
        taken.update(fresh)
        return tuple(items[key] for key in fresh)

    return _Groups(once(map(_span, best)), once(map(_identity, needs)), once(map(_span, others)))


def _within(groups: _Groups, snapshot: Snapshot, path: str) -> _Groups:
    """Returns the items in the files that a path filter lets through; the surroundings of a hit may be in any file."""
    files = snapshot.files()
    kept = frozenset(compress(files.paths, chosen_files(files, path)))
    best, needs, others = (
        tuple(item for item in group if item.path in kept) for group in (groups.best, groups.needs, groups.others)
    )
    return _Groups(best, needs, others)


def _span(place: RankedPlace) -> tuple[str, int, int]:
    return place.file.path, place.line_start, place.line_end


def _identity(item: ContextItem) -> tuple[str, int, int]:
    return item.path, item.line_start, item.line_end


def _filling(groups: _Groups, free: int) -> list[ContextItem]:
    """Returns the items that fit into `free` tokens, in the order of the groups."""
    # The best hit comes before its surroundings, even if it leaves no room for them.
    best = _fitting(groups.best[:1], free)
    left = free - sum(map(item_tokens, best))
    reserve = min(int(free * NEEDS_SHARE), sum(map(item_tokens, groups.needs)))
    best += _fitting(groups.best[1:], left - reserve)
    left = free - sum(map(item_tokens, best))
    needs = _fitting(groups.needs, min(left, int(free * NEEDS_SHARE)))
    left -= sum(map(item_tokens, needs))
    kept = {_identity(item) for item in best}
    others = _fitting([item for item in (*groups.best, *groups.others) if _identity(item) not in kept], left)
    return [*best, *needs, *others]


def _fitting(items: Sequence[ContextItem], free: int) -> list[ContextItem]:
    kept = []
    for item in items:
        cost = item_tokens(item)
        if cost <= free:
            kept.append(item)
            free -= cost
    return kept


def _brief(item: ContextItem) -> ContextItem:
    excerpt = None if item.excerpt is None else Excerpt()
    return msgspec.structs.replace(
        item,
        qualified_name="",
        signature="",
        language="",
        symbol_stable_id="",
        body="",
        body_lines_omitted=0,
        excerpt=excerpt,
    )


def _reply(
    snapshot: Snapshot,
    strategy: Strategy,
    warnings: tuple[str, ...],
    state: AnswerState,
    items: tuple[ContextItem, ...],
    total: int,
    tokens: int,
    *,
    is_brief: bool = False,
    is_partial: bool = False,
) -> CodeContextReply:
    is_cut = is_brief or len(items) < total
    metadata = msgspec.structs.replace(
        answer_metadata(snapshot, state, warnings=warnings, is_partial=is_cut or is_partial),
        strategy=strategy,
        total_candidates=total,
        returned=len(items),
        remaining_candidates=total - len(items),
        suggestion=SUGGESTION if is_cut else "",
    )
    return CodeContextReply(context_items=items, estimated_tokens=tokens, truncated=is_cut, metadata=metadata)


def _item(snapshot: Snapshot, place: RankedPlace, *, with_body: bool) -> ContextItem:
    row = place.symbol
    named = row or place.enclosing
    body, omitted = "", 0
    if with_body:
        lines = lines_of(snapshot, place.file.id, place.line_start, min(place.line_end, place.line_start + BODY_LINES))
        body = excerpt(lines, place.file.language, BODY_LINES, BODY_CHARACTERS)
        omitted = place.line_end - place.line_start + 1 - len(fitting_lines(lines, BODY_LINES, BODY_CHARACTERS))
    return ContextItem(
        path=place.file.path,
        line_start=place.line_start,
        line_end=place.line_end,
        kind=named.kind if named else "",
        name=named.name if named else "",
        qualified_name=named.qualified_name if named else "",
        signature=row.signature if row else "",
        language=place.file.language,
        symbol_id=symbol_handle(snapshot, row) if row else "",
        symbol_stable_id=stable_handle(row) if row else "",
        result_id="" if row else result_handle(snapshot, place),
        score=place.final_score,
        body=body,
        body_lines_omitted=max(0, omitted),
    )


def _text_item(snapshot: Snapshot, place: RankedPlace, *, with_body: bool) -> ContextItem:
    """Returns the same as `_item`, with numbered lines instead of the body."""
    item = _item(snapshot, place, with_body=False)
    if not with_body:
        return msgspec.structs.replace(item, excerpt=Excerpt())
    last = min(place.line_end, place.line_start + BODY_LINES - 1)
    kept = fitting_lines(lines_of(snapshot, place.file.id, place.line_start, last), BODY_LINES, BODY_CHARACTERS)
    lines = tuple(MatchedLine(line=number, text=text) for number, text in enumerate(kept, place.line_start))
    omitted = max(0, place.line_end - place.line_start + 1 - len(lines))
    return msgspec.structs.replace(item, excerpt=Excerpt(lines=lines, is_whole=not omitted, n_omitted=omitted))


def surroundings(
    snapshot: Snapshot, places: Sequence[RankedPlace], is_expired: Callable[[], bool]
) -> list[tuple[SymbolRow, RankedPlace]]:
    """Returns definitions, each once with the first place that it belongs to: what the code at `places` uses (used by most places
    first, then in line order), what uses the first of them, then their tests.

    Definitions that overlap one of the places are left out.
    """
    neighbours = Neighbours(snapshot, is_expired)
    used: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    counts: Counter[int] = Counter()
    for place in places:
        for row in _used_at(neighbours, place):
            if row.kind in USED_KINDS and row.role_rank == 0:
                used.setdefault(row.id, (row, place))
                counts[row.id] += 1
    users: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    tests: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    for place in places[:PLACES_WITH_USERS]:
        symbol = place.symbol
        if symbol is None or lexical_rules(symbol.language) is None or symbol.kind not in FUNCTION_LIKE | CLASS_LIKE:
            continue
        if is_expired() or neighbours.uses.n_files(symbol.name) > MAX_USING_FILES:
            continue
        for step in neighbours.callers(symbol):
            group = tests if neighbours.uses.is_test(step.neighbour) else users
            group.setdefault(step.neighbour.id, (step.neighbour, place))
    most_used = sorted(used.values(), key=lambda item: -counts[item[0].id])
    found: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    for items, limit in ((most_used, MAX_USED), ([*users.values()], MAX_USERS), ([*tests.values()], MAX_TESTS)):
        apart = [item for item in items if item[0].id not in found and not any(_overlaps(place, item[0]) for place in places)]
        found |= {row.id: (row, place) for row, place in apart[:limit]}
    return list(found.values())


def _used_at(neighbours: Neighbours, place: RankedPlace) -> Iterator[SymbolRow]:
    language = place.file.language if place.symbol is None else place.symbol.language
    if lexical_rules(language) is None:
        return
    file = neighbours.uses.binder.definitions.names_of(place.file.id, place.file.path, language)
    last = min(place.line_end, place.line_start + READ_LINES)
    for step in neighbours.used_in(file, [(place.line_start, last)], ANY_USAGE):
        name = step.neighbour.name
        if name.startswith("__"):  # the meaning of an operator or constructor in Python
            continue
        # A call of `get` on an unknown receiver need not mean the only definition of `get`; one of `get_session` does.
        if step.confidence == "exact" or "_" in name or name != name.lower():
            yield step.neighbour


def _overlaps(place: RankedPlace, row: SymbolRow) -> bool:
    return place.file.id == row.file_id and place.line_start <= row.line_end and place.line_end >= row.line_start
