"""Lexical rules of formats in which few words refer to anything: one pattern finds them, and the rest of the text is blank.

Such a word is bound like one of a script: in its own file, in files that this one names, else where only one definition fits.
"""

import re
from collections.abc import Callable
from typing import Final, cast

from codecompass import lazy
from codecompass.languages.uses.code_only import blank
from codecompass.languages.uses.lexical_rules import LexicalRules, ScriptWords, WordRole
from codecompass.languages.walk.text_rules import hidden

_NOTHING: Final = lazy.pattern(r"(?!)")
_WORD: Final = lazy.pattern(r"\S+")


def references(
    family: str, pattern: str, comments: re.Pattern[str] | None = None, is_skipped: Callable[[str], bool] | None = None
) -> Callable[[], LexicalRules]:
    """Returns what gives the rules of a format of a family.

    The groups of `pattern` are roles (`WordRole`, with digits to tell several apart), each around one name or several with blanks
    or commas between them. `comments` are not searched, nor is a text that
    `is_skipped`.
    """
    words = lazy.pattern(pattern, re.MULTILINE)

    def found_in(text: str) -> ScriptWords:
        code = text if comments is None else hidden(comments, text)
        roles: dict[int, WordRole] = {}
        pieces: list[str] = []
        end = 0
        for match in words.finditer(code):
            group = cast("str", match.lastgroup)
            for name in _NAMES.finditer(code, *match.span(group)):
                roles[name.start()] = cast("WordRole", group.rstrip("0123456789"))
                pieces += [blank(text[end : name.start()]), name[0]]
                end = name.end()
        pieces.append(blank(text[end:]))
        return ScriptWords("".join(pieces), roles)

    def rules() -> LexicalRules:
        return LexicalRules(
            family=family,
            comments_and_strings=_NOTHING,
            name=_WORD,
            keywords=frozenset(),
            own=frozenset(),
            above=frozenset(),
            words=found_in,
            is_skipped=is_skipped,
        )

    return rules


_NAMES: Final = re.compile(r"[^\s,]+")
