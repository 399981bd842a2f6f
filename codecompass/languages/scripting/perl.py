"""Perl: packages, subroutines, methods, constants, package variables, accessors of Moose; `use` and `require`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext, leading_comment, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.templates.marked_strings import HEREDOCS
from codecompass.languages.uses import patterns
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.node_rules import descend, reach, underscore_is_private
from codecompass.languages.words import word_set

_PRAGMAS: Final = word_set("strict warnings utf8 feature lib vars overload integer bigint bytes experimental open if")
_FORWARD: Final = lazy.pattern(rb"^[ \t]*+sub[ \t]++[\w:]++[ \t]*+(?:\([^()\n]*+\)[ \t]*+)?;", re.MULTILINE)
_ACCESSORS: Final = frozenset({"has", "has_many", "belongs_to", "has_one", "field"})


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without declarations of subroutines that are defined elsewhere (`sub name($$);`), which the
    grammar cannot parse."""
    return _FORWARD.sub(lambda match: b";".rjust(len(match[0])), source)


def package(node: Node, context: RuleContext) -> Iterator[Found]:
    """`package A::B;` holds what follows up to the next one; `package A { .. }` its block."""
    block = reach(node, "block")
    name = context.field_text(node, "name")
    kind = "class" if node.type == "class_statement" else "module"
    end = lines_of(node)[1]
    if not block:
        context.notes[("package",)] = name
    yield Definition(name, kind, node, tuple(block), end_line=end, qualifier=() if "::" in name else None)  # type: ignore[arg-type]


def subroutine(node: Node, context: RuleContext) -> Iterator[Found]:
    """`sub name { .. }`, with the package that is open, or the one in its name, as its owner."""
    *owners, name = context.field_text(node, "name").split("::")
    if not owners and context.enclosing is None:
        owners = [part for part in context.notes.get(("package",), "").split("::") if part]
    is_method = node.type == "method_declaration_statement"
    yield Definition(name, "method" if is_method else "fn", node, tuple(reach(node, "body")), qualifier=tuple(owners) or None)


def use(node: Node, context: RuleContext) -> Iterator[Found]:
    """`use A::B qw(c d)`, `use parent 'A'`, `use constant NAME => value`."""
    module, (first, last) = context.field_text(node, "module"), lines_of(node)
    written = context.text(node)
    if module == "constant":
        for each in reach(node, "list_expression|anonymous_hash_expression"):
            inner = reach(each, "list_expression") or [each]
            names = [name for name in inner[0].named_children if name.type == "autoquoted_bareword"]
            for name in names if inner[0] is not each else names[:1]:
                yield Definition(context.text(name), "const", name, signature=written if inner[0] is each else None)
    elif module in ("parent", "base"):
        for parent in re.findall(r"[A-Z]\w*(?:::\w+)*", written):
            yield Import(first, last, parent)
    elif module and module not in _PRAGMAS:
        listed = re.search(r"qw\s*[(/\[{]([^)/\]}]*)", written)
        for name_ in listed[1].split() if listed else [""]:
            yield Import(first, last, module, name_ if name_[:1] not in "-:" else "")


def statement(node: Node, context: RuleContext) -> Iterator[Found]:
    """`our $x`, `has name => (..)`, `require "file.pl"`, `subtest 'title' => sub { .. }`."""
    inner = node.named_child(0) if node.named_child_count else node
    if inner.type == "assignment_expression":
        yield from _named_anew(node, inner, context)
    if inner.type == "require_expression":
        for each in inner.named_children:
            yield Import(*lines_of(node), context.text(each).strip("'\""))
    variables = reach(inner, "left|variable_declaration") if inner.type == "assignment_expression" else [inner]
    if variables and variables[0].type == "variable_declaration" and context.enclosing not in ("fn", "method", "test"):
        for name in reach(variables[0], "variable|variables/varname"):
            yield Definition(context.text(name), "field" if context.enclosing == "class" else "var", node, visibility="")
    if inner.type not in ("ambiguous_function_call_expression", "function_call_expression"):
        return
    called = context.field_text(inner, "function")
    arguments = inner.children_by_field_name("arguments")
    first = context.text(arguments[0]).strip("+'\"[]") if arguments else ""
    listed = reach(inner, "arguments/quoted_word_list") if called in _ACCESSORS else []
    if listed:
        for word in context.text(listed[0]).partition("qw")[2].strip("()/[]{} ").split():
            yield Definition(word, "field", node)
    elif called.split("::")[0] == "Readonly" and context.enclosing not in ("fn", "method", "test"):
        for each in reach(inner, "arguments/variable|variables/varname"):
            yield Definition(context.text(each), "const", node, visibility="")
    elif called in _ACCESSORS and re.fullmatch(r"\w+", first):
        yield Definition(first, "field", node)
    elif called in ("subtest", "describe", "it") and first:
        yield Definition(" ".join(first.split())[:200], "test", node, tuple(reach(inner, "arguments/body")))


def _named_anew(node: Node, assignment: Node, context: RuleContext) -> Iterator[Definition]:
    """`*name = \\&other`, `*name = sub { .. }`: a subroutine by the name of a glob."""
    names, values = reach(assignment, "left|glob/varname"), reach(assignment, "right")
    is_glob = bool(names) and names[0].type == "varname" and names[0].parent is not None and names[0].parent.type == "glob"
    if is_glob and values and values[0].type in ("refgen_expression", "anonymous_subroutine_expression"):
        name = context.text(names[0])
        if re.fullmatch(r"\w+", name):
            owners = (
                [part for part in context.notes.get(("package",), "").split("::") if part] if context.enclosing is None else []
            )
            yield Definition(name, "fn", node, qualifier=tuple(owners) or None)


_SUBROUTINE: Final = lazy.pattern(
    rb"^(?P<indent>[ \t]*)(?P<word>sub)[ \t]+(?P<name>\w++)(?!::|[ \t]*+(?:\([^()\n]*+\)[ \t]*+)?;)", re.MULTILINE
)
_TEXT: Final = frozenset({"pod", "data_section"})


def recover(root: Node, context: RuleContext) -> Iterator[Definition | Import]:
    """Finds subroutines by their first lines, outside the documentation and what follows the code."""
    text = [lines_of(node) for node in root.named_children if node.type in _TEXT]
    for found in heads(_SUBROUTINE, {}, comment=b"#")(root, context):
        if not any(first <= (found.start_line or 0) <= last for first, last in text):
            yield found


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above, without the line that names the interpreter."""
    text = leading_comment(node, context)
    return text.partition("\n")[2] if text.startswith("#!") else text


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    pod = r"^=[a-z](?<=\n=[a-z]).*?(?:^=cut[^\n]*+|\Z)"
    within = r"(?>(?:[^/\\\n]++|\\.)*)"
    braces = r"\{(?>(?:[^{}\\]++|\\.|\{[^{}]*+\})*)\}"
    substituted = rf"(?<![\w$@%&>])(?:s|tr|y)(?:/{within}/{within}/|{braces}\s*+{braces})"
    matched = rf"(?<![\w$@%&>])m(?:/{within}/|{braces})"
    quoted = r"\bq[qwrx]?(?:\((?>(?:[^()\\]++|\\.)*)\)?|\{(?>(?:[^{}\\]++|\\.)*)\}?|\[[^\]]*+\]?|/[^/\n]*+/)"
    end = r"__(?:END|DATA)__\b.*"
    forms = (
        *(pod, r"(?<![$\w])#[^\n]*+", substituted, matched, quoted, patterns.SLASHED, patterns.HERE_DOCUMENT, end),
        *(patterns.DOUBLE_LINES, patterns.SINGLE_LINES),
    )
    return LexicalRules(
        family="perl",
        literal_marks="/",
        comments_and_strings=re.compile("|".join(forms), re.DOTALL | re.MULTILINE),
        name=patterns.NAME,
        keywords=word_set(
            patterns.COMMON_KEYWORDS,
            "my our local state sub package use no require unless until foreach elsif last next redo and or not xor eq ne lt",
            "gt le ge cmp qw qq q tr bless ref defined undef shift push pop die print say scalar keys values map grep sort",
            "join wantarray method class field role __PACKAGE__ __FILE__ __END__ BEGIN END isa given when",
        ),
        own=frozenset({"__PACKAGE__"}),
        declarations=(
            patterns.declared(
                patterns.after("my our local state")
                + r"[ \t]*+\(?[$@%](?P<names>\w++)(?:\)?[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n;]*+))?"
            ),
        ),
        keyword_argument=re.compile(r"[ \t]*+=>"),
    )


PERL = Language(
    grammar="perl",
    rules={
        **descend("block block_statement conditional_statement"),
        "package_statement": package,
        "class_statement": package,
        "role_statement": package,
        "subroutine_declaration_statement": subroutine,
        "method_declaration_statement": subroutine,
        "use_statement": use,
        "expression_statement": statement,
        "phaser_statement": DESCEND,
    },
    separator="::",
    visibility=underscore_is_private,
    nested_markers=(b"sub ",),
    prepare=prepare,
    doc=documentation,
    recover=recover,
    imports=plain_imports(endings=(".pm", ""), separator="::"),
    uses=lexical_rules,
    display=Display(line_comment="#"),
    regions=HEREDOCS,
)
