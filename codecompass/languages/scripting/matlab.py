"""MATLAB: functions, classes with their properties, methods, events and enumerations."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.language import Definition, Found, Language, RuleContext, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import DOUBLE, NAME, NAMES, any_of, declared
from codecompass.languages.walk.depth import with_shallow_brackets
from codecompass.languages.walk.node_rules import defines, descend, reach, written
from codecompass.languages.words import word_set

_BLOCK: Final = re.compile(rb"^[ \t]*[%#]\{[ \t\r]*$.*?(?:^[ \t]*[%#]\}[ \t\r]*$|\Z)", re.MULTILINE | re.DOTALL)


def _without_blocks(source: bytes) -> bytes:
    """Returns the source without comments of several lines: of one that is not closed the grammar finds no end."""
    return with_shallow_brackets(_BLOCK.sub(_blanked, source))


def _blanked(match: re.Match[bytes]) -> bytes:
    blank = re.sub(rb"[^\n]", b" ", match[0])
    # The grammar takes time in the square of the number of blank lines at the beginning of a file.
    return blank if blank.count(b"\n") < MAX_BLANK_LINES else b"%" + blank[1:].replace(b"\n ", b"\n%")


MAX_BLANK_LINES: Final = 200


_CONTINUED: Final = re.compile(r"\.\.\.[^\n]*\n\s*")


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`function [a, b] = name(c)`, whose help is the comment below; `get.name` and `set.name` are of a property."""
    parts = [each for each in node.named_children if each.type not in ("block", "comment", "arguments_statement")]
    names = reach(node, "name")
    if not names:
        return
    end = max(each.end_byte for each in parts if each.start_byte <= names[-1].start_byte or each.type == "function_arguments")
    signature = _CONTINUED.sub("", context.source[node.start_byte : end].decode("utf-8", "replace"))
    name = context.text(names[-1]).rpartition(".")[2]
    kind: SymbolKind = "method" if context.enclosing in CLASS_LIKE else "fn"
    yield Definition(name, kind, node, tuple(reach(node, "block")), signature=signature, doc=_help(node, context))


def class_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`classdef (Sealed) name < base`."""
    end = max(each.end_byte for way in ("name", "superclasses") for each in reach(node, way))
    signature = _CONTINUED.sub("", context.source[node.start_byte : end].decode("utf-8", "replace"))
    name = context.field_text(node, "name")
    yield Definition(name, "class", node, (node,), signature=signature, doc=_help(node, context))


def _help(node: Node, context: RuleContext) -> str:
    """Returns the comment above a function or class, or the first one in it, without the name that it begins with."""
    comment = next(
        (each for each in node.named_children if each.type == "comment" and not context.text(each).startswith("%{")), None
    )
    own = "" if comment is None or comment.start_point[0] > node.start_point[0] + 4 else context.text(comment)
    return leading_comment(node, context) or re.sub(r"^%+\s*[A-Z_0-9]+\s{2,}", "% ", own)


def listed(node: Node, context: RuleContext) -> Iterator[Found]:
    """`events .. end`, whose lines are names."""
    for each in node.named_children:
        if each.type == "identifier":
            yield Definition(context.text(each), "field", each)


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """The first `name = value` of a script, outside of functions and blocks."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "identifier" or node.parent is None or node.parent.parent is not None:
        return
    name = context.text(left)
    if context.notes.setdefault(("assigned", name), "yes") == "yes":
        context.notes["assigned", name] = "again"
        is_function = bool(reach(node, "right")) and reach(node, "right")[0].type == "lambda"
        yield Definition(name, "fn" if is_function else "var", node)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="matlab",
        comments_and_strings=any_of(
            r"%\{[ \t]*\n.*?(?:\n[ \t]*%\}|\Z)", r"%[^\n]*+", r"\.\.\.[^\n]*+", DOUBLE, r"'(?<![\w)\]}.']')(?:[^'\n]++|'')*+'?"
        ),
        name=NAME,
        keywords=word_set(
            "break case catch classdef continue else elseif end enumeration events for function global if methods otherwise",
            "parfor persistent properties return spmd switch try while true false",
        ),
        own=frozenset({"obj", "this", "self"}),
        declarations=(declared(rf"^[ \t]*+\[?(?P<names>{NAMES})\]?[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n;]*+)"),),
        supertypes=SupertypeForms(head=re.compile(r"\w++[ \t]*+<(?P<bases>[^\n%]*+)")),
    )


MATLAB = Language(
    grammar="matlab",
    prepare=_without_blocks,
    rules={
        **descend("properties methods enumeration block"),
        "events": listed,
        "class_definition": class_,
        "assignment": assignment,
        "property": defines("field", "name", ""),
        "function_definition": function,
        "function_signature": written("fn", r"(?:(?:\[[^\]]*\]|\w+)\s*=\s*)?(\w+)"),
        "enum": defines("const", "identifier!", ""),
    },
    uses=lexical_rules,
    display=Display(line_comment="%"),
)
