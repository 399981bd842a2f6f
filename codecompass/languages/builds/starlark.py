"""Starlark (Bazel, Buck, Tilt): functions, constants, targets by their names, loaded files, uses of what they define."""

from collections.abc import Iterator

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.binding import Binding
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.patterns import HASH, TRIPLE, TRIPLE_SINGLE, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks

_STRINGS = any_of(HASH, TRIPLE, TRIPLE_SINGLE)

_NEXT = r"(?=\n(?>(?:[ \t]*+\n){0,40})[^\s)\]}])|\Z"
"""Where a definition ends: before the line breaks and comments, which are blanked, above the next one."""

_READ = blocks(
    r"^def[ \t]++(?P<fn>\w++)|^(?P<var>\w++)(?>(?:[ \t]*+,[ \t]*+\w++)*)[ \t]*+=(?!=)"
    r"|^[a-z_][\w.]*+\((?=[^()]*?\bname[ \t]*+=[ \t]*+[\"'])[^()]*?\bname[ \t]*+=[ \t]*+[\"'](?P<target>[^\"'\n]++)",
    ends={"fn": _NEXT, "target": r"^\)|\)$", "var": _NEXT},
    comments=_STRINGS,
    imports=r"^load\(\s*+[\"'](?:@[\w.~-]*+)?(?://)?:?([^\"'\n]++)",
)

_DOCSTRING = lazy.pattern(
    r"def[ \t]++\w++[ \t]*+\((?>(?:[^()#\"']++|\"(?>(?:[^\"\\\n]++|\\.)*)\"|'(?>(?:[^'\\\n]++|\\.)*)'|#[^\n]*+|\([^()]*+\))*)\)"
    r"[^:\n]*+:\s*+(?P<quotes>\"{3}|'{3})(?P<doc>[\s\S]*?)(?P=quotes)"
)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields what a file defines and loads; a label is a path."""
    for item in _READ(text, path):
        if isinstance(item, Import):
            yield replace(item, spec=item.spec.replace(":", "/"))
        else:
            found = _DOCSTRING.match(text, item.start) if item.kind == "fn" else None
            yield item if found is None else replace(item, doc=found["doc"].strip())


STARLARK = Language(
    outline=outline,
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "starlark",
        r"(?<![\w.\"'])(?P<command>[^\W\d]\w*+)(?=\()|(?<![\w.])(?P<variable>[A-Z_][A-Z0-9_]*+)(?!\w|[ \t]*+=(?!=))"
        r"|[\"']:(?P<command2>[\w./+-]++)[\"']",
        any_of(HASH, TRIPLE, TRIPLE_SINGLE),
    ),
    binding=Binding(directories_are_packages=True),
    display=Display(line_comment="#", lexer="python"),
)
BAZEL = STARLARK
