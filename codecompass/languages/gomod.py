"""`go.mod`: the module and what it requires, replaces and excludes; `go.sum` has no definitions."""

from collections.abc import Iterator

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.keys import first
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import Entry

_LINE = lazy.pattern(
    r"(?m)^(?:module[ \t]++(?P<module>\S++)|[ \t]*+(?:require[ \t]++|tool[ \t]++)?(?P<key>[\w-]++\.[\w./~-]++)(?=[ \t]++v\d|$))"
)


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields the module, then what it requires."""
    if not path.endswith(".sum"):
        yield from first(
            Entry(
                match[match.lastgroup or 0],
                "module" if match["module"] else "key",
                match.start(match.lastgroup or 0),
                match.end(),
            )
            for match in _LINE.finditer(text)
        )


GOMOD = Language(outline=outline, comment_starts=(b"//",), display=Display(lexer=None))
