"""Fish: functions, global variables, aliases and abbreviations; `source`."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, any_of, declared
from codecompass.languages.walk.node_rules import descend, reach, written
from codecompass.languages.words import word_set


def command(node: Node, context: RuleContext) -> Iterator[Found]:
    """`source file`, `set -g NAME value`, `alias name value`."""
    name, arguments = context.field_text(node, "name"), [context.text(each) for each in reach(node, "argument")[:4]]
    plain = [each for each in arguments if not each.startswith("-")]
    if name in ("source", ".") and plain:
        yield Import(*lines_of(node), plain[0], kind="relative")
    elif name == "set" and plain and context.enclosing is None and re.fullmatch(r"\w+", plain[0]):
        yield Definition(plain[0], "var", node)
    elif name in ("alias", "abbr") and plain:
        yield Definition(plain[0].partition("=")[0].strip("'\""), "fn", node)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="fish",
        comments_and_strings=any_of(r"#(?<![^\s;]#)[^\n]*+", rf"(?P<code>{DOUBLE_LINES})", r"'(?:[^'\\]++|\\.)*+'?"),
        interpolation=re.compile(r"\$\(([^()]*+)\)|\$(?=[A-Za-z_])"),
        name=re.compile(r"[^\W\d][\w\-]*"),
        member_marks="",
        call_marks="(",
        keywords=word_set(
            "function end if else for in while switch case begin and or not return break continue set test command builtin"
        ),
        own=frozenset(),
        above=frozenset(),
        declarations=(declared(r"^[ \t]+set[ \t]++(?:-\w+[ \t]++)*(?P<names>\w++)(?P<value>[^\n]*+)"),),
    )


FISH = Language(
    grammar="fish",
    rules={
        **descend("if_statement begin_statement switch_statement else_clause"),
        "function_definition": written("fn", r"function\s+([\w\-.:]+)", "."),
        "command": command,
    },
    imports=plain_imports(endings=("", ".fish")),
    uses=lexical_rules,
    display=Display(line_comment="#"),
)
