"""MATLAB: functions, classes with their properties, methods, events and enumerations."""

import re

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import DOUBLE, NAME, NAMES, any_of, declared
from codecompass.languages.walk.node_rules import defines, descend, written
from codecompass.languages.words import word_set


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
    rules={
        **descend("properties methods enumeration events block"),
        "class_definition": defines("class", "name", "."),
        "property": defines("field", "name", ""),
        "function_definition": written("fn", r"function\s+(?:(?:\[[^\]]*\]|\w+)\s*=\s*)?(?:[gs]et\.)?(\w+)", "block"),
        "function_signature": written("fn", r"(?:(?:\[[^\]]*\]|\w+)\s*=\s*)?(\w+)"),
        "enum": defines("const", "identifier!", ""),
    },
    uses=lexical_rules,
    display=Display(line_comment="%"),
)
