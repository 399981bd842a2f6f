"""Cairo: modules, functions, structs, enums, traits and implementations, constants; `use`."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import CHARACTER, COMMON_KEYWORDS, DOUBLE, NAME, SLASHES, any_of, named_value
from codecompass.languages.walk.heads import heads
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_HEADS: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?:pub(?:\([a-z]+\))? )?(?:extern )?"
    rb"(?P<word>fn|struct|enum|trait|impl|mod|const|type)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)
_KINDS: Final[Mapping[str, SymbolKind]] = {
    "struct": "struct",
    "enum": "enum",
    "trait": "trait",
    "impl": "impl",
    "const": "const",
    "type": "type",
    "mod": "module",
}


def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Yields the imports and definitions of a file, whose visibility the grammar does not know."""
    for match in re.finditer(rb"^[ \t]*(?:pub )?use ([\w:]+)", context.source, re.MULTILINE):
        line = context.source.count(b"\n", 0, match.start(1)) + 1
        yield Import(line, line, match[1].decode().rstrip(":"))
    yield from _definitions(root, context)


_definitions: Final = heads(_HEADS, _KINDS)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="cairo",
        comments_and_strings=any_of(SLASHES, DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "as const enum extern fn impl implicits let loop match mod mut nopanic of pub ref self Self struct super trait",
            "type use u8 u16 u32 u64 u128 u256 felt252 bool usize",
        ),
        own=frozenset({"self", "Self"}),
        declarations=(named_value(),),
        special_call=re.compile(r"!?::<[^<>\n]*+>\("),
        keys_of_type="braces",
        keyword_argument=re.compile(r":(?!:)"),
    )


CAIRO = Language(
    grammar="cairo",
    recover=read,
    separator="::",
    imports=plain_imports(endings=(".cairo",), separator="::", path_of=lambda item: item.spec.rpartition("::")[0] or item.spec),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=("#[",), lexer=None),
)
