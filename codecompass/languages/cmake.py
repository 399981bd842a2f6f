"""CMake: functions, macros, targets, variables and options, where they are used, included files and directories."""

import re

from codecompass import lazy
from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

_COMMENTS = lazy.pattern(r"#\[(=*)\[.*?\]\1\]|#[^\n]*+", re.DOTALL)

CMAKE = Language(
    outline=blocks(
        r"^[ \t]*+(?i:function[ \t]*+\(\s*+(?P<fn>[^\s()$]++)|macro[ \t]*+\(\s*+(?P<macro>[^\s()$]++)"
        r"|project[ \t]*+\(\s*+(?P<module>[^\s()$]++)"
        r"|add_(?:library|executable|custom_target|test)[ \t]*+\(\s*+(?:NAME\s++)?+"
        r"(?:\"(?P<target>[^\s()$\"][^()$\"\n]*+)\"|(?P<target2>[^\s()$\"]++)(?!\$))"
        r"|(?:set|option|cmake_dependent_option)[ \t]*+\(\s*+(?P<var>\w++)(?=[\s)]))",
        ends={
            "fn": r"^[ \t]*+(?i:endfunction)\b[^\n]*+",
            "macro": r"^[ \t]*+(?i:endmacro)\b[^\n]*+",
            **dict.fromkeys(("target", "module", "var"), r"\)[ \t]*+$"),
        },
        comments=_COMMENTS,
        imports=r"^[ \t]*+(?i:include)[ \t]*+\(\s*+\"?(?:\$\{\w++\}/)?([\w./+-]++)",
    ),
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "cmake",
        r"\$\{(?P<variable>\w++)\}"
        r"|\b(?i:target_\w++|add_dependencies|install[ \t]*+\([ \t]*+TARGETS)[ \t]*+\(?\s*+(?P<command>[\w.+-]++)"
        r"|^[ \t]*+(?P<command2>\w++)(?=[ \t]*+\()",
        _COMMENTS,
    ),
    display=Display(line_comment="#", lexer="cmake"),
)
