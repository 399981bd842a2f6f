"""Crystal, for which there is no grammar: definitions are found by their first lines.

The tree of a language that is alike is made and not used: only errors of its own would follow from it.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    CHARACTER,
    DOUBLE_LINES,
    HASH,
    HERE_DOCUMENT,
    PERCENT_LITERAL,
    SLASHED,
    any_of,
    declared,
)
from codecompass.languages.walk.block_tests import BlockTestSyntax
from codecompass.languages.walk.heads import heads
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def _reader(
    definitions: Callable[[Node, RuleContext], Iterator[Definition]], imported: re.Pattern[bytes], kind: str = "module"
) -> Callable[[Node, RuleContext], Iterator[Definition | Import]]:
    def read(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
        for match in imported.finditer(context.source):
            line = context.source.count(b"\n", 0, match.start(1)) + 1
            yield Import(line, line, match[1].decode("utf-8", "replace"), kind=kind)
        yield from definitions(root, context)

    return read


def _kinds(**words: str) -> dict[str, SymbolKind]:
    return {word: kind for kind, listed in words.items() for word in listed.split()}  # type: ignore[misc]


_CRYSTAL: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?:(?:private|protected|abstract)[ \t]+)*"
    rb"(?:(?P<word>def|macro|fun|class|struct|union|record|module|enum|lib|annotation|alias|type"
    rb"|(?:class_)?(?:property|getter|setter)[?!]?)[ \t]+"
    rb"(?:self\.)?(?P<name>[\w:]+[?!=]?|\[\]=?\??|[+\-*/%<>=~!^|&]+)"
    rb"|(?P<title>[A-Z]\w*)[ \t]*+(?:=(?![=~>])|$))",
    re.MULTILINE,
)
_HOLDERS: Final = frozenset({"class", "enum", "module", "struct"})


def _crystal(root: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields definitions without what looks like one in a function, or like a value of an enumeration elsewhere."""
    lines = context.source.split(b"\n")
    for each in _crystal_definitions(root, context):
        yield from _without_others(each, None, lines)


def _without_others(definition: Definition, owner: SymbolKind | None, lines: list[bytes]) -> Iterator[Definition]:
    first, last = lines[(definition.start_line or 1) - 1], lines[(definition.end_line or 1) - 1]
    if last.strip() == b"end" and len(last.rstrip()) - 3 < len(first) - len(first.lstrip()):
        definition = replace(definition, end_line=definition.start_line)
    if definition.kind == "const" and owner != "enum" and "=" not in (definition.signature or ""):
        return
    members = definition.members if definition.kind in _HOLDERS else ()
    yield replace(definition, members=tuple(kept for each in members for kept in _without_others(each, definition.kind, lines)))


def _crystal_words() -> LexicalRules:
    return LexicalRules(
        family="crystal",
        comments_and_strings=any_of(HASH, rf"(?P<code>{DOUBLE_LINES})", CHARACTER, SLASHED, PERCENT_LITERAL, HERE_DOCUMENT),
        literal_marks="/%",
        interpolation=re.compile(r"#\{([^{}]*+)\}"),
        name=re.compile(r"[^\W\d]\w*[?!]?"),
        keywords=word_set(
            "abstract alias annotation as begin break case class def do else elsif end ensure enum extend false for fun if in",
            "include instance_sizeof is_a? lib macro module next nil of out pointerof private protected require rescue",
            "responds_to? return select self sizeof struct super then true type typeof union unless until verbatim when while",
            "with yield",
        ),
        field_mark="@",
        has_implicit_members=True,
        declarations=(declared(r"^[ \t]+(?P<names>[a-z_]\w*+)[ \t]*+=(?![=~>])[ \t]*+(?P<value>[^\n]*+)"),),
        supertypes=SupertypeForms(head=re.compile(r"\w++(?:\([^()\n]*+\))?[ \t]*+<(?P<bases>[^\n;]*+)")),
    )


_crystal_definitions: Final = heads(
    _CRYSTAL,
    {
        "": "const",
        **_kinds(
            **{"class": "class annotation"},
            struct="struct union record",
            module="module lib",
            enum="enum",
            macro="macro",
            type="alias type",
            field="property property? property! getter getter? getter! setter",
        ),
        **_kinds(field="class_property class_property? class_getter class_getter? class_setter"),
    },
    closer="end",
    comment=b"#",
    is_strict=True,
)
CRYSTAL = Language(
    grammar="ruby",
    recover=_reader(
        _crystal,
        re.compile(rb"^[ \t]*require[ \t]+\"([^\"\n]+)\"", re.MULTILINE),
    ),
    separator="::",
    tests=BlockTestSyntax(
        pattern=re.compile(
            rb"\n[ \t]*+(?P<head>describe|context|it|pending)[ \t(]++(?:\"([^\"\n]++)\"|([A-Z][\w:]*+)(?=[ \t]++do\b))"
        ),
        block=re.compile(rb"\bdo\b|\{"),
        computed=re.compile(rb"#\{"),
        closers=(b"end", b"}"),
    ),
    imports=plain_imports(endings=(".cr",)),
    uses=_crystal_words,
    types=WrittenTypes(variables="colon", results="colon", supertypes="less_than"),
    display=Display(line_comment="#", lexer="crystal"),
)
