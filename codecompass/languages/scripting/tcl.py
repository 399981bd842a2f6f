"""Tcl: procedures and methods, namespaces, classes of TclOO, variables of namespaces; `source` and `package require`."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, any_of
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.node_rules import descend, reach
from codecompass.languages.words import word_set

_MODIFIERS: Final = word_set("public protected private self")
_CLASSES: Final = word_set("oo::class oo::abstract oo::singleton itcl::class class snit::type snit::widget snit::widgetadaptor")


def command(node: Node, context: RuleContext) -> Iterator[Found]:
    """`source file`, `package require name`, `variable name`, and the commands that define classes and methods."""
    parts = reach(node, "arguments")[:1]
    arguments = parts[0].named_children if parts else []
    texts = [context.text(each) for each in arguments[:4]]
    bodies = tuple(each for each in arguments if each.type == "braced_word")[-1:]
    word, line = context.field_text(node, "name").removeprefix("::"), lines_of(node)
    while word in _MODIFIERS and len(texts) > 1 and context.enclosing in CLASS_LIKE:
        word, *texts = texts
    signature = context.text(node).partition("\n")[0].removesuffix("{")
    if word == "source" and texts:
        yield Import(*line, _file(context.text(arguments[-1])), kind="relative")
    elif word == "package" and texts[:1] == ["require"] and len(texts) > 1:
        yield Import(*line, texts[2] if texts[1] == "-exact" and len(texts) > 2 else texts[1])
    elif context.enclosing in CLASS_LIKE and word in _FIELDS and texts:
        for name in (
            [context.text(each) for each in arguments] if word == "variable" and parts and _is_plain(texts) else texts[:1]
        ):
            yield Definition(name, "field", node, signature=signature)
    elif word in ("variable", "array") and texts and context.enclosing not in FUNCTION_LIKE:
        names = [context.text(each) for each in arguments[::2]] if word == "variable" else texts[1:2]
        for name in names:
            yield _named(name, "var", node, context)
    elif word in _CLASSES and texts:
        name = texts[1] if texts[0] == "create" and len(texts) > 1 else texts[0]
        yield replace(
            _named(name, "class", node, context), bodies=bodies, signature=f"{word} {' '.join(texts[:2])}".partition("{")[0]
        )
    elif word in ("oo::define", "oo::objdefine") and len(texts) > 1 and "$" not in texts[0]:
        if texts[1] == "method" and len(texts) > 2:
            yield Definition(texts[2], "method", node, signature=signature, qualifier=tuple(texts[0].strip(":").split("::")))
        elif bodies:
            yield replace(_named(texts[0], "impl", node, context), bodies=bodies, signature=f"{word} {texts[0]}")
    elif word in ("itcl::body", "body") and texts:
        yield replace(_named(texts[0], "method", node, context), signature=signature)
    elif word in _METHODS and context.enclosing in CLASS_LIKE:
        name = texts[0] if word not in ("constructor", "destructor") and texts else word
        yield Definition(name, "method", node, signature=signature)
    elif word in ("test", "tcltest::test") and texts:
        yield Definition(texts[0], "test", node, signature=signature)
    elif word == "interp" and texts[:2] == ["alias", "{}"] and len(texts) > 2:
        yield _named(texts[2], "fn", node, context)


_FIELDS: Final = word_set("variable typevariable common option component typecomponent")
_METHODS: Final = word_set("method constructor destructor classmethod typemethod forward proc")


def _is_plain(texts: list[str]) -> bool:
    """Whether all words after `variable` are names, as in TclOO, and not a name and its value."""
    return all(re.fullmatch(r"[A-Za-z_]\w*", each) for each in texts)


def _named(written: str, kind: SymbolKind, node: Node, context: RuleContext) -> Definition:
    """Returns a definition of a name that is written with its namespace."""
    *owners, name = written.strip('{}"').removeprefix("::").split("::")
    return Definition(name, kind, node, qualifier=(*context.scope_names, *owners) if owners else None)


def _file(written: str) -> str:
    """Returns the path in `"a.tcl"` or `[file join $directory a.tcl]`."""
    if not written.startswith("["):
        return written.strip('{}"')
    inner = re.sub(r"\[[^\[\]]*(?:\[[^\[\]]*\])?[^\[\]]*\]|\$[\w:]+", "", written[1:-1])
    return "/".join(re.findall(r"[\w.\-/]+", inner)[2:])


def procedure(node: Node, context: RuleContext) -> Iterator[Found]:
    """`proc name {arguments} {body}`, of a namespace or in a class."""
    is_computed = re.match(r"proc\s+\S*[$\[]", context.text(node)[:200]) is not None
    for body in () if is_computed else reach(node, "body"):
        head = context.source[node.start_byte : body.start_byte].decode("utf-8", "replace")
        found = _named(context.field_text(node, "name"), "method" if context.enclosing in CLASS_LIKE else "fn", node, context)
        yield replace(found, signature=head.replace("\\\n", " "))


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """`set name value`, `set array(key) value`, outside procedures."""
    match = re.match(r"set\s+([\w:]+)", context.text(node)[:200])
    if match is not None and context.enclosing not in FUNCTION_LIKE:
        yield replace(_named(match[1], "var", node, context), signature=context.text(node))
    yield Descend(node)


def namespace(node: Node, context: RuleContext) -> Iterator[Found]:
    """`namespace eval name { .. }`."""
    words = reach(node, "word_list")
    parts = words[0].named_children if words else []
    if len(parts) > 2 and context.text(parts[0]) == "eval":
        name = context.text(parts[1]).removeprefix("::")
        yield Definition(name, "module", node, (parts[2],), signature=f"namespace eval {name}")


_PROCEDURE: Final = re.compile(rb"^(?P<indent>)(?P<word>proc)[ \t]+(?P<name>[\w:.+*/<=>!?-]+)[ \t]", re.MULTILINE)
_procedures: Final = heads(_PROCEDURE, {}, comment=b"#")


def recover(root: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields the procedures at the beginning of a line: one stray brace makes an error of a whole file."""
    for found in _procedures(root, context):
        named = _named(found.name, "fn", root, context)
        yield replace(found, name=named.name, qualifier=named.qualifier)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="tcl",
        comments_and_strings=any_of(r"#(?<![^\s;{]#)[^\n]*+", r'\\"', DOUBLE_LINES),
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
        **descend("braced_word if elseif else foreach catch"),
        "namespace": namespace,
        "procedure": procedure,
        "command": command,
        "set": assignment,
    },
    separator="::",
    recover=recover,
    imports=plain_imports(endings=("", ".tcl")),
    uses=lexical_rules,
    display=Display(line_comment="#"),
)
