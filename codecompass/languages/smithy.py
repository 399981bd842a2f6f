"""Smithy: services, resources, operations, structures and other shapes with their members, traits."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import DOUBLE, SLASHES, TRIPLE, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_HIDDEN = any_of(SLASHES, TRIPLE, DOUBLE)

SMITHY = Language(
    outline=braces(
        r"^[ \t]*+(?:service[ \t]++(?P<interface>\w++)|resource[ \t]++(?P<resource>\w++)|operation[ \t]++(?P<method>\w++)"
        r"|(?:structure|union|list|map)[ \t]++(?P<struct>\w++)|(?:enum|intEnum)[ \t]++(?P<enum>\w++)"
        r"|(?:string|boolean|blob|byte|short|integer|long|float|double|bigInteger|bigDecimal|timestamp|document)[ \t]++"
        r"(?P<type>\w++)"
        r"|(?P<field>\$?\w++)[ \t]*+:[ \t]*+[\w#$.]++|(?P<const>[A-Z_]\w*+)(?=[ \t]*+(?:=|$)))",
        _HIDDEN,
        inside={"field": "struct", "const": "enum"},
        package=r"^namespace[ \t]++([\w.]++)",
    ),
    comment_starts=(b"//",),
    uses=references(
        "smithy",
        r"[:\[,][ \t]*+(?:[\w.]++#)?(?P<command>[A-Z]\w*+)(?!\w|[ \t]*+:)|^[ \t]*+(?P<command2>[A-Z]\w*+)[ \t]*+$",
        _HIDDEN,
    ),
    display=Display(lexer=None),
)
