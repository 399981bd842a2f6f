"""What a C or C++ declarator declares: the name at its core, and whether that is a function.

A declarator is read from the outside in: `(*f(int))[3]` is a function because the parameter list stands next to the
name, `(*f)(int)` is a pointer because the star does.
"""

from typing import Final

from msgspec import Struct

from codecompass.store.languages.base import Context, Node

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
"""Levels of a declarator; what is deeper is no code that a person wrote."""


class Declared(Struct, frozen=True):
    """`qualifier` holds the parts before the name in `A::B::f`, without template arguments."""

    name: str
    is_function: bool
    is_pointer: bool
    qualifier: tuple[str, ...] = ()


def declared_by(declarator: Node, context: Context, *, is_typedef: bool = False) -> Declared | None:
    """Returns what `declarator` declares; None for a structured binding, or where the tree is broken.

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
                    # What stands before the star of a pointer to a member is no scope of the pointer.
                    is_pointer, qualifier = True, ()
            inner = node.child_by_field_name("declarator")
            if inner is None and kind not in ("structured_binding_declarator", "ERROR"):
                named = node.named_children
                inner = named[-1] if named else None
        if inner is None:
            return None
        node = inner
    return None


def type_name(name: Node, context: Context) -> tuple[str, tuple[str, ...]]:
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


def _scope_name(scope: Node, context: Context) -> str:
    inner = scope.child_by_field_name("name") if scope.type in _WITH_ARGUMENTS else None
    return context.text(scope if inner is None else inner)


def _operator(text: str) -> str:
    """`operator ==` as `operator==`; a blank stays where a word follows (`operator new`)."""
    sign = " ".join(text.removeprefix("operator").split())
    return f"operator {sign}" if sign[:1].isalpha() else "operator" + sign.replace(" ", "")


def _conversion(node: Node, context: Context) -> str:
    """The target type of a conversion operator: all between `operator` and the parameter list."""
    text = context.text(node).removeprefix("operator")
    return " ".join(text[: text.find("(")].split()).replace(" *", "*").replace(" &", "&")
