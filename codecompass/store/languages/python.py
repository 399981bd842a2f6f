"""Python: functions, classes, methods, module and class constants, imports."""

from collections.abc import Iterator
from typing import Final

from codecompass.store.languages.base import (
    CLASS_LIKE,
    DESCEND,
    Context,
    Define,
    Definition,
    Found,
    Language,
    Node,
    leading_comment,
)
from codecompass.store.records import Import, SymbolKind, Visibility

SOURCE_DIRECTORIES: Final = frozenset({"src", "lib"})


def module_of(path: str, _root: Node, _source: bytes) -> tuple[str, ...]:
    """Returns the dotted module of a path: `src/pkg/mod.py` is `pkg.mod`, `pkg/__init__.py` is `pkg`."""
    parts = path.rsplit(".", 1)[0].split("/")
    if len(parts) > 1 and parts[0] in SOURCE_DIRECTORIES:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return tuple(parts)


def visibility_of(_node: Node, name: str, _context: Context) -> Visibility:
    """Follows the convention: a leading underscore is private, dunder names are public."""
    return "private" if name.startswith("_") and not (name.startswith("__") and name.endswith("__")) else "public"


def docstring(node: Node, context: Context) -> str:
    """Returns the docstring, else the comment above (which may stand above the decorators)."""
    body = node.child_by_field_name("body")
    if body is not None and body.named_child_count:
        first = body.named_children[0]
        if first.type == "expression_statement" and first.named_child_count:
            first = first.named_children[0]
        if first.type == "string":
            return context.text(first)
    parent = node.parent
    return leading_comment(parent if parent is not None and parent.type == "decorated_definition" else node, context)


def constants(node: Node, context: Context) -> Iterator[Found]:
    """Assignments of a module or a class; those inside functions are local and not reported."""
    enclosing = context.enclosing
    if enclosing is not None and enclosing not in CLASS_LIKE:
        return
    for statement in node.named_children:
        while statement.type == "assignment":
            left = statement.child_by_field_name("left")
            targets = [left] if left is not None else []
            if left is not None and left.type in ("pattern_list", "tuple_pattern"):
                targets = list(left.named_children)
            for target in targets:
                if target.type != "identifier":
                    continue
                name = context.text(target)
                kind: SymbolKind = "const" if name.isupper() else "field" if enclosing else "var"
                yield Definition(name=name, kind=kind, node=node, signature=context.text(node), doc=leading_comment(node, context))
            right = statement.child_by_field_name("right")
            if right is None:
                break
            statement = right


def type_alias(node: Node, context: Context) -> Iterator[Found]:
    """`type Name = ...` (PEP 695)."""
    left = node.child_by_field_name("left")
    if left is not None:
        name = context.text(left).split("[", 1)[0]
        yield Definition(name=name, kind="type", node=node, signature=context.text(node))


def imports(node: Node, context: Context) -> Iterator[Found]:
    """`import a.b as c` and `from a import b as c, d`."""
    first, last = node.start_point[0] + 1, node.end_point[0] + 1
    module = node.child_by_field_name("module_name")
    names = node.children_by_field_name("name")
    spec = context.text(module) if module is not None else ""
    if node.type == "future_import_statement":
        spec = "__future__"
    if any(child.type == "wildcard_import" for child in node.named_children):
        yield Import(first, last, spec, "*")
    for child in names:
        alias = ""
        if child.type == "aliased_import":
            alias = context.field_text(child, "alias")
            name = context.field_text(child, "name")
        else:
            name = context.text(child)
        if spec:
            yield Import(first, last, spec, name, alias)
        else:
            yield Import(first, last, name, "", alias)


PYTHON = Language(
    name="python",
    grammar="python",
    extensions=(".py", ".pyi", ".pyw"),
    filenames=("SConstruct", "SConscript", "wscript"),
    interpreters=("python", "python2", "python3", "pypy", "pypy3"),
    rules={
        "function_definition": Define("fn", member_kind="method"),
        "class_definition": Define("class"),
        "decorated_definition": DESCEND,
        "expression_statement": constants,
        "type_alias_statement": type_alias,
        "import_statement": imports,
        "import_from_statement": imports,
        "future_import_statement": imports,
        "if_statement": DESCEND,
        "elif_clause": DESCEND,
        "else_clause": DESCEND,
        "try_statement": DESCEND,
        "except_clause": DESCEND,
        "except_group_clause": DESCEND,
        "finally_clause": DESCEND,
        "with_statement": DESCEND,
        "for_statement": DESCEND,
        "while_statement": DESCEND,
        "match_statement": DESCEND,
        "case_clause": DESCEND,
        "block": DESCEND,
    },
    nested_markers=(b"def ", b"class ", b"import "),
    module=module_of,
    visibility=visibility_of,
    doc=docstring,
)
