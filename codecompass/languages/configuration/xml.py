"""XML: modules, profiles, dependencies and properties of Maven and MSBuild; what has an `id`, `name` or `key` in other files, as
the targets of Ant have."""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.configuration.keys import first, has_keys
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, hidden

_COMMENTS: Final = lazy.pattern(r"(?s)<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)")
_TAG: Final = lazy.pattern(
    r"<(?:/(?P<closed>[a-zA-Z_][\w:.-]*+)\s*+>|(?P<tag>[a-zA-Z_][\w:.-]*+)(?P<rest>(?>(?:[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*))>)"
)
_NAME: Final = r"\s(?:[\w-]++:)?{}\s*+=\s*+(?:\"(?:@\+?id/)?([^\"\n<]++)\"|'([^'\n<]++)')"
_NAMES: Final = tuple(lazy.pattern(_NAME.format(name)) for name in ("(?:id|Id|Key)", "(?:name|Name)", "key"))
_INCLUDED: Final = lazy.pattern(_NAME.format("(?:Include|Project|schemaLocation|href)"))
_INCLUDING: Final = frozenset({"Import", "ProjectReference", "include", "xs:import", "xs:include", "xsl:import", "xsl:include"})

MAX_UNCLOSED: Final = 20
"""Open elements among which the one that an end tag closes is looked for."""


class Element(Struct, frozen=True):
    """An element of a document."""

    tag: str
    attributes: str
    """With a slash at the end if it is empty."""
    parent: str
    """The tag of the element around it; empty for the root."""
    owner: int
    """Index of the start tag of the element around it; -1 for the root."""
    start: int
    content: int
    """Index after its start tag."""


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields the definitions of a file."""
    if not has_keys(text, path) or path.endswith((".svg", ".xlf", ".xliff", ".rss")):
        return
    code = hidden(_COMMENTS, text)
    elements, ends = _elements(code)
    for each in elements:
        included = _INCLUDED.search(each.attributes) if each.tag in _INCLUDING else None
        if included is not None:
            line = text.count("\n", 0, each.start) + 1
            yield Import(line, line, (included[1] or included[2]).replace("\\", "/"), kind="include")
    yield from first(_maven(elements, ends, code) if path.endswith("pom.xml") else _named(elements, ends))


def _elements(code: str) -> tuple[list[Element], dict[int, int]]:
    """Returns the elements in the order of the text, and by the index of each start tag where its element ends."""
    elements: list[Element] = []
    ends: dict[int, int] = {}
    open_: list[tuple[str, int]] = []
    for match in _TAG.finditer(code):
        closed = match["closed"]
        if closed is None:
            parent, owner = open_[-1] if open_ else ("", -1)
            elements.append(Element(match["tag"], match["rest"], parent, owner, match.start(), match.end()))
            ends[match.start()] = match.end()
            if not match["rest"].endswith("/"):
                open_.append((match["tag"], match.start()))
        elif any(tag == closed for tag, _ in open_[-MAX_UNCLOSED:]):
            tag = ""
            while tag != closed:
                tag, start = open_.pop()
                ends[start] = match.end() if tag == closed else match.start()
    return elements, ends


def _maven(elements: Sequence[Element], ends: dict[int, int], code: str) -> Iterator[Entry]:
    for each in elements:
        kind: SymbolKind = "key"
        start = each.start
        if (each.tag, each.parent) in (("module", "modules"), ("artifactId", "project")):
            kind = "module"
        elif each.tag == "id" and each.parent in ("profile", "execution"):
            kind, start = "target", each.owner
        elif each.tag == "artifactId" and each.parent in ("dependency", "plugin", "extension"):
            start = each.owner
        elif each.parent != "properties":
            continue
        name = each.tag if each.parent == "properties" else code[each.content : code.find("<", each.content)].strip()
        signature = " ".join(code[each.start : ends[each.start]].split())
        yield Entry(name, kind, each.start, max(ends[start], ends[each.start]), signature=signature, doc="")


def _named(elements: Sequence[Element], ends: dict[int, int]) -> Iterator[Entry]:
    for each in elements:
        kind: SymbolKind = "target" if each.tag.lower() == "target" else "key"
        name = each.tag if each.parent == "PropertyGroup" else ""
        if each.tag == "PackageReference":
            found = _INCLUDED.search(each.attributes)
        else:
            found = next((found for pattern in _NAMES if (found := pattern.search(each.attributes)) is not None), None)
        if found is not None and not name:
            name = found[1] or found[2]
        if name:
            signature = f"<{each.tag}{each.attributes}>"
            yield Entry(name, kind, each.start, ends[each.start], signature=signature, doc="")


XML = Language(
    outline=outline,
    imports=C_IMPORTS,
    uses=references(
        "ant",
        r"\b(?:depends|DependsOnTargets|BeforeTargets|AfterTargets)=[\"'](?P<command>[\w\s,.-]++)[\"']",
        lazy.pattern(r";(?=[\w$\s])|\$\([^()\n]*+\)"),
    ),
    display=Display(lexer="xml"),
)
