"""Go: functions, methods, types with their fields and methods, constants, variables, imports.

The package clause names the module. The type of a method's receiver may be in another file, so a method is a top-level symbol and
only its qualified name has the type: `pkg.(*T).Method`.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Found,
    Language,
    RuleContext,
    body_of,
    head_without_comments,
    leading_comment,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind, Visibility
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

TYPE_KINDS: Final[dict[str, SymbolKind]] = {"struct_type": "struct", "interface_type": "interface"}
WRAPPERS: Final[dict[str, str]] = {
    "array_type": "element",
    "slice_type": "element",
    "map_type": "value",
    "channel_type": "value",
}
"""Types that contain another type, and the field with that type: `[]struct{...}` has fields too."""


def package_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the name in the package clause; empty in a fragment without one."""
    for node in root.named_children:
        if node.type == "package_clause":
            words = source[node.start_byte : node.end_byte].split()
            return (words[1].decode("utf-8", "replace"),) if len(words) > 1 else ()
        if node.type != "comment":
            break
    return ()


def visibility_of(_node: Node, name: str, _context: RuleContext) -> Visibility:
    """Returns public for names that begin with an upper-case letter."""
    return "public" if name[:1].isupper() else "private"


def doc_comment(node: Node, context: RuleContext) -> str:
    """Returns the comment above without directives (`//go:embed x`), which are between the text and the definition."""
    lines = leading_comment(node, context).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("//go:", "//nolint", "//export ", "// +build")))


def package_clause(node: Node, context: RuleContext) -> Iterator[Found]:
    """The package clause, but only the one with the package's documentation: each file has one."""
    doc = doc_comment(node, context)
    # Any other comment there is a licence or a build constraint.
    is_documentation = doc.lstrip("/* \t\n").startswith("Package ") or context.path.endswith("doc.go")
    if doc and is_documentation and context.module:
        name = context.module[0]
        yield Definition(name=name, kind="module", node=node, doc=doc, qualified_name=name, visibility="public")


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function; `_` cannot be referred to and is left out."""
    name = context.field_text(node, "name")
    if name != "_":
        yield Definition(name=name, kind="fn", node=node, bodies=body_of(node))


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method; the type of its receiver is its qualifier."""
    name = context.field_text(node, "name")
    if name != "_":
        yield Definition(name=name, kind="method", node=node, bodies=body_of(node), qualifier=receiver_of(node, context))


def receiver_of(node: Node, context: RuleContext) -> tuple[str, ...]:
    """Returns `T` or `(*T)` without type parameters; empty if the receiver is broken."""
    text = context.field_text(node, "receiver").strip("(), \t\n").split("[", 1)[0]
    is_pointer = "*" in text
    words = text.replace("*", " ").split()
    if not words:
        return ()
    return (f"(*{words[-1]})",) if is_pointer else (words[-1],)


def type_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type T ...`, alone or in parentheses."""
    specs = [child for child in node.named_children if child.type in ("type_spec", "type_alias")]
    for spec in specs:
        of = spec.child_by_field_name("type")
        kind = TYPE_KINDS.get(of.type, "type") if of is not None and spec.type == "type_spec" else "type"
        body = members_of(of) if of is not None else None
        signature = f"type {without_comments(spec, context)}"
        if of is not None and kind in TYPE_KINDS.values():
            signature = f"type {head_without_comments(spec, spec.start_byte, of.start_byte, context)}{kind}"
        yield Definition(
            name=context.field_text(spec, "name"),
            kind=kind,
            node=node if len(specs) == 1 and not is_grouped(node) else spec,
            bodies=() if body is None else (body,),
            signature=signature,
        )


def members_of(of: Node) -> Node | None:
    """Returns the node whose children are the fields or methods of a type, including those of `[]struct{...}`, `*struct{...}`."""
    while of.type in WRAPPERS or of.type == "pointer_type":
        inner = of.child_by_field_name(WRAPPERS[of.type]) if of.type in WRAPPERS else None
        if inner is None:
            inner = next(iter(of.named_children), None)
        if inner is None:
            return None
        of = inner
    return of if of.type in TYPE_KINDS else None


def is_grouped(node: Node) -> bool:
    """Whether a declaration is written with parentheses."""
    return any(child.type == "(" for child in node.children)


def values(node: Node, context: RuleContext) -> Iterator[Found]:
    """`const` and `var` outside functions, alone or in parentheses."""
    if context.enclosing is not None:
        return
    is_constant = node.type == "const_declaration"
    kind: SymbolKind = "const" if is_constant else "var"
    specs = [child for child in node.named_children if child.type.endswith("_spec")]
    for child in node.named_children:
        if child.type == "var_spec_list":
            specs.extend(spec for spec in child.named_children if spec.type == "var_spec")
    for spec in specs:
        whole = node if len(specs) == 1 and not is_grouped(node) else spec
        signature = f"{kind} {without_comments(spec, context)}"
        for name_node in spec.children_by_field_name("name"):
            name = context.text(name_node)
            if name_node.is_named and name != "_":
                yield Definition(name=name, kind=kind, node=whole, signature=signature)


def field(node: Node, context: RuleContext) -> Iterator[Found]:
    """The fields of one line of a struct; an embedded type is a field with the name of the type."""
    of = node.child_by_field_name("type")
    names = [context.text(child) for child in node.children_by_field_name("name") if child.is_named]
    if not names and of is not None:
        names = [context.text(of).split("[", 1)[0].rsplit(".", 1)[-1].strip()]
    body = members_of(of) if of is not None else None
    for name in names:
        if name != "_":
            yield Definition(
                name=name,
                kind="field",
                node=node,
                bodies=() if body is None else (body,),
                signature=without_comments(node, context),
            )


def interface_method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method of an interface."""
    yield Definition(name=context.field_text(node, "name"), kind="method", node=node)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """One line of an import declaration; `.` imports every name, `_` none."""
    path = context.field_text(node, "path").strip('"`')
    alias = context.field_text(node, "name")
    first, last = lines_of(node)
    if path:
        yield Import(first, last, path, "*" if alias == "." else "", "" if alias == "." else alias)


GO = Language(
    grammar="go",
    rules={
        "package_clause": package_clause,
        "import_declaration": DESCEND,
        "import_spec_list": DESCEND,
        "import_spec": imports,
        "function_declaration": function,
        "method_declaration": method,
        "type_declaration": type_declaration,
        "field_declaration_list": DESCEND,
        "field_declaration": field,
        "method_elem": interface_method,
        "const_declaration": values,
        "var_declaration": values,
        **dict.fromkeys(word_set("statement_list block if_statement for_statement ERROR"), DESCEND),
    },
    nested_markers=(b"type ", b"struct"),
    comment_starts=(b"//", b"/*"),
    module=package_of,
    visibility=visibility_of,
    doc=doc_comment,
    binding=Binding(only_top_level_is_bare=True, has_no_other_names=True, ends_in_version=True, directories_are_packages=True),
    members=Members(place="directory", are_defined_at_top_level=True, interfaces="structural", fields_embed_types=True),
    calls=Calls(arity_is_exact=True, receiver="func ("),
    types=WrittenTypes(
        variables="after_name",
        results="after_parameters",
        aliases="after_name",
        has_square_brackets=True,
        bounds_are_shared=True,
    ),
)
