"""Haskell: data types with their constructors and fields, aliases and families, classes, instances, pattern synonyms."""

from collections.abc import Iterator

from codecompass.languages.haskell_syntax import (
    bound_name,
    comment_text,
    first_line_of,
    head_of,
    is_about_previous,
    names_of,
    qualified_in_module,
    unqualified,
    visibility_of,
)
from codecompass.languages.language import Context, Definition, Found, Node, without_comments
from codecompass.languages.records import SymbolKind


def data(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`data`, `newtype`: a struct if it has one constructor, else an enum."""
    name = bound_name(node, context)
    constructors = node.child_by_field_name("constructors") or node.child_by_field_name("constructor")
    is_single = node.type == "newtype" or (
        constructors is not None and constructors.type == "data_constructors" and constructors.named_child_count == 1
    )
    if node.type == "newtype":
        constructors = node.child_by_field_name("deriving")
    yield _type(name, "struct" if is_single else "enum", node, head_of(node, constructors, context), doc, context, (node,))


def _type(
    name: str, kind: SymbolKind, node: Node, signature: str, doc: str, context: Context, bodies: tuple[Node, ...] = ()
) -> Definition:
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=signature,
        visibility=visibility_of(name, "type", context, context.scope_names[-1] if context.scope_names else ""),
        doc=doc,
        qualified_name=qualified_in_module(name, context),
    )


def data_instance(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`data instance F Int = ...`."""
    for child in node.named_children:
        if child.type in ("data_type", "newtype"):
            yield from data(child, doc, context)


def type_alias(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`type X = ...`, and type and data families."""
    yield _type(bound_name(node, context), "type", node, context.text(node), doc, context)


def type_class(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`class C a where`."""
    body = node.child_by_field_name("declarations")
    yield _type(bound_name(node, context), "class", node, head_of(node, body, context), doc, context, (node,))


def instance(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`instance C T where` and `deriving instance C T`; the name is that of the type."""
    name = bound_name(node, context)
    patterns = node.child_by_field_name("patterns")
    target = "" if patterns is None else _type_name(patterns, context)
    body = node.child_by_field_name("declarations")
    yield Definition(
        name=target or name,
        kind="impl",
        node=node,
        bodies=(node,),
        signature=head_of(node, body, context),
        visibility="public",
        doc=doc,
        qualifier=(name,) if target else (),
    )


def _type_name(node: Node, context: Context) -> str:
    """Returns the constructor of a type: `Maybe` of `(Maybe a)`; a type without one (`[a]`) as it is written."""
    current = node
    while current.type in ("type_patterns", "parens", "apply", "kind_signature"):
        inner = current.child_by_field_name("constructor") or current.child_by_field_name("type")
        inner = inner or (current.named_children[0] if current.named_child_count else None)
        if inner is None:
            break
        current = inner
    return "".join(unqualified(current, context).split())


def pattern_synonym(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`pattern P x = ...`; its signature is not a separate symbol."""
    inner = node.named_children[0] if node.named_child_count else None
    synonym = None if inner is None or inner.type != "equation" else inner.child_by_field_name("synonym")
    while synonym is not None and synonym.type == "apply":
        synonym = synonym.child_by_field_name("function")
    if synonym is None:
        return
    name = unqualified(synonym, context)
    if synonym.type == "infix":
        operator = synonym.child_by_field_name("operator")
        name = "" if operator is None else unqualified(operator, context)
    elif synonym.type != "constructor":
        name = name.split("{", 1)[0].strip()
    yield Definition(
        name=name,
        kind="const",
        node=node,
        signature=context.text(node),
        visibility=visibility_of(name, "value", context),
        doc=doc,
        qualified_name=qualified_in_module(name, context),
    )


def constructor(node: Node, context: Context) -> Iterator[Found]:
    """A constructor, unless it has the name of its type, and the fields of its record."""
    if not context.scope_names:
        return
    owner = context.scope_names[-1]
    shape = node.child_by_field_name("constructor") if node.type == "data_constructor" else node
    if shape is None:
        return
    first = first_line_of(node, context)
    names = names_of(shape, context)
    operator = shape.child_by_field_name("operator")
    if operator is not None:
        names = [unqualified(operator, context)]
    for name in names:
        if name != owner:
            yield _member(name, "const", node, first, owner, context)
    record = shape.child_by_field_name("field") if node.type == "newtype_constructor" else shape
    if node.type == "gadt_constructor":
        record = shape.child_by_field_name("type")
    fields = record.child_by_field_name("fields") if record is not None else None
    for field in ((record if fields is None else fields).named_children) if record is not None else ():
        if field.type == "field":
            for name_node in field.children_by_field_name("name"):
                yield _member(context.text(name_node).strip(), "field", field, field.start_point[0] + 1, owner, context)


def _member(name: str, kind: SymbolKind, node: Node, first_line: int, owner: str, context: Context) -> Definition:
    above, below = node.prev_named_sibling, node.next_named_sibling
    doc = ""
    if above is not None and above.type == "haddock" and not is_about_previous(above, context):
        doc = comment_text(above, context)
    elif below is not None and below.type == "haddock" and is_about_previous(below, context):
        doc = comment_text(below, context)
    return Definition(
        name=name,
        kind=kind,
        node=node,
        signature=without_comments(node, context),
        visibility=visibility_of(name, "value", context, owner),
        doc=doc,
        start_line=first_line,
        qualified_name=qualified_in_module(name, context),
    )
