"""GraphQL: types of schemas with their fields, enumerations, directives; operations and fragments of clients."""

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, HASH, NAME, TRIPLE, any_of
from codecompass.languages.walk.text_rules import braces
from codecompass.languages.words import word_set

_HIDDEN = any_of(HASH, TRIPLE, DOUBLE)
_LIST = r"(?:\([^()]*+(?>(?:\([^()]*+\)[^()]*+)*)\))"


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="graphql",
        comments_and_strings=_HIDDEN,
        name=NAME,
        keywords=word_set(
            "type interface input enum union scalar directive schema extend implements on query mutation subscription fragment "
            "repeatable true false null ID Int Float String Boolean"
        ),
        own=frozenset(),
    )


GRAPHQL = Language(
    outline=braces(
        r"(?:^|[{,])[ \t]*+(?:(?:type|input)\s++(?P<struct>\w++)|interface\s++(?P<interface>\w++)|enum\s++(?P<enum>\w++)"
        r"|(?:union|scalar)\s++(?P<type>\w++)|directive\s++@(?P<macro>\w++)"
        r"|extend\s++(?:type|input|interface|enum|union|scalar)\s++(?P<impl>\w++)"
        r"|(?:query|mutation|subscription|fragment)\s++(?P<fn>\w++)"
        rf"|(?P<field>\w++)[ \t]*+{_LIST}?[ \t]*+:(?>(?:[^()\n{{}},@]*+@\w++{_LIST})*)"
        r"|(?P<const>[A-Za-z_]\w*+)(?=[ \t]*+(?:[@,}]|$)))",
        _HIDDEN,
        inside={"field": "struct interface impl", "const": "enum impl"},
    ),
    comment_starts=(b"#", b'"'),
    uses=lexical_rules,
    display=Display(line_comment="#", lexer="graphql"),
)
