"""C and C++ declarators and scopes: the declared name, whether it is a function, its visibility, its signature."""

from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.language import RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Visibility
from codecompass.languages.walk.source_text import plain_code

_NAMES: Final = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "namespace_identifier",
        "destructor_name",
        "operator_name",
    }
)
_WITH_ARGUMENTS: Final = frozenset({"template_function", "template_method", "template_type"})
_TRANSPARENT: Final = frozenset({"parenthesized_declarator", "attributed_declarator", "init_declarator", "qualified_identifier"})
_DEEPEST: Final = 64
"""Levels of a declarator; deeper ones are generated or broken."""


class Declared(Struct, frozen=True):
    """What a declarator declares."""

    name: str
    is_function: bool
    is_pointer: bool
    qualifier: tuple[str, ...] = ()
    """The parts before the name in `A::B::f`, without template arguments."""


def declared_by(declarator: Node, context: RuleContext, *, is_typedef: bool = False) -> Declared | None:
    """Returns what `declarator` declares; None for a structured binding or in a broken tree.

    In a typedef the name may be one that the grammar knows as a type (`typedef unsigned long size_t`).
    """
    node = declarator
    closest = ""
    is_pointer = False
    qualifier: tuple[str, ...] = ()
    for _ in range(_DEEPEST):
        kind = node.type
        if kind in _NAMES or (kind == "primitive_type" and is_typedef):
            name = _operator(context.text(node)) if kind == "operator_name" else context.text(node)
            return Declared(
                "".join(name.split()) if kind == "destructor_name" else name,
                closest == "function_declarator",
                is_pointer,
                qualifier,
            )
        if kind == "operator_cast":
            return Declared("operator " + _conversion(node, context), True, False, qualifier)
        if kind in _WITH_ARGUMENTS:
            inner = node.child_by_field_name("name")
        elif kind == "qualified_identifier":
            scope = node.child_by_field_name("scope")
            if scope is not None:
                qualifier = (*qualifier, _scope_name(scope, context))
            inner = node.child_by_field_name("name")
        else:
            if kind not in _TRANSPARENT:
                closest = kind
                if kind in ("pointer_declarator", "pointer_type_declarator"):
                    # The class of a pointer to member (`int A::*p`) is not a scope of the pointer.
                    is_pointer, qualifier = True, ()
            inner = node.child_by_field_name("declarator")
            if inner is None and kind not in ("structured_binding_declarator", "ERROR"):
                named = node.named_children
                inner = named[-1] if named else None
        if inner is None:
            return None
        node = inner
    return None


def type_name(name: Node, context: RuleContext) -> tuple[str, tuple[str, ...]]:
    """Returns the bare name of a class or enum and the scopes written before it (`A::B<T>` gives `B`, `("A",)`)."""
    qualifier: tuple[str, ...] = ()
    while name.type == "qualified_identifier" or name.type in _WITH_ARGUMENTS:
        if name.type == "qualified_identifier":
            scope = name.child_by_field_name("scope")
            if scope is not None:
                qualifier = (*qualifier, _scope_name(scope, context))
        inner = name.child_by_field_name("name")
        if inner is None:
            break
        name = inner
    return context.text(name), qualifier


def _scope_name(scope: Node, context: RuleContext) -> str:
    inner = scope.child_by_field_name("name") if scope.type in _WITH_ARGUMENTS else None
    return context.text(scope if inner is None else inner)


def _operator(text: str) -> str:
    """Returns `operator ==` as `operator==`; the blank before a word stays (`operator new`)."""
    sign = " ".join(text.removeprefix("operator").split())
    return f"operator {sign}" if sign[:1].isalpha() else "operator" + sign.replace(" ", "")


def _conversion(node: Node, context: RuleContext) -> str:
    """Returns the target type of a conversion operator: the text between `operator` and the parameter list."""
    text = context.text(node).removeprefix("operator")
    return " ".join(text[: text.find("(")].split()).replace(" *", "*").replace(" &", "&")


FUNCTIONS: Final = frozenset({"fn", "method", "test"})

_LOCAL_DEFINITIONS: Final = (
    (b"struct", lazy.pattern(rb"struct\b(?:[^;(){}=]|alignas\s*\([^()]*\))*\{")),
    (b"class", lazy.pattern(rb"class\b(?:[^;(){}=]|alignas\s*\([^()]*\))*\{")),
    (b"enum", lazy.pattern(rb"enum\b[^;(){}=]*\{")),
    (b"union", lazy.pattern(rb"union\b[^;(){}=]*\{")),
    (b"typedef", lazy.pattern(rb"typedef\b")),
    (b"using", lazy.pattern(rb"using\s+\w+\s*=")),
    (b"#", lazy.pattern(rb"#[ \t]*define\b")),
)
"""What begins a definition in a function: a word that is quick to find, and the pattern that must match there."""


def visibility_here(context: RuleContext, node: Node, is_static: bool = False) -> Visibility:
    """Returns the visibility of a definition: for a member that of its section; outside classes, private for `static` definitions
    and those in a nameless namespace."""
    enclosing = context.enclosing
    if enclosing in FUNCTIONS:
        return ""
    if enclosing in CLASS_LIKE:
        section = context.notes.get(("section", len(context.scope_kinds)), "")
        return SECTIONS.get(section, context.scope_visibility)
    hidden = context.notes.get(("hidden",))
    if is_static or (hidden is not None and node.start_byte < int(hidden)):
        return "private"
    return "public"


SECTIONS: Final[dict[str, Visibility]] = {"public": "public", "private": "private", "protected": "protected"}


def open_section(context: RuleContext, visibility: Visibility, depth: int = 0) -> None:
    """Notes the section for what follows in the current scope, or `depth` scopes further in."""
    context.notes[("section", len(context.scope_kinds) + depth)] = visibility


def head(start: Node, end: Node | None, context: RuleContext) -> str:
    """Returns the source from the start of one node to the start of `end`, or to its own end, as a signature."""
    return plain_code(context.source[start.start_byte : start.end_byte if end is None else end.start_byte])


_ATTRIBUTES: Final = frozenset({"attribute_declaration", "attribute_specifier", "ms_declspec_modifier"})


def first_line(node: Node) -> int | None:
    """Returns the line of the first word after the `[[attributes]]` before a declaration; None without attributes."""
    first = node.child(0)
    if first is None or first.type not in _ATTRIBUTES:
        return None
    return next((child.start_point[0] + 1 for child in node.children if child.type not in _ATTRIBUTES | {"comment"}), None)


def local_bodies(body: Node | None, context: RuleContext) -> tuple[Node, ...]:
    """Returns the body of a function if it defines types or macros. Most do not, and walking them would take most of the time."""
    if body is None:
        return ()
    if body.has_error:
        # The parser may have included following definitions in this function.
        return (body,)
    source, start, end = context.source, body.start_byte, body.end_byte
    for marker, definition in _LOCAL_DEFINITIONS:
        found = source.find(marker, start, end)
        while found >= 0:
            if definition.match(source, found, end):
                return (body,)
            found = source.find(marker, found + 1, end)
    return ()
