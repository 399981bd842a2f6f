"""XML: modules, profiles and properties of Maven; what has an `id`, `name` or `key` in other files, as targets of Ant have."""

from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.keys import first, has_keys
from codecompass.languages.language import Language
from codecompass.languages.records import SymbolKind
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, hidden

_COMMENTS: Final = lazy.pattern(r"(?s)<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)")
_MAVEN: Final = lazy.pattern(
    r"<module>\s*+(?P<module>[^<>\s]++)|<profile>\s*+<id>\s*+(?P<target>[^<>\s]++)|<goal>\s*+(?P<key2>[^<>\s]++)"
    r"|<dependency>\s*+<groupId>[^<>]*+</groupId>\s*+<artifactId>\s*+(?P<key>[^<>\s]++)"
)
_NAMED: Final = lazy.pattern(
    r"<(?P<tag>[a-zA-Z][\w:.-]*+)(?=\s)[^<>]*?\s(?:[\w-]++:)?(?:id|name|key)\s*+=\s*+[\"'](?:@\+?id/)?(?P<name>[^\"'\n<>]++)"
)


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields the definitions of a file."""
    if has_keys(text, path) and not path.endswith((".svg", ".xlf", ".xliff", ".rss")):
        yield from first(_maven(hidden(_COMMENTS, text)) if path.endswith("pom.xml") else _named(hidden(_COMMENTS, text)))


def _maven(text: str) -> Iterator[Entry]:
    kinds: dict[str, SymbolKind] = {"module": "module", "target": "target"}
    for match in _MAVEN.finditer(text):
        group = match.lastgroup or ""
        yield Entry(match[group], kinds.get(group, "key"), match.start(group), match.end(), doc="")


def _named(text: str) -> Iterator[Entry]:
    for match in _NAMED.finditer(text):
        kind: SymbolKind = "target" if match["tag"] == "target" else "key"
        yield Entry(match["name"], kind, match.start(), match.end(), signature=match[0], doc="")


XML = Language(
    outline=outline,
    uses=references("ant", r"\bdepends=[\"'](?P<command>[\w\s,.-]++)[\"']"),
    display=Display(lexer="xml"),
)
