"""Dockerfile: stages, arguments and variables of the environment, and where they are used."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks, hidden, together

_HEREDOC = lazy.pattern(
    r"(?<=<<)(?<!<<<)-?[\"']?(?P<mark>[A-Za-z_]\w*+)[\"']?[^\n]*+\n"
    r"(?>(?:(?![ \t]*+(?P=mark)[ \t]*+(?:\n|\Z))[^\n]*+\n){0,500})(?=[ \t]*+(?P=mark))"
)
_BREAK: Final = r"(?>(?:[ \t]|\\[ \t]*+\n(?>(?:[ \t]*+#[^\n]*+\n)*))+)"
_VALUE: Final = r"=(?>(?:\"(?>(?:[^\"\\]++|\\[\s\S])*)\"|'[^'\n]*+'|[^\s\"'\\]++|\\[^\n])*)"
_PAIRS: Final = lazy.pattern(
    rf"^[ \t]*+(?i:(?:ENV{_BREAK}\w++{_VALUE}(?P<env>(?>(?:{_BREAK}\w++{_VALUE})+))"
    rf"|ARG{_BREAK}\w++(?>(?:{_VALUE})?)(?P<arg>(?>(?:{_BREAK}\w++(?>(?:{_VALUE})?))+)))(?=[ \t]*+$))",
    re.MULTILINE,
)
_OTHER: Final = lazy.pattern(rf"{_BREAK}(?P<pair>(?P<name>\w++)(?>(?:{_VALUE})?))")


def _others(text: str, _path: str) -> Iterator[Entry]:
    """Yields the variables after the first one of an instruction that sets several."""
    for match in _PAIRS.finditer(hidden(_HEREDOC, text)):
        for other in _OTHER.finditer(text, *match.span("arg" if match["env"] is None else "env")):
            yield Entry(other["name"], "var", other.start("name"), other.end(), signature=other["pair"], doc="")


DOCKERFILE = Language(
    outline=together(
        blocks(
            r"^[ \t]*+(?:(?i:FROM)[ \t]++(?:--\S++[ \t]++)?\S++[ \t]++(?i:AS)[ \t]++(?P<target>\S++)|(?i:ARG)[ \t]++(?P<var>\w++)"
            r"|(?i:ENV)[ \t]++(?P<var2>\w++))",
            ends={"target": r"(?=^[ \t]*+(?i:FROM)[ \t])", "var": rf"{_VALUE}|(?=[^=])[^\n]*+|\Z"},
            comments=_HEREDOC,
        ),
        _others,
    ),
    comment_starts=(b"#",),
    uses=references(
        "dockerfile",
        r"(?:--from=|\bfrom=)(?P<command>[\w.-]++)|^[ \t]*+(?i:FROM)[ \t]++(?:--\S++[ \t]++)?(?P<command2>[\w.-]++)(?=\s)"
        r"|\$\{?(?P<variable>[^\W\d]\w*+)",
    ),
    display=Display(line_comment="#", lexer="docker"),
)
