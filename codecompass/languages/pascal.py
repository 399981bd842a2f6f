"""Pascal and Delphi: units, classes with their members, records, interfaces, routines, constants, variables; `uses`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import NAME, SLASHES, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, reach, written
from codecompass.languages.words import word_set

_TYPES: Final[dict[str, SymbolKind]] = {"declClass": "class", "declIntf": "interface", "declHelper": "impl", "type": "type"}


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`TName = class(..) .. end`, `TColor = (Red, Green)`, `TAlias = Integer`."""
    value = next(iter(reach(node, "type")), None)
    name = context.field_text(node, "name").partition("<")[0]
    if value is None:
        return
    text = context.text(value).lstrip().lower()
    kind = _TYPES.get(value.type, "type")
    if kind == "class" and text.startswith(("record", "packed", "object")):
        kind = "struct"
    if text.startswith("("):
        kind = "enum"
        listed = re.findall(r"(?:^\(|,)\s*(\w+)", context.text(value))
        yield Definition(name, kind, node, members=tuple(Definition(each, "const", node, signature=each) for each in listed))
        return
    yield Definition(name, kind, node, (value,), signature=context.text(node).partition("\n")[0])


_routine = written("fn", r"(?i)(?:class\s+)?(?:constructor|destructor|function|procedure|operator)\s+([\w.<>]+)")


def routine(node: Node, context: RuleContext) -> Iterator[Found]:
    """`procedure Name`, `function TName.Method`."""
    for item in _routine(node, context):
        if isinstance(item, Definition):
            *owners, name = item.name.split(".")
            end = lines_of(node)[1]
            kind = "method" if owners else item.kind
            signature = context.text(node).partition(";")[0].partition("\n")[0]
            yield Definition(name, kind, node, signature=signature, end_line=end, qualifier=tuple(owners) or None)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="pascal",
        comments_and_strings=any_of(r"\{[^}]*+\}?", r"\(\*.*?(?:\*\)|\Z)", SLASHES, r"'(?:[^'\n]++|'')*+'?"),
        name=NAME,
        keywords=word_set(
            "and array as begin case class const constructor destructor div do downto else end except exports file",
            "finalization finally for function goto if implementation in inherited initialization interface is label mod nil",
            "not object of on operator or out packed procedure program property raise record repeat set shl shr string then",
            "threadvar to try type unit until uses var while with xor private protected public published virtual override",
            "overload abstract Integer String Boolean Result",
        ),
        own=frozenset({"Self"}),
        above=frozenset({"inherited"}),
        has_implicit_members=True,
        supertypes=SupertypeForms(head=re.compile(r"\w++[ \t]*+=[ \t]*+class[ \t]*+\((?P<bases>[^)]*+)")),
    )


PASCAL = Language(
    grammar="pascal",
    rules={
        **descend("interface implementation declTypes declConsts declVars declSection initialization"),
        "unit": defines("module", "moduleName", "."),
        "program": defines("module", "moduleName", "."),
        "library": defines("module", "moduleName", "."),
        "declUses": imports("moduleName"),
        "declType": type_,
        "declConst": defines("const", "name", ""),
        "declVar": defines("var", "name", "", several=True),
        "declField": defines("field", "name", "", several=True),
        "declProp": defines("field", "name", ""),
        "declProc": routine,
        "defProc": routine,
        "ERROR": DESCEND,
    },
    imports=plain_imports(endings=(".pas", ".pp"), separator="."),
    uses=lexical_rules,
    display=Display(lexer="delphi"),
)
