"""Cap'n Proto: structs, unions and groups with their fields, enumerations, interfaces and methods, constants, annotations."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.patterns import DOUBLE, HASH, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, braces

_HIDDEN: Final = any_of(HASH, DOUBLE)

_heads: Final = braces(
    r"(?:^|[{;}])[ \t]*+(?:struct\s++(?P<struct>\w++)|enum\s++(?P<enum>\w++)|interface\s++(?P<interface>\w++)"
    r"|const\s++(?P<const>\w++)|annotation\s++(?P<macro>\w++)|using\s++(?P<type>\w++)\s*+="
    r"|using\s++(?:import\s++\"[^\"\n]*+\"|\w++)(?>(?:\.\w++(?=\.))*)\.(?P<type2>\w++)(?=\s*+;)"
    r"|(?P<method>\w++)\s*+@\d++\s*+(?=[(\[A-Za-z])|(?P<value>\w++)\s*+@\d++\s*+(?=[;$])|(?P<field>\w++)\s*+@\d++\s*+:"
    r"|(?P<group>\w++)\s*+(?:@\d++\s*+)?:?(?:group|union)\s*+(?=[{$]))",
    _HIDDEN,
    inside={"method": "interface", "value": "enum", "field": "struct group", "group": "struct group"},
    kinds={"value": "const", "group": "field"},
    imports=r"\bimport\s++\"/?([^\"\n]++)\"",
)
_BELOW: Final = lazy.pattern(r"[^\n]*+\n((?>(?:[ \t]*+#[^\n]*+\n?)+))")
_ABOVE: Final = lazy.pattern(r"(?:\A|\n)[ \t]*+\n(?>(?:[ \t]*+#[^\n]*+\n)+)[ \t]*+\Z")
_BEFORE: Final = 2_000
"""Characters above a definition in which its comment may be."""


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields definitions with the comments below their heads, where this language has them, or in a paragraph above."""
    for item in _heads(text, path):
        if isinstance(item, Entry) and item.doc is None:
            line = text.rfind("\n", 0, item.start) + 1
            brace = text.find("{", item.start, item.end)
            below = _BELOW.match(text, item.end if brace < 0 else brace)
            if below is not None:
                item = replace(item, doc=below[1])
            elif _ABOVE.search("\n\n"[line > _BEFORE :] + text[max(line - _BEFORE, 0) : line]) is None:
                item = replace(item, doc="")
        yield item


CAPNP = Language(
    outline=outline,
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "capnp",
        r"(?:[:(,=>]|@\d++|\bextends\b)[ \t]*+\(?(?!(?:AnyPointer|Bool|Data|Float\d\d|List|Text|U?Int\d++|Void)\b)"
        r"(?>(?:\w++\.)*)(?P<command>[A-Z]\w*+)(?![\w.])|\$(?>(?:[A-Z]\w*+\.)*)(?P<command2>[a-z]\w*+)",
        _HIDDEN,
    ),
    display=Display(line_comment="#", lexer="capnp"),
)
