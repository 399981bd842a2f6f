"""Avro IDL: records, errors, enumerations and protocols with their fields and messages. Schemas in JSON have keys."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_HIDDEN = any_of(SLASHES, BLOCK, DOUBLE)
_TYPE = r"(?>(?:@[\w-]++(?:\([^()]*+\))?\s*+)*)(?:(?:array|map|union|decimal)\s*+[<({][^<>(){}]*+[>)}]|[\w.]++)\??"

AVRO = Language(
    outline=braces(
        r"(?:^|[{;}])[ \t]*+(?>(?:@[\w-]++(?:\([^()]*+\))?\s*+)*)"
        r"(?:protocol\s++(?P<interface>\w++)|(?:record|error)\s++(?P<struct>\w++)|enum\s++(?P<enum>\w++)|fixed\s++(?P<type>\w++)"
        rf"|{_TYPE}\s++(?P<method>\w++)\s*+\(|{_TYPE}\s++(?P<field>\w++)\s*+(?=[=;])|(?P<const>[A-Z_]\w*+)(?=\s*+[,}}]))",
        _HIDDEN,
        inside={"method": "interface", "field": "struct", "const": "enum"},
    ),
    comment_starts=(b"//", b"/*"),
    uses=references("avro", r"(?:^[ \t]*+|[<({,][ \t]*+)(?:array<|map<)?(?P<command>[A-Z]\w*+)(?=\??[ \t]*+[>\w,)}])", _HIDDEN),
    display=Display(lexer=None),
)
