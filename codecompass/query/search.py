"""`search_code`: retrieves, ranks, fits places to definitions, drops duplicates, shapes the answer, proposes the next call; and
explains why a file has its rank or is not found.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from codecompass.protocol.metadata import AnswerState, PathExplanation, Verdict
from codecompass.protocol.replies import NextAction, SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.query.direct_answers import named_definitions, relation_places
from codecompass.query.excerpts import word_pattern
from codecompass.query.file_listing import list_files
from codecompass.query.filters import changed_warnings, filter_warnings, index_filter, passes, symbol_kinds
from codecompass.query.merging import search_evidence
from codecompass.query.messages.message_search import FoundMessage, SoughtMessage, find_messages, message_places, sought_message
from codecompass.query.messages.traces_and_signatures import frames
from codecompass.query.metadata import answer_metadata
from codecompass.query.names.exact_names import is_handle, outdated, symbol_of_handle
from codecompass.query.names.named_locations import asked_lines, named_files
from codecompass.query.near_copies import NearCopies
from codecompass.query.options import TIME_WAS_UP, QueryOptions, no_deadline
from codecompass.query.parts_of_question import with_named_places
from codecompass.query.path_globs import plain_path, relative_request
from codecompass.query.readings import Asked, as_part_of_words, in_other_case, option_lines, read_before_words, template_lines
from codecompass.query.search_hits import (
    Hit,
    HitPage,
    Hits,
    QueryIntent,
    RankedPlace,
    definition_place,
    fit_to_definition,
    score_above,
)
from codecompass.query.shaping import Page, ResultShape, ranking_reasons, shape
from codecompass.query.source_lines import listed
from codecompass.query.verbatim import MAX_LENGTH, HeldText, few_lines, find_verbatim, held_text, with_held_tokens
from codecompass.query.weak_answers import is_weak, weak_notice
from codecompass.query.words import retrieval
from codecompass.query.words.best_definitions import with_best_definitions
from codecompass.query.words.exact_scan import FoundLine, scan
from codecompass.query.words.intent import absent_words, classify, missing_names, unknown_words, unquoted
from codecompass.query.words.line_matchers import escaped
from codecompass.query.words.long_question import long_question
from codecompass.query.words.query_words import QueryWord, WantedWords, name_parts, query_words
from codecompass.query.words.ranking import MAX_IMPORTERS, NO_PHRASES, rank, with_importers
from codecompass.query.words.retrieval import Candidates, ChunkKey, breadth_for, find_candidates
from codecompass.query.words.review_comment import asked_comment
from codecompass.store.rows import FileRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

if TYPE_CHECKING:
    from codecompass.query.review_context import Commented

SURE_SCORE: Final = 20.0
"""The score of a definition requested by its `symbol_id`, like that of an exact name in `locate_symbol`."""

MAX_SIMILAR: Final = 3
"""Similar places of a token that stands nowhere: more would look like an answer."""

FULL_HITS: Final = 4
"""The first hits of a text answer, which are shown with their lines and with what is beside them; of later ones the name and the
place, or the best line, says whether to look there."""

LINES_IN_SCOPE: Final = 3
"""Lines that are shown with the definitions around them, if they have a phrase; more of them, and uses of a name, are read as a
list."""

OTHERS_BESIDE_A_MESSAGE: Final = 2
"""Places that a text answer shows besides those of a message that was not found literally."""

WEAK_PLACES: Final = 3
"""Places of a weak answer as text, or of one without a limit: they show what the code is about instead; the others are on the
next page."""

LAST_SHARE: Final = 3
"""At most one in so many places of a page are what goes with a review comment: its place, and the test of that."""

WEIGHED_FILES: Final = 40
"""Files, the best by their text, whose importers are counted."""


def find(
    snapshot: Snapshot,
    request: SearchCode,
    limit: int,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
    *,
    page: int | None = None,
    root: str = "",
) -> Hits:
    """Returns up to `limit` hits for a request from its offset on, unshaped, ranked as for a page of `page` (default: `limit`).

    A query that is a `symbol_id` finds only that definition, one that is `path:line` the definitions around the line. `root` is
    that of the workspace, for absolute paths.
    """
    own = HitPage(request.offset, limit)
    if options.changed is not None and not options.changed.lines:
        return Hits(shown=(), intent="path" if request.mode == "files" else classify(request.query), total=0)
    if request.mode == "files":
        return list_files(snapshot, request, own, options.changed)
    where = index_filter(snapshot, request.language, request.path, options.changed)
    kinds = symbol_kinds(request.kind)
    if request.mode != "auto":
        hits = scan(snapshot, request, own, where, kinds, options, is_expired)
        if hits.total:
            return hits
        why = filter_warnings(snapshot, where, request.language, request.path, request.kind)
        return msgspec.structs.replace(hits, warnings=(*hits.warnings, *why))
    text = request.query
    known = symbol_of_handle(snapshot, text)
    if known is not None and (options.changed is None or known.path in options.changed.lines):
        place = definition_place(known, SURE_SCORE)
        return Hits(shown=(Hit(place=place),) if not request.offset else (), intent="symbol", total=1)
    commented = _commented(snapshot, text, request.path or "", root) if kinds is None else None
    if commented is not None and request.path is not None and not commented.is_said:
        # The path says which file the comment is on.
        where = index_filter(snapshot, request.language, None, options.changed)
    asked = Asked(snapshot, request, text, own, where, kinds, options, is_expired, root)
    return _WordSearch(asked, page or limit, commented).hits()


def _commented(snapshot: Snapshot, text: str, path: str, root: str) -> "Commented | None":
    comment = asked_comment(text, path)
    if comment is None:
        return None
    from codecompass.query.review_context import commented_place  # a command that searches needs none of what compares versions

    return commented_place(snapshot, comment, path, root)


class _WordSearch:
    """Mode `auto`: a query that is read as it stands, else places ranked by words and meaning, and above them those that answer
    directly."""

    def __init__(self, asked: Asked, page: int, commented: "Commented | None" = None) -> None:
        self._asked = asked
        self._snapshot = asked.snapshot
        self._page = page
        self._query = unquoted(asked.text)
        self._commented = commented
        self._long = long_question(asked.text) if commented is None else commented.comment.question
        self._intent: QueryIntent = classify(asked.text) if self._long is None else "natural_language"
        self._weights = retrieval.weights_for(self._intent, asked.options.without_signals, is_long=self._long is not None)
        self._breadth = breadth_for(asked.options.n_merged)
        self._found_messages: Sequence[FoundMessage] | None = None

    @cached_property
    def _sought(self) -> SoughtMessage | None:
        if "phrase" in self._asked.options.without_signals or self._long is not None:
            return None
        return sought_message(self._snapshot, self._query, self._asked.where, only_sure=not self._weights.phrase)

    def hits(self) -> Hits:
        """Returns the page."""
        direct = None if self._commented else read_before_words(self._asked, self._ranked_by_text, self._templates)
        if direct is not None:
            return self._explained(direct)
        hits = self._by_words()
        if self._commented is not None:
            return hits
        held = held_text(self._asked.text)
        is_nowhere = held is not None and held.is_token and (held.is_certain or hits.notice)
        if held is None or (hits.shown and not is_nowhere) or hits.is_partial or hits.is_verbatim:
            return hits
        if not hits.shown or not _is_named(hits.shown[0], held.text):
            other = in_other_case(self._asked, held)
            if other is not None:
                return other
        part = as_part_of_words(self._asked, held)
        if part is not None and (not hits.shown or not held.is_certain):
            return part
        return self._similar(hits, held, part) if held.is_token and held.is_certain else hits

    def _explained(self, hits: Hits) -> Hits:
        """Returns the hits with the scores of the text index, if they are requested: lines are found without them."""
        if self._asked.request.ranking_explain_level != "full":
            return hits
        scores: dict[int, float] = {}
        for place in self._ranked_by_text():
            scores[place.file.id] = max(scores.get(place.file.id, 0.0), place.signals.bm25)
        return msgspec.structs.replace(
            hits, shown=tuple(_with_bm25(hit, scores.get(hit.place.file.id, 0.0)) for hit in hits.shown)
        )

    def _similar(self, hits: Hits, held: HeldText, part: Hits | None) -> Hits:
        """Returns what is similar to a token that stands nowhere, which is said first: few places found by its words, then those
        that have it as a part of a word."""
        both = () if self._asked.page.offset else (*hits.shown[:MAX_SIMILAR], *(() if part is None else part.shown))
        shown = tuple({(hit.place.file.id, hit.place.line_start): hit for hit in both}.values())[: self._asked.page.limit]
        return msgspec.structs.replace(
            hits,
            shown=shown,
            total=len(shown),
            next_offset=0,
            is_weak=True,
            notice=f"not found in the index: {listed((held.text,))}{'; similar:' if shown else ''}",
        )

    def _candidates(self) -> Candidates:
        weights = self._weights
        return find_candidates(
            self._snapshot,
            self._query,
            self._page,
            self._asked.where,
            weights.inflection,
            lexicon=weights.lexicon > 0.0,
            breadth=self._breadth,
            long=self._long,
        )

    def _ranked(self, found: Candidates, phrases: Mapping[ChunkKey, float] = NO_PHRASES) -> list[RankedPlace]:
        ranked = rank(found, self._weights, self._asked.kinds, phrases)
        languages: dict[str, str] = {}
        n_weighed = max(WEIGHED_FILES, self._page)
        for place in ranked:
            languages[place.file.path] = place.file.language
            if len(languages) == n_weighed:
                break
        counts = self._snapshot.facts.importer_counts(languages, MAX_IMPORTERS)
        return with_importers(ranked, counts, self._weights.importers)

    def _ranked_by_text(self) -> list[RankedPlace]:
        return self._ranked(self._candidates())

    def _templates(self) -> Sequence[FoundLine]:
        """Returns the lines of code that produce a message, or name an option without its dashes."""
        held = held_text(self._asked.text)
        if held is not None and held.is_token:
            return option_lines(self._asked, held)
        return template_lines(self._snapshot, self._messages())

    def _messages(self) -> Sequence[FoundMessage]:
        """Returns where the query occurs as a message. Only those that are certain are shown; others count for the ranking of
        error messages."""
        if self._found_messages is None:
            sought, asked = self._sought, self._asked
            self._found_messages = () if sought is None else find_messages(self._snapshot, sought, asked.is_expired)
        return self._found_messages

    def _by_words(self) -> Hits:
        asked, snapshot, query, where, kinds = self._asked, self._snapshot, self._query, self._asked.where, self._asked.kinds
        options, is_expired, intent, weights = asked.options, asked.is_expired, self._intent, self._weights
        sought = self._sought
        # A message that is found as it stands is the answer, and needs no other search.
        messages = self._messages()
        if (
            sought is not None
            and kinds is None
            and "\n" not in query
            and any(item.is_exact and item.is_sure for item in messages)
        ):
            exact = self._exact_message(sought, messages)
            if exact is not None:
                return exact
        found = self._candidates()
        # The rest is quick, and without it there would be no answer at all.
        is_partial = is_expired()
        phrases = {(item.file_id, item.chunk_start): item.share for item in reversed(messages)} if weights.phrase else NO_PHRASES
        ranked = self._ranked(found, phrases)
        unknown = unknown_words(snapshot, query)
        if unknown:
            ranked = []
        is_vague = bool(unknown) or (options.meaning is None and is_weak(snapshot, intent, found, ranked, weights))
        if kinds is None and weights.best and not is_partial:
            n_files = max(self._breadth.compared, self._page)
            ranked = with_best_definitions(snapshot, ranked, found, weights, n_files, is_expired)
        meaning_warnings: tuple[str, ...] = ()
        if options.meaning is not None:
            from codecompass.query.semantic_search import with_meaning  # only where search by meaning is on

            ranked, meaning_warnings = with_meaning(snapshot, ranked, options.meaning, where, kinds, found)
        best = _highest(ranked)
        if self._commented is not None:
            from codecompass.query.review_context import with_context

            ranked = with_context(snapshot, self._commented, ranked, where)
        elif kinds is None:
            ranked = (
                _merged(named_definitions(snapshot, query, intent, ranked, where), ranked)
                if self._long is None
                else with_named_places(snapshot, self._long, ranked, where)
            )
        # The frames of a trace are more precise than the message above them; a single location beside a message is not.
        quoted = message_places(snapshot, messages, kinds, best if len(frames(query)) > 1 else _highest(ranked))
        ranked = _merged(quoted, ranked)
        if kinds is None and where == Filter() and self._commented is None:
            ranked = relation_places(snapshot, query, _highest(ranked), is_expired, options.history) + ranked
        warnings: tuple[str, ...] = ()
        asked_place = asked_lines(query)
        if (intent == "path" or asked_place is not None) and kinds is None:
            named = named_files(snapshot, query, where, self._page, above=_highest(ranked), root=asked.root)
            if intent == "path" and not named:
                path = query if asked_place is None else asked_place.path
                warnings = (f"no indexed file has the path {listed((path,))}",)
            # A requested line is the whole answer.
            ranked = named if named and asked_place is not None else named + ranked
        end = asked.page.end
        if options.answers == "text" and quoted and not asked.page.offset:
            # A pasted message asks for the line that it comes from; other places with its words are on the next page.
            end = min(end, len(quoted) + OTHERS_BESIDE_A_MESSAGE)
        held = held_text(query) if kinds is None and not is_partial and not quoted else None
        is_ranked = held is None or held.is_certain or options.is_for_merging
        lines = [] if held is None or is_ranked else few_lines(snapshot, held, where, options, is_expired, ranked)
        # What ranks above everything found by words answers directly.
        is_vague = is_vague and not lines and self._commented is None and (self._long is not None or _highest(ranked) <= best)
        if is_vague and not asked.page.offset and (options.answers == "text" or asked.request.limit is None):
            end = min(end, WEAK_PLACES)
        last: list[Hit] = []
        if self._commented is not None and not asked.page.offset:
            room = max(1, end // LAST_SHARE)
            last = self._commented.last_hits(snapshot, ranked[: max(1, end - room)], options.history)[-room:]
        shown, duplicates, has_more, is_partial = self._fitted(
            lines, ranked, found.wanted, quoted, max(1, end - len(last)), is_late=is_partial
        )
        shown = [*_each_once(shown), *last][asked.page.offset :]
        # Most tokens of a long text are those of the program that it shows.
        if kinds is None and not is_partial and len(query.split()) > 1 and self._long is None:
            limit = end - asked.page.offset if is_vague else asked.page.limit
            shown = with_held_tokens(snapshot, query, shown, ranked, where, limit, options, is_expired)
        notice, word_warnings = self._word_notes(unknown, is_empty=not shown, is_vague=is_vague)
        return Hits(
            shown=tuple(shown),
            intent=intent,
            total=len(lines) + len(ranked) - duplicates,
            next_offset=asked.page.offset + len(shown) - len(last) if has_more and shown else 0,
            duplicates=duplicates,
            wanted=found.wanted,
            is_weak=is_vague,
            notice=notice if self._commented is None else self._commented.notice,
            warnings=(*warnings, *word_warnings, *meaning_warnings, *((TIME_WAS_UP,) if is_partial else ())),
            is_partial=is_partial,
        )

    def _exact_message(self, sought: SoughtMessage, messages: Sequence[FoundMessage]) -> Hits | None:
        """Returns every line that has a message as it was pasted; None if none has, as it is written with escapes or spread over
        lines, or if the message is a part of a longer text."""
        asked = self._asked
        is_message = any(item.is_exact and item.is_sure for item in messages)
        if not is_message or asked.kinds is not None or "\n" in self._query or frames(self._query):
            return None
        for text in dict.fromkeys((self._query, sought.message.core)):
            if len(text) > MAX_LENGTH:
                continue
            held = HeldText(text, is_token=False, is_certain=True)
            found = find_verbatim(
                self._snapshot,
                held,
                asked.page,
                asked.where,
                None,
                asked.options,
                asked.is_expired,
                list,
                templates=lambda: template_lines(self._snapshot, messages),
            )
            if found is not None:
                return msgspec.structs.replace(found, intent=self._intent)
        return None

    def _fitted(
        self,
        lines: Sequence[Hit],
        ranked: Sequence[RankedPlace],
        wanted: WantedWords,
        quoted: Sequence[RankedPlace],
        end: int,
        *,
        is_late: bool,
    ) -> tuple[list[Hit], int, bool, bool]:
        """Returns the first `end` hits without duplicates, those with the query as it was asked first, how many places were
        duplicates, whether there is another hit, and whether the time was up. With `is_late` it was already."""
        asked = self._asked
        best = _highest(ranked)
        shown = [_above(hit, best, index) for index, hit in enumerate(lines)][:end]
        seen = {(hit.place.file.id, hit.place.line_start, hit.place.line_end) for hit in lines}
        quoted = (*quoted, *(hit.place for hit in lines))
        copies = NearCopies(self._snapshot)
        duplicates = 0
        if len(lines) > end:
            return shown, 0, True, is_late
        for candidate in ranked:
            if shown and not is_late and asked.is_expired():
                return shown, duplicates, False, True
            place = candidate if candidate.focus else fit_to_definition(self._snapshot, candidate, wanted, asked.kinds)
            if place is None:
                continue
            key = (place.file.id, place.line_start, place.line_end)
            if key in seen or (candidate not in quoted and _is_around(place, quoted)):
                duplicates += 1
                continue
            original = copies.original(place, shown) if candidate not in quoted else None
            if original is not None:
                hit = shown[original]
                shown[original] = msgspec.structs.replace(hit, n_copies=hit.n_copies + 1)
                duplicates += 1
                continue
            if len(shown) == end:
                return shown, duplicates, True, is_late
            seen.add(key)
            shown.append(Hit(place=place))
        return shown, duplicates, False, is_late

    def _word_notes(self, unknown: tuple[str, ...], *, is_empty: bool, is_vague: bool) -> tuple[str, tuple[str, ...]]:
        """Returns what is said before the hits about the words of a query (that none is in the index, that an identifier is not,
        or that no place fits), and the warnings about filters."""
        asked, query, request = self._asked, self._query, self._asked.request
        if is_empty and is_handle(query):
            return "", (outdated(query).message,)
        filtered = filter_warnings(self._snapshot, asked.where, request.language, request.path, request.kind) if is_empty else ()
        if filtered:
            return "", filtered
        if unknown:
            return f"no word of the query occurs in the index: {listed(unknown)}", ()
        is_question = self._intent in ("symbol", "natural_language") and self._long is None
        missing = missing_names(self._snapshot, query) if is_question else ()
        if is_vague:
            absent = absent_words(self._snapshot, query) if self._long is None else ()
            return weak_notice(tuple(dict.fromkeys((*missing, *absent)))), ()
        return (f"not found in the index: {listed(missing)}" if missing else ""), ()


def _highest(ranked: Sequence[RankedPlace]) -> float:
    return ranked[0].score if ranked else 0.0


def _merged(places: list[RankedPlace], ranked: list[RankedPlace]) -> list[RankedPlace]:
    return sorted(places + ranked, key=lambda place: -place.score) if places else ranked


def _with_bm25(hit: Hit, score: float) -> Hit:
    signals = msgspec.structs.replace(hit.place.signals, bm25=score)
    return msgspec.structs.replace(hit, place=msgspec.structs.replace(hit.place, signals=signals))


def _is_named(hit: Hit, text: str) -> bool:
    """Whether a hit is the definition that a misspelt name, or the name of a member of another scope, means."""
    symbol = hit.place.symbol
    return symbol is not None and (
        hit.place.signals.qualified > 0.0 or symbol.name.lower() == (name_parts(text) or ("",))[-1].lower()
    )


def _above(hit: Hit, best: float, index: int) -> Hit:
    signals = msgspec.structs.replace(hit.place.signals, exact=1.0)
    return msgspec.structs.replace(hit, place=msgspec.structs.replace(hit.place, score=score_above(best, index), signals=signals))


def _each_once(shown: Sequence[Hit]) -> Iterator[Hit]:
    """Yields the hits; definitions in `also` that are hits themselves are dropped there."""
    hits = {(hit.place.file.id, hit.place.line_start) for hit in shown}
    for hit in shown:
        also = tuple(row for row in hit.place.also if (row.file_id, row.line_start) not in hits)
        if len(also) == len(hit.place.also):
            yield hit
        else:
            yield msgspec.structs.replace(hit, place=msgspec.structs.replace(hit.place, also=also))


def _is_around(place: RankedPlace, quoted: Sequence[RankedPlace]) -> bool:
    """Whether a snippet was found for a line that is already shown as the origin of a message."""
    return place.type == "snippet" and any(
        place.file.id == other.file.id and other.line_start <= place.focus <= other.line_end for other in quoted
    )


ALL: Final = 100_000
"""More places than a search ever finds: it retrieves a few hundred candidates."""


def explain_path(
    snapshot: Snapshot,
    request: SearchCode,
    path: str,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> PathExplanation:
    """Returns why a file has its rank in the search `request`, or is not found.

    `path` is relative to the workspace, or the end of a path if only one indexed file has it.

    Raises InvalidInput for a regular expression that cannot be used.
    """
    file = _file(snapshot, path)
    if file is None:
        return PathExplanation(path=path, verdict="not_indexed")
    path = file.path
    if file.status != "indexed":
        return PathExplanation(path=path, verdict="skipped", skip_reason=file.reason)
    limit = request.limit or options.default_limit
    hits = find(snapshot, request, ALL, options, is_expired, page=limit)
    missing = _missing_words(snapshot, request, file.id)
    rank = next((rank for rank, shown in enumerate(hits.shown, 1) if shown.place.file.id == file.id), None)
    if rank is not None:
        return PathExplanation(
            path=path,
            verdict="shown" if rank <= limit else "below_the_limit",
            rank=rank,
            total=len(hits.shown),
            reason=ranking_reasons(snapshot, hits.shown[:rank], "full", hits.wanted)[-1],
            missing_words=missing,
        )
    verdict: Verdict = "no_match"
    if not _passes(snapshot, request, file.id, options):
        verdict = "filtered_out"
    elif any(word.text not in missing for word in _words(request)):
        verdict = "not_among_the_candidates" if request.kind is None else "filtered_out"
    return PathExplanation(path=path, verdict=verdict, total=len(hits.shown), missing_words=missing)


def _file(snapshot: Snapshot, path: str) -> FileRow | None:
    tail = plain_path(path).strip("/")
    named = snapshot.facts.file(path) or snapshot.facts.file(tail)
    if named is not None or not tail:
        return named
    ending = snapshot.facts.paths_ending(tail, 2)
    return snapshot.facts.file(ending[0]) if len(ending) == 1 else None


def _words(request: SearchCode) -> tuple[QueryWord, ...]:
    return query_words(request.query) if request.mode == "auto" else ()


def _missing_words(snapshot: Snapshot, request: SearchCode, file_id: int) -> tuple[str, ...]:
    only_here = Filter(file_ids=(file_id,))
    return tuple(
        word.text for word in _words(request) if not snapshot.text.search_chunks(retrieval.chunk_query((word,)), 1, only_here)
    )


def _passes(snapshot: Snapshot, request: SearchCode, file_id: int, options: QueryOptions) -> bool:
    where = index_filter(snapshot, request.language, request.path, options.changed)
    return passes(where)(file_id, snapshot.facts.indexed_files([file_id])[file_id].language)


NEAR_MISS_LOOKS: Final = 1_000
"""Chunks that are searched for a suggestion."""

NEAR_MISS_LENGTH: Final = 1_000
"""Longest query, in characters, that is also tried ignoring case: longer ones are pasted, with the correct case."""


def search_code(
    snapshot: Snapshot,
    request: SearchCode,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> SearchCodeReply:
    """Returns the answer to `request`. Once `is_expired` returns True, scans end with what they have found.

    Raises InvalidInput for a regular expression that cannot be used; no other text is an error.
    """
    limit = request.limit or options.default_limit
    request = relative_request(request, state.workspace)
    hits, page = _page(snapshot, request, limit, state.workspace, options, is_expired)
    level = request.ranking_explain_level or options.ranking_explain_level
    warnings = (*changed_warnings(options.changed, is_empty=not hits.shown), *hits.warnings)
    metadata = answer_metadata(snapshot, state, warnings=warnings, is_truncated=page.is_cut, is_partial=hits.is_partial)
    shown = hits.shown[: len(page.results)]
    return SearchCodeReply(
        weak=hits.is_weak,
        notice=hits.notice,
        results=page.results,
        query_intent=hits.intent,
        total_candidates=hits.total,
        unit=hits.unit,
        is_counted=hits.is_counted,
        offset=request.offset,
        next_offset=hits.next_offset,
        is_verbatim=hits.is_verbatim,
        # Looking for what to suggest takes as long as a search, and a merged answer suggests nothing of its parts.
        suggested_next_actions=()
        if options.is_for_merging
        else _next_actions(snapshot, request, hits, is_expired, is_cut=page.is_cut),
        metadata=msgspec.structs.replace(
            metadata,
            safety_limit_applied=page.is_cut,
            suppressed_duplicate_count=hits.duplicates,
            ranking_reasons=ranking_reasons(snapshot, shown, level, hits.wanted),
            why_not=explain_path(snapshot, request, request.why_not, options, is_expired) if request.why_not else None,
        ),
        evidence=search_evidence(snapshot, request.query, shown)
        if options.is_for_merging and request.mode == "auto" and not hits.is_verbatim
        else None,
    )


def _page(
    snapshot: Snapshot, request: SearchCode, limit: int, root: str, options: QueryOptions, is_expired: Callable[[], bool]
) -> tuple[Hits, Page]:
    """Returns the hits of a page and their results: fewer if they do not fit into the limit of bytes; then the next page begins
    with the first one that is left out."""
    size, is_cut = limit, False
    while True:
        hits = find(snapshot, request, size, options, is_expired, page=limit, root=root)
        page = _shaped(snapshot, request, hits, options)
        kept = hits.shown[: len(page.results)]
        n_shown = sum(max(1, len(hit.matched_lines)) for hit in kept) if hits.are_lines_paged else len(kept)
        if not page.is_cut:
            return hits, msgspec.structs.replace(page, is_cut=is_cut)
        if not hits.are_lines_paged or n_shown >= size:
            return msgspec.structs.replace(hits, next_offset=request.offset + n_shown), page
        # Lines of one definition are one hit, wherever they are on the page, so the hits of fewer lines are others.
        size, is_cut = n_shown, True


def _shaped(snapshot: Snapshot, request: SearchCode, hits: Hits, options: QueryOptions) -> Page:
    n_lines = sum(len(hit.matched_lines) for hit in hits.shown)
    return shape(
        snapshot,
        hits.shown,
        ResultShape(
            detail_level=request.detail_level,
            compact=request.compact,
            with_content=request.project_id is not None,
            answers=options.answers,
            pattern=word_pattern(request.query) if options.answers == "text" and request.mode == "auto" else None,
            with_docs=request.docs,
            max_bytes=options.result_bytes(request.limit),
            n_full=FULL_HITS,
            are_lines=hits.unit == "line"
            and (options.shows_lines or n_lines > LINES_IN_SCOPE or len(request.query.split()) == 1),
        ),
    )


def _next_actions(
    snapshot: Snapshot, request: SearchCode, hits: Hits, is_expired: Callable[[], bool], *, is_cut: bool
) -> tuple[NextAction, ...]:
    if is_cut:
        mode = "" if request.mode == "auto" else request.mode
        return (NextAction(tool="search_code", query=request.query, mode=mode, offset=hits.next_offset),)
    if hits.shown or request.offset or request.mode == "files":
        return ()
    if request.mode != "auto" or request.kind or request.language or request.path:
        return (*_near_miss(snapshot, request, hits, is_expired), NextAction(tool="search_code", query=request.query))
    return ()


def _near_miss(snapshot: Snapshot, request: SearchCode, hits: Hits, is_expired: Callable[[], bool]) -> tuple[NextAction, ...]:
    """Returns the same literal or pattern, ignoring case, if that finds something."""
    if request.mode in ("auto", "files") or hits.is_partial or "\n" in request.query or len(request.query) > NEAR_MISS_LENGTH:
        return ()
    pattern = "(?i)" + (escaped(request.query) if request.mode == "literal" else request.query)
    is_found = hits.is_in_other_case
    if is_found is None:
        without_case = msgspec.structs.replace(request, mode="regex", query=pattern)
        looks = itertools.count()
        own = QueryOptions(max_matched_lines=1)
        is_found = bool(find(snapshot, without_case, 1, own, lambda: next(looks) >= NEAR_MISS_LOOKS or is_expired()).shown)
    return (NextAction(tool="search_code", query=pattern, mode="regex"),) if is_found else ()
