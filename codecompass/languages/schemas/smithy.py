"""Smithy: services, resources, operations, structures and other shapes with their members, traits."""

from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import DOUBLE, SLASHES, TRIPLE, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_HIDDEN: Final = any_of(SLASHES, TRIPLE, DOUBLE)
_TRAITS: Final = r"(?>(?:@[\w.#$]++(?:\([^()]*+(?>(?:\([^()]*+\)[^()]*+)*)\))?\s*+)*)"
_SIMPLE: Final = "string|boolean|blob|byte|short|integer|long|float|double|bigInteger|bigDecimal|timestamp|document"
_WITH: Final = r"(?:\s++for\s++[\w.#]++)?(?:\s++with\s*+\[[^\[\]]*+\])?"
_SHAPE: Final = (
    r"(?:[\w.]++#)?(?!(?:BigDecimal|BigInteger|Blob|Boolean|Byte|Document|Double|Float|Integer|Long|Short|String|Timestamp"
    r"|Unit)\b)"
)

SMITHY = Language(
    outline=braces(
        rf"(?:^|[{{}},])[ \t]*+{_TRAITS}(?:service\s++(?P<interface>\w++){_WITH}|resource\s++(?P<resource>\w++){_WITH}"
        rf"|operation\s++(?P<method>\w++){_WITH}|(?:structure|union|list|map|set)\s++(?P<struct>\w++){_WITH}"
        rf"|(?:enum|intEnum)\s++(?P<enum>\w++){_WITH}|(?:{_SIMPLE})\s++(?P<type>\w++){_WITH}(?=[ \t]*+(?:\n|\Z))"
        rf"|(?P<inline>input|output)[ \t]*+:=\s*+{_TRAITS}|(?P<field>\w++)\s*+:(?!=)\s*+[\w#$.]++|\$(?P<field2>\w++)(?=\s)"
        r"|(?P<const>[a-zA-Z_]\w*+)(?=[ \t]*+[=,}\n]))",
        _HIDDEN,
        inside={"field": "struct inline", "const": "enum", "inline": "method"},
        kinds={"inline": "struct"},
        listed="field",
        package=r"^namespace[ \t]++([\w.]++)",
    ),
    comment_starts=(b"//",),
    uses=references(
        "smithy",
        rf"[:\[,][ \t]*+{_SHAPE}(?P<command>[A-Z]\w*+)(?!\w|[ \t]*+:)|^[ \t]*+{_SHAPE}(?P<command2>[A-Z]\w*+)(?=[ \t]*+(?:,|$))"
        r"|@(?:[\w.]++#)?(?P<command3>[a-zA-Z]\w*+)|^use[ \t]++[\w.]++#(?P<command4>\w++)"
        rf"|\b(?:for|apply)[ \t]++{_SHAPE}(?P<command5>[A-Z]\w*+)",
        _HIDDEN,
    ),
    display=Display(attribute_starts=DECORATORS, lexer=None),
)
