"""Erlang: functions with all their clauses, records with their fields, types, macros, callbacks; includes and imports."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Found, Language, RuleContext, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, SINGLE, any_of, declared
from codecompass.languages.walk.node_rules import defines, imports, merged, note_clauses, reach
from codecompass.languages.words import word_set


def module(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the name in `-module(name).`"""
    found = re.search(rb"^-module\(\s*'?(\w+)", source, re.MULTILINE)
    return () if found is None else (found[1].decode("utf-8", "replace"),)


def imported(node: Node, context: RuleContext) -> Iterator[Found]:
    """`-import(lists, [map/2]).`"""
    line = node.start_point[0] + 1
    for name in reach(node, "funs/fun"):
        yield Import(line, line, context.field_text(node, "module"), context.text(name))


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a function, or above its specification."""
    before = node.prev_named_sibling
    return leading_comment(before if before is not None and before.type == "spec" else node, context)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="erlang",
        comments_and_strings=any_of(r"%[^\n]*+", r"\$\\?.", DOUBLE_LINES, SINGLE),
        name=re.compile(r"[^\W\d][\w@]*"),
        defines_at_line_start=True,
        keywords=word_set(
            "after and andalso band begin bnot bor bsl bsr bxor case catch cond div else end fun if let maybe not of or orelse",
            "receive rem try when xor module export import record spec type opaque define ifdef ifndef endif undef include",
        ),
        soft=word_set("module export import record spec type opaque define include"),
        member_marks=".:",
        own=frozenset({"MODULE"}),
        above=frozenset(),
        declarations=(declared(r"^[ \t]+(?P<names>[A-Z_]\w*+)[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n]*+)"),),
        built_in=word_set("lists maps string binary io erlang proplists ets gb_sets gb_trees queue re timer"),
    )


ERLANG = Language(
    grammar="erlang",
    rules={
        "fun_decl": merged(defines("fn", "clause/name", "clause/body", enters=False, quotes="'")),
        "record_decl": defines("struct", body=".", quotes="'"),
        "record_field": defines("field", "name", "", quotes="'"),
        "type_alias": defines("type", "name/name", ""),
        "opaque": defines("type", "name/name", ""),
        "nominal": defines("type", "name/name", ""),
        "callback": defines("method", "fun", ""),
        "pp_define": defines("macro", "lhs/name", ""),
        "pp_include": imports("file"),
        "pp_include_lib": imports("file"),
        "import_attribute": imported,
        "behaviour_attribute": imports("name"),
    },
    separator=":",
    module=module,
    before_walk=note_clauses("fun_decl", "clause/name"),
    doc=documentation,
    imports=plain_imports(endings=("", ".erl", ".hrl")),
    uses=lexical_rules,
    display=Display(line_comment="%"),
)
