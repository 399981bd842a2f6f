"""How the text index cuts a text into tokens: runs of letters and digits, and for names what stands between blanks; lower case.

tantivy's own analyzer of the first kind drops tokens of 40 bytes and more, which long names of tests and hashes have.
"""

from typing import Final

import tantivy

from codecompass.store.words import MAX_MARK_BYTES, MAX_TOKEN_BYTES

WORDS: Final = "words"
NAMES: Final = "names"
"""The analyzers' names in the schema. An index knows names alone: whoever writes one registers the analyzers."""


def word_analyzer() -> tantivy.TextAnalyzer:
    """Returns the analyzer to be registered under `WORDS`."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(MAX_TOKEN_BYTES))
        .filter(tantivy.Filter.lowercase())
        .build()
    )


def name_analyzer() -> tantivy.TextAnalyzer:
    """Returns the analyzer to be registered under `NAMES`."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        .filter(tantivy.Filter.remove_long(MAX_TOKEN_BYTES + MAX_MARK_BYTES))
        .filter(tantivy.Filter.lowercase())
        .build()
    )


def index_tokens(text: str) -> list[str]:
    """Returns the tokens that the index makes of `text`, in order: lower case, without those of 128 bytes and more."""
    return word_analyzer().analyze(text)
