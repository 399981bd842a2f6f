"""Fish: functions, variables that are not local to one, aliases and abbreviations; `source`."""

import re
from collections.abc import Iterator
from typing import Final

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
    """`source file`, `set -g NAME value`, `alias name value`, `functions -c old new`."""
    name, arguments = context.field_text(node, "name"), [context.text(each) for each in reach(node, "argument")[:8]]
    options = [each for each in arguments if each.startswith("-")]
    plain = _plain(name, arguments)
    if name in ("source", ".") and plain:
        # `(status dirname)/x.fish` is beside the script.
        yield Import(*lines_of(node), re.sub(r"^\(.*status\b.*\)/", "", plain[0]), kind="relative")
    elif name == "set" and len(plain) > 1 and context.enclosing is None and re.fullmatch(r"\w+", plain[0]):
        if not any(_NO_DEFINITION.match(each) for each in options):
            yield Definition(plain[0], "var", node)
    elif name == "functions" and len(plain) > 1 and any(each in ("-c", "--copy") for each in options):
        yield Definition(plain[1], "fn", node)
    elif name in ("alias", "abbr") and plain:
        yield Definition(plain[0].partition("=")[0].strip("'\""), "fn", node)


_NO_DEFINITION: Final = re.compile(r"--(?:append|erase|names|prepend|query|show)\b|-[a-zA-Z]*[aenpqS]")
"""Options by which `set` changes, asks for or removes what is defined elsewhere."""

_WITH_ARGUMENT: Final = frozenset({"-f", "-p", "-r", "--function", "--position", "--regex"})
"""Options of `abbr` that the next word belongs to."""


def _plain(name: str, arguments: list[str]) -> list[str]:
    """Returns the arguments of a command that are no options, nor belong to one."""
    return [
        each
        for before, each in zip(["", *arguments], arguments, strict=False)
        if not each.startswith("-") and not (name == "abbr" and before in _WITH_ARGUMENT)
    ]


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
        **descend(
            "if_statement else_if_clause else_clause begin_statement switch_statement case_clause for_statement while_statement"
        ),
        **descend("conditional_execution negated_statement"),
        "function_definition": written("fn", r"function\s+[\"']?((?<=[\"'])[^\"'\n]+|[^\s\"';]+)", "."),
        "command": command,
    },
    imports=plain_imports(endings=("", ".fish")),
    uses=lexical_rules,
    display=Display(line_comment="#"),
)
