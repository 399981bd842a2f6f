"""Thrift: structs, unions, exceptions and their fields, enumerations, services and their methods, constants, type names."""

from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DOUBLE, HASH, NAME, SINGLE, SLASHES, any_of
from codecompass.languages.walk.text_rules import braces
from codecompass.languages.words import word_set

_HIDDEN = any_of(SLASHES, HASH, BLOCK, DOUBLE, SINGLE)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="thrift",
        comments_and_strings=_HIDDEN,
        name=NAME,
        keywords=word_set(
            "namespace include cpp_include const typedef enum struct union exception service extends throws oneway required "
            "optional void bool byte i8 i16 i32 i64 double string binary uuid map set list true false"
        ),
        own=frozenset(),
    )


_NESTED = r"<[^<>;{}]*+(?>(?:<[^<>;{}]*+(?>(?:<[^<>;{}]*+(?>(?:<[^<>;{}]*+>[^<>;{}]*+)*)>[^<>;{}]*+)*)>[^<>;{}]*+)*)>"
_NOTES = r"(?:[ \t]*+\([^()]*+\))"
_TYPE = rf"[\w.]++(?>(?:[ \t]*+{_NESTED})?)(?>{_NOTES}?)"
_LIST = r"\((?>(?:[^()]++|\([^()]*+\))*)\)"

THRIFT = Language(
    outline=braces(
        r"(?:^|[{;,])[ \t]*+(?:(?:struct|union|exception)\s++(?P<struct>\w++)|enum\s++(?P<enum>\w++)|"
        r"(?:service|interaction)\s++(?P<interface>\w++)"
        rf"|const\s++{_TYPE}\s++(?P<const>\w++)\s*+=(?>(?:[ \t]*+\[[^\[\]{{}}]*+\])?)|typedef\s++{_TYPE}\s++(?P<type>\w++)"
        rf"|(?:oneway\s++|async\s++)?{_TYPE}\s++(?P<method>\w++)[ \t]*+(?=\(\s*+(?:\)|-?\d|\w++[ \t.<]))"
        rf"{_LIST}(?>(?:\s*+throws\s*+{_LIST})?)"
        rf"|(?:-?\d++[ \t]*+:[ \t]*+)?(?:required\s++|optional\s++)?{_TYPE}"
        rf"(?:[ \t]++|[ \t]*+&[ \t]*+)(?P<field>\w++)[ \t]*+(?=[=;,(\n}}])"
        r"|(?P<value>\w++)[ \t]*+(?=[=,;\n}(]))",
        _HIDDEN,
        inside={"field": "struct", "method": "interface", "value": "enum"},
        kinds={"value": "const"},
        imports=r"^[ \t]*+include\s++[\"']([^\"'\n]++)",
    ),
    comment_starts=(b"//", b"#", b"/*"),
    imports=C_IMPORTS,
    uses=lexical_rules,
    display=Display(lexer="thrift"),
)
