"""Python: functions, classes, methods, variables of modules and classes, the attributes that `__init__` sets, imports.

In the grammar simple statements are direct children of their block, without an `expression_statement`.
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Found,
    Language,
    RuleContext,
    body_of,
    by_path,
    children_in,
    leading_comment,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.path_modules import python_module
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.written_types import WrittenTypes

DECORATABLE: Final = frozenset({"function_definition", "class_definition"})
PATTERNS: Final = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"})
BLOCKS: Final = frozenset(
    {"if_statement", "elif_clause", "else_clause", "try_statement", "except_clause", "finally_clause"}
    | {"with_statement", "for_statement", "while_statement", "block"}
)
ENUM_BASE: Final = re.compile(r"\b\w*(?:Enum|Flag|Choices)\b")


def visibility_of(_node: Node, name: str, _context: RuleContext) -> Visibility:
    """Returns the visibility by convention: a leading underscore is private, dunder names are public."""
    return "private" if name.startswith("_") and not (name.startswith("__") and name.endswith("__")) else "public"


def docstring(node: Node, context: RuleContext) -> str:
    """Returns the docstring, else the comment above the definition or its decorators."""
    body = node.child_by_field_name("body")
    # named_child(0) raises IndexError on the empty block of a cut-off file.
    if body is not None and body.named_child_count:
        first = body.named_child(0)
        if first is not None and first.type == "string":
            return context.text(first)
    # Finding the parent walks down from the root, so it is done only for what can be decorated.
    decorated = node.parent if node.type in DECORATABLE else None
    return leading_comment(decorated if decorated is not None and decorated.type == "decorated_definition" else node, context)


def class_definition(node: Node, context: RuleContext) -> Iterator[Found]:
    """A class. For its members it is noted whether it is an enum."""
    bases = node.child_by_field_name("superclasses")
    if bases is not None and ENUM_BASE.search(context.text(bases)):
        context.notes["enum", *context.scope_names, context.field_text(node, "name")] = ""
    yield Definition(name=context.field_text(node, "name"), kind="class", node=node, bodies=body_of(node))


def function_definition(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function or method, and the attributes of `self` that `__init__` sets."""
    name = context.field_text(node, "name")
    is_member = context.enclosing in CLASS_LIKE
    yield Definition(name=name, kind="method" if is_member else "fn", node=node, bodies=body_of(node))
    if is_member and name == "__init__":
        yield from attributes(node, context)


def attributes(initializer: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields the first assignment to each `self.x` in the body of `__init__`, unless the class itself defines `x`."""
    pending = list(reversed(children_in(initializer, "body")))
    while pending:
        statement = pending.pop()
        if statement.type in BLOCKS:
            pending.extend(reversed(statement.named_children))
            continue
        for target in targets(statement):
            if target.type == "attribute" and context.field_text(target, "object") == "self":
                name = context.field_text(target, "attribute")
                note = ("member", *context.scope_names, name)
                if note not in context.notes:
                    context.notes[note] = ""
                    yield Definition(name=name, kind="field", node=statement, signature=without_comments(statement, context))


def targets(statement: Node) -> Iterator[Node]:
    """Yields the targets of an assignment in order: both of `a = b = 1`, all three of `a, (b, *c) = x`."""
    while statement is not None and statement.type == "assignment":
        left = statement.child_by_field_name("left")
        pending = [left] if left is not None else []
        while pending:
            target = pending.pop()
            if target.type in PATTERNS:
                pending.extend(reversed(target.named_children))
            else:
                yield target
        right = statement.child_by_field_name("right")
        if right is None:
            return
        statement = right


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """Assignments in a module or class; those in functions are local and left out."""
    enclosing = context.enclosing
    if enclosing is not None and enclosing not in CLASS_LIKE:
        return
    is_enum = enclosing is not None and ("enum", *context.scope_names) in context.notes
    is_final = context.field_text(node, "type").removeprefix("typing.").startswith("Final")
    doc = None
    for target in targets(node):
        if target.type != "identifier":
            continue
        name = context.text(target)
        kind: SymbolKind = "var" if enclosing is None else "field"
        if is_final or name.isupper() or (is_enum and not name.startswith("_")):
            kind = "const"
        if enclosing is not None:
            context.notes["member", *context.scope_names, name] = ""
        if doc is None:
            doc = leading_comment(node, context) or following_docstring(node, context)
        yield Definition(name=name, kind=kind, node=node, signature=without_comments(node, context), doc=doc)


def following_docstring(node: Node, context: RuleContext) -> str:
    """Returns the string statement below an assignment, which tools treat as its documentation."""
    following = node.next_named_sibling
    return context.text(following) if following is not None and following.type == "string" else ""


def type_alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type Name = ...` (PEP 695)."""
    name = context.field_text(node, "left").split("[", 1)[0].strip()
    # In a cut-off docstring, a sentence that begins with `type` is parsed as an alias.
    if name.isidentifier():
        doc = leading_comment(node, context) or following_docstring(node, context)
        yield Definition(name=name, kind="type", node=node, doc=doc)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a.b as c` and `from a import b as c, d`."""
    first, last = lines_of(node)
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
    grammar="python",
    rules={
        "function_definition": function_definition,
        "class_definition": class_definition,
        "decorated_definition": DESCEND,
        "assignment": assignment,
        "type_alias_statement": type_alias,
        "import_statement": imports,
        "import_from_statement": imports,
        "future_import_statement": imports,
        **dict.fromkeys(BLOCKS, DESCEND),
        "match_statement": DESCEND,
        "case_clause": DESCEND,
        "ERROR": DESCEND,
    },
    nested_markers=(b"def ", b"class ", b"import "),
    comment_starts=(b"#",),
    module=by_path(python_module),
    visibility=visibility_of,
    doc=docstring,
    binding=Binding(
        hides_nested_names=True,
        has_no_other_names=True,
        files_share_no_names=True,
        binds_first_part=True,
        exports_imports=True,
        declaration_endings=(".pyi",),
    ),
    members=Members(functions_are_properties=True),
    types=WrittenTypes(variables="colon", results="arrow", has_square_brackets=True, supertypes="parentheses"),
    display=Display(attribute_starts=DECORATORS, line_comment="#"),
)
