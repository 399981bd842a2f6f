"""Protocol Buffers: messages, fields, enumerations, services and their methods; imported files."""

from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, NAME, SINGLE, SLASHES, any_of
from codecompass.languages.walk.text_rules import braces
from codecompass.languages.words import word_set

_HIDDEN = any_of(SLASHES, BLOCK, DOUBLE, SINGLE)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="protobuf",
        comments_and_strings=_HIDDEN,
        name=NAME,
        keywords=word_set(
            "syntax edition package import public weak option message enum service rpc returns stream oneof map extend reserved",
            "extensions optional required repeated group to max true false double float int32 int64 uint32 uint64 sint32 sint64",
            "fixed32 fixed64 sfixed32 sfixed64 bool string bytes",
        ),
        own=frozenset(),
    )


PROTOBUF = Language(
    outline=braces(
        r"(?:^|[{;}])[ \t]*+(?!(?:option|reserved|extensions)\b)(?:export[ \t]++|local[ \t]++)?(?:message[ \t]++(?P<struct>\w++)"
        r"|enum[ \t]++(?P<enum>\w++)|service[ \t]++(?P<interface>\w++)|extend[ \t]++[\w.]*?(?P<impl>\w++)(?=[ \t\n]*+\{)"
        r"|oneof[ \t]++(?P<oneof>\w++)|rpc[ \t]++(?P<method>\w++)(?>(?:\s*+\([^()]*+\)\s*+returns\s*+\([^()]*+\))?)"
        r"|(?P<const>\w++)\s*+="
        r"|(?:optional\s++|required\s++|repeated\s++)?(?:group|map[ \t]*+<[^<>]*+>|\.?[\w.]++)\s++(?P<field>\w++)\s*+=\s*+\d)",
        _HIDDEN,
        inside={"method": "interface", "const": "enum", "field": "struct oneof impl", "oneof": "struct"},
        kinds={"oneof": "field"},
        package=r"^[ \t]*+package\s++([\w.]++)",
        imports=r"^[ \t]*+import\s++(?:(?:public|weak|option)\s++)?[\"']([^\"'\n]++)",
    ),
    comment_starts=(b"//", b"/*"),
    imports=C_IMPORTS,
    uses=lexical_rules,
    display=Display(lexer="protobuf"),
)
