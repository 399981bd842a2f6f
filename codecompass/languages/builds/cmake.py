"""CMake: functions, macros, targets, variables and options, where they are used, included files and directories."""

import re
from collections.abc import Iterator

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.code_only import blank
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks

_COMMENTS = lazy.pattern(r"#\[(=*)\[.*?\]\1\]|#[^\n]*+", re.DOTALL)

_READ = blocks(
    r"^[ \t]*+(?i:function[ \t]*+\(\s*+(?P<fn>[^\s()$]++)|macro[ \t]*+\(\s*+(?P<macro>[^\s()$]++)"
    r"|project[ \t]*+\(\s*+(?P<module>[^\s()$]++)"
    r"|add_(?:library|executable|custom_target|test)[ \t]*+\(\s*+(?>(?:NAME\s++)?)"
    r"(?:\"(?P<target>[^\s()$\"][^()$\"\n]*+)\"|(?P<target2>[^\s()$\"]++)(?!\$))"
    r"|(?:set|option|cmake_dependent_option)[ \t]*+\(\s*+(?P<var>\w++)(?=[\s)]))",
    ends={
        "fn": r"^[ \t]*+(?i:endfunction)\b[^\n]*+",
        "macro": r"^[ \t]*+(?i:endmacro)\b[^\n]*+",
        **dict.fromkeys(("target", "module", "var"), r"\)[ \t]*+$"),
    },
    imports=r"^[ \t]*+(?i:include)[ \t]*+\(\s*+\"?(?:\$\{\w++\}/)?([\w./+-]++)",
)
_TEXTS = lazy.pattern(
    r"#\[(=*)\[.*?(?:\]\1\]|\Z)|#[^\n]*+|(?<=[\s(])\[(=*)\[.*?(?:\]\2\]|\Z)|\"(?>(?:[^\"\\]++|\\.)*)\"?", re.DOTALL
)


def _plain(match: re.Match[str]) -> str:
    """Returns a comment blanked; a string without what looks like a comment or the end of a command."""
    found = match[0]
    return blank(found) if found[0] == "#" else found.replace("#", "_").replace(")\n", "_\n")


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields what a script defines and includes."""
    return iter(_READ(_TEXTS.sub(_plain, text), path))


CMAKE = Language(
    outline=outline,
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
