"""Searches of the text index as Structs, and the tantivy queries that are built from them.

Text typed by people never reaches tantivy's query parser: words become terms of Query objects here.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

import tantivy
from msgspec import Struct

from codecompass.languages.words import ASCII_MARK, CALL_MARK, NAME_MARK, ODD_WORD_MARK
from codecompass.store.schema import CHUNK_RECORD
from codecompass.store.vocabulary import NOT_KEPT, Vocabulary

TermField = Literal["body", "parts", "names", "calls", "pairs"]


class TermPattern(Struct, frozen=True):
    """A lower-case token that a text must contain; at an open end the token may continue.

    In `body`, tokens are runs of letters and digits; in `parts`, the parts of a camelCase run; in `names`, identifiers with an
    underscore; in `calls`, those followed by a parenthesis; in `pairs`, two letters of a script without blanks (see
    `records.TextWords`). Between `pieces` the token may have further ASCII characters.
    """

    field: TermField
    pieces: tuple[str, ...]
    is_start_open: bool = False
    is_end_open: bool = False

    @property
    def is_open(self) -> bool:
        """Whether tokens other than the one piece fit."""
        return len(self.pieces) > 1 or self.is_start_open or self.is_end_open

    @property
    def is_inside(self) -> bool:
        """Whether it is one piece anywhere in a token."""
        return len(self.pieces) == 1 and self.is_start_open and self.is_end_open

    @property
    def is_beginning(self) -> bool:
        """Whether it is one piece at the beginning of a token."""
        return len(self.pieces) == 1 and not self.is_start_open and self.is_end_open


Need = tuple[TermPattern, ...]
"""Alternatives, one of which a text must contain."""


class Narrowing(Struct, frozen=True):
    """Selects the candidates: texts with all needs of one alternative, or with a word that cannot be found by its letters.

    With `is_everything` every text is a candidate. With `is_by_ascii` a token with a closed end may be followed by a non-ASCII
    letter. `may_be_one_long_word` if a text can match that has none of the alternatives, in a word that is too long to be found.
    `pieces` are lower-case: a text that matches but lacks a need has one of them in a word that cannot be found by its letters.
    They are None if that is not known.
    """

    alternatives: tuple[tuple[Need, ...], ...] = ()
    is_everything: bool = True
    is_by_ascii: bool = False
    may_be_one_long_word: bool = False
    pieces: tuple[str, ...] | None = None


class FieldBoost(Struct, frozen=True):
    """A text field and the factor of its score."""

    field: str
    boost: float


class WordQuery(Struct, frozen=True):
    """One lower-case word searched in several fields. The best field's score counts, and `tie_breaker` (0..1) of the others' is
    added: with 1 the fields are summed, which is the fastest to search.

    With `is_constant` the word scores `boost` once, in whichever field: the sum then tells how many of the words a document has.
    """

    word: str
    fields: tuple[FieldBoost, ...]
    boost: float = 1.0
    is_required: bool = False
    tie_breaker: float = 0.1
    is_constant: bool = False


class Filter(Struct, frozen=True):
    """The conditions of a hit besides the words.

    Empty `languages` means all. `file_ids` None means all files; an empty tuple means none. `left_out` are all other indexed
    files, given if they are fewer: the text index takes 15 ms to filter by 20,000 ids.
    """

    languages: tuple[str, ...] = ()
    file_ids: tuple[int, ...] | None = None
    left_out: tuple[int, ...] = ()


TOKEN_MARKS: Final[Mapping[TermField, str]] = {"body": "", "parts": "", "names": NAME_MARK, "calls": CALL_MARK, "pairs": ""}
BETWEEN_PIECES: Final[Mapping[TermField, str]] = {
    "body": "[a-z0-9]*",
    "parts": "[a-z0-9]*",
    "names": "[a-z0-9_]*",
    "calls": "[a-z0-9_]*",
    "pairs": "",
}

LEAST_FEW: Final = 500
DOCUMENTS_PER_CANDIDATE: Final = 100
"""Reading one candidate for every 100 documents (but at least LEAST_FEW) takes as long as finding all words that end in a given
piece: 9 ms for 98,000 different words, 41 ms for 385,000."""


SHARED_PIECE_LENGTH: Final = 12
"""Letters of a piece that is looked up together with others: tantivy takes an expression of at most 1,000 states."""


class QueryBuilder:
    """Builds the queries for one text index."""

    def __init__(self, schema: tantivy.Schema, vocabulary: Vocabulary | None = None) -> None:
        """`vocabulary` has the words of the index; without it, they are found by a walk through its dictionary."""
        self._schema = schema
        self._vocabulary = vocabulary

    def ranked(self, words: Sequence[WordQuery], where: Filter) -> tantivy.Query:
        """Returns the query for records with some of the words; `where` does not change the score.

        It has no condition for the kind of record, because each field of words belongs to only one kind (see `text_schema`).
        """
        clauses = [(tantivy.Occur.Must, tantivy.Query.const_score_query(query, 0.0)) for query in self._filters(where)]
        optional = []
        for word in words:
            fields = [
                tantivy.Query.boost_query(
                    tantivy.Query.term_query(self._schema, item.field, word.word, index_option="freq"),
                    item.boost * word.boost,
                )
                for item in word.fields
            ]
            if word.tie_breaker == 1.0 and not (word.is_constant or word.is_required):
                # The same sum as below; but only in a plain union of terms tantivy skips documents that cannot be among the best.
                optional += [(tantivy.Occur.Should, query) for query in fields]
                continue
            query = fields[0] if len(fields) == 1 else tantivy.Query.disjunction_max_query(fields, word.tie_breaker)
            if word.is_constant:
                query = tantivy.Query.const_score_query(query, word.boost)
            if word.is_required:
                clauses.append((tantivy.Occur.Must, query))
            else:
                optional.append((tantivy.Occur.Should, query))
        if optional:
            clauses.append((tantivy.Occur.Must, tantivy.Query.boolean_query(optional)))
        return tantivy.Query.boolean_query(clauses)

    def weighed(self, worth: Mapping[str, float], where: Filter, least_words: int = 1) -> tantivy.Query:
        """Returns the query for chunks with at least `least_words` of the words in their text. Their score is the sum of the
        worth of these."""
        words = [
            (tantivy.Occur.Should, tantivy.Query.const_score_query(self._term("body", word), weight))
            for word, weight in worth.items()
        ]
        filters = [(tantivy.Occur.Must, tantivy.Query.const_score_query(query, 0.0)) for query in self._filters(where)]
        # Only chunks have a body, so no condition for the kind of record is needed.
        return tantivy.Query.boolean_query([*filters, (tantivy.Occur.Must, tantivy.Query.boolean_query(words, least_words))])

    def similar_names(self, name: str, distance: int) -> tantivy.Query:
        """Returns the query for symbols whose lower-case name is within `distance` edits of the lower-case `name`."""
        return tantivy.Query.fuzzy_term_query(self._schema, "name", name, distance=distance)

    def names_beginning(self, prefix: str) -> tantivy.Query:
        """Returns the query for symbols whose lower-case name begins with the lower-case `prefix`."""
        return tantivy.Query.fuzzy_term_query(self._schema, "name", prefix, distance=0, prefix=True)

    def chunks_of_file(self, file_id: int) -> tantivy.Query:
        """Returns the query for all chunks of a file."""
        return _all_of(self._term("record", CHUNK_RECORD), tantivy.Query.term_query(self._schema, "file_id", file_id))

    def with_odd_words(self, where: Filter) -> tantivy.Query:
        """Returns the query for the chunks with a word that cannot be found by its letters."""
        return _all_of(self._term("record", CHUNK_RECORD), *self._filters(where), self._term("names", ODD_WORD_MARK))

    def narrowed(
        self, narrowing: Narrowing, where: Filter, n_documents: int, has_more: "HasMore", *, with_odd: bool = True
    ) -> tantivy.Query:
        """Returns the query for the chunks that a scan must read; with `with_odd` False, without those that can only match in a
        word that cannot be found by its letters. `n_documents` is the number of documents in the index."""
        musts = [self._term("record", CHUNK_RECORD), *self._filters(where)]
        if not narrowing.is_everything:
            is_quick = self._vocabulary is not None and self._vocabulary.is_kept
            few = max(LEAST_FEW, 0 if is_quick else n_documents // DOCUMENTS_PER_CANDIDATE)
            alternatives = narrowing.alternatives
            if sum(need[0].is_start_open for needs in alternatives for need in needs) > 1 < len(alternatives):
                alternatives = _with_shared_walk(alternatives)
            choices = [self._all_needs(needs, narrowing.is_by_ascii, few, has_more) for needs in alternatives]
            odd = [self._term("names", ODD_WORD_MARK)] if with_odd else []
            musts.append(_any_of(*odd, *choices))
        return _all_of(*musts)

    def _all_needs(self, needs: Sequence[Need], is_by_ascii: bool, few: int, has_more: "HasMore") -> tantivy.Query:
        def queries(*, is_start_open: bool) -> list[tantivy.Query]:
            chosen = [need for need in needs if need[0].is_start_open == is_start_open]
            return [_any_of(*self._of_need(need, is_by_ascii, has_more)) for need in chosen]

        found = queries(is_start_open=False)
        if found and len(found) < len(needs):
            cheap = _all_of(*found)
            if not has_more(cheap, few):
                return cheap
        return _all_of(*found, *queries(is_start_open=True))

    def _of_need(self, need: Need, is_by_ascii: bool, has_more: "HasMore") -> Iterator[tantivy.Query]:
        inside: dict[tuple[str, str], list[str]] = {}
        for term in need:
            for field, mark in _looked_up(term, is_by_ascii):
                if not term.is_open:
                    yield self._term(field, mark + term.pieces[0])
                elif term.is_inside:
                    inside.setdefault((field, mark), []).append(term.pieces[0])
                elif term.is_beginning and (known := self._words_beginning(field, mark + term.pieces[0])) is not None:
                    yield tantivy.Query.term_set_query(self._schema, field, known)
                else:
                    # Pieces are only letters, digits and underscores, so they need no escaping.
                    pattern = (".*" if term.is_start_open else "") + BETWEEN_PIECES[term.field].join(term.pieces)
                    longest = (max(term.pieces, key=len),) if term.is_start_open else ()
                    yield self._words(field, mark, pattern + (".*" if term.is_end_open else ""), longest, has_more)
        for (field, mark), pieces in inside.items():
            # One walk through the words of the field finds those with any of the pieces.
            yield self._words(field, mark, f".*({'|'.join(dict.fromkeys(pieces))}).*", pieces, has_more)

    def _words_beginning(self, field: str, text: str) -> list[str] | None:
        """Returns the words of a field that begin with a text; None if tantivy is to find them."""
        return None if self._vocabulary is None else self._vocabulary.words_beginning(field, text)

    def _words(self, field: str, mark: str, pattern: str, inside: Sequence[str], has_more: "HasMore") -> tantivy.Query:
        """Returns the query for words that match a pattern. If it has an open start, every such word has one of the pieces
        `inside`."""
        start = re.escape(mark)

        def has_others() -> bool:
            return has_more(tantivy.Query.regex_query(self._schema, field, f"{start}{NOT_KEPT}.*"), 0)

        kept = self._vocabulary.words_with(field, mark, inside, pattern, has_others) if inside and self._vocabulary else None
        if kept is None:
            return tantivy.Query.regex_query(self._schema, field, start + pattern)
        words, may_be_others = kept
        known = tantivy.Query.term_set_query(self._schema, field, words)
        if not may_be_others:
            return known
        others = tantivy.Query.regex_query(self._schema, field, start + NOT_KEPT + pattern)
        return _any_of(others, known) if words else others

    def _term(self, field: str, token: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, token, index_option="basic")

    def _filters(self, where: Filter) -> list[tantivy.Query]:
        filters = []
        if where.languages:
            filters.append(tantivy.Query.term_set_query(self._schema, "language", list(where.languages)))
        if where.left_out:
            others = tantivy.Query.term_set_query(self._schema, "file_id", list(where.left_out))
            every = (tantivy.Occur.Must, tantivy.Query.all_query())
            filters.append(tantivy.Query.boolean_query([every, (tantivy.Occur.MustNot, others)]))
        elif where.file_ids is not None:
            filters.append(tantivy.Query.term_set_query(self._schema, "file_id", list(where.file_ids)))
        return filters


def _looked_up(term: TermPattern, is_by_ascii: bool) -> Iterator[tuple[str, str]]:
    """Yields the fields of the index in which a term can be, with the mark that it has there."""
    field = "names" if term.field == "calls" else term.field
    mark = TOKEN_MARKS[term.field]
    yield field, mark
    if is_by_ascii and term.field != "parts":
        yield "names", ASCII_MARK + mark


def _with_shared_walk(alternatives: tuple[tuple[Need, ...], ...]) -> tuple[tuple[Need, ...], ...]:
    """Returns needs that every text with the given ones has too: of an alternative those without an open start, else the longest
    piece of its first, which are looked up together.

    A term with an open start walks through all different words of the index, 60 ms for 327,000, which nothing can interrupt: each
    of 16 alternatives by itself took 1.2 s.
    """
    plain: list[tuple[Need, ...]] = []
    together: dict[TermPattern, None] = {}
    for needs in alternatives:
        if cheap := tuple(need for need in needs if not need[0].is_start_open):
            plain.append(cheap)
            continue
        for term in needs[0]:
            piece = max(term.pieces, key=len)[:SHARED_PIECE_LENGTH]
            together[TermPattern(term.field, (piece,), is_start_open=True, is_end_open=True)] = None
    return (*plain, (tuple(together),)) if together else tuple(plain)


HasMore = Callable[[tantivy.Query, int], bool]
"""Returns whether the index has more documents for a query than a number."""


def _all_of(*queries: tantivy.Query) -> tantivy.Query:
    return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])


def _any_of(*queries: tantivy.Query) -> tantivy.Query:
    return queries[0] if len(queries) == 1 else tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in queries])
