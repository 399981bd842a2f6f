"""Cap'n Proto: structs, unions and groups with their fields, enumerations, interfaces and methods, constants, annotations."""

from codecompass.languages.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.patterns import DOUBLE, HASH, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import braces

_HIDDEN = any_of(HASH, DOUBLE)

CAPNP = Language(
    outline=braces(
        r"(?:^|[{;}])[ \t]*+(?:struct\s++(?P<struct>\w++)|enum\s++(?P<enum>\w++)|interface\s++(?P<interface>\w++)"
        r"|const\s++(?P<const>\w++)|annotation\s++(?P<macro>\w++)|using\s++(?P<type>\w++)\s*+="
        r"|(?P<method>\w++)\s*+@\d++\s*+[(\[]|(?P<value>\w++)\s*+@\d++\s*+;|(?P<field>\w++)\s*+@\d++\s*+:"
        r"|(?P<group>\w++)\s*+(?:@\d++\s*+)?:?(?:group|union)\s*+\{)",
        _HIDDEN,
        inside={"method": "interface", "value": "enum", "field": "struct group", "group": "struct group"},
        kinds={"value": "const", "group": "field"},
        imports=r"\bimport\s++\"/?([^\"\n]++)\"",
    ),
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references("capnp", r"[:(][ \t]*+(?:List\()?(?:\w++\.)*?(?P<command>[A-Z]\w*+)(?!\w|\.|\()", _HIDDEN),
    display=Display(line_comment="#", lexer="capnp"),
)
