"""Prisma schemas: models, composite types and views with their fields, enumerations, data sources and generators."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, NAME, SLASHES, any_of
from codecompass.languages.walk.text_rules import braces
from codecompass.languages.words import word_set

_HIDDEN = any_of(SLASHES, DOUBLE)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="prisma",
        comments_and_strings=_HIDDEN,
        name=NAME,
        keywords=word_set(
            "model type view enum datasource generator String Boolean Int BigInt Float Decimal DateTime Json Bytes Unsupported "
            "true false id unique default relation map updatedAt index fields references db"
        ),
        own=frozenset(),
    )


PRISMA = Language(
    outline=braces(
        r"^[ \t]*+(?:(?:model|type|view)[ \t]++(?P<struct>\w++)[ \t]*+\{|enum[ \t]++(?P<enum>\w++)[ \t]*+\{"
        r"|(?:datasource|generator)[ \t]++(?P<resource>\w++)[ \t]*+\{"
        r"|(?P<field>\w++)[ \t]++[A-Z]\w*+|(?P<const>\w++)(?=[ \t]*+(?:@|$)))",
        _HIDDEN,
        inside={"field": "struct", "const": "enum"},
    ),
    comment_starts=(b"//",),
    uses=lexical_rules,
    display=Display(lexer=None),
)
