"""Text in scripts that put no blanks between words, or join endings to them: Chinese, Japanese, Korean and Thai.

Such a run of letters is indexed and searched as its pairs of neighbouring letters (`用户认证` as `用户 户认 认证`), so that
any part of it of two letters and more is found, without a dictionary.
"""

from typing import Final

from codecompass import lazy

LETTERS: Final = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai with its vowel and tone marks, without digits and signs
    "\u1100-\u11ff\uac00-\ud7a3"  # Korean
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Japanese
    "\u3105-\u312f\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese
)
"""The letters of these scripts, as a part of a character class."""

RUN: Final = lazy.pattern(f"[{LETTERS}]+")

_PAIR: Final = lazy.pattern(f"[{LETTERS}]{{2}}")
_LETTER: Final = lazy.pattern(f"[{LETTERS}]")
_WORD: Final = lazy.pattern(r"[^\W_]+")


def is_pair(word: str) -> bool:
    """Whether a word is a pair of letters of these scripts."""
    return len(word) == 2 and _PAIR.fullmatch(word) is not None


def has_letters(text: str) -> bool:
    """Whether a text has letters of these scripts. Takes 20 ns for an ASCII text of any length."""
    return not text.isascii() and _LETTER.search(text) is not None


def pairs_of_run(run: str) -> list[str]:
    """Returns the pairs of a run of letters of these scripts, in order; a single letter alone."""
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def pairs_of_text(text: str) -> str:
    """Returns the distinct pairs in a text, sorted and separated by blanks; empty if it has none of these scripts."""
    if text.isascii():
        return ""
    return " ".join(sorted({run[at : at + 2] for run in RUN.findall(text) for at in range(len(run) - 1)}))


def words_beside(text: str) -> set[str]:
    """Returns the words that adjoin letters of these scripts (`id` of `用户id`), which the index does not take for words."""
    if text.isascii():
        return set()
    between = RUN.split(text)
    behind = {word[0] for part in between[1:] if (word := _WORD.match(part)) is not None}
    # A pattern that ends at the end of the text would take time quadratic in the length of a word.
    return behind | {_WORD.findall(part)[-1] for part in between[:-1] if part and _WORD.match(part[-1])}
