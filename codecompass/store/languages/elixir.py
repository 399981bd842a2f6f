"""Elixir: modules, protocols and their implementations, functions, macros, types, callbacks, structs, attributes.

Everything is a call in the tree. The clauses of one function that follow each other are one definition, from the first
to the last. `quote`, `if`, `describe` and other blocks are looked into where they can hold a definition.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from codecompass.store.languages.base import DESCEND, Context, Definition, Found, Inside, Language, Node, leading_comment
from codecompass.store.languages.marks import inside_when_marked, noted
from codecompass.store.records import Import, SymbolKind, Visibility

FUNCTIONS: Final[Mapping[str, SymbolKind]] = {
    "def": "fn",
    "defp": "fn",
    "defn": "fn",
    "defnp": "fn",
    "defdelegate": "fn",
    "defmacro": "macro",
    "defmacrop": "macro",
    "defguard": "macro",
    "defguardp": "macro",
}
TYPES: Final = frozenset({"type", "typep", "opaque"})
CALLBACKS: Final = frozenset({"callback", "macrocallback"})
SCHEMA_FIELDS: Final = frozenset({"field", "belongs_to", "has_one", "has_many", "many_to_many", "embeds_one", "embeds_many"})
# fmt: off
RESERVED: Final = frozenset((
    "after_compile", "after_verify", "before_compile", "behaviour", "callback", "capture_log", "compile",
    "deprecated", "derive", "describetag", "dialyzer", "doc", "enforce_keys", "external_resource", "fallback_to_any",
    "file", "for", "foreign_key_type", "impl", "macrocallback", "moduledoc", "moduletag", "nifs", "on_definition",
    "on_load", "opaque", "optional_callbacks", "preferred_cli_env", "primary_key", "protocol", "recursive",
    "requirements", "schema_prefix", "shortdoc", "since", "spec", "tag", "timestamps_opts", "tmp_dir", "type",
    "typedoc", "typep", "vsn",
))
# fmt: on
"""Attributes that mean something to Elixir and its usual libraries; the others are a module's constants."""

MARKERS: Final = (b"def", b"alias ", b"import ", b"require ")
DEFINITION: Final = re.compile(
    rb"(?:def(?:p|n|np|delegate|exception|guardp?|impl|macrop?|module|protocol|recordp?|struct)?[ (]|alias |import |require )"
)
NESTED: Final = (b"def ", b"defp ", b"defmacro", b"defmodule ", b"alias ", b"import ", b"require ")


def module_of(_path: str, _root: Node, _source: bytes) -> tuple[str, ...]:
    """Returns nothing: the modules in a file say their names in full."""
    return ()


def _path(context: Context) -> str:
    """The full name of the innermost module around, empty outside all."""
    for depth in range(len(context.scope_kinds), 0, -1):
        if context.scope_kinds[depth - 1] in ("module", "interface", "impl"):
            return context.notes.get(("path", depth), "")
    return ""


def _qualified(name: str, context: Context) -> str:
    path = _path(context)
    # Functions that a macro makes stand in it: `Presence.__using__.track`.
    functions = [
        scope for scope, kind in zip(context.scope_names, context.scope_kinds, strict=False) if kind in ("fn", "method", "macro")
    ]
    return ".".join(part for part in (path, *functions, name) if part)


def _arguments(call: Node) -> list[Node]:
    for child in call.named_children:
        if child.type == "arguments":
            return child.named_children
    return []


def _block(call: Node) -> tuple[Node, ...]:
    return tuple(child for child in call.named_children[1:] if child.type == "do_block")


def _target(call: Node, context: Context) -> str:
    target = call.child_by_field_name("target")
    return "" if target is None or target.type != "identifier" else context.text(target)


def documentation(node: Node, context: Context) -> str:
    """Returns `@moduledoc` of a module, `@doc` or `@typedoc` above anything else, else the comment above."""
    for block in _block(node) if node.type == "call" else ():
        if _target(node, context) in ("defmodule", "defprotocol", "defimpl"):
            for child in block.named_children[:4]:
                if _attribute(child, context) == "moduledoc":
                    return _string(child, context)
    above = node.prev_named_sibling
    while above is not None and (word := _attribute(above, context)):
        if word in ("doc", "typedoc") and (text := _string(above, context)):
            return text
        if word not in RESERVED or word in TYPES or word in CALLBACKS:
            break
        node, above = above, above.prev_named_sibling
    return leading_comment(node, context)


def _attribute(node: Node, context: Context) -> str:
    """The name of `@name ...`, empty for anything else."""
    if node.type != "unary_operator" or not context.source.startswith(b"@", node.start_byte):
        return ""
    operand = node.child_by_field_name("operand")
    return "" if operand is None or operand.type != "call" else _target(operand, context)


def _string(attribute: Node, context: Context) -> str:
    operand = attribute.child_by_field_name("operand")
    values = [] if operand is None else _arguments(operand)
    if not values or values[0].type not in ("string", "sigil"):
        return ""
    return "\n".join(context.text(part) for part in values[0].named_children if part.type == "quoted_content")


def _aliases(node: Node, context: Context) -> list[str]:
    """The modules of `A.B` and `A.{B, C.D}` in full."""
    if node.type == "dot":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and right.type == "tuple":
            return [f"{context.text(left)}.{context.text(child)}" for child in right.named_children]
    return [context.text(node)] if node.type in ("alias", "dot", "atom", "identifier") else []


def _keyword(arguments: list[Node], key: str, context: Context) -> Node | None:
    """The value of `key: value` among the arguments."""
    for argument in arguments:
        if argument.type == "keywords":
            for pair in argument.named_children:
                if pair.type == "pair" and context.field_text(pair, "key").strip().rstrip(":") == key:
                    return pair.child_by_field_name("value")
    return None


def module(node: Node, context: Context) -> Iterator[Found]:
    """`defmodule A.B do`, `defprotocol P do`."""
    arguments, blocks = _arguments(node), _block(node)
    written = context.text(arguments[0]) if arguments and arguments[0].type in ("alias", "dot", "atom") else ""
    if not written:
        for block in blocks:
            yield Inside(block)
        return
    is_protocol = _target(node, context) == "defprotocol"
    yield _define_module(written, "interface" if is_protocol else "module", node, blocks, context)


def _define_module(written: str, kind: SymbolKind, node: Node, blocks: tuple[Node, ...], context: Context) -> Definition:
    outer = _path(context)
    written = written.lstrip(":").removeprefix("Elixir.").removeprefix("__MODULE__.")
    path = f"{outer}.{written}" if outer else written
    context.notes["path", len(context.scope_kinds) + 1] = path
    return Definition(
        name=path.rsplit(".", 1)[-1].strip("\"'"),
        kind=kind,
        node=node,
        bodies=blocks,
        visibility="public",
        qualified_name=path.strip("\"'"),
    )


def implementation(node: Node, context: Context) -> Iterator[Found]:
    """`defimpl P, for: [A, B] do`: one definition for each type, named after it; without `for` it is the module's."""
    arguments, blocks = _arguments(node), _block(node)
    if not arguments:
        return
    protocol = context.text(arguments[0])
    value = _keyword(arguments, "for", context)
    types = [] if value is None else value.named_children if value.type == "list" else [value]
    names = [context.text(child) for child in types if child.type in ("alias", "atom", "identifier", "dot")]
    for index, name in enumerate(names or [_path(context) or protocol]):
        name = (_path(context) or name) if name == "__MODULE__" else name
        path = f"{protocol}.{name}"
        end = blocks[0].start_byte if blocks else node.end_byte
        if index == 0:
            context.notes["path", len(context.scope_kinds) + 1] = path
        yield Definition(
            name=name.rsplit(".", 1)[-1].lstrip(":"),
            kind="impl",
            node=node,
            bodies=blocks if index == 0 else (),
            signature=context.source[node.start_byte : end].decode("utf-8", "replace"),
            visibility="public",
            qualified_name=path.replace(".:", "."),
        )


def _head_of(call: Node) -> Node | None:
    """`foo(x)` of `def foo(x) when x > 1, do: x`."""
    arguments = _arguments(call)
    return arguments[0] if arguments else None


def _name_and_arity(head: Node, context: Context) -> tuple[str, int]:
    """The name is empty where it is computed (`def unquote(name)()`)."""
    if head.type == "binary_operator":
        left = head.child_by_field_name("left")
        operator = head.child_by_field_name("operator")
        word = "" if operator is None else context.text(operator)
        if word in ("when", "::", "\\\\"):
            return ("", 0) if left is None else _name_and_arity(left, context)
        return word, 2
    if head.type == "unary_operator":
        operator = head.child_by_field_name("operator")
        return ("" if operator is None else context.text(operator)), 1
    if head.type == "identifier":
        return context.text(head), 0
    if head.type == "call":
        return _target(head, context), len(_arguments(head))
    return "", 0


def function(node: Node, context: Context) -> Iterator[Found]:
    """`def` and its kin; the clauses that follow with the same name and arity belong to the first."""
    depth = len(context.scope_kinds)
    if node.start_byte < int(context.notes.get(("merged until", depth), "0")):
        return
    word, head = _target(node, context), _head_of(node)
    name, arity = ("", 0) if head is None else _name_and_arity(head, context)
    if head is None or not name:
        for block in _block(node):
            yield Inside(block, "fn")
        return
    clauses = [node, *_further_clauses(node, word, name, arity, context)]
    context.notes["merged until", depth] = str(clauses[-1].end_byte)
    end = node.end_byte if word == "defdelegate" else head.end_byte
    kind = FUNCTIONS[word]
    if kind == "fn" and context.enclosing in ("interface", "impl"):
        kind = "method"
    yield Definition(
        name=name,
        kind=kind,
        node=clauses[-1],
        bodies=tuple(block for clause in clauses for block in _block(clause)),
        signature=context.source[node.start_byte : end].decode("utf-8", "replace"),
        visibility="private" if word.endswith("p") else "public",
        doc=documentation(node, context),
        start_line=node.start_point[0] + 1,
        qualified_name=_qualified(name, context),
    )


def _further_clauses(node: Node, word: str, name: str, arity: int, context: Context) -> Iterator[Node]:
    following = node.next_named_sibling
    while following is not None:
        if following.type == "call" and _target(following, context) == word:
            head = _head_of(following)
            if head is None or _name_and_arity(head, context) != (name, arity):
                return
            yield following
        elif following.type != "comment":
            return
        following = following.next_named_sibling


def struct(node: Node, context: Context) -> Iterator[Found]:
    """`defstruct [:a, b: 1]`, `defexception`, `defrecord :name, a: 1`: the fields are the members of what is made."""
    word, arguments = _target(node, context), _arguments(node)
    name = _path(context).rsplit(".", 1)[-1]
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
        signature=context.text(node),
        visibility="private" if word.endswith("recordp") else "public",
        qualified_name=_path(context) if not word.startswith("defrecord") else _qualified(name, context),
    )


def struct_field(node: Node, context: Context) -> Iterable[Found]:
    """A name in the list of a `defstruct`."""
    if context.enclosing != "struct":
        return ()
    name = (context.text(node) if node.type == "atom" else context.field_text(node, "key")).strip().strip(":")
    return (_field(name.strip('"'), node, context),) if name else ()


def _field(name: str, node: Node, context: Context) -> Definition:
    path = _path(context)
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
    for block in _block(node):
        yield Inside(block, "struct")


def described(node: Node, _context: Context) -> Iterator[Found]:
    """`describe "x" do` of a test: it may hold attributes, which are not looked for elsewhere in blocks."""
    for block in _block(node):
        yield Inside(block)


def schema_field(node: Node, context: Context) -> Iterable[Found]:
    """`field :name, :type` in a schema."""
    arguments = _arguments(node)
    if context.enclosing != "struct" or not arguments or arguments[0].type != "atom":
        return inside_when_marked(node, context)
    return (_field(context.text(arguments[0]).lstrip(":").strip('"'), node, context),)


def attribute(node: Node, context: Context) -> Iterator[Found]:
    """`@type`, `@callback`, and constants (`@timeout 5_000`) where they are first set."""
    word = _attribute(node, context)
    operand = node.child_by_field_name("operand")
    arguments = [] if operand is None or not word else _arguments(operand)
    if not arguments:
        return
    if word in TYPES or word in CALLBACKS:
        name, _ = _name_and_arity(arguments[0], context)
        kind: SymbolKind = "type" if word in TYPES else "method"
        visibility: Visibility = "private" if word == "typep" else "public"
    elif word not in RESERVED and context.enclosing not in ("fn", "method", "macro"):
        path = _path(context)
        if ("attribute", path, word) in context.notes:
            return
        context.notes["attribute", path, word] = ""
        name, kind, visibility = word, "const", "private"
    else:
        return
    yield Definition(
        name=name,
        kind=kind,
        node=node,
        signature=context.text(node),
        visibility=visibility,
        qualified_name=_qualified(name, context),
    )


def imports(node: Node, context: Context) -> Iterator[Found]:
    """`alias`, `import`, `require`, `use`; `import A, only: [f: 1]` takes single names, without `only` everything."""
    word, arguments = _target(node, context), _arguments(node)
    if not arguments:
        return
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    local = _keyword(arguments, "as", context)
    alias = "" if local is None else context.text(local)
    only = _keyword(arguments, "only", context) if word == "import" else None
    for spec in _aliases(arguments[0], context):
        taken = [] if only is None else [_key(pair, context) for part in only.named_children for pair in part.named_children]
        if taken:
            for name in taken:
                yield Import(first, last, spec, name)
        else:
            yield Import(first, last, spec, "*" if word == "import" else "", alias)


def _key(pair: Node, context: Context) -> str:
    return context.field_text(pair, "key").strip().rstrip(":")


HANDLERS: Final[Mapping[str, Callable[[Node, Context], Iterable[Found]]]] = {
    "defmodule": module,
    "defprotocol": module,
    "defimpl": implementation,
    **dict.fromkeys(FUNCTIONS, function),
    **dict.fromkeys(("defstruct", "defexception", "defrecord", "defrecordp"), struct),
    "describe": described,
    **dict.fromkeys(("schema", "embedded_schema"), schema),
    **dict.fromkeys(SCHEMA_FIELDS, schema_field),
    **dict.fromkeys(("alias", "import", "require", "use"), imports),
}


def call(node: Node, context: Context) -> Iterable[Found]:
    """Any call: what it means is in its name."""
    handler = HANDLERS.get(context.field_text(node, "target"))
    return inside_when_marked(node, context) if handler is None else handler(node, context)


ELIXIR = Language(
    name="elixir",
    grammar="elixir",
    extensions=(".ex", ".exs"),
    interpreters=("elixir", "iex"),
    rules={
        "call": call,
        "unary_operator": attribute,
        "atom": struct_field,
        "pair": struct_field,
        "keywords": keywords,
        **dict.fromkeys(("arguments", "anonymous_function", "binary_operator", "list", "tuple"), inside_when_marked),
        "after_block": DESCEND,
        "block": DESCEND,
        "body": DESCEND,
        "do_block": DESCEND,
        "else_block": DESCEND,
        "rescue_block": DESCEND,
        "stab_clause": DESCEND,
        "ERROR": DESCEND,
    },
    nested_markers=NESTED,
    module=module_of,
    before=noted(MARKERS, DEFINITION),
    doc=documentation,
)
