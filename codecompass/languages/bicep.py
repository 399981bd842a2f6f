"""Bicep: resources, modules, parameters, variables, outputs, types and functions of Azure, and their uses."""

from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, SINGLE, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

BICEP = Language(
    outline=braces(
        r"^[ \t]*+(?:resource[ \t]++(?P<resource>\w++)[ \t]++'|module[ \t]++(?P<module>\w++)[ \t]++'|func[ \t]++(?P<fn>\w++)"
        r"|(?:param|var|output)[ \t]++(?P<var>\w++)|type[ \t]++(?P<type>\w++))",
        any_of(SLASHES, BLOCK, SINGLE),
        imports=r"^[ \t]*+(?:module|import)[^'\n]*+'([^'\n:]++\.bicep)'",
    ),
    comment_starts=(b"//", b"/*"),
    imports=C_IMPORTS,
    uses=references(
        "bicep",
        r"(?<![\w.'])(?P<command>[a-zA-Z_]\w*+)(?=\.\w)"
        r"|(?:[=:(,\[]|\$\{|\bin)[ \t]*+(?P<variable>[a-zA-Z_]\w*+)(?![\w.(']|[ \t]*+:)",
        any_of(SLASHES, BLOCK),
    ),
    display=Display(lexer=None),
)
