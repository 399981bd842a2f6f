"""PowerShell: functions, filters, classes, enums, variables of a script; modules and scripts that it loads."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses import patterns
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.walk.block_tests import BlockTestSyntax
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.node_rules import defines, descend
from codecompass.languages.words import word_set

_MODULE: Final = re.compile(
    r"(?:using\s+module|Import-Module(?:\s+-Name)?|\.)\s+[\"'(]*(?:Join-Path\s+(?:\$PSScriptRoot\s+[\"']?)?)?(?P<path>[^\s\"';)]+)",
    re.IGNORECASE,
)
_VARIABLE: Final = re.compile(r"(?:\[[\w.\[\]]+\]\s*)?\$(?:(?:script|global|env):)?(\w+)$", re.IGNORECASE)


_FUNCTION: Final = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<word>function|filter)[ \t]+(?:(?:global|script):)?(?P<name>[\w-]+)", re.MULTILINE | re.IGNORECASE
)


def command(node: Node, context: RuleContext) -> Iterator[Found]:
    """`Import-Module ./a.psm1`, `using module a`, `. $PSScriptRoot/a.ps1`; `$name = value` outside functions."""
    text = context.text(node)[:300]
    found = _MODULE.match(text)
    if found is not None:
        path = re.sub(r"^\$(?:PSScriptRoot|here)[\\/]*", "./", found["path"]).replace("\\", "/")
        yield Import(*lines_of(node), path)
    elif context.enclosing is None and (assigned := _VARIABLE.match(text.partition("=")[0].strip())) and "=" in text:
        yield Definition(assigned[1], "var", node)
    elif _HOLDS_DEFINITIONS.search(context.source, node.start_byte, node.end_byte):
        # What the blocks of a command define (`BeforeAll { function .. }`); their variables are temporary.
        yield Descend(node, "fn")


_HOLDS_DEFINITIONS: Final = re.compile(rb"\{\s(?s:.*?)^[ \t]*(?:function|filter|class|enum)[ \t]", re.MULTILINE | re.IGNORECASE)

_define: Final = defines("fn", "function_name", "script_block")


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`function name { .. }`, `function global:name { .. }`; what it is for may be told at the beginning of its body."""
    for item in _define(node, context):
        if not isinstance(item, Definition):
            yield item
            continue
        end = item.bodies[0].start_byte if item.bodies else node.end_byte
        head = context.source[node.start_byte : min(end, node.start_byte + _HEAD_BYTES)].decode("utf-8", "replace")
        synopsis = _SYNOPSIS.search(head)
        yield replace(
            item,
            name=item.name.rpartition(":")[2],
            signature=_OPENING.sub("", head) if _OPENING.search(head) else None,
            doc="\n".join(f"# {line.strip()}" for line in synopsis[1].splitlines()) if synopsis else None,
        )


_HEAD_BYTES: Final = 4_000
_OPENING: Final = re.compile(r"\s*\{\s*(?:<\#.*?\#>\s*|\#[^\n]*\n\s*)+\Z", re.DOTALL)
"""The brace and comments between the head of a function and its first statement."""

_SYNOPSIS: Final = re.compile(r"\.SYNOPSIS[ \t]*\n(.*?)(?=\n\s*(?:\.[A-Z]+|\#>))", re.DOTALL)
_TEXT: Final = re.compile(rb"<\#.*?(?:\#>|\Z)|@\"\r?\n.*?(?:^\"@|\Z)|@'\r?\n.*?(?:^'@|\Z)", re.DOTALL | re.MULTILINE)
"""Comments and strings of several lines."""


def recover(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Finds functions by their first lines, outside comments and strings of several lines."""
    text: set[int] = set()
    line, counted = 1, 0
    for comment in _TEXT.finditer(context.source):
        line += context.source.count(b"\n", counted, comment.start())
        last = line + comment[0].count(b"\n")
        text.update(range(line, last + 1))
        line, counted = last, comment.end()
    for found in heads(_FUNCTION, {}, comment=b"#")(root, context):
        if found.start_line not in text:
            yield found


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    here = r"@\"\n.*?(?:^\"@|\Z)|@'\n.*?(?:^'@|\Z)"
    strings = r"(?P<code>\"(?>(?:[^\"`]++|`.|\"\")*)\"?)|'(?>(?:[^']++|'')*)'?"
    return LexicalRules(
        family="powershell",
        comments_and_strings=re.compile(rf"<\#.*?(?:\#>|\Z)|\#[^\n]*+|{here}|{strings}", re.DOTALL | re.MULTILINE),
        interpolation=re.compile(r"\$\(([^()]*+)\)|\$(?=[A-Za-z_])"),
        name=re.compile(r"[^\W\d]\w*+(?>(?:-(?=[A-Za-z])\w++)*)"),
        member_marks=".:",
        keywords=word_set(
            "function filter param begin process end if elseif else switch for foreach while do until return break continue try",
            "catch finally throw trap class enum using module in data dynamicparam exit hidden static true false null this",
        ),
        own=frozenset({"this"}),
        declarations=(
            patterns.declared(r"^[ \t]+\$(?P<names>\w++)[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n]*+)"),
            patterns.loop(patterns.after("foreach") + r"[ \t]*+\([ \t]*+\$(?P<names>\w++)[ \t]++in\b(?P<value>[^\n]*+)"),
        ),
        supertypes=SupertypeForms(head=patterns.supertypes_after_colon()),
    )


POWERSHELL = Language(
    grammar="powershell",
    rules={
        **descend("statement_list script_block_body named_block_list named_block statement_block if_statement"),
        **descend("pipeline_chain command command_elements array_literal_expression unary_expression"),
        **descend("script_block_expression script_block"),
        "function_statement": function,
        "class_statement": defines("class", "simple_name!", "."),
        "class_method_definition": defines("method", "simple_name", "script_block"),
        "class_property_definition": defines("field", "variable", "", quotes="$"),
        "enum_statement": defines("enum", "simple_name!", "."),
        "enum_member": defines("const", "simple_name", ""),
        "pipeline": command,
        "ERROR": command,
    },
    nested_markers=(b"function ",),
    recover=recover,
    tests=BlockTestSyntax(
        pattern=re.compile(
            rb"\n[ \t]*+(?P<head>(?:Describe|Context|It)[ \t]++(?:-Name[ \t]++)?)(?:\"([^\"\n]*+)\"|'([^'\n]*+)')", re.IGNORECASE
        ),
        block=re.compile(rb"\{"),
    ),
    imports=plain_imports(endings=("", ".psm1", ".ps1", ".psd1")),
    uses=lexical_rules,
    display=Display(line_comment="#"),
)
