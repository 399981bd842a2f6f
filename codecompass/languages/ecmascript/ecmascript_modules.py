"""Imports and exports of JavaScript and TypeScript: imports, re-exports, `require`, and which names are exported.

Both module systems are treated alike: `import x from 'm'` and `const x = require('m')` are imports, `export { x }` and
`module.exports = { x }` make `x` public wherever it is defined in the file. What a statement exports under another name, or as
the default, is an `Import` of the kind EXPORT: `export { a as b }`, `export default a`, `module.exports = a`. A component stays
what it is in a wrapper: `export default memo(a)` exports `a`.
"""

from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.language import Found, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import EXPORT, Import
from codecompass.languages.words import word_set

EXPORTED: Final = "exported"
"""First part of the note that a name is exported by a statement other than its definition."""


def text_of_string(node: Node, context: RuleContext) -> str:
    """Returns the text of a string without its quotes."""
    return context.text(node)[1:-1]


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a, { b as c } from 'm'`, `import * as n from 'm'`, `import 'm'`, `import a = require('m')`."""
    first, last = lines_of(node)
    source = node.child_by_field_name("source")
    clause = next((child for child in node.named_children if child.type in CLAUSES), None)
    if clause is not None and clause.type == "import_require_clause":
        source = clause.child_by_field_name("source")
    if source is None:
        return
    spec = text_of_string(source, context)
    if clause is None:
        yield Import(first, last, spec)
        return
    for child in clause.named_children:
        if child.type == "identifier":
            name = "default" if clause.type == "import_clause" else ""
            yield Import(first, last, spec, name, context.text(child))
        elif child.type == "namespace_import":
            yield Import(first, last, spec, "*", "".join(context.text(alias) for alias in child.named_children[:1]))
        elif child.type == "named_imports":
            yield from specifiers(child, spec, context, (first, last))


CLAUSES: Final = frozenset({"import_clause", "import_require_clause"})


def specifiers(node: Node, spec: str, context: RuleContext, lines: tuple[int, int]) -> Iterator[Import]:
    """Yields an import for each name between the braces of an import or re-export."""
    for child in node.named_children:
        name = child.child_by_field_name("name")
        if name is not None:
            text = text_of_string(name, context) if name.type == "string" else context.text(name)
            yield Import(*lines, spec, text, context.field_text(child, "alias"))


def import_alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a = b.c` imports a member of a namespace."""
    parts = [context.text(child) for child in node.named_children]
    if len(parts) == 2:
        spec, _, name = parts[1].rpartition(".")
        alias = parts[0] if parts[0] != name or not spec else ""
        yield Import(*lines_of(node), spec or name, name if spec else "", alias)


def re_exports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`export { a as b } from 'm'`, `export * from 'm'`, `export * as n from 'm'`, `export { a as b }`, `export = a`."""
    source = node.child_by_field_name("source")
    if source is None:
        yield from _renamed_exports(node, context)
        return
    spec, lines = text_of_string(source, context), lines_of(node)
    for child in node.named_children:
        if child.type == "export_clause":
            yield from specifiers(child, spec, context, lines)
            return
        if child.type == "namespace_export":
            yield Import(*lines, spec, "*", "".join(context.text(alias) for alias in child.named_children[:1]))
            return
    yield Import(*lines, spec, "*")


def _renamed_exports(node: Node, context: RuleContext) -> Iterator[Import]:
    """Yields what a statement without a module exports under another name."""
    lines = lines_of(node)
    for child in node.named_children:
        if child.type == "identifier":
            yield exported_as("default", context.text(child), lines)
        for specifier in child.named_children if child.type == "export_clause" else ():
            name, alias = context.field_text(specifier, "name"), context.field_text(specifier, "alias").strip("\"'")
            if name and alias and alias != name:
                yield exported_as(alias, name, lines)


def exported_as(exported: str, name: str, lines: tuple[int, int]) -> Import:
    """Returns the record of a local name that the file exports as `exported`."""
    return Import(*lines, "", name, exported, EXPORT)


def assigned_exports(node: Node, value: Node, context: RuleContext, lines: tuple[int, int]) -> Iterator[Import]:
    """Yields what `module.exports = a`, `= { a, b: c }`, `= class A {}`, and `exports.a = b` export under another name."""
    target = node.child_by_field_name("left")
    while target is not None and target.type == "identifier" and not is_exports(target, context):
        target = None
    if target is None:
        return
    if is_exports(target, context):
        name = context.text(value) if value.type == "identifier" else context.field_text(value, "name")
        name = name or wrapped_name(value, context)
        if name:
            yield exported_as("default", name, lines)
        for child in value.named_children if value.type == "object" else ():
            inner, key = child.child_by_field_name("value"), context.field_text(child, "key")
            if inner is not None and inner.type == "identifier" and key and context.text(inner) != key:
                yield exported_as(key, context.text(inner), lines)
        return
    owner, key = target.child_by_field_name("object"), context.field_text(target, "property")
    if owner is not None and is_exports(owner, context) and value.type == "identifier" and context.text(value) != key:
        yield exported_as(key, context.text(value), lines)


_COMPONENT_WRAPPERS: Final = word_set("connect forwardRef inject injectIntl memo observer styled withRouter")
_WITH: Final = lazy.pattern(r"with[A-Z]\w*")
MAX_WRAPPERS: Final = 8
"""Calls around a component that are looked into."""


def wrapped_name(value: Node, context: RuleContext) -> str:
    """Returns the name of the component in `memo(a)`, `connect(..)(a)`, `withRouter(memo(a))` and the like: a name, or that of a
    function or class in its place; '' for any other value."""
    is_component = False
    for _ in range(MAX_WRAPPERS):
        if value.type != "call_expression":
            break
        function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
        if function is None or arguments is None or arguments.type != "arguments" or not arguments.named_child_count:
            return ""
        is_curried = function.type == "call_expression"
        if is_curried:
            function = function.child_by_field_name("function") or function
        called = context.field_text(function, "property") or context.text(function)
        is_component = called in _COMPONENT_WRAPPERS or _WITH.fullmatch(called) is not None
        if not is_component and (not is_curried or called in ("require", "import")):
            return ""
        value = arguments.named_children[0]
    else:
        return ""
    name = context.text(value) if value.type == "identifier" else ""
    if value.type in _WITH_NAMES:
        name = context.field_text(value, "name")
    # A function that another one returned makes a component of a component; of anything else it may make anything.
    return name if is_component or name[:1].isupper() else ""


_WITH_NAMES: Final = frozenset({"class", "function_expression", "generator_function"})


def require_call(value: Node, context: RuleContext) -> tuple[str, str] | None:
    """Returns module and member of `require('m')`, `require('m').member`, `await import('m')`; None for anything else."""
    if context.source.find(b"(", value.start_byte, value.end_byte) < 0:
        return None
    member = ""
    while value.type in ("await_expression", "parenthesized_expression") and value.named_child_count:
        value = value.named_children[0]
    if value.type == "member_expression":
        member = context.field_text(value, "property")
        inner = value.child_by_field_name("object")
        if inner is None:
            return None
        value = inner
    spec = required_module(value, context)
    return None if spec is None else (spec, member)


def required_module(call: Node, context: RuleContext) -> str | None:
    """Returns the module of a `require` or `import` call; None for another call or a module that is not a string."""
    if call.type != "call_expression":
        return None
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or arguments is None or arguments.named_child_count == 0:
        return None
    first = arguments.named_children[0]
    is_import = function.type == "import" or (function.type == "identifier" and context.text(function) == "require")
    return text_of_string(first, context) if is_import and first.type == "string" else None


def required_names(pattern: Node, spec: str, member: str, lines: tuple[int, int], context: RuleContext) -> Iterator[Import]:
    """Yields what `const x = require('m')` and `const { a, b: c } = require('m')` import."""
    if pattern.type == "identifier":
        alias = context.text(pattern)
        yield Import(*lines, spec, member, "" if alias == member else alias)
        return
    for child in pattern.named_children:
        if child.type == "shorthand_property_identifier_pattern":
            yield Import(*lines, spec, context.text(child))
        elif child.type == "pair_pattern":
            yield Import(*lines, spec, context.field_text(child, "key"), context.field_text(child, "value"))
        elif child.type == "rest_pattern":
            yield Import(*lines, spec, "*", context.text(child).lstrip("."))
        elif child.type == "object_assignment_pattern":
            yield Import(*lines, spec, context.field_text(child, "left"))


def is_exports(node: Node, context: RuleContext) -> bool:
    """Whether an expression is `module.exports` or `exports`."""
    return node.type in ("member_expression", "identifier") and context.text(node) in ("module.exports", "exports")


def note_exports(root: Node, context: RuleContext) -> None:
    """Notes the names that top-level statements export, because they often come after the definitions."""
    if b"export" not in context.source:
        return
    for statement in root.named_children:
        if statement.type == "export_statement":
            if statement.child_by_field_name("source") is None:
                _note_export_statement(statement, context)
        elif statement.type == "expression_statement" and statement.named_child_count:
            _note_assignment(statement.named_children[0], context)
        elif statement.type in ("variable_declaration", "lexical_declaration"):
            for declarator in statement.named_children:
                value = declarator.child_by_field_name("value")
                if value is not None and _note_assignment(value, context):
                    context.notes[EXPORTED, context.field_text(declarator, "name")] = ""


def _note_export_statement(statement: Node, context: RuleContext) -> None:
    for child in statement.named_children:
        if child.type == "export_clause":
            for specifier in child.named_children:
                context.notes[EXPORTED, context.field_text(specifier, "name")] = ""
        elif child.type == "identifier":
            context.notes[EXPORTED, context.text(child)] = ""
        elif child.type == "call_expression" and (name := wrapped_name(child, context)):
            context.notes[EXPORTED, name] = ""


def _note_assignment(node: Node, context: RuleContext) -> bool:
    """Notes what `module.exports = a`, `= { a, b: c }` and `exports.a = b` export. Returns whether it is such an assignment."""
    is_export = False
    value: Node | None = node
    while value is not None and value.type == "assignment_expression":
        left = value.child_by_field_name("left")
        target = left
        if target is not None and target.type == "member_expression" and not is_exports(target, context):
            target = target.child_by_field_name("object")
        if target is not None and is_exports(target, context):
            is_export = True
        value = value.child_by_field_name("right")
    if not is_export or value is None:
        return False
    if value.type == "identifier":
        context.notes[EXPORTED, context.text(value)] = ""
    elif value.type == "object":
        for child in value.named_children:
            for part in (child, child.child_by_field_name("key"), child.child_by_field_name("value")):
                if part is not None and part.type in NAMES:
                    context.notes[EXPORTED, context.text(part)] = ""
            if child.type == "method_definition":
                context.notes[EXPORTED, context.field_text(child, "name")] = ""
    return True


NAMES: Final = frozenset({"identifier", "shorthand_property_identifier", "property_identifier"})
