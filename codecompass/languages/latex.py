"""LaTeX: sections, labels, macros and environments, references to labels, included files."""

import re

from codecompass import lazy
from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks, headings, together

_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph", "frametitle")
_COMMENTS = lazy.pattern(
    r"(?<!\\)%[^\n]*+|\\begin\{(?P<block>verbatim|lstlisting|minted)\}.*?(?:\\end\{(?P=block)\}|\Z)", re.DOTALL
)


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the place of a command in the order of the classes."""
    return _LEVELS.index(match[1]) + 1


LATEX = Language(
    outline=together(
        headings(
            rf"\\({'|'.join(_LEVELS)})\*?(?:\[[^\[\]\n]*+\])?\{{(?P<section>[^{{}}]*+(?>(?:\{{[^{{}}]*+\}}[^{{}}]*+)*))\}}"
            r"",
            level,
            _COMMENTS,
        ),
        blocks(
            r"\\label\{(?P<target>[^{}\s]++)\}|\\(?:(?:re|provide)?new|provide|re)?command\*?\{?\\(?P<macro>[a-zA-Z@]++)"
            r"|\\(?:New|Renew|Provide|Declare)DocumentCommand\{?\\(?P<macro2>[a-zA-Z@]++)|\\def\\(?P<macro3>[a-zA-Z@]++)"
            r"|\\(?:re)?newenvironment\*?\{(?P<macro4>[\w*]++)\}|\\newtheorem\*?\{(?P<macro5>[\w*]++)\}",
            ends={},
            comments=_COMMENTS,
            imports=r"\\(?:input|include|subfile)\{([^{}\n]++)\}",
        ),
    ),
    comment_starts=(b"%",),
    imports=C_IMPORTS,
    uses=references(
        "latex",
        r"\\(?:eq|auto|name|page|[cC])?ref\*?\{(?P<command>[^{}\s]++)\}|\\begin\{(?P<command2>[\w*]++)\}|\\(?P<command3>[a-zA-Z@]++)",
        _COMMENTS,
    ),
    display=Display(line_comment="%", lexer="latex"),
)
