"""Bicep: resources, modules, parameters, variables, outputs, types and functions of Azure, and their uses."""

from typing import Final

from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, SINGLE, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_LINES: Final = r"'''.*?(?:'''|\Z)"
_OWN: Final = (
    r"(?!(?:any|array|bool|false|for|if|in|int|null|object|resource|resourceGroup|string|subscription|true|tenant)\b)"
    r"[a-zA-Z_]\w*+"
)
"""A name that is no word of the language."""

BICEP = Language(
    outline=braces(
        r"^[ \t]*+(?>(?:@\w[\w.]*+(?:\([^()\n]*+\))?[ \t]++)*)"
        r"(?:resource[ \t]++(?P<resource>\w++)[ \t]++'|module[ \t]++(?P<module>\w++)[ \t]++'|func[ \t]++(?P<fn>\w++)"
        r"|(?:param|var|output)[ \t]++(?P<var>\w++)|type[ \t]++(?P<type>\w++)|assert[ \t]++(?P<test>\w++)[ \t]*+="
        r"|(?P<field>\w++)\??[ \t]*+:)",
        any_of(SLASHES, BLOCK, _LINES, SINGLE),
        inside={"field": "type"},
        imports=r"^[ \t]*+(?:module|import|using|extends)\b(?:[ \t]*+\{[^{}']*+\}|[^'\n{]*+)[^'\n]*+'([^'\n]++)'",
    ),
    comment_starts=(b"//", b"/*"),
    imports=C_IMPORTS,
    uses=references(
        "bicep",
        rf"(?<![\w.'/@-])(?<!\w:)(?P<command>{_OWN})(?=\.\w|::)|(?<![\w.@])(?P<command2>{_OWN})(?=\()"
        rf"|(?:[=:(,\[?!]|\$\{{|\b(?:in|param|output)[ \t])[ \t]*+(?P<variable>{_OWN})(?![\w.(']|[ \t]*+:)"
        rf"|\b(?:param|output)[ \t]++\w++[ \t]++(?P<command3>{_OWN})|^[ \t]++(?P<variable2>{_OWN})[ \t]*+$",
        any_of(SLASHES, BLOCK, _LINES, r"'[^'$\n]*+'"),
    ),
    display=Display(attribute_starts=DECORATORS, lexer=None),
)
