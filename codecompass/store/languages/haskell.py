"""Haskell: functions with their type signatures, data types with constructors and fields, classes, instances, imports.

A function is one definition: all clauses that follow each other, and the signature on the line above. What the export
list does not name is private. Local functions (`where`, `let`) are no symbols.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from codecompass.store.languages.base import DESCEND, Context, Definition, Found, Language, Node, head_without_comments
from codecompass.store.languages.haskell_exports import bare, note_exports, visibility_of
from codecompass.store.languages.haskell_text import prepared, recover
from codecompass.store.records import Import, SymbolKind

CLAUSES: Final = frozenset({"function", "bind"})
BETWEEN: Final = frozenset({"comment", "haddock", "pragma"})
"""What may stand between the clauses of one function."""
HADDOCK: Final = re.compile(r"^(--|\{-)\s*[|^*]\s?")


def module_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the name in the module header, `Main` without one."""
    for child in root.named_children:
        if child.type == "header":
            name = child.child_by_field_name("module")
            if name is not None:
                return tuple(source[name.start_byte : name.end_byte].decode("utf-8", "replace").split("."))
    return ("Main",)


def _bound_name(node: Node, context: Context) -> str:
    """The name that a clause or a declaration binds, empty for a pattern."""
    name = node.child_by_field_name("name")
    if name is not None:
        return bare(name, context)
    inner = node.child_by_field_name("parens")
    if inner is not None:
        return _bound_name(inner, context)
    for child in node.named_children:
        if child.type == "infix":
            operator = child.child_by_field_name("operator")
            return "" if operator is None else bare(operator, context)
    return ""


def _names_of(signature: Node, context: Context) -> list[str]:
    names = signature.child_by_field_name("names")
    if names is not None:
        return [bare(child, context) for child in names.named_children]
    name = signature.child_by_field_name("name")
    return [] if name is None else [bare(name, context)]


def _between(start: int, end: int, context: Context) -> str:
    return context.source[start:end].decode("utf-8", "replace")


def _head(node: Node, end: Node | None, context: Context) -> str:
    """The source of `node` up to `end`, without the `where` or `=` before it."""
    text = _between(node.start_byte, node.end_byte if end is None else end.start_byte, context).rstrip(" \n\r\t={|")
    return text.removesuffix("where")


def _without_comments(node: Node, context: Context) -> str:
    return head_without_comments(node, node.start_byte, node.end_byte, (b"--", b"{-"), context)


def _first_line(node: Node, context: Context) -> int:
    """Some nodes begin with the white space before them, line breaks too."""
    text = context.source[node.start_byte : node.end_byte]
    return node.start_point[0] + 1 + text[: len(text) - len(text.lstrip())].count(b"\n")


def _doc_above(children: Sequence[Node], index: int, container: Node, context: Context) -> str:
    """The comment that ends on the line above `children[index]`; above the first it belongs to what precedes them all."""
    line = children[index].start_point[0]
    previous: Node | None = None
    while previous is None or previous.type == "pragma":
        if previous is not None:
            line = previous.start_point[0]
        index -= 1
        previous = children[index] if index >= 0 else container.prev_named_sibling
        if index < 0:
            break
    while previous is not None and previous.type == "imports" and previous.named_child_count:
        previous = previous.named_children[-1]
    if previous is None or previous.type not in ("comment", "haddock") or _last_row(previous) != line - 1:
        return ""
    # A comment about what precedes it is of no use here.
    return "" if _is_about_previous(previous, context) else _prose(previous, context)


def _is_about_previous(comment: Node, context: Context) -> bool:
    return context.text(comment).removeprefix("--").lstrip().startswith("^")


def _prose(comment: Node, context: Context) -> str:
    return HADDOCK.sub(r"\1 ", context.text(comment))


def _last_row(node: Node) -> int:
    row, column = node.end_point
    return row - 1 if column == 0 else row


def declarations(container: Node, context: Context) -> Iterator[Found]:
    """The declarations of a module, a class or an instance, signatures and clauses put together."""
    children = container.named_children
    bound = {_bound_name(child, context) for child in children if child.type in CLAUSES}
    signatures: dict[str, str] = {}
    index = 0
    while index < len(children):
        child, last = children[index], index
        handler = DECLARATIONS.get(child.type)
        if handler is not None:
            yield from handler(child, _doc_above(children, index, container, context), context)
        elif child.type == "signature":
            names = _names_of(child, context)
            last = _last_clause(children, index, names[0], context) if len(names) == 1 else index
            doc, text = _doc_above(children, index, container, context), _without_comments(child, context)
            for name in names:
                # Where the clauses stand apart (`a, b :: Int`, conditional compilation) the symbol is there.
                if last > index or name not in bound or context.enclosing == "class":
                    first = _first_of(children, index, last)
                    yield _function(name, first, children[last], text, doc, context)
                else:
                    signatures[name] = text
        elif child.type in CLAUSES:
            name = _bound_name(child, context)
            last = _last_clause(children, index, name, context) if name else index
            doc = _doc_above(children, index, container, context)
            match = child.child_by_field_name("match")
            head = signatures.get(name) or _head(child, match, context)
            for one in [name] if name else _pattern_names(child, context):
                yield _function(one, child, children[last], head, doc, context)
        index = last + 1


def _last_clause(children: Sequence[Node], index: int, name: str, context: Context) -> int:
    last = index
    for position in range(index + 1, len(children)):
        child = children[position]
        if child.type in CLAUSES and _bound_name(child, context) == name:
            if context.source.find(b"\n#", children[last].end_byte - 1, child.start_byte) >= 0:
                # The clauses of two branches are two functions.
                break
            last = position
        elif child.type not in BETWEEN:
            break
    return last


def _first_of(children: Sequence[Node], index: int, last: int) -> Node:
    """Where the function begins: at its signature if that is the line above the first clause, else at the clause.

    A signature of several lines would put the start far from the line that readers and other tools call the definition.
    """
    for position in range(index + 1, last + 1):
        child = children[position]
        if child.type in CLAUSES:
            return children[index] if child.start_point[0] - children[index].start_point[0] == 1 else child
    return children[index]


def _pattern_names(node: Node, context: Context) -> list[str]:
    """The variables of `(a, b) = ...`."""
    pattern = node.child_by_field_name("pattern")
    if pattern is None or pattern.type not in ("tuple", "list", "parens", "apply"):
        return []
    return [context.text(child) for child in pattern.named_children if child.type == "variable"]


def _function(name: str, first: Node, last: Node, signature: str, doc: str, context: Context) -> Definition:
    is_member = context.enclosing in ("class", "impl")
    is_instance = context.enclosing == "impl"
    owner = context.scope_names[-1] if is_member else ""
    return Definition(
        name=name,
        kind="method" if is_member else "fn",
        node=last,
        signature=signature,
        visibility="public" if is_instance else visibility_of(name, "value", context, owner),
        doc=doc,
        start_line=first.start_point[0] + 1,
        qualified_name=_qualified(name, context),
    )


def _qualified(name: str, context: Context) -> str | None:
    """Constructors, fields and methods are the module's; only what stands in an instance is the instance's."""
    return None if context.enclosing == "impl" else ".".join((*context.module, name))


def module(node: Node, context: Context) -> Iterator[Found]:
    """`module A.B (...) where`: the header, not the file."""
    name = node.child_by_field_name("module")
    if name is None:
        return
    above = node.prev_named_sibling
    is_documented = above is not None and above.type == "haddock" and node.start_point[0] - _last_row(above) == 1
    yield Definition(
        name=context.module[-1],
        kind="module",
        node=node,
        signature=_between(node.start_byte, name.end_byte, context),
        visibility="public",
        doc=_prose(above, context) if is_documented and above is not None else "",
        qualified_name=".".join(context.module),
    )


def data(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`data`, `newtype`: a struct with one constructor, an enum otherwise."""
    name = _bound_name(node, context)
    constructors = node.child_by_field_name("constructors") or node.child_by_field_name("constructor")
    is_single = node.type == "newtype" or (
        constructors is not None and constructors.type == "data_constructors" and constructors.named_child_count == 1
    )
    if node.type == "newtype":
        constructors = node.child_by_field_name("deriving")
    yield _type(name, "struct" if is_single else "enum", node, _head(node, constructors, context), doc, context, (node,))


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
        qualified_name=_qualified(name, context),
    )


def data_instance(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`data instance F Int = ...`."""
    for child in node.named_children:
        if child.type in ("data_type", "newtype"):
            yield from data(child, doc, context)


def type_alias(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`type X = ...` and the families, which are types without a body here."""
    yield _type(_bound_name(node, context), "type", node, context.text(node), doc, context)


def type_class(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`class C a where`."""
    body = node.child_by_field_name("declarations")
    yield _type(_bound_name(node, context), "class", node, _head(node, body, context), doc, context, (node,))


def instance(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`instance C T where` and `deriving instance C T`, named after the type."""
    name = _bound_name(node, context)
    patterns = node.child_by_field_name("patterns")
    target = "" if patterns is None else _type_name(patterns, context)
    body = node.child_by_field_name("declarations")
    yield Definition(
        name=target or name,
        kind="impl",
        node=node,
        bodies=(node,),
        signature=_head(node, body, context),
        visibility="public",
        doc=doc,
        qualifier=(name,) if target else (),
    )


def _type_name(node: Node, context: Context) -> str:
    """The constructor of the type: `Maybe` of `(Maybe a)`; what has none (`[a]`) as it is written."""
    current = node
    while current.type in ("type_patterns", "parens", "apply", "kind_signature"):
        inner = current.child_by_field_name("constructor") or current.child_by_field_name("type")
        inner = inner or (current.named_children[0] if current.named_child_count else None)
        if inner is None:
            break
        current = inner
    return "".join(bare(current, context).split())


def pattern_synonym(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`pattern P x = ...`; its signature is not a symbol of its own."""
    inner = node.named_children[0] if node.named_child_count else None
    synonym = None if inner is None or inner.type != "equation" else inner.child_by_field_name("synonym")
    while synonym is not None and synonym.type == "apply":
        synonym = synonym.child_by_field_name("function")
    if synonym is None:
        return
    name = bare(synonym, context)
    if synonym.type == "infix":
        operator = synonym.child_by_field_name("operator")
        name = "" if operator is None else bare(operator, context)
    elif synonym.type != "constructor":
        name = name.split("{", 1)[0].strip()
    yield Definition(
        name=name,
        kind="const",
        node=node,
        signature=context.text(node),
        visibility=visibility_of(name, "value", context),
        doc=doc,
        qualified_name=_qualified(name, context),
    )


def foreign(node: Node, doc: str, context: Context) -> Iterator[Found]:
    """`foreign import ccall "sin" c_sin :: Double -> Double`."""
    signature = node.child_by_field_name("signature")
    for name in [] if signature is None else _names_of(signature, context):
        yield _function(name, node, node, _without_comments(node, context), doc, context)


def constructor(node: Node, context: Context) -> Iterator[Found]:
    """A constructor, unless it bears the name of its type, and the fields of its record."""
    if not context.scope_names:
        return
    owner = context.scope_names[-1]
    shape = node.child_by_field_name("constructor") if node.type == "data_constructor" else node
    if shape is None:
        return
    first = _first_line(node, context)
    names = _names_of(shape, context)
    operator = shape.child_by_field_name("operator")
    if operator is not None:
        names = [bare(operator, context)]
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
    if above is not None and above.type == "haddock" and not _is_about_previous(above, context):
        doc = _prose(above, context)
    elif below is not None and below.type == "haddock" and _is_about_previous(below, context):
        doc = _prose(below, context)
    return Definition(
        name=name,
        kind=kind,
        node=node,
        signature=_without_comments(node, context),
        visibility=visibility_of(name, "value", context, owner),
        doc=doc,
        start_line=first_line,
        qualified_name=_qualified(name, context),
    )


def imports(node: Node, context: Context) -> Iterator[Found]:
    """`import A (b, C (..))` takes names, `import A` and `import A hiding (b)` all, `import qualified A` the module."""
    spec, alias = context.field_text(node, "module"), context.field_text(node, "alias")
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    words = {child.type for child in node.children}
    names = node.child_by_field_name("names")
    if names is not None and "hiding" not in words:
        for name in names.named_children:
            for field in ("variable", "type", "operator"):
                if (value := name.child_by_field_name(field)) is not None:
                    yield Import(first, last, spec, bare(value, context), alias)
                    break
        if not names.named_child_count:
            yield Import(first, last, spec, "", alias)
    else:
        yield Import(first, last, spec, "" if "qualified" in words else "*", alias)


DECLARATIONS: Final[Mapping[str, Callable[[Node, str, Context], Iterator[Found]]]] = {
    "data_type": data,
    "newtype": data,
    "data_instance": data_instance,
    "type_synomym": type_alias,
    "type_family": type_alias,
    "data_family": type_alias,
    "abstract_family": type_alias,
    "class": type_class,
    "instance": instance,
    "deriving_instance": instance,
    "pattern_synonym": pattern_synonym,
    "foreign_import": foreign,
}

HASKELL = Language(
    name="haskell",
    grammar="haskell",
    extensions=(".hs", ".hs-boot", ".hsc"),
    interpreters=("runghc", "runhaskell"),
    rules={
        "header": module,
        "imports": DESCEND,
        "import": imports,
        "declarations": declarations,
        "class_declarations": declarations,
        "instance_declarations": declarations,
        "data_constructors": DESCEND,
        "gadt_constructors": DESCEND,
        "data_constructor": constructor,
        "gadt_constructor": constructor,
        "newtype_constructor": constructor,
        "ERROR": declarations,
    },
    module=module_of,
    prepare=prepared,
    before=note_exports,
    recover=recover,
)
