"""Just: recipes, variables, aliases and modules, the recipes and variables that recipes use, imported files."""

from typing import Final

from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

_NAME: Final = r"[a-zA-Z_][\w-]*+"
_QUOTED: Final = r"\"[^\"\n]*+\"?|'[^'\n]*+'?|`[^`\n]*+`?"
_PARAMETERS: Final = rf"(?:[ \t]++[*+$]*+\w(?>(?:[^:\n\"'`]++|{_QUOTED})*))?"
_RECIPE: Final = rf"^@?(?!(?:set|import|mod|export|unexport|alias)\b(?!-)){_NAME}"
_NAMES: Final = r"[a-zA-Z_](?:[\w \t-]*[\w-])?"
_LINES: Final = any_of(
    r"(?<=:= )(?:'''.*?(?:'''|\Z)|\"\"\".*?(?:\"\"\"|\Z)|```.*?(?:```|\Z)|\"[^\"\n]*+\"|'[^']*+'?|`[^`]*+`?)", r"\\\n"
)
"""Values, which may have several lines, and the ends of lines that go on."""

JUST = Language(
    outline=blocks(
        rf"^(?:export[ \t]++)?(?P<var>{_NAME})[ \t]*+:=|^alias[ \t]++(?P<target2>[\w-]++)[ \t]*+:="
        rf"|^mod\??[ \t]++(?P<module>{_NAME})|^@?(?P<target>{_NAME}){_PARAMETERS}[ \t]*+:(?!=)",
        ends={"target": r"(?=^\S)"},
        comments=_LINES,
        imports=rf"^(?:import\??|mod\??[ \t]++{_NAME})[ \t]++[\"']([^\"'\n]++)",
    ),
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "just",
        rf"{_RECIPE}{_PARAMETERS}[ \t]*+:(?!=)[ \t]*+(?P<command>{_NAMES})"
        rf"|^alias[ \t]++[\w-]++[ \t]*+:=[ \t]*+(?>(?:{_NAME}::)*)(?P<command2>{_NAME})"
        rf"|\bjust[ \t]++(?P<command3>{_NAME})|(?<=[ \t])\((?P<command4>{_NAME})(?=[ \t)])"
        rf"|&&[ \t]++(?P<command5>{_NAMES})"
        rf"|(?:(?<!\{{)\{{\{{(?!\{{)|:=|[ ][+/][ ])[ \t]*+(?!if\b)(?P<variable>{_NAME})(?![\w(])",
        _LINES,
    ),
    display=Display(attribute_starts=("[",), line_comment="#", lexer="make"),
)
