"""Elixir: what a struct is made of: `defstruct`, exceptions, records, and the fields of a schema."""

from collections.abc import Iterable, Iterator
from typing import Final

from codecompass.store.languages.base import (
    Context,
    Definition,
    Found,
    Inside,
    Node,
    leading_comment,
    without_comments,
)
from codecompass.store.languages.elixir_syntax import (
    arguments_of,
    blocks_of,
    module_path,
    qualified_in_module,
    target_of,
)
from codecompass.store.languages.marks import inside_when_marked

SCHEMA_FIELDS: Final = frozenset({"field", "belongs_to", "has_one", "has_many", "many_to_many", "embeds_one", "embeds_many"})


def struct(node: Node, context: Context) -> Iterator[Found]:
    """`defstruct [:a, b: 1]`, `defexception`, `defrecord :name, a: 1`: the fields are the members of what is made."""
    word, arguments = target_of(node, context), arguments_of(node)
    name = module_path(context).rsplit(".", 1)[-1]
    if word.startswith("defrecord"):
        name = context.text(arguments[0]).lstrip(":") if arguments and arguments[0].type == "atom" else ""
        arguments = arguments[1:]
    if not name:
        return
    bodies = [argument for argument in arguments if argument.type in ("list", "keywords")]
    yield Definition(
        name=name,
        kind="struct",
        node=node,
        bodies=tuple(bodies),
        signature=without_comments(node, context),
        visibility="private" if word.endswith("recordp") else "public",
        qualified_name=module_path(context) if not word.startswith("defrecord") else qualified_in_module(name, context),
    )


def struct_field(node: Node, context: Context) -> Iterable[Found]:
    """A name in the list of a `defstruct`."""
    if context.enclosing != "struct":
        return ()
    name = (context.text(node) if node.type == "atom" else context.field_text(node, "key")).strip().strip(":")
    return (_field(name.strip('"'), node, context),) if name else ()


def _field(name: str, node: Node, context: Context) -> Definition:
    path = module_path(context)
    return Definition(
        name=name,
        kind="field",
        node=node,
        signature=context.text(node),
        visibility="public",
        doc=leading_comment(node, context),
        qualified_name=f"{path}.{name}" if path else name,
    )


def keywords(node: Node, context: Context) -> Iterable[Found]:
    """The pairs of a `defstruct`; elsewhere what they hold, which is rarely a definition."""
    return (Inside(node),) if context.enclosing == "struct" else inside_when_marked(node, context)


def schema(node: Node, _context: Context) -> Iterator[Found]:
    """`schema "users" do`: its `field :name, :string` are the fields of the struct that it makes."""
    for block in blocks_of(node):
        yield Inside(block, "struct")


def schema_field(node: Node, context: Context) -> Iterable[Found]:
    """`field :name, :type` in a schema."""
    arguments = arguments_of(node)
    if context.enclosing != "struct" or not arguments or arguments[0].type != "atom":
        return inside_when_marked(node, context)
    return (_field(context.text(arguments[0]).lstrip(":").strip('"'), node, context),)
