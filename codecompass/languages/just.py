"""Just: recipes, variables and aliases, the recipes and variables that recipes use, imported files."""

from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

_RECIPE = r"^@?(?!set\b|import\b|mod\b|export\b|alias\b)[a-zA-Z_][\w-]*+"

JUST = Language(
    outline=blocks(
        r"^(?:export[ \t]++)?(?P<var>[a-zA-Z_][\w-]*+)[ \t]*+:=|^alias[ \t]++(?P<target2>[\w-]++)[ \t]*+:="
        r"|^@?(?P<target>[a-zA-Z_][\w-]*+)(?:[ \t]++[*+$]?\w[^:\n]*+)?[ \t]*+:(?!=)",
        ends={"target": r"(?=^\S)"},
        imports=r"^import\??[ \t]++[\"']([^\"'\n]++)",
    ),
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "just",
        rf"{_RECIPE}(?:[ \t]++[^:\n]*+)?:(?!=)[ \t]*+(?P<command>[\w \t&-]++)$"
        r"|^alias[ \t]++[\w-]++[ \t]*+:=[ \t]*+(?P<command2>[\w-]++)"
        r"|\bjust[ \t]++(?P<command3>[a-zA-Z_][\w-]*+)|\{\{[ \t]*+(?P<variable>[a-zA-Z_][\w-]*+)",
    ),
    display=Display(line_comment="#", lexer="make"),
)
