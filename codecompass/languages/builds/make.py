"""Make: targets, variables and macros, the prerequisites and variables that rules use, included files."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks, together

_CONDITION = r"(?:ifn?eq|ifn?def|else|endif)\b[^\n]*+"
"""A line within a recipe that is not indented."""

_READ = blocks(
    r"^[ \t]*+(?:(?>(?:override[ \t]++|export[ \t]++|private[ \t]++)*)"
    r"(?:define[ \t]++(?P<macro>[^\s=:#]++)|(?P<var>[^\s:=#+?!$()]++)[ \t]*+(?:[+?!]|:{1,3})?=)"
    r"|(?!\.PHONY|\.SUFFIXES|\.SILENT|\.PRECIOUS|\.SECONDARY|\.DEFAULT|\.NOTPARALLEL|\.ONESHELL|\.IGNORE"
    r"|\.DELETE_ON_ERROR|\.SECONDEXPANSION|\.INTERMEDIATE|\.NOTINTERMEDIATE|\.EXPORT_ALL_VARIABLES|\.POSIX|\.WAIT"
    r"|\$\((?:call|error|eval|foreach|if|info|shell|warning)[ \t,])"
    r"(?<!\t)(?!-?s?include\b)(?P<target>[^\s:=#][^:=#\n]*?)[ \t]*+&?::?(?![=:])"
    r"(?!(?>(?:[ \t]++(?:private|override|export))*)[ \t]*+[\w.-]++[ \t]*+[+?:!]*+=))",
    ends={"macro": r"^[ \t]*+endef\b", "target": rf"(?=^(?!(?>(?:{_CONDITION}\n){{1,20}})\t)\S)", "var": r"(?<!\\)$"},
    opaque="macro target var",
    several="target",
)
_INCLUDE: Final = lazy.pattern(r"^[ ]*+-?s?include[ \t]++(?P<files>[^\n#]++)", re.MULTILINE)


def _includes(text: str, _path: str) -> Iterator[Import]:
    """Yields the files that are included, without those whose names hold variables."""
    for match in _INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for file in match["files"].split():
            if "$" not in file and "\\" not in file:
                yield Import(line, line, file, kind="include")


_ALL: Final = together(_READ, _includes)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields what a file defines and includes; targets that a function computes (`$(addsuffix .o,$(names))`) have no name."""
    for item in _ALL(text, path):
        if isinstance(item, Import) or item.name.count("(") == item.name.count(")"):
            yield item


MAKE = Language(
    outline=outline,
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
