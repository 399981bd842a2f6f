"""Tcl: procedures and methods, namespaces, classes of TclOO, variables of namespaces; `source` and `package require`."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, any_of
from codecompass.languages.walk.node_rules import defines, descend, or_descend, reach
from codecompass.languages.words import word_set


def command(node: Node, context: RuleContext) -> Iterator[Found]:
    """`source file`, `package require name`, `variable name`, and the commands that define classes and methods."""
    parts = reach(node, "arguments")[:1]
    arguments = parts[0].named_children if parts else []
    texts = [context.text(each) for each in arguments[:3]]
    bodies = tuple(each for each in arguments if each.type == "braced_word")[-1:]
    word, line = context.field_text(node, "name").removeprefix("::"), lines_of(node)
    if word == "source" and texts:
        yield Import(*line, texts[-1], kind="relative")
    elif word == "package" and texts[:1] == ["require"] and len(texts) > 1:
        yield Import(*line, texts[1] if texts[1] != "-exact" else texts[-1])
    elif word in ("variable", "set") and texts and context.enclosing not in FUNCTION_LIKE:
        yield Definition(texts[0].removeprefix("::"), "field" if context.enclosing in CLASS_LIKE else "var", node)
    elif word in ("oo::class", "oo::abstract", "itcl::class") and texts[:1] == ["create"] and len(texts) > 1:
        yield Definition(texts[1], "class", node, bodies, signature=f"{word} create {texts[1]}")
    elif word in ("method", "constructor", "destructor", "classmethod") and context.enclosing in CLASS_LIKE:
        name = texts[0] if "method" in word and texts else word
        yield Definition(name, "method", node, signature=context.text(node).partition("\n")[0])
    elif word in ("test", "tcltest::test") and texts:
        yield Definition(texts[0], "test", node, signature=context.text(node).partition("\n")[0])
    elif word in ("if", "else"):
        yield from map(Descend, bodies)


def namespace(node: Node, context: RuleContext) -> Iterator[Found]:
    """`namespace eval name { .. }`."""
    words = reach(node, "word_list")
    parts = words[0].named_children if words else []
    if len(parts) > 2 and context.text(parts[0]) == "eval":
        name = context.text(parts[1]).removeprefix("::")
        yield Definition(name, "module", node, (parts[2],), signature=f"namespace eval {name}")


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="tcl",
        comments_and_strings=any_of(r"#(?<![^\s;{]#)[^\n]*+", DOUBLE_LINES),
        name=re.compile(r"[^\W\d][\w]*"),
        keywords=word_set(
            "if else elseif for foreach while return break continue switch set expr catch try proc namespace eval variable"
        ),
        call_marks="[",
        own=frozenset(),
        above=frozenset(),
    )


TCL = Language(
    grammar="tcl",
    rules={
        **descend("braced_word"),
        "namespace": namespace,
        "procedure": defines("fn", "name", "body", splits="::", enters=False),
        "command": command,
        "set": or_descend(defines("var", "id", "")),
    },
    separator="::",
    imports=plain_imports(endings=("", ".tcl")),
    uses=lexical_rules,
    display=Display(line_comment="#"),
)
