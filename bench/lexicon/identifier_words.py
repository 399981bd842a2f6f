"""The words of source lines and sentences, in lower case, identifiers split. No stemming."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from codecompass.languages.words import split_identifier

MIN_LETTERS: Final = 2
MAX_LETTERS: Final = 24
"""Single letters can mean anything; longer words are data."""

_WORD: Final = re.compile(rf"[a-z]{{{MIN_LETTERS},{MAX_LETTERS}}}")
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")
_LITERAL: Final = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_COMMENT_LINE: Final = re.compile(r"\s*(?:#|//|/\*|\*|--|;|\"\"\"|''')")
_COMMENT_END: Final = re.compile(r"\s(?:#|//|--)\s.*")

MAX_LINE: Final = 500
"""Characters of a line that are read; longer lines are data."""


def words_of(text: str) -> list[str]:
    """Returns the words of a sentence or an identifier in order, with repetitions, without numbers and other alphabets."""
    return [word for word in split_identifier(text) if _WORD.fullmatch(word)]


def identifier_words(lines: Iterable[str], limit: int) -> tuple[str, ...]:
    """Returns the most frequent words of the identifiers in source lines, without comments and literal sentences.

    Most frequent first, ties in the order of the text; at most `limit`.
    """
    counts: Counter[str] = Counter()
    for line in lines:
        if _COMMENT_LINE.match(line):
            continue
        code = _COMMENT_END.sub(" ", _LITERAL.sub(_without_sentence, line[:MAX_LINE]))
        for identifier in _IDENTIFIER.findall(code):
            counts.update(words_of(identifier))
    return tuple(word for word, _ in counts.most_common(limit))


def _without_sentence(literal: re.Match[str]) -> str:
    """Returns a string literal, or a blank if it contains a blank: then it is a sentence, not identifiers."""
    return " " if " " in literal[0] else literal[0]
