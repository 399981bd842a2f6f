"""Ruby: calls that define something (accessors, delegators, `define_method`, `refine`), and those that import."""

from collections.abc import Iterator
from typing import Final

from codecompass.store.languages.base import (
    Context,
    Definition,
    Found,
    Node,
)
from codecompass.store.languages.marks import inside_when_marked
from codecompass.store.languages.ruby_definitions import (
    bodies_of,
    define_method,
    define_type,
    until_block,
)
from codecompass.store.languages.ruby_sections import (
    SECTIONS,
    in_function,
    in_singleton,
    literal_names,
    path_of,
)
from codecompass.store.records import Import, SymbolKind

ACCESSORS: Final = frozenset(
    {
        "attr",
        "attr_accessor",
        "attr_reader",
        "attr_writer",
        "attr_internal",
        "cattr_accessor",
        "cattr_reader",
        "class_attribute",
        "mattr_accessor",
        "mattr_reader",
        "mattr_writer",
    }
)

DELEGATORS: Final = frozenset({"delegate", "def_delegators", "def_instance_delegators"})

RENAMING_DELEGATORS: Final = frozenset({"def_delegator", "def_instance_delegator"})

CALLS: Final = frozenset({"define_method", "alias_method", "refine"}).union(SECTIONS, ACCESSORS, DELEGATORS, RENAMING_DELEGATORS)
"""Methods whose calls mean something to us."""


def section(node: Node, context: Context) -> Iterator[Found]:
    """`private` on a line of its own."""
    word = SECTIONS.get(context.text(node))
    if word is not None and not in_function(context):
        path = path_of(context)
        context.notes["section", path, "self" if in_singleton(node, path, context) else ""] = word
    return iter(())


def call(node: Node, context: Context) -> Iterator[Found]:
    """Calls that define, import, change visibility, or hold definitions in their block."""
    word = context.field_text(node, "method")
    if word in ("require", "require_relative", "load", "autoload"):
        yield from _import(word, node, context)
        return
    if word in CALLS and not in_function(context):
        names = list(literal_names(node, context))
        block = node.child_by_field_name("block")
        if word == "refine" and block is not None:
            yield _refinement(node, block, context)
            return
        if not names and word in SECTIONS and node.child_by_field_name("receiver") is None:
            arguments = node.child_by_field_name("arguments")
            if arguments is None or not arguments.named_child_count:
                yield from section(node.named_children[0], context)
                return
        kind: SymbolKind = "field" if word in ACCESSORS else "method"
        for name in _defined_by(word, names):
            bodies = bodies_of(block) if word == "define_method" else ()
            # The list of an accessor can be long and hold comments; one name is what a person asked for.
            signature = f"{word} :{name}" if kind == "field" else until_block(node, node, context)
            yield define_method(name, kind, node, context, bodies, signature)
        if names:
            return
    yield from inside_when_marked(node, context)


def _defined_by(word: str, names: list[str]) -> list[str]:
    """Those of the names in a call of `word` that it defines."""
    if word in ACCESSORS or word == "delegate":
        return names
    if word in DELEGATORS:
        return names[1:]
    if word in RENAMING_DELEGATORS:
        return names[-1:]
    return names[:1] if word in ("define_method", "alias_method") else []


def _refinement(node: Node, block: Node, context: Context) -> Definition:
    arguments = node.child_by_field_name("arguments")
    target = context.text(arguments.named_children[0]) if arguments is not None and arguments.named_child_count else ""
    return define_type(target, "impl", node, context, bodies_of(block), until_block(node, node, context))


def _import(word: str, node: Node, context: Context) -> Iterator[Found]:
    arguments = node.child_by_field_name("arguments")
    values = [] if arguments is None else [value for value in arguments.named_children if value.type != "comment"]
    if not values or (node.child_by_field_name("receiver") is not None and word != "autoload"):
        return
    last = values[-1] if word == "autoload" else values[0]
    if last.type != "string" or any(part.type == "interpolation" for part in last.named_children):
        return
    name = context.text(values[0]).lstrip(":") if word == "autoload" else ""
    yield Import(
        line_start=node.start_point[0] + 1,
        line_end=node.end_point[0] + 1,
        spec=context.text(last)[1:-1],
        name=name,
        kind="relative" if word == "require_relative" else "module",
    )
