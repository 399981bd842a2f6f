"""Nix: the attributes and functions of expressions, with dotted paths as names; files that are imported."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, DOUBLE_LINES, HASH, any_of
from codecompass.languages.walk.node_rules import descend
from codecompass.languages.words import word_set

_PATH = re.compile(r"(?<![\w./])\.{1,2}/[\w./\-]+")
_ENTERED = word_set(
    "attrset_expression rec_attrset_expression let_expression function_expression with_expression binding_set",
    "apply_expression parenthesized_expression assert_expression",
)
_HOLDERS = ("attrset_expression", "rec_attrset_expression", "let_expression", "function_expression", "with_expression")


def binding(node: Node, context: RuleContext) -> Iterator[Found]:
    """`a.b = value;`: a function, a set with its own attributes, or a value; the files in it are imported."""
    name, value = context.field_text(node, "attrpath"), node.child_by_field_name("expression")
    if value is None:
        return
    if value.type not in _HOLDERS or value.type == "function_expression":
        for path in _PATH.findall(_own_text(value, context)[:20_000]):
            yield Import(*lines_of(node), path, kind="relative")
    holds = tuple(each for each in (value, *map(_inside, value.named_children)) if each.type in _HOLDERS)[:1]
    is_function = value.type == "function_expression"
    kind = "fn" if is_function else "module" if holds else "var"
    signature = f"{name} = {_parameters(value, context)}" if is_function else context.text(node).partition("\n")[0]
    name = name[1:-1] if re.fullmatch(r'"[^"]*"', name) else name
    yield Definition(name, kind, node, holds, signature=signature.rstrip("; {["))  # type: ignore[arg-type]


def _own_text(value: Node, context: RuleContext) -> str:
    """Returns the text of a value without the bindings in it that are read by themselves."""
    parts, start, waiting = [], value.start_byte, [value]
    while waiting:
        node = waiting.pop()
        if node.type == "binding":
            parts.append(context.source[start : node.start_byte])
            start = node.end_byte
        elif node.type in _ENTERED:
            waiting += reversed(node.named_children)
    parts.append(context.source[start : value.end_byte])
    return b" ".join(parts).decode("utf-8", "replace")


def _inside(node: Node) -> Node:
    """Returns what is in parentheses."""
    for _ in range(_MAX_DEPTH):
        inner = node.child_by_field_name("expression") if node.type == "parenthesized_expression" else None
        if inner is None:
            break
        node = inner
    return node


def _parameters(function: Node, context: RuleContext) -> str:
    """Returns the parameters of a function that returns functions, with theirs."""
    body: Node | None = function
    for _ in range(_MAX_DEPTH):
        if body is None or body.type != "function_expression":
            break
        body = body.child_by_field_name("body")
    end = function.end_byte if body is None else body.start_byte
    return context.source[function.start_byte : end].decode("utf-8", "replace").rstrip()


_MAX_DEPTH = 20


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    indented = r"''.*?(?:''(?!['$\\])|\Z)"
    return LexicalRules(
        family="nix",
        comments_and_strings=any_of(HASH, BLOCK, rf"(?P<code>{indented}|{DOUBLE_LINES})"),
        interpolation=re.compile(r"\$\{([^{}]*+)\}"),
        name=re.compile(r"[^\W\d][\w'\-]*"),
        name_marks="_'-",
        member_marks=".",
        keywords=word_set("let in rec with inherit if then else assert or true false null import throw abort builtins"),
        own=frozenset(),
        above=frozenset(),
    )


NIX = Language(
    grammar="nix",
    rules={
        **descend(*_ENTERED),
        "binding": binding,
        "ERROR": DESCEND,
    },
    imports=plain_imports(endings=("", "/default.nix", ".nix"), relative=("relative",)),
    uses=lexical_rules,
    display=Display(line_comment="#"),
)
