"""Make: targets, variables and macros, the prerequisites and variables that rules use, included files."""

from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import blocks

_CONDITION = r"(?:ifn?eq|ifn?def|else|endif)\b[^\n]*+"
"""A line within a recipe that is not indented."""

MAKE = Language(
    outline=blocks(
        r"^[ \t]*+(?:(?>(?:override[ \t]++|export[ \t]++|private[ \t]++)*)"
        r"(?:define[ \t]++(?P<macro>[^\s=:#]++)|(?P<var>[^\s:=#+?!$()]++)[ \t]*+(?:[+?!]|:{1,3})?=)"
        r"|(?!\.PHONY|\.SUFFIXES|\.SILENT|\.PRECIOUS|\.SECONDARY|\.DEFAULT|\.NOTPARALLEL|\.ONESHELL|\.IGNORE"
        r"|\.DELETE_ON_ERROR|\.SECONDEXPANSION|\.INTERMEDIATE|\.NOTINTERMEDIATE|\.EXPORT_ALL_VARIABLES|\.POSIX|\.WAIT)"
        r"(?<!\t)(?!-?s?include\b)(?P<target>[^\s:=#][^:=#\n]*?)[ \t]*+&?::?(?![=:])"
        r"(?!(?>(?:[ \t]++(?:private|override|export))*)[ \t]*+[\w.-]++[ \t]*+[+?:!]*+=))",
        ends={"macro": r"^[ \t]*+endef\b", "target": rf"(?=^(?!(?:{_CONDITION}\n){{1,20}}+\t)\S)", "var": r"(?<!\\)$"},
        imports=r"^[ ]*+-?s?include[ \t]++([^\s$]++)",
        opaque="macro target var",
        several="target",
    ),
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "make",
        r"\$[({](?P<variable>[\w.-]++)(?=[)}:])|\$[({]call[ \t]++(?P<command>[\w.-]++)"
        r"|\$\(MAKE\)[ \t]++(?P<command2>[\w.-]++)(?=\s)"
        r"|^(?![\t#])[^:=#\n$]++::?(?![=:])(?P<command3>[^#;|=\n]*+)(?!=)",
    ),
    display=Display(line_comment="#", lexer="make"),
)
