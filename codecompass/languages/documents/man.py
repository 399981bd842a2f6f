"""Pages of manuals (`man`, `mdoc`): their sections."""

import re
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import headings

_IGNORED: Final = lazy.pattern(r"^[.'][ \t]*+(?:ig|de1?|am1?)\b.*?(?:^\.\.|\Z)", re.DOTALL | re.MULTILINE)
"""What is not printed, and the bodies of macros."""

_ARGUMENT: Final = lazy.pattern(r"\"((?>(?:[^\"]|\"\")*))\"?|(?>(?:[^\s\"\\]|\\[^\"\n]|(?<=\S)\")+)")
_ESCAPE: Final = lazy.pattern(r"\\(?:f(?:\(..|\[[^\[\]]*+\]|.)|[&|^/,%]|s[+-]?\d|\((..)|\[(\w++)\])")
_CHARACTERS: Final = {"aq": "'", "bu": "-", "co": "(c)", "dq": '"', "em": "-", "en": "-", "hy": "-", "lq": '"', "rq": '"'}


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns 1 for a section, 2 for one in it."""
    return 2 if match[1].lower() == "ss" else 1


def title(text: str) -> str:
    """Returns the arguments of a request as they are printed, separated by blanks."""
    text = text.partition('\\"')[0]
    words = " ".join(match[0] if match[1] is None else match[1] for match in _ARGUMENT.finditer(text))
    plain = _ESCAPE.sub(lambda match: _CHARACTERS.get(match[1] or match[2] or "", ""), words)
    return " ".join(plain.replace("\\", "").split())


MAN = Language(
    outline=headings(
        r"^[.'][ \t]*+(S[HShs])(?:[ \t]*+\n(?![.'])|[ \t]++)(?P<section>[^\s\\][^\n]*+|\\[^\"\n][^\n]*+)$",
        level,
        _IGNORED,
        title=title,
    ),
    comment_starts=(b'.\\"',),
    display=Display(line_comment='.\\"', lexer="groff"),
)
