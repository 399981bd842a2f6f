"""Pascal and Delphi: units, classes with their members, records, interfaces, routines, constants, variables; `uses`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext, leading_comment, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import NAME, SLASHES, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, reach
from codecompass.languages.words import word_set

_TYPES: Final[dict[str, SymbolKind]] = {"declClass": "class", "declIntf": "interface", "declHelper": "impl", "type": "type"}


_ATTRIBUTE: Final = re.compile(rb"^[ \t]*\[\w+(?:\([^()\n]*\))?\](?=[ \t]*\w)", re.MULTILINE)
_RANGE: Final = re.compile(rb"(=[ \t]*)([\w'$-]+[ \t]*\.\.[ \t]*[\w'$-]+)(?=[ \t]*;)")


def _simplified(source: bytes) -> bytes:
    """Returns the source without attributes before members and with a name for a range, which the grammar cannot parse."""
    text = _ATTRIBUTE.sub(lambda match: b" " * len(match[0]), source)
    return _RANGE.sub(lambda match: match[1] + b"T" + b" " * (len(match[2]) - 1), text)


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


_ROUTINE: Final = re.compile(
    r"(?i)(?:generic\s+)?(?:class\s+)?(?:constructor|destructor|function|procedure|operator)\s+((?:[\w.]|<[^<>;()]*>)+|[^\w\s(]+)"
)
_HEAD: Final = re.compile(r"[^;(]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?[^;]*")


def routine(node: Node, context: RuleContext) -> Iterator[Found]:
    """`procedure Name`, `function TName.Method`, `operator +`; of what is in one only other routines."""
    if node.parent is not None and node.parent.type == "defProc" and node.parent.child_by_field_name("header") == node:
        return
    text = context.text(node)[:2_000]
    at = next((each for each in node.named_children if each.type in _WORDS), node)
    found = _ROUTINE.match(text) or _ROUTINE.match(
        context.source[at.start_byte : node.end_byte][:2_000].decode("utf-8", "replace")
    )
    if found is None:
        return
    *owners, name = re.sub(r"<[^<>]*>", "", found[1]).split(".") if found[1][0] not in "<." else [found[1]]
    kind: SymbolKind = "method" if owners or context.enclosing in CLASS_LIKE else "fn"
    head = _HEAD.match(found.string)
    inner = (*reach(node, "local"), *[each for each in node.named_children if each.type in ("defProc", "declProcs")])
    yield Definition(
        name,
        kind,
        node,
        (node,) if inner else (),
        signature=re.split(r"(?i)\bbegin\b", head[0] if head else text)[0],
        end_line=lines_of(node)[1],
        start_line=None if at is node or at.start_byte == node.start_byte else at.start_point[0] + 1,
        qualifier=(*context.scope_names, *owners) if owners else None,
    )


_WORDS: Final = frozenset({"kProcedure", "kFunction", "kConstructor", "kDestructor", "kOperator", "kClass", "kGeneric"})


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a definition, without the marks of Pascal."""
    return re.sub(r"(?m)^(?:\{|\(\*)|(?:\}|\*\))$", "", leading_comment(node, context))


def program(node: Node, context: RuleContext) -> Iterator[Found]:
    """`program Name;`, `program Name(Input, Output);`."""
    match = re.match(r"(?i)program\s+([\w.]+)", context.text(node)[:200])
    if match is not None:
        yield Definition(match[1], "module", node, (node,), signature=context.text(node)[:500].partition(";")[0])


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
        **descend(
            "interface implementation declTypes declConsts declVars declSection initialization declVariant declVariantClause"
        ),
        "unit": defines("module", "moduleName", "."),
        "program": program,
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
    prepare=_simplified,
    doc=documentation,
    imports=plain_imports(endings=(".pas", ".pp"), separator="."),
    uses=lexical_rules,
    display=Display(lexer="delphi"),
)
