"""Ruby scopes: which type a definition belongs to, whether it is a member of the type itself or of its instances, its qualified
name, and its visibility (`private` and the like).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from codecompass import lazy
from codecompass.languages.language import Definition, RuleContext, children_in, head_without_comments
from codecompass.languages.nodes import Node
from codecompass.languages.records import FUNCTION_LIKE, SymbolKind, Visibility

SECTIONS: Final[Mapping[str, str]] = {
    "private": "private",
    "protected": "protected",
    "public": "public",
    "module_function": "module_function",
    "private_class_method": "private",
    "public_class_method": "public",
    "private_constant": "private",
}
"""Methods that set the visibility of the names in their arguments, or without arguments of all following definitions."""

ON_THE_TYPE: Final = frozenset({"private_class_method", "public_class_method"})

NAMED_LATER: Final = (b"private", b"protected", b"public", b"module_function")
NAME: Final = lazy.pattern(r"@{0,2}[^\W\d]\w*[?!=]?$|[-+*/%<>=!~^&|\[\]@]+$")


def path_of(context: RuleContext) -> str:
    """Returns the enclosing modules and classes, `A::B`; a definition inside a method belongs to the method's class."""
    depth = len(context.scope_kinds)
    while depth and context.scope_kinds[depth - 1] in FUNCTION_LIKE:
        depth -= 1
    return context.notes.get(("path", depth), "") if depth else ""


def in_function(context: RuleContext) -> bool:
    """Whether the innermost scope is a method, in which no call defines members."""
    return context.enclosing in FUNCTION_LIKE


def in_singleton(node: Node, path: str, context: RuleContext) -> bool:
    """Whether `node` is in the last `class << self` of the type at `path`."""
    end = context.notes.get(("singleton", path))
    return end is not None and node.start_byte < int(end)


def visibility_word(name: str, side: str, is_in_section: bool, path: str, context: RuleContext) -> str:
    """Returns the word that sets the visibility of a name or of its section; `side` is `self` for members of the type itself."""
    word = context.notes.get(("named", path, side, name))
    if word is None and is_in_section and not in_function(context):
        word = context.notes.get(("section", path, side))
    return word or "public"


def as_visibility(word: str) -> Visibility:
    """Returns the visibility that a word sets; a `module_function` is public."""
    return "private" if word == "private" else "protected" if word == "protected" else "public"


def enclosing_visibility_word(node: Node, context: RuleContext) -> str:
    """Returns the `private` of `private def x`; empty without one."""
    parent = node.parent if node.prev_named_sibling is None else None
    if parent is None or parent.type != "argument_list" or parent.parent is None:
        return ""
    return SECTIONS.get(context.field_text(parent.parent, "method"), "")


def note_type(path: str, depth: int, bodies: tuple[Node, ...], context: RuleContext) -> None:
    """Notes what the members of a type need: its path, a new section, and the names in a later `private :x`."""
    notes = context.notes
    notes["path", depth] = path
    notes["section", path, ""] = "public"
    notes.pop(("singleton", path), None)
    note_named(bodies, path, "", context)


def note_named(bodies: tuple[Node, ...], path: str, side: str, context: RuleContext) -> None:
    """Notes the names in `private :x` and the like anywhere in the bodies."""
    for body in bodies:
        if not any(context.source.find(marker, body.start_byte, body.end_byte) >= 0 for marker in NAMED_LATER):
            continue
        for call in body.named_children:
            word = context.field_text(call, "method") if call.type == "call" else ""
            if word in SECTIONS and call.child_by_field_name("receiver") is None:
                for name in literal_names(call, context):
                    context.notes["named", path, "self" if word in ON_THE_TYPE else side, name] = SECTIONS[word]


def literal_names(call: Node, context: RuleContext) -> Iterator[str]:
    """Yields the names in symbols and strings among the arguments of a call."""
    for argument in children_in(call, "arguments"):
        values = argument.named_children if argument.type in ("array", "symbol_array", "string_array") else [argument]
        for value in values:
            if value.type in ("simple_symbol", "string", "bare_symbol", "bare_string", "delimited_symbol"):
                name = context.text(value).lstrip(":").strip("\"'")
                if NAME.match(name):
                    yield name


BUILDERS: Final[Mapping[str, SymbolKind]] = {
    "Struct.new": "struct",
    "Data.define": "struct",
    "Class.new": "class",
    "Module.new": "module",
}
"""Calls that create a type when their value is assigned to a constant."""


def define_method(
    name: str, kind: SymbolKind, node: Node, context: RuleContext, bodies: tuple[Node, ...], signature: str
) -> Definition:
    """Returns the definition of a method, accessor or alias, qualified with `#` or, in `class << self`, with a dot."""
    path = path_of(context)
    side = "self" if in_singleton(node, path, context) else ""
    word = enclosing_visibility_word(node, context) or visibility_word(name, side, True, path, context)
    separator = "." if side or word == "module_function" else "#"
    return Definition(
        name=name,
        kind="fn" if kind == "method" and not path else kind,
        node=node,
        bodies=bodies,
        signature=signature,
        visibility=as_visibility(word),
        qualified_name=path + separator + name if path else name,
    )


def source_until(node: Node, context: RuleContext, last_fields: tuple[str, ...]) -> str:
    """Returns the source of `node` up to the end of the first of `last_fields` that it has."""
    for field in last_fields:
        last = node.child_by_field_name(field)
        if last is not None:
            return head_without_comments(node, node.start_byte, last.end_byte, context)
    return ""


def define_type(
    written: str, kind: SymbolKind, node: Node, context: RuleContext, bodies: tuple[Node, ...], signature: str | None
) -> Definition:
    """Returns the definition of a class, module, struct or constant."""
    outer = path_of(context)
    name = written.rsplit("::", 1)[-1]
    path = _resolved(written, outer)
    word = context.notes.get(("named", outer, "", name), "public")
    if kind != "const":
        note_type(path, len(context.scope_names) + 1, bodies, context)
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=signature,
        visibility="private" if word == "private" else "public",
        qualified_name=path,
    )


def _resolved(written: str, outer: str) -> str:
    """Returns the full path of a written name: `Rack::Request` inside `module Rack` is not `Rack::Rack::Request`."""
    if written.startswith("::") or not outer:
        return written.removeprefix("::")
    around = outer.split("::")
    first, is_path, _ = written.partition("::")
    if is_path and first in around:
        around = around[: around.index(first)]
    return "::".join((*around, written))


def built_kind(value: Node | None, context: RuleContext) -> SymbolKind | None:
    """Returns the kind of the type that a call creates, None for any other value."""
    if value is None or value.type != "call":
        return None
    receiver = context.field_text(value, "receiver").removeprefix("::")
    return BUILDERS.get(f"{receiver}.{context.field_text(value, 'method')}")


def source_until_block(node: Node, call: Node, context: RuleContext) -> str:
    """Returns the source of `node` up to the block of `call`, which is in it."""
    block = call.child_by_field_name("block")
    end = node.end_byte if block is None else block.start_byte
    return head_without_comments(node, node.start_byte, end, context)


def struct_members(call: Node, context: RuleContext) -> tuple[Node, ...]:
    """Returns the arguments of `Struct.new(:x, :y)`, whose symbols are the fields of the type."""
    arguments = call.child_by_field_name("arguments")
    if built_kind(call, context) != "struct" or arguments is None:
        return ()
    context.notes["members",] = f"{arguments.start_byte} {arguments.end_byte}"
    return (arguments,)
