"""Reads calls of Elixir (everything in the tree is a call): target, arguments, blocks, documentation, and the fields of structs,
exceptions, records and schemas.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from codecompass.languages.language import Definition, Descend, Found, RuleContext, leading_comment, without_comments
from codecompass.languages.nodes import Node
from codecompass.languages.walk.source_text import enter_if_marked
from codecompass.languages.words import word_set

TYPES: Final = frozenset({"type", "typep", "opaque"})

CALLBACKS: Final = frozenset({"callback", "macrocallback"})

RESERVED: Final = word_set(
    "after_compile after_verify before_compile behaviour callback capture_log compile deprecated derive describetag dialyzer "
    "doc enforce_keys external_resource fallback_to_any file for foreign_key_type impl macrocallback moduledoc moduletag nifs "
    "on_definition on_load opaque optional_callbacks preferred_cli_env primary_key protocol recursive requirements "
    "schema_prefix shortdoc since spec tag timestamps_opts tmp_dir type typedoc typep vsn"
)
"""Attributes with a meaning in Elixir and its common libraries; all others are constants of the module."""


def module_path(context: RuleContext) -> str:
    """Returns the full name of the innermost enclosing module, empty outside modules."""
    for depth in range(len(context.scope_kinds), 0, -1):
        if context.scope_kinds[depth - 1] in ("module", "interface", "impl"):
            return context.notes.get(("path", depth), "")
    return ""


def qualified_in_module(name: str, context: RuleContext) -> str:
    """Returns the qualified name of a definition named `name` in the current scope."""
    path = module_path(context)
    # Functions that a macro generates are qualified by it: `Presence.__using__.track`.
    functions = [
        scope for scope, kind in zip(context.scope_names, context.scope_kinds, strict=False) if kind in ("fn", "method", "macro")
    ]
    return ".".join(part for part in (path, *functions, name) if part)


def arguments_of(call: Node) -> list[Node]:
    """Returns the arguments of a call, in order."""
    for child in call.named_children:
        if child.type == "arguments":
            return child.named_children
    return []


def blocks_of(call: Node) -> tuple[Node, ...]:
    """Returns the `do ... end` blocks of a call."""
    return tuple(child for child in call.named_children[1:] if child.type == "do_block")


def target_of(call: Node, context: RuleContext) -> str:
    """Returns the plain name that is called, empty for `A.b()` and the like."""
    target = call.child_by_field_name("target")
    return "" if target is None or target.type != "identifier" else context.text(target)


def documentation(node: Node, context: RuleContext) -> str:
    """Returns `@moduledoc` of a module, `@doc` or `@typedoc` above anything else, else the comment above."""
    for block in blocks_of(node) if node.type == "call" else ():
        if target_of(node, context) in ("defmodule", "defprotocol", "defimpl"):
            for child in block.named_children[:4]:
                if attribute_name(child, context) == "moduledoc":
                    return string_of(child, context)
    above = node.prev_named_sibling
    while above is not None and (word := attribute_name(above, context)):
        if word in ("doc", "typedoc") and (text := string_of(above, context)):
            return text
        if word not in RESERVED or word in TYPES or word in CALLBACKS:
            break
        node, above = above, above.prev_named_sibling
    return leading_comment(node, context)


def attribute_name(node: Node, context: RuleContext) -> str:
    """Returns the name of `@name ...`, empty for anything else."""
    if node.type != "unary_operator" or not context.source.startswith(b"@", node.start_byte):
        return ""
    operand = node.child_by_field_name("operand")
    return "" if operand is None or operand.type != "call" else target_of(operand, context)


def string_of(attribute: Node, context: RuleContext) -> str:
    """Returns the string that an attribute is set to; empty if it is not a string."""
    operand = attribute.child_by_field_name("operand")
    values = [] if operand is None else arguments_of(operand)
    if not values or values[0].type not in ("string", "sigil"):
        return ""
    return "\n".join(context.text(part) for part in values[0].named_children if part.type == "quoted_content")


def aliases_in(node: Node, context: RuleContext) -> list[str]:
    """Returns the full names of the modules in `A.B` and `A.{B, C.D}`."""
    if node.type == "dot":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and right.type == "tuple":
            return [f"{context.text(left)}.{context.text(child)}" for child in right.named_children]
    return [context.text(node)] if node.type in ("alias", "dot", "atom", "identifier") else []


def keyword_value(arguments: list[Node], key: str, context: RuleContext) -> Node | None:
    """Returns the value of `key: value` among the arguments, None without it."""
    for argument in arguments:
        if argument.type == "keywords":
            for pair in argument.named_children:
                if pair.type == "pair" and key_of(pair, context) == key:
                    return pair.child_by_field_name("value")
    return None


def name_and_arity(head: Node, context: RuleContext) -> tuple[str, int]:
    """Returns the name and arity of a function; the name is empty if it is computed (`def unquote(name)()`)."""
    while head.type == "binary_operator":
        left = head.child_by_field_name("left")
        operator = head.child_by_field_name("operator")
        word = "" if operator is None else context.text(operator)
        if word not in ("when", "::", "\\\\"):
            return word, 2
        if left is None:
            return "", 0
        head = left
    if head.type == "unary_operator":
        operator = head.child_by_field_name("operator")
        return ("" if operator is None else context.text(operator)), 1
    if head.type == "identifier":
        return context.text(head), 0
    if head.type == "call":
        return target_of(head, context), len(arguments_of(head))
    return "", 0


def key_of(pair: Node, context: RuleContext) -> str:
    """Returns the key of `key: value`, without the colon."""
    return context.field_text(pair, "key").strip().rstrip(":")


SCHEMA_FIELDS: Final = frozenset({"field", "belongs_to", "has_one", "has_many", "many_to_many", "embeds_one", "embeds_many"})


def struct(node: Node, context: RuleContext) -> Iterator[Found]:
    """`defstruct [:a, b: 1]`, `defexception`, `defrecord :name, a: 1`: a struct whose members are the fields."""
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


def struct_field(node: Node, context: RuleContext) -> Iterable[Found]:
    """A name in the list of a `defstruct`."""
    if context.enclosing != "struct":
        return ()
    name = (context.text(node) if node.type == "atom" else context.field_text(node, "key")).strip().strip(":")
    return (_field(name.strip('"'), node, context),) if name else ()


def _field(name: str, node: Node, context: RuleContext) -> Definition:
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


def keywords(node: Node, context: RuleContext) -> Iterable[Found]:
    """The pairs of a `defstruct`; other keyword lists are entered only if they hold a marker."""
    return (Descend(node),) if context.enclosing == "struct" else enter_if_marked(node, context)


def schema(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`schema "users" do`: each `field :name, :string` in it is a field of the generated struct."""
    for block in blocks_of(node):
        yield Descend(block, "struct")


def schema_field(node: Node, context: RuleContext) -> Iterable[Found]:
    """`field :name, :type` in a schema."""
    arguments = arguments_of(node)
    if context.enclosing != "struct" or not arguments or arguments[0].type != "atom":
        return enter_if_marked(node, context)
    return (_field(context.text(arguments[0]).lstrip(":").strip('"'), node, context),)
