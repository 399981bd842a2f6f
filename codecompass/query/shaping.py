"""Turns hits into results: detail level, `compact`, ids, ranking reasons, the limit in bytes.

Hits arrive ranked and without duplicates. Each result is made for the detail level, then made compact (identity, location and
score always remain); finally the page is cut if it is too large.
"""

import re
import textwrap
from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import identity, lazy
from codecompass.languages.records import SymbolKind
from codecompass.protocol.encode import encoded_size
from codecompass.protocol.metadata import RankingReason
from codecompass.protocol.replies import Excerpt, FurtherDefinition, Result, SymbolReference
from codecompass.protocol.requests import MAX_LIMIT, DetailLevel, ExplainLevel
from codecompass.query.excerpts import CONTEXT_LINES, Body, body_of, excerpt_of
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.names.named_locations import lines_shown
from codecompass.query.search_hits import Hit, RankedPlace
from codecompass.query.source_lines import (
    CONTENT_CHARACTERS,
    CONTENT_LINES,
    PREVIEW_CHARACTERS,
    PREVIEW_LINES,
    cut,
    excerpt,
    lines_of,
)
from codecompass.query.words.query_words import WantedWords, stem, word_bag
from codecompass.settings import AnswerForm
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

SNIPPET_CHARACTERS: Final = 160
MAX_RELATED: Final = 5
MAX_RELATED_WORDS: Final = 5
RELATED_LOOKUPS: Final = 12
LINES_ABOVE_FOCUS: Final = 3

HIT_BYTES: Final = 500
"""Limit for a hit at level `signature`. Definitions beside it are left out if they do not fit."""

LEAST_SIGNATURE: Final = 40
"""Characters of a signature that are kept when definitions beside the hit need the room: its name is in the hit anyway."""

LATER_RESULT_BYTES: Final = 600
"""Reserved for each further result after one with a body: the size of most results without one."""

NO_BODY: Final = Body((), 0, 0)

_TYPE_KINDS: Final[frozenset[SymbolKind]] = frozenset({"class", "struct", "enum", "trait", "interface", "type"})
_WORD: Final = lazy.pattern(r"[^\W\d]\w*")


class ResultShape(Struct, frozen=True, kw_only=True):
    """What results contain."""

    detail_level: DetailLevel = "signature"
    compact: bool = False
    with_content: bool = False
    """Whether the location and its text are repeated, for callers that name a project."""
    answers: AnswerForm = "json"
    """As text, each result has an excerpt instead of all other code."""
    pattern: re.Pattern[str] | None = None
    """Matches the words of the query in a line, for excerpts."""
    with_docs: bool = False
    max_bytes: int
    n_full: int = MAX_LIMIT
    """The first hits of a text answer, which are shown with their signatures and lines; the others only with what says whether to
    look there."""
    are_lines: bool = False
    """Whether the answer consists of lines: then text shows them alone, and definitions without an excerpt."""


class Page(Struct, frozen=True):
    """Results of an answer; `is_cut` if the byte limit left some out."""

    results: tuple[Result, ...]
    is_cut: bool


def shape(snapshot: Snapshot, shown: Sequence[Hit], wanted: ResultShape) -> Page:
    """Returns the results of a page in the order of `shown`, as many as fit; always the first one.

    A body that would leave no room for later results is left out, and its lines are counted.
    """
    results: list[Result] = []
    size = 2
    for index, item in enumerate(shown):
        result = (
            _text_result(snapshot, item, wanted, is_brief=index >= wanted.n_full)
            if wanted.answers == "text"
            else _result(snapshot, item, wanted)
        )
        if _has_body(result) and results:
            rest = LATER_RESULT_BYTES * (len(shown) - index - 1)
            if size + encoded_size(result) + 1 + rest > wanted.max_bytes:
                result = _without_body(result)
        size += encoded_size(result) + 1
        if results and size > wanted.max_bytes:
            return Page(tuple(results), is_cut=True)
        results.append(result)
    return Page(tuple(results), is_cut=False)


def ranking_reasons(
    snapshot: Snapshot,
    shown: Sequence[Hit],
    level: ExplainLevel,
    wanted: WantedWords | None = None,
) -> tuple[RankingReason, ...]:
    """Returns one entry for each result, or none at level `off`. `wanted` are the words of the query."""
    if level == "off":
        return ()
    is_full = level == "full"
    return tuple(
        _reason(
            index,
            item.place,
            _related_words(snapshot, item.place, wanted) if is_full else (),
            is_full=is_full,
        )
        for index, item in enumerate(shown)
    )


def _related_words(snapshot: Snapshot, place: RankedPlace, wanted: WantedWords | None) -> tuple[str, ...]:
    """Returns which words of a place stand for words of the query that it does not have."""
    if wanted is None or not wanted.related:
        return ()
    text = "\n".join(lines_of(snapshot, place.file.id, place.line_start, min(place.line_end, place.line_start + CONTENT_LINES)))
    stems = {stem(word) for word in word_bag(text)}
    found = [
        f"{word} for {wanted.words[number]}"
        for word, matches in wanted.related.items()
        if stem(word) in stems
        for number, _ in matches
        if stem(wanted.words[number]) not in stems
    ]
    return tuple(found[:MAX_RELATED_WORDS])


def stable_handle(row: SymbolRow) -> str:
    """Returns the `symbol_stable_id` of a definition: the same for a prototype and for what it declares."""
    return identity.symbol_stable_id(row.file_language, row.kind, row.qualified_name, row.signature.removesuffix(";"))


def reference(row: SymbolRow) -> SymbolReference:
    """Returns a short reference to a definition."""
    return SymbolReference(kind=row.kind, name=row.name, path=row.path, line=row.line_start)


def _has_body(result: Result) -> bool:
    return bool(result.body) or (result.excerpt is not None and len(result.excerpt.lines) > CONTEXT_LINES)


def _without_body(result: Result) -> Result:
    if result.excerpt is not None:
        omitted = len(result.excerpt.lines) + result.excerpt.n_omitted
        shorter = msgspec.structs.replace(result.excerpt, lines=(), is_whole=False, n_omitted=omitted)
        return msgspec.structs.replace(result, excerpt=shorter)
    omitted = result.body.count("\n") + 1 + result.body_lines_omitted
    return msgspec.structs.replace(result, body="", body_line_start=0, body_lines_omitted=omitted)


def _result(snapshot: Snapshot, item: Hit, wanted: ResultShape) -> Result:
    place, level = item.place, wanted.detail_level
    row = place.symbol
    named = row or place.enclosing
    is_brief = level == "location"
    is_described = not (is_brief or wanted.compact)
    shows_text = level == "context" and not wanted.compact
    preview = _preview(snapshot, place) if shows_text else ""
    shows_body = level == "body" and not wanted.compact
    body = body_of(snapshot, place, with_docs=wanted.with_docs) if shows_body else NO_BODY
    content = _content(snapshot, place) if (shows_text or shows_body) and wanted.with_content else ""
    result = Result(
        path=place.file.path,
        line_start=place.line_start,
        line_end=place.line_end,
        kind=named.kind if named else "use" if place.imported else "",
        name=named.name if named else place.imported,
        match=item.match,
        qualified_name=named.qualified_name if named and is_described else "",
        signature=row.signature if row and is_described else "",
        language=place.file.language if is_described else "",
        visibility=row.visibility if row and is_described else "",
        symbol_id=symbol_handle(snapshot, row) if row else "",
        # An id takes 38 of the 500 bytes that a hit may take, so the second one is included at level `context` only.
        symbol_stable_id=stable_handle(row) if row and shows_text else "",
        result_id="" if row else result_handle(snapshot, place),
        # A symbol is recognised by its symbol_id.
        result_type="" if is_brief or row else place.type,
        score=None if is_brief else place.final_score,
        snippet=_snippet(snapshot, place) if is_described and not (row or item.matched_lines) else "",
        matched_lines=item.matched_lines or item.held,
        asked_line=place.asked_first if is_described else 0,
        lines=lines_shown(snapshot, place) if is_described else (),
        body=body.text,
        body_line_start=body.line_start if body.lines and body.line_start != place.line_start else 0,
        body_lines_omitted=body.lines_omitted,
        body_preview=preview,
        parent=_parent(snapshot, row or place.enclosing, is_self=row is not None) if shows_text else None,
        related_symbols=_related(snapshot, row, preview) if shows_text and row else (),
        content=content,
        start_line=place.line_start if content else 0,
        end_line=place.line_end if content else 0,
        copies=item.n_copies,
    )
    return _with_further(result, place, HIT_BYTES if level == "signature" else wanted.max_bytes) if is_described else result


def _text_result(snapshot: Snapshot, item: Hit, wanted: ResultShape, *, is_brief: bool) -> Result:
    """Returns a result for text answers: location, kind, name and an excerpt; with `is_brief` a definition without, and the best
    line of anything else."""
    place = item.place
    row = place.symbol
    named = row or place.enclosing
    is_location = wanted.compact or wanted.detail_level == "location"
    level: DetailLevel = "location" if is_location else wanted.detail_level
    return Result(
        path=place.file.path,
        line_start=place.line_start,
        line_end=place.line_end,
        kind=named.kind if named else "use" if place.imported else "",
        name=named.name if named else place.imported,
        match=item.match,
        qualified_name=named.qualified_name if named else "",
        signature=row.signature if row and not (is_location or (is_brief and level == "signature")) else "",
        result_type="lines" if level == "signature" and _is_line(item, wanted, is_brief=is_brief) else _type_of(place),
        excerpt=_excerpt(snapshot, item, level, wanted, is_brief=is_brief),
        also=() if is_location or is_brief else _further(place),
        copies=item.n_copies,
    )


def _is_line(item: Hit, wanted: ResultShape, *, is_brief: bool) -> bool:
    """Whether a hit is shown as nothing but lines: it is one of many lines, or a late hit outside of a definition."""
    if wanted.are_lines:
        return bool(item.matched_lines)
    return is_brief and item.place.symbol is None and item.place.type == "snippet" and not item.place.asked_first


def _type_of(place: RankedPlace) -> str:
    return "symbol" if place.symbol is not None else place.type


def _excerpt(snapshot: Snapshot, item: Hit, level: DetailLevel, wanted: ResultShape, *, is_brief: bool) -> Excerpt:
    if wanted.are_lines and level == "signature" and not item.matched_lines:
        # A definition among lines: its signature is its line.
        return Excerpt()
    excerpt = excerpt_of(
        snapshot, item.place, item.matched_lines, level, wanted.pattern, with_docs=wanted.with_docs, is_brief=is_brief
    )
    known = {line.line for line in excerpt.lines}
    further = [line for line in item.held if line.line not in known]
    if not further or level != "signature":
        return excerpt
    return msgspec.structs.replace(excerpt, lines=tuple(sorted((*excerpt.lines, *further), key=lambda line: line.line)))


def _further(place: RankedPlace) -> tuple[FurtherDefinition, ...]:
    return tuple(FurtherDefinition(name=row.name, line_start=row.line_start, line_end=row.line_end) for row in place.also)


def _with_further(result: Result, place: RankedPlace, most_bytes: int) -> Result:
    """Returns a result with as many definitions beside it as fit; a signature is cut to make room for them."""
    further = _further(place)
    found = _with_fitting(result, further, most_bytes)
    if len(found.also) < len(further) and len(result.signature) > LEAST_SIGNATURE:
        brief = _with_fitting(_with_signature(result, LEAST_SIGNATURE), further, most_bytes)
        if len(brief.also) > len(found.also):
            roomy = _with_signature(result, LEAST_SIGNATURE + most_bytes - _size(brief))
            found = msgspec.structs.replace(roomy, also=brief.also)
            # A character may take several bytes.
            found = found if _size(found) <= most_bytes else brief
    return found


def _with_signature(result: Result, characters: int) -> Result:
    signature = result.signature
    return msgspec.structs.replace(
        result, signature=signature if len(signature) <= characters else signature[:characters] + "\u2026"
    )


def _with_fitting(result: Result, further: Sequence[FurtherDefinition], most_bytes: int) -> Result:
    for n_fitting in range(len(further), 0, -1):
        found = msgspec.structs.replace(result, also=tuple(further[:n_fitting]))
        if _size(found) <= most_bytes:
            return found
    return result


def _size(result: Result) -> int:
    """Returns the bytes of a result on a page, where each entry of a list is on a separate line."""
    return encoded_size(result) + len(result.also) + 1


def result_handle(snapshot: Snapshot, place: RankedPlace) -> str:
    """Returns the `result_id` of a place without a symbol."""
    return identity.result_id(snapshot.project_id, place.file.path, place.line_start, place.line_end)


def _snippet(snapshot: Snapshot, place: RankedPlace) -> str:
    lines = lines_of(snapshot, place.file.id, place.focus, place.focus) if place.focus else []
    return cut(lines[0].strip(), SNIPPET_CHARACTERS) if lines else ""


def _preview(snapshot: Snapshot, place: RankedPlace) -> str:
    first = place.line_start
    if place.symbol is None and place.focus:
        first = max(first, min(place.focus - LINES_ABOVE_FOCUS, place.line_end - PREVIEW_LINES + 1))
    last = min(place.line_end, first + PREVIEW_LINES)
    text = textwrap.dedent("\n".join(lines_of(snapshot, place.file.id, first, last)))
    return excerpt(text.split("\n"), place.file.language, PREVIEW_LINES, PREVIEW_CHARACTERS)


def _content(snapshot: Snapshot, place: RankedPlace) -> str:
    last = min(place.line_end, place.line_start + CONTENT_LINES)
    lines = lines_of(snapshot, place.file.id, place.line_start, last)
    return excerpt(lines, place.file.language, CONTENT_LINES, CONTENT_CHARACTERS)


def _parent(snapshot: Snapshot, row: SymbolRow | None, *, is_self: bool) -> SymbolReference | None:
    if row is None:
        return None
    if not is_self:
        return reference(row)
    if row.parent_id is None:
        return None
    parent = snapshot.facts.symbols_by_id([row.parent_id]).get(row.parent_id)
    return reference(parent) if parent else None


def _related(snapshot: Snapshot, row: SymbolRow, body: str) -> tuple[SymbolReference, ...]:
    """Returns the types named by a signature and then by a body, each in the nearest file that defines one."""
    found: list[SymbolReference] = []
    words = [word for word in _WORD.findall(f"{row.signature}\n{body}") if word[0].isupper() and word != row.name]
    for word in list(dict.fromkeys(words))[:RELATED_LOOKUPS]:
        known = [
            other
            for other in snapshot.facts.symbols_named(word, RELATED_LOOKUPS)
            if other.name == word and other.kind in _TYPE_KINDS and other.id != row.id
        ]
        if known:
            nearest = min(known, key=lambda other: (-_shared_start(row.path, other.path), other.path, other.line_start))
            found.append(reference(nearest))
        if len(found) == MAX_RELATED:
            break
    return tuple(found)


def _shared_start(path: str, other: str) -> int:
    """Returns how many leading segments two paths share; a file shares one more with itself than with its neighbours."""
    shared = 0
    for left, right in zip(path.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        shared += 1
    return shared


def _reason(index: int, place: RankedPlace, related: tuple[str, ...], *, is_full: bool) -> RankingReason:
    signals = place.signals
    return RankingReason(
        result_index=index,
        exact_match_boost=signals.exact,
        qualified_name_boost=signals.qualified if is_full else None,
        path_affinity=signals.path,
        definition_boost=signals.definition,
        kind_match=signals.kind if is_full else None,
        bm25_score=signals.bm25 if is_full else None,
        related_words=related,
        near_in_meaning=signals.meaning or None,
        final_score=place.final_score,
    )
