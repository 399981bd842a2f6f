"""`go.mod` and `go.work`: the module, what it requires, replaces, excludes, its tools, the modules in use. None in `go.sum`."""

from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.configuration.keys import first
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import SymbolKind
from codecompass.languages.walk.text_rules import Entry

_LINE: Final = lazy.pattern(
    r"(?m)^[ \t]*+(?:(?P<close>\))|(?P<block>[a-z]++)[ \t]*+\([ \t]*+(?://[^\n]*+)?$"
    r"|(?:(?P<word>[a-z]++)[ \t]++(?=[^\s=(v]|v(?!\d)))?(?!//)\"?(?P<path>(?<=\")[^\"\n]++|[^\s\"()=\[]++)\"?(?=\s|\Z)[^\n]*+)"
)
_NAMING: Final = frozenset({"exclude", "module", "replace", "require", "tool", "use"})
"""Directives whose arguments begin with the path of a module, of a package or of a directory."""


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields what the directives name."""
    if not path.endswith(".sum"):
        yield from first(_named(text))


def _named(text: str) -> Iterator[Entry]:
    block = ""
    for match in _LINE.finditer(text):
        if match["close"] or match["block"]:
            block = match["block"] or ""
        elif (block or match["word"]) in _NAMING:
            kind: SymbolKind = "module" if "module" in (block, match["word"]) else "key"
            yield Entry(match["path"], kind, match.start("path"), match.end())


GOMOD = Language(outline=outline, comment_starts=(b"//",), display=Display(lexer=None))
