"""Which words are looked for in which fields, and what each signal weighs, for each intent.

The weights multiply features of 0..1 (see `ranking`). They were chosen on public relevance data over 25 repositories as
round figures on a flat optimum: halving or doubling any of them changes NDCG@10 by about .01 (measured 2026-11-21).
"""

from collections.abc import Collection, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.store.query.intent import QueryIntent
from codecompass.store.query.tokens import QueryWord
from codecompass.store.text import FieldBoost, WordQuery

CHUNK_CANDIDATES: Final = 300
COVERAGE_CANDIDATES: Final = 1000
SYMBOL_CANDIDATES: Final = 150
FILE_CANDIDATES: Final = 50
"""Hits fetched from each lane. More do not change the first page, fewer do."""

_CHUNK_FIELDS: Final = (FieldBoost("body", 1.0), FieldBoost("parts", 0.8), FieldBoost("path_words", 1.0))
_SYMBOL_FIELDS: Final = (FieldBoost("name_words", 2.0), FieldBoost("signature", 0.5), FieldBoost("doc", 0.7))
_FILE_FIELDS: Final = (FieldBoost("file_words", 1.0),)
_CHUNK_TIE: Final = 0.5
_SYMBOL_TIE: Final = 0.3


class Weights(Struct, frozen=True, kw_only=True):
    """What each signal adds to the score of a file or a place in it.

    `coverage` and `phrase` add to a chunk's own value before it is compared with the best (`text`); `importers` scales.
    `inflection` is the weight of another form of a word: enough to find where the word itself is nowhere, too little to
    outrank it. `kind`, `role` and `diversity` are exponents of the factors for symbol kinds, for files that are not product
    code, and for the further places of a file.
    """

    text: float = 1.0
    coverage: float = 0.3
    spread: float = 0.5
    path: float = 0.5
    stem: float = 0.5
    definition: float = 0.6
    exact: float = 0.8
    qualified: float = 0.8
    importers: float = 0.1
    phrase: float = 0.0
    inflection: float = 0.2
    kind: float = 1.0
    role: float = 1.0
    diversity: float = 1.0


WEIGHTS: Final[Mapping[QueryIntent, Weights]] = {
    "natural_language": Weights(),
    "symbol": Weights(exact=3.0, qualified=3.0),
    "path": Weights(path=3.0, stem=2.0),
    "error": Weights(text=2.0, path=0.2, stem=0.2, definition=0.2, exact=0.3, phrase=3.0),
}


SIGNALS: Final = tuple(field.name for field in msgspec.structs.fields(Weights))
"""Everything that ranks, by its name."""


def weights_for(intent: QueryIntent, without: Collection[str] = ()) -> Weights:
    """Returns the weights of an intent, with 0 for the signals of `without`, as a measurement of what each earns needs it."""
    return msgspec.structs.replace(WEIGHTS[intent], **dict.fromkeys(without, 0.0))


def chunk_query(words: tuple[QueryWord, ...]) -> list[WordQuery]:
    """Returns the words as looked for in chunks: as tokens, inside identifiers, in the path."""
    return [WordQuery(word.text, _CHUNK_FIELDS, word.weight, tie_breaker=_CHUNK_TIE) for word in words]


def coverage_query(worth: Mapping[str, float]) -> list[WordQuery]:
    """Returns a query whose score for a chunk is the summed worth of the words in it."""
    return [WordQuery(word, _CHUNK_FIELDS, boost, is_constant=True) for word, boost in worth.items()]


def symbol_query(words: tuple[QueryWord, ...]) -> list[WordQuery]:
    """Returns the words as looked for in symbols: in the name and its scope, the signature, the documentation."""
    return [WordQuery(word.text, _SYMBOL_FIELDS, word.weight, tie_breaker=_SYMBOL_TIE) for word in words]


def file_query(words: tuple[QueryWord, ...]) -> list[WordQuery]:
    """Returns the words as looked for in paths."""
    return [WordQuery(word.text, _FILE_FIELDS, word.weight) for word in words]
