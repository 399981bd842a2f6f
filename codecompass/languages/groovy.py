"""Groovy, and with it Gradle and Jenkins files: types, methods, tasks and stages, found by their first lines; imports of the JVM.

Its grammar knows words and blocks and nothing of definitions, so the text is read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.jvm_imports import JVM_IMPORTS
from codecompass.languages.language import Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    COMMON_KEYWORDS,
    DOLLAR_NAME,
    DOUBLE,
    SINGLE,
    SLASHES,
    TRIPLE,
    TRIPLE_SINGLE,
    any_of,
    declared,
    typed_declaration,
)
from codecompass.languages.walk.heads import heads
from codecompass.languages.words import word_set

_MODIFIERS: Final = rb"(?:(?:public|private|protected|static|final|abstract|synchronized|sealed|@\w+(?:\([^()\n]*\))?)[ \t]+)*"
_TYPE: Final = rb"(?:[\w.]+(?:<[\w<>, ?.]*>)?(?:\[\])*)"
_HEADS: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?:" + _MODIFIERS + rb"(?P<word>class|interface|enum|trait|record|@interface)[ \t]+(?P<name>\w+)"
    rb"|(?!(?:return|new|throw|else|assert|if|in)\b)" + _MODIFIERS + rb"(?:<[^>\n]+>[ \t]*)?(?:def|" + _TYPE + rb")[ \t]+"
    rb"(?P<method>\w+)[ \t]*\([^\n]*\{[ \t]*$"
    rb"|(?:task|stage|tasks\.(?:register|create)|def)[ \t(]+['\"]?(?P<title>\w[\w \-]*?)['\"]?[ \t]*"
    rb"(?:[(),].*)?(?:=[ \t]*)?\{[ \t]*$)",
    re.MULTILINE,
)
_IMPORT: Final = re.compile(rb"^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]+)(\.\*)?(?:[ \t]+as[ \t]+(\w+))?", re.MULTILINE)
_PACKAGE: Final = re.compile(rb"^[ \t]*package[ \t]+([\w.]+)", re.MULTILINE)


def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Yields the imports and definitions of a file."""
    for match in _IMPORT.finditer(context.source):
        line = context.source.count(b"\n", 0, match.start(1)) + 1
        yield Import(line, line, match[1].decode(), "*" if match[2] else "", (match[3] or b"").decode())
    yield from _definitions(root, context)


_KINDS: Final[Mapping[str, SymbolKind]] = {
    **dict.fromkeys(("class", "record"), "class"),
    **dict.fromkeys(("interface", "@interface"), "interface"),
    "enum": "enum",
    "trait": "trait",
}
_definitions = heads(_HEADS, _KINDS)


def module(_path: str, _root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the package."""
    found = _PACKAGE.search(source)
    return () if found is None else tuple(found[1].decode("utf-8", "replace").split("."))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    strings = "|".join((TRIPLE, DOUBLE))
    return LexicalRules(
        family="java",
        comments_and_strings=any_of(SLASHES, BLOCK, rf"(?P<code>{strings})", TRIPLE_SINGLE, SINGLE),
        interpolation=re.compile(r"\$\{([^{}]*+)\}|\$(?=[A-Za-z_])"),
        name=DOLLAR_NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract as assert boolean byte char class def double enum extends final float implements import in instanceof int",
            "interface it long native package private protected public short static super synchronized this throws trait void",
        ),
        soft=word_set("in it"),
        own=frozenset({"this"}),
        declarations=(
            declared(r"def[ \t]++(?P<names>\w++)[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n;]*+)", mark="def"),
            typed_declaration(),
        ),
        parameters="type_first",
        has_implicit_members=True,
        keyword_argument=re.compile(r":(?!:)"),
        supertypes=SupertypeForms(head=re.compile(r"\w++(?:<[^{;()]{0,200}?>)?\s++(?:extends|implements)\b(?P<bases>[^{;]*+)")),
    )


GROOVY = Language(
    grammar="groovy",
    recover=read,
    module=module,
    imports=JVM_IMPORTS,
    uses=lexical_rules,
    display=Display(attribute_starts=DECORATORS),
)
