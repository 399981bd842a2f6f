"""What the word summary of an index says about a question, without the index: whether it can have an answer, and how much of the
question it has. It may be wrong in one direction only: an index that has an answer is never ruled out.

A question is read once for all indexes: there may be a thousand, and reading a long pattern takes milliseconds.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from codecompass import lazy
from codecompass.protocol.replies import ImportedSymbol, SearchEvidence, WordEvidence
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.filters import symbol_kinds
from codecompass.query.locate import ONLY_IMPORTS, ONLY_TESTS
from codecompass.query.merging import word_worth
from codecompass.query.messages.traces_and_signatures import frames
from codecompass.query.names.exact_names import is_handle
from codecompass.query.names.name_lookup import sought_names
from codecompass.query.names.named_locations import asked_lines
from codecompass.query.words.exact_scan import scan_narrowing
from codecompass.query.words.long_question import asked_words
from codecompass.query.words.query_words import name_parts
from codecompass.store.ngram_filter import piece_ngrams
from codecompass.store.schema import index_tokens
from codecompass.store.text_queries import TOKEN_MARKS, Narrowing, TermPattern
from codecompass.store.word_summary import WordSummary, word_key

Condition = Callable[[WordSummary], bool]
"""Whether an index can have something, by its summary."""

COUNTED_FIELDS: Final = ("body", "parts", "pairs", "path_words", "name_words")


MAX_SAMPLED: Final = 32
"""Indexes that are sampled if the words of all are known."""

_RUN: Final = lazy.pattern("[a-z0-9]+")
_NAME: Final = lazy.pattern("[a-z0-9_]+")


def is_decidable(request: SearchCode | LocateSymbol | FindReferences) -> bool:
    """Whether `can_answer` can rule an index out."""
    match request:
        case SearchCode():
            return request.mode in ("literal", "regex")
        case LocateSymbol():
            kinds = symbol_kinds(request.kind)
            is_by_place = asked_lines(request.name) is not None or bool(frames(request.name))
            # Ids do not say of which index they are, and titles of tests are not in the text index.
            # Several words may be the title of a test as well.
            is_name = len(request.name.split()) == 1
            return is_name and not (is_handle(request.name) or is_by_place or kinds in (ONLY_TESTS, ONLY_IMPORTS))
        case FindReferences():
            return not is_handle(request.symbol_name) and asked_lines(request.symbol_name) is None


def can_answer(request: SearchCode | LocateSymbol | FindReferences) -> Condition:
    """Returns whether an index can have what a decidable request asks for: lines of a scan, or a definition of exactly its name,
    ignoring case."""
    match request:
        case SearchCode():
            return _can_hold(scan_narrowing(request))
        case LocateSymbol():
            return _can_define(request.name)
        case FindReferences():
            return _can_define(request.symbol_name)


def _can_define(text: str) -> Condition:
    """Returns whether an index can define the name that `text` is, ends with or declares, ignoring case."""
    names = sought_names(text)
    lasts = (part for name in names for part in name_parts(name)[-1:])
    words = (token for name in names for token in index_tokens(name)[-1:])
    lowered = tuple(dict.fromkeys(name.lower() for name in (*names, *lasts, *words)))
    return lambda summary: any(summary.document_frequency("name", name) for name in lowered)


def can_use(symbol: ImportedSymbol) -> Condition:
    """Returns whether an index can have files that use a definition of another repository: it has the definition's name in its
    text, and the name of a package of that repository, as each import of it has."""
    has_name = _has_words(symbol.name)
    has_package = [_has_words(package) for package in (*symbol.own, *symbol.others)]
    return lambda summary: has_name(summary) and any(has(summary) for has in has_package)


def _has_words(text: str) -> Condition:
    """Returns whether an index can have each word of a text, as a word or in one that cannot be found by its letters."""
    words = [
        (word_key("body", word), piece_ngrams(word) if _NAME.fullmatch(word) else ())
        for word in dict.fromkeys(index_tokens(text))
    ]
    return lambda summary: all(summary.frequency_of(key) or summary.may_have_odd_piece(ngrams) for key, ngrams in words)


def _can_hold(narrowing: Narrowing) -> Condition:
    """Returns whether an index can have a text that a scan selects."""
    if narrowing.is_everything:
        return lambda summary: True
    alternatives = [
        [[_has_term(term, is_by_ascii=narrowing.is_by_ascii) for term in need] for need in needs]
        for needs in narrowing.alternatives
    ]
    # Without them, any word that cannot be found by its letters may be what is looked for.
    odd_pieces = [()] if narrowing.pieces is None else [piece_ngrams(piece) for piece in narrowing.pieces]

    def can_hold(summary: WordSummary) -> bool:
        if any(summary.may_have_odd_piece(ngrams) for ngrams in odd_pieces):
            return True
        return any(all(any(has_term(summary) for has_term in need) for need in needs) for needs in alternatives)

    return can_hold


def _has_term(term: TermPattern, *, is_by_ascii: bool) -> Condition:
    """Returns whether an index can have a token that fits a term: by the token, if it is known as a whole, or by its pieces."""
    # Where letters outside ASCII count as ends, marked names have the words between them, which are not summarized.
    is_whole = not term.is_open and (term.field in ("parts", "pairs") or (term.field != "calls" and not is_by_ascii))
    if is_whole:
        key = word_key(term.field, TOKEN_MARKS[term.field] + term.pieces[0])
        return lambda summary: summary.frequency_of(key) > 0
    ngrams = tuple(dict.fromkeys(_ngrams_of(term)))
    return lambda summary: summary.may_have_piece(ngrams)


def _ngrams_of(term: TermPattern) -> Iterator[int]:
    """Yields the n-grams in the words of a text that has a token of a term: an underscore ends a word there, and a part of a
    camelCase word is somewhere in it."""
    last = len(term.pieces) - 1
    for number, piece in enumerate(term.pieces):
        is_start_open = number > 0 or term.is_start_open or term.field == "parts"
        is_end_open = number < last or term.is_end_open or term.field == "parts"
        for run in _RUN.finditer(piece):
            yield from piece_ngrams(
                run[0],
                is_start_open=is_start_open and run.start() == 0,
                is_end_open=is_end_open and run.end() == len(piece),
            )


def expected_evidence(summaries: Iterable[WordSummary], query: str) -> list[SearchEvidence]:
    """Returns what `merging.sample_evidence` does for each index, without hits."""
    wanted = asked_words(query)
    return [
        SearchEvidence(
            n_texts=max(1, summary.n_chunks),
            words=tuple(
                WordEvidence(
                    word.text, word.weight, max(summary.document_frequency(field, word.text) for field in COUNTED_FIELDS)
                )
                for word in wanted
            ),
            hits=(),
        )
        for summary in summaries
    ]


def fullest(expected: Sequence[SearchEvidence], count: int) -> list[int]:
    """Returns the up to `count` indexes whose words are most of the question, as numbers in `expected`, best first; of equals
    those where the words are more frequent. None has no word of it."""
    worth = word_worth(expected)
    ordered = []
    for number, each in enumerate(expected):
        known = sum(worth[word.text] for word in each.words if word.frequency)
        share = sum(worth[word.text] * word.frequency / (each.n_texts + word.frequency) for word in each.words)
        if known > 0.0:
            ordered.append((-known, -share, number))
    return [number for *_, number in sorted(ordered)[:count]]


def able(
    request: SearchCode | LocateSymbol | FindReferences, imported: ImportedSymbol | None, known: Mapping[str, WordSummary]
) -> tuple[frozenset[str], frozenset[str]]:
    """Returns the ids of the indexes that can have what is asked for, or use the definition `imported`, and of those of which
    that is known: all in `known`, which has their summaries."""
    can_have = can_answer(request) if imported is None else can_use(imported)
    return frozenset(index_id for index_id, summary in known.items() if can_have(summary)), frozenset(known)


def expected_of(words: str, known: Mapping[str, WordSummary]) -> tuple[Collection[str], Mapping[str, SearchEvidence]]:
    """Returns the ids of the up to MAX_SAMPLED indexes that have most of the question `words`, and what is expected of each other
    one."""
    ids = list(known)
    expected = expected_evidence(known.values(), words)
    best = {ids[number] for number in fullest(expected, MAX_SAMPLED)}
    return best, {index_id: each for index_id, each in zip(ids, expected, strict=True) if index_id not in best}
