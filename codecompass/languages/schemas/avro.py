"""Avro IDL: records, errors, enumerations and protocols with their fields and messages. Schemas in JSON have keys."""

from typing import Final

from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, SLASHES, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_HIDDEN: Final = any_of(SLASHES, BLOCK, DOUBLE)
_UNION: Final = r"(?<=union)\s*+\{[^{}]*+(?>(?:\{[^{}]*+\}[^{}]*+)*)\}"
"""What may be in a union, whose braces are no block; `union` remains as the type."""

_NOTES: Final = r"(?>(?:@[\w-]++(?:\([^()]*+\))?\s*+)*)"
_ARGUMENTS: Final = r"[<(](?>(?:[^<>(){};]++|<(?>(?:[^<>(){};]++|<[^<>(){};]*+>)*)>)*)[>)]"
_TYPE: Final = rf"{_NOTES}(?:(?:array|map|decimal)\s*+{_ARGUMENTS}|`?[\w.]++`?)\??\s*+{_NOTES}(?:(?<=[\s>)?`])|\b)"
_NAME: Final = r"`?(?P<{}>\w++)`?"

AVRO = Language(
    outline=braces(
        rf"(?:^|[{{;}},])[ \t]*+{_NOTES}"
        rf"(?:protocol\s++{_NAME.format('interface')}|(?:record|error)\s++{_NAME.format('struct')}"
        rf"|enum\s++{_NAME.format('enum')}|fixed\s++{_NAME.format('type')}|{_TYPE}{_NAME.format('method')}\s*+(?=\()"
        rf"|{_TYPE}{_NAME.format('field')}\s*+(?=[=;,])|\s*+{_NAME.format('const')}(?=\s*+[,}}])"
        rf"|(?<=,)\s*+{_NAME.format('field2')}\s*+(?=[=;]))",
        any_of(SLASHES, BLOCK, DOUBLE, _UNION),
        inside={"method": "interface", "field": "struct", "const": "enum"},
        package=r"^namespace\s++([\w.]++)",
        imports=r"^[ \t]*+import\s++(?:idl|protocol|schema)\s++\"([^\"\n]++)\"",
    ),
    comment_starts=(b"//", b"/*"),
    imports=C_IMPORTS,
    uses=references(
        "avro",
        r"(?:^[ \t]*+|[<({,;][ \t]*+|\)[ \t]++|\bthrows[ \t]++)(?>(?:array<|map<)*)(?>(?:[a-z]\w*+\.)*)"
        r"(?P<command>[A-Z]\w*+)(?=\??[ \t]*+[>\w,)};`])",
        _HIDDEN,
    ),
    display=Display(attribute_starts=DECORATORS, lexer=None),
)
