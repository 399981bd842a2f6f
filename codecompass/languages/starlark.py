"""Starlark, the language of Bazel and Buck: functions, values, targets by their names; `load`."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, leading_comment, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE, HASH, NAME, SINGLE, TRIPLE, TRIPLE_SINGLE, after, any_of, declared, loop
from codecompass.languages.walk.outline import defines, descend, reach, underscore_is_private
from codecompass.languages.words import word_set


def call(node: Node, context: RuleContext) -> Iterator[Found]:
    """`load("//a:b.bzl", "name")`, and a call with `name = "x"`, which declares a target."""
    for each in node.named_children:
        arguments = reach(each, "arguments") if each.type == "call" else []
        if not arguments:
            continue
        texts = [context.text(argument) for argument in arguments[0].named_children]
        if context.field_text(each, "function") == "load" and texts:
            for name in texts[1:] or [""]:
                alias, _, original = name.rpartition("=")
                yield Import(*lines_of(each), texts[0].strip("\"'"), original.strip("\"' "), alias.strip())
        named = next((re.fullmatch(r"name\s*=\s*[\"']([^\"']+)[\"']", text) for text in texts if text.startswith("name")), None)
        if named is not None and context.enclosing is None:
            yield Definition(named[1], "var", node, signature=f'{context.field_text(each, "function")}(name = "{named[1]}")')


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """`NAME = value` outside functions."""
    for each in reach(node, "assignment/left") if context.enclosing is None else ():
        if each.type == "identifier":
            yield Definition(context.text(each), "const" if context.text(each).isupper() else "var", node)


def statement(node: Node, context: RuleContext) -> Iterator[Found]:
    """An assignment or a call."""
    yield from assignment(node, context)
    yield from call(node, context)


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the first string in the body, else the comment above."""
    strings = reach(node, "body/expression_statement!/string")
    return context.text(strings[0]) if strings else leading_comment(node, context)


def _path(item: Import) -> str:
    """Returns the path of a label: `//a/b:c.bzl` is `a/b/c.bzl`."""
    return item.spec.rpartition("//")[2].replace(":", "/").strip("/") if not item.spec.startswith("@") else ""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="starlark",
        comments_and_strings=any_of(HASH, TRIPLE, TRIPLE_SINGLE, DOUBLE, SINGLE),
        name=NAME,
        keywords=word_set("and break continue def elif else for if in lambda load not or pass return True False None"),
        own=frozenset(),
        above=frozenset(),
        declarations=(
            declared(r"^[ \t]+(?P<names>\w++)[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n]*+)"),
            loop(after("for") + r"[ \t]++(?P<names>\w++)[ \t]++in[ \t](?P<value>[^\n:]*+)"),
        ),
        keyword_argument=re.compile(r"[ \t]*+=(?!=)"),
    )


STARLARK = Language(
    grammar="starlark",
    rules={
        **descend("if_statement block"),
        "function_definition": defines("fn", "name", "body"),
        "expression_statement": statement,
    },
    visibility=underscore_is_private,
    doc=documentation,
    nested_markers=(b"def ",),
    imports=plain_imports(path_of=_path),
    uses=lexical_rules,
    display=Display(line_comment="#", lexer="python"),
)
