"""R: functions and values that are assigned names, R6 and reference classes with their members, S4 classes and methods, tests."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import
from codecompass.languages.uses import patterns
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.walk.node_rules import descend, reach
from codecompass.languages.words import word_set

_CLASSES: Final = frozenset({"R6Class", "setClass", "setRefClass", "ggproto", "new_class"})
_LISTS: Final = frozenset({"active", "fields", "methods", "private", "properties", "public", "representation", "slots"})
_QUIETLY: Final = frozenset(
    {"local", "suppressMessages", "suppressPackageStartupMessages", "suppressWarnings", "tryCatch", "withr"}
)
"""Calls that run a block in the scope around them."""
_ASSIGNS: Final = frozenset({"<-", "<<-", "="})


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """`name <- value`, `a <- b <- value`: a function, a class or a value; inside a function only a function is a definition."""
    yield from _assigned(node, context)
    for _ in range(_MAX_CHAINED):
        inner = node.child_by_field_name("rhs")
        if context.enclosing is not None or inner is None or inner.type != "binary_operator":
            break
        yield from _assigned(inner, context)
        node = inner


_MAX_CHAINED: Final = 20


def _assigned(node: Node, context: RuleContext) -> Iterator[Found]:
    operator = next((context.text(each) for each in node.children_by_field_name("operator")), "")
    sides = node.child_by_field_name("lhs"), node.child_by_field_name("rhs")
    name, value = sides if operator in _ASSIGNS else sides[::-1] if operator in ("->", "->>") else (None, None)
    if name is not None and value is not None and name.type in ("identifier", "string"):
        yield from _named(context.text(name).strip("`'\""), node, value, context)
    elif name is not None and value is not None and name.type == "call" and _called(name, context) == "method":
        written = [context.text(each) for each in reach(name, "arguments/argument/value")]
        if len(written) > 1:
            yield Definition(written[0], "method", node, tuple(reach(value, "body")), qualifier=(written[1],))


def _named(name: str, node: Node, value: Node, context: RuleContext) -> Iterator[Found]:
    if value.type == "function_definition":
        kind = "method" if context.enclosing in CLASS_LIKE else "fn"
        yield Definition(name, kind, node, tuple(reach(value, "body")))  # type: ignore[arg-type]
    elif value.type == "call" and _called(value, context) in _CLASSES:
        yield Definition(name, "class", node, _members(value, context))
    elif context.enclosing in CLASS_LIKE:
        yield Definition(name, "field", node)
    elif context.enclosing is None:
        yield Definition(name, "const" if name.isupper() else "var", node)


def _members(call: Node, context: RuleContext) -> tuple[Node, ...]:
    """Returns the lists of members in a call that makes a class, or all its arguments if it has none."""
    arguments = reach(call, "arguments/argument")
    lists = [
        inner
        for each in arguments
        for inner in reach(each, "value")
        if context.field_text(each, "name") in _LISTS or _called(inner, context) in _LISTS
    ]
    return tuple(inner for each in lists for inner in reach(each, "arguments")) if lists else tuple(arguments)


def member(node: Node, context: RuleContext) -> Iterator[Found]:
    """`name = value` in a list of the members of a class."""
    name, value = context.field_text(node, "name"), node.child_by_field_name("value")
    if name and value is not None and context.enclosing in CLASS_LIKE:
        yield from _named(name, node, value, context)


def _called(node: Node, context: RuleContext) -> str:
    return context.field_text(node, "function").rpartition(":")[2]


def call(node: Node, context: RuleContext) -> Iterator[Found]:
    """`setClass`, `setGeneric`, `setMethod`; `library`, `source`; and calls that run a block."""
    name, values = _called(node, context), reach(node, "arguments/argument/value")
    first = _unquoted(context.text(values[0])) if values else ""
    line = node.start_point[0] + 1
    if name in ("library", "require", "requireNamespace") or (name == "source" and values and values[0].type == "string"):
        yield Import(line, line, first, kind="relative" if "source" in name else "module")
    elif name == "source" and values and _called(values[0], context) in ("file.path", "here"):
        parts = reach(values[0], "arguments/argument/value")
        if parts and all(each.type == "string" for each in parts):
            path = "/".join(_unquoted(context.text(each)) for each in parts)
            yield Import(line, line, path, kind="relative")
    elif name in ("setClass", "setRefClass", "setClassUnion"):
        yield Definition(first, "class", node, () if name == "setClassUnion" else _members(node, context))
    elif name.endswith("$methods"):
        yield from _added_methods(node, name.removesuffix("$methods"), context)
    elif name == "setGeneric":
        yield Definition(first, "fn", node)
    elif name in ("setMethod", "setReplaceMethod") and len(values) > 1:
        owner = next(iter(re.findall(r"\"(\w+)\"|'(\w+)'", context.text(values[1]))), ("", ""))
        bodies = tuple(each for value in values for each in reach(value, "body"))
        yield Definition(first, "method", node, bodies, qualifier=tuple(filter(None, owner)))
    elif name in ("test_that", "it", "describe") and first:
        yield Definition(" ".join(first.split())[:200], "test", node, tuple(values[1:]))
    elif name in _QUIETLY:
        for argument in reach(node, "arguments/argument"):
            yield Descend(argument)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def _added_methods(node: Node, owner: str, context: RuleContext) -> Iterator[Definition]:
    """`Class$methods(name = function() ..)` adds to a reference class."""
    for each in reach(node, "arguments/argument"):
        name = context.field_text(each, "name")
        for function in reach(each, "value"):
            if name and function.type == "function_definition":
                yield Definition(name, "method", each, tuple(reach(function, "body")), qualifier=(owner,))


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above, without the tags of roxygen."""
    lines = [line.lstrip("#'").strip() for line in leading_comment(node, context).splitlines()]
    kept = [line for line in lines if not line.startswith("@") or line.startswith(("@title", "@description"))]
    return "\n".join(f"# {re.sub('^@[a-z]+ ?', '', line)}".rstrip() for line in kept)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    raw = r'[rR]"(?<=\b\w")(?P<dashes>-*+)[(\[{].*?(?:[)\]}](?P=dashes)"|\Z)'
    return LexicalRules(
        family="r",
        comments_and_strings=patterns.any_of(patterns.HASH, raw, patterns.DOUBLE_LINES, patterns.SINGLE_LINES),
        name=re.compile(r"(?:[^\W\d]|\.(?!\d))[\w.]*"),
        member_marks=":",
        keywords=word_set(
            "function if else for while repeat break next in return TRUE FALSE NULL NA NA_integer_ NA_real_ NA_character_ Inf",
            ". ... .. T F NaN",
        ),
        own=frozenset(),
        declarations=(
            patterns.declared(r"^[ \t]+(?P<names>[\w.]++)[ \t]*+(?:<<?-|=(?!=))[ \t]*+(?P<value>[^\n]*+)"),
            patterns.loop(patterns.after("for") + r"[ \t]*+\((?P<names>[\w.]++)[ \t]++in[ \t]++(?P<value>[^\n)]*+)"),
        ),
        keyword_argument=re.compile(r"[ \t]*+=(?!=)"),
    )


R = Language(
    grammar="r",
    rules={
        **descend("braced_expression if_statement"),
        "binary_operator": assignment,
        "argument": member,
        "call": call,
    },
    doc=documentation,
    imports=plain_imports(endings=("", ".R"), path_of=lambda item: item.spec if item.kind == "relative" else ""),
    uses=lexical_rules,
    display=Display(line_comment="#", lexer="r"),
)
