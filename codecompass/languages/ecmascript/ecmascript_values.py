"""Expressions of JavaScript and TypeScript that define something: values of variables, assignments, functions in objects and
arrays, named callbacks, default exports.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from codecompass.languages.ecmascript.ecmascript_modules import (
    assigned_exports,
    exported_as,
    is_exports,
    require_call,
    required_module,
    required_names,
    wrapped_name,
)
from codecompass.languages.ecmascript.ecmascript_scopes import (
    FUNCTIONS,
    LINE_BYTES,
    bodies_of,
    body_holds_definitions,
    defined,
    function_bodies,
    head_end_of,
    holds_definitions,
    in_function,
    module_wrapper,
    name_of,
    unwrapped,
    visibility_at,
)
from codecompass.languages.language import (
    Definition,
    Descend,
    Found,
    RuleContext,
    body_of,
    children_in,
    first_child,
    head_without_comments,
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind, Visibility

SCRIPT_ENDINGS: Final = (".js", ".jsx", ".mjs", ".cjs")


def variables(node: Node, context: RuleContext, outer: Node, is_exported: bool) -> Iterator[Found]:
    """`const a = 1, f = () => {}`; `const m = require('m')` is an import."""
    if in_function(context) and not holds_definitions(node, context):
        return
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    keyword = context.field_text(node, "kind") or "var"
    kind: SymbolKind = "const" if keyword == "const" else "var"
    for declarator in declarators:
        name, value = declarator.child_by_field_name("name"), declarator.child_by_field_name("value")
        if name is None:
            continue
        taken = require_call(value, context) if value is not None else None
        if taken is not None:
            yield from required_names(name, *taken, lines_of(node), context)
            continue
        if name.type == "identifier" and value is not None and not in_function(context):
            targets = list(targets_of(value))
            if any(is_exports(target, context) for target in targets):
                yield exported_as("default", context.text(name), lines_of(node))
        whole, prefix = outer, ""
        if len(declarators) > 1:
            keywords = head_without_comments(outer, outer.start_byte, declarators[0].start_byte, context)
            whole, prefix = declarator, keywords.strip() + " "
        if name.type == "identifier":
            for found in variable(context.text(name), kind, value, whole, context, is_exported):
                if prefix and isinstance(found, Definition) and found.node is declarator:
                    yield structs.replace(found, signature=f"{prefix}{found.signature}")
                else:
                    yield found
            continue
        if not in_function(context):
            for bound in bound_names(name):
                text = context.text(bound)
                visibility = visibility_at(text, is_exported, context)
                yield defined(text, kind, whole, context, visibility=visibility)
        if value is not None and holds_definitions(value, context):
            yield Descend(declarator)


def variable(
    name: str, kind: SymbolKind, value: Node | None, whole: Node, context: RuleContext, is_exported: bool
) -> Iterator[Found]:
    """One variable: a function or class by its value, else a symbol unless it is local."""
    inner_value = unwrapped(value)
    visibility = visibility_at(name, is_exported, context)
    if inner_value is not None and inner_value.type in FUNCTIONS:
        bodies, end = function_bodies(inner_value, context), head_end_of(inner_value)
        yield defined(name, "fn", whole, context, bodies, head_end=end, visibility=visibility)
    elif inner_value is not None and inner_value.type == "class":
        yield defined(name, "class", whole, context, body_of(inner_value), visibility=visibility)
    else:
        bodies = () if inner_value is None else bodies_of(inner_value, context)
        if not in_function(context):
            yield defined(name, kind, whole, context, bodies, head_end=whole.end_byte, visibility=visibility)
        elif inner_value is not None and bodies and inner_value.type == "object":
            yield from members(inner_value, context, (*context.scope_names, name))
        elif inner_value is not None and bodies and inner_value.type != "array":
            yield Descend(inner_value)


def bound_names(pattern: Node) -> Iterator[Node]:
    """The identifiers that a destructuring pattern binds, in order."""
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield node
        elif node.type == "pair_pattern":
            value = node.child_by_field_name("value")
            pending.extend([value] if value is not None else [])
        elif node.type in ("object_assignment_pattern", "assignment_pattern"):
            left = node.child_by_field_name("left")
            pending.extend([left] if left is not None else [])
        elif node.type in ("object_pattern", "array_pattern", "rest_pattern"):
            pending.extend(reversed(node.named_children))


def expression_statement(node: Node, context: RuleContext) -> Iterator[Found]:
    """An assignment that defines something, or an expression with functions in it."""
    expression = first_child(node)
    if expression is None:
        return
    if expression.type == "assignment_expression":
        yield from assignment(expression, node, context)
    elif expression.type == "internal_module" or holds_definitions(expression, context):
        yield Descend(node)


def assignment(node: Node, statement: Node, context: RuleContext) -> Iterator[Found]:
    """`exports.a = ...`, `A.prototype.m = function () {}`, `a.b = a.c = () => {}`, `this.x = ...` in a constructor."""
    value = unwrapped(node.child_by_field_name("right"))
    if value is None:
        return
    targets = [target for target in targets_of(node) if target.type in ("identifier", "member_expression")]
    names = [target for target in targets if not is_exports(target, context)]
    taken = require_call(value, context)
    if taken is not None:
        name = name_of_target(names[0], context) if names else ""
        yield Import(*lines_of(statement), *taken, "" if name == taken[1] else name)
        if not names and not taken[1]:
            # `module.exports = require('m')` exports whatever the module does.
            yield Import(*lines_of(statement), taken[0], "*")
            yield Import(*lines_of(statement), taken[0], "default")
        return
    for each in assignments_of(node):
        yield from assigned_exports(each, value, context, lines_of(statement))
    if value.type in FUNCTIONS or value.type == "class":
        if not names:
            names = targets[:1]
        for target in names:
            # Definitions in the value belong to the first name.
            yield from assigned_function(target, value, statement, context, is_walked=target is names[0])
        if not names:
            yield Descend(node)
    else:
        for target in names:
            yield from assigned_value(target, value, statement, context)
        if not (in_function(context) and value.type == "array") and holds_definitions(value, context):
            yield from assigned_functions(names, value, node, context)


def assignments_of(node: Node) -> Iterator[Node]:
    """The assignments in `a = b = c = value`, the outermost first."""
    assigned: Node | None = node
    while assigned is not None and assigned.type == "assignment_expression":
        yield assigned
        assigned = assigned.child_by_field_name("right")


def targets_of(node: Node) -> Iterator[Node]:
    """The left sides of `a = b = c = value`."""
    for assigned in assignments_of(node):
        left = assigned.child_by_field_name("left")
        if left is not None:
            yield left


def name_of_target(target: Node, context: RuleContext) -> str:
    """Returns the last name of `a` or `a.b.c`."""
    return context.field_text(target, "property") if target.type == "member_expression" else context.text(target)


def assigned_value(target: Node, value: Node, statement: Node, context: RuleContext) -> Iterator[Found]:
    """A value that is exported, made global, or assigned to a field by a constructor function."""
    owner, name = target.child_by_field_name("object"), name_of_target(target, context)
    if owner is None:
        return
    if is_exports(owner, context) or (owner.type == "identifier" and context.text(owner) in GLOBAL_OBJECTS):
        if not in_function(context) and value.type not in ("identifier", "undefined"):
            kind: SymbolKind = "const" if is_exports(owner, context) else "var"
            bodies, end = bodies_of(value, context), statement.end_byte
            yield defined(name, kind, statement, context, bodies, head_end=end, visibility="public", qualifier=())
    elif owner.type == "this" and is_constructor_function(context):
        note = ("this", *context.scope_names, name)
        if note not in context.notes:
            context.notes[note] = ""
            yield defined(name, "field", statement, context, visibility=context.scope_visibility)


GLOBAL_OBJECTS: Final = frozenset({"global", "globalThis", "self", "window"})


def assigned_functions(names: list[Node], value: Node, node: Node, context: RuleContext) -> Iterator[Found]:
    """The functions in an assigned value: in `A.prototype = {...}` and `A.b = {...}` they are methods of `A` and `A.b`."""
    owner = names[0].child_by_field_name("object") if names else None
    if owner is not None and (is_exports(owner, context) or context.text(owner) in GLOBAL_OBJECTS):
        # They are members of the exported or global symbol.
        return
    if value.type != "object":
        yield Descend(node)
        return
    path = context.text(names[0]).removesuffix(".prototype") if names else ""
    if not path.replace(".", "").isidentifier():
        yield from members(value, context, None)
        return
    visibility = visibility_at(path.split(".", 1)[0], is_exported=False, context=context)
    for member in members(value, context, qualifier_of(path, context)):
        yield structs.replace(member, visibility=visibility) if isinstance(member, Definition) else member


def qualifier_of(path: str, context: RuleContext) -> tuple[str, ...]:
    """Returns the qualifier of what is assigned to `a.b` or `this.b`; members of `this` in a constructor belong to the class."""
    parts = path.split(".")
    if parts[0] != "this":
        return (*context.scope_names, *parts)
    scope = context.scope_names[:-1] if context.scope_names[-1:] == ("constructor",) else context.scope_names
    return (*scope, *parts[1:])


def is_constructor_function(context: RuleContext) -> bool:
    """Whether this is the body of an old-style constructor: `function View() { this.name = 1 }`."""
    is_script = context.path.endswith(SCRIPT_ENDINGS)
    return is_script and context.enclosing == "fn" and context.scope_names[-1:] != () and context.scope_names[-1][:1].isupper()


def assigned_function(target: Node, value: Node, statement: Node, context: RuleContext, *, is_walked: bool) -> Iterator[Found]:
    """A function or class that is assigned to a name or a member."""
    owner, name = target.child_by_field_name("object"), name_of_target(target, context)
    is_class = value.type == "class"
    kind: SymbolKind = "class" if is_class else "fn"
    bodies = body_of(value) if is_class else function_bodies(value, context)
    qualifier = None
    visibility: Visibility = "public"
    if is_exports(target, context):
        name = context.field_text(value, "name") or name
    elif owner is None or is_exports(owner, context):
        visibility = visibility_at(name, owner is not None, context)
    else:
        path = context.text(owner).removeprefix("module.").removeprefix("exports.").removesuffix(".prototype")
        visibility = visibility_at(path.split(".", 1)[0], is_exported=False, context=context)
        kind = kind if is_class else "method"
        if path.replace(".", "").isidentifier():
            qualifier = qualifier_of(path, context)
    yield defined(
        name,
        kind,
        statement,
        context,
        bodies if is_walked else (),
        head_end=head_end_of(value),
        visibility=visibility,
        qualifier=qualifier,
    )


def members(node: Node, context: RuleContext, qualifier: tuple[str, ...] | None) -> Iterator[Found]:
    """The functions in an object, and nested objects that hold functions."""
    for child in node.named_children:
        if child.type == "method_definition":
            name = name_of(child.child_by_field_name("name"), context)
            yield function_member(name, child, child, context, qualifier)
        elif child.type == "pair":
            yield from pair(child, context, qualifier)
        elif child.type == "spread_element" and holds_definitions(child, context):
            yield Descend(child)


def function_member(
    name: str, node: Node, function: Node, context: RuleContext, qualifier: tuple[str, ...] | None = None
) -> Definition:
    """Returns the definition of a function in an object, as a method."""
    bodies, end = function_bodies(function, context), head_end_of(function)
    return defined(name, "method", node, context, bodies, head_end=end, qualifier=qualifier)


def pair(node: Node, context: RuleContext, qualifier: tuple[str, ...] | None = None) -> Iterator[Found]:
    """`key: value` in an object, if the value is or holds a function."""
    value = unwrapped(node.child_by_field_name("value"))
    name = name_of(node.child_by_field_name("key"), context)
    if value is None:
        return
    if value.type in FUNCTIONS:
        yield function_member(name, node, value, context, qualifier)
    elif holds_definitions(value, context):
        if value.type == "object":
            yield defined(name, "field", node, context, (value,), qualifier=qualifier)
        else:
            yield Descend(node)


def object_literal(node: Node, context: RuleContext) -> Iterator[Found]:
    """An object in an expression: entered unless it is local to a function."""
    if not in_function(context) and holds_definitions(node, context):
        extended = context.notes.get(("extended", node.start_byte))
        yield from members(node, context, None if extended is None else (*context.scope_names, *extended.split(".")))


def note_extended(call: Node, context: RuleContext) -> None:
    """Notes the owner of the methods in the objects of `Object.assign(View.prototype, { ... })` or `extend(app, { ... })`."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None or arguments.named_child_count < 2 or arguments.named_child_count > MAX_EXTENDING:
        return
    first, *others = arguments.named_children
    if first.type not in ("identifier", "member_expression"):
        return
    path = context.source[first.start_byte : min(first.end_byte, first.start_byte + LINE_BYTES)].decode("utf-8", "replace")
    called = context.source[max(call.start_byte, arguments.start_byte - LINE_BYTES) : arguments.start_byte]
    owner = path.removesuffix(".prototype")
    is_extended = owner != path or called.rpartition(b".")[2] in EXTENDING
    if is_extended and owner.replace(".", "").isidentifier():
        for other in others:
            context.notes["extended", other.start_byte] = owner


EXTENDING: Final = frozenset({b"assign", b"extend", b"merge", b"mixin"})

MAX_EXTENDING: Final = 10
"""Arguments of a call that adds methods to an object."""


def returned(node: Node, context: RuleContext) -> Iterator[Found]:
    """`return { m() {} }` and `return [{ m() {} }]`: the methods of a returned object are defined by the function."""
    value = unwrapped(first_child(node))
    if value is None or not holds_definitions(node, context):
        return
    if value.type == "array":
        for element in value.named_children:
            if element.type == "object":
                yield from members(element, context, None)
    else:
        yield Descend(value if value.type == "object" else node)


def array(node: Node, context: RuleContext) -> Iterator[Found]:
    """An array: entered unless it is local to a function."""
    if not in_function(context) and holds_definitions(node, context):
        yield Descend(node)


def call(node: Node, context: RuleContext) -> Iterator[Found]:
    """A call: `require('m')` and `import('m')` are imports, others may have functions among their arguments."""
    if context.source.startswith((b"require(", b"import("), node.start_byte):
        spec = required_module(node, context)
        if spec is not None:
            yield Import(*lines_of(node), spec)
            return
    inside = module_wrapper(node, context)
    if inside is not None:
        yield from inside
        return
    if not in_function(context):
        note_extended(node, context)
    if body_holds_definitions(node, context):
        yield Descend(node)
    elif not in_function(context):
        # Callbacks that define no names are skipped; they are most of a test file.
        for argument in children_in(node, "arguments"):
            if argument.type == "object":
                yield from object_literal(argument, context)


def callback(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function in an expression: a definition if it has a name, else a nameless scope."""
    name = context.field_text(node, "name")
    bodies = function_bodies(node, context)
    if name:
        yield defined(name, "fn", node, context, bodies, head_end=head_end_of(node), visibility="internal")
    else:
        for body in bodies:
            yield Descend(body, "fn")


def class_expression(node: Node, context: RuleContext) -> Iterator[Found]:
    """A class in an expression, with or without a name."""
    name, bodies = context.field_text(node, "name"), body_of(node)
    if name:
        yield defined(name, "class", node, context, bodies, visibility="internal")
    for body in () if name else bodies:
        yield Descend(body, "class")


def default_export(value: Node, statement: Node, context: RuleContext) -> Iterator[Found]:
    """`export default <expression>`: a symbol named `default`, as importers call it, unless the value has a name."""
    inner_value = unwrapped(value)
    if inner_value is None:
        return
    if inner_value.type == "identifier":
        yield exported_as("default", context.text(inner_value), lines_of(statement))
        return
    name = context.field_text(inner_value, "name") if inner_value.type in (*FUNCTIONS, "class") else ""
    if inner_value.type == "class":
        yield defined(name or "default", "class", statement, context, body_of(inner_value), visibility="public")
    elif inner_value.type in FUNCTIONS:
        bodies, end = function_bodies(inner_value, context), head_end_of(inner_value)
        yield defined(name or "default", "fn", statement, context, bodies, head_end=end, visibility="public")
    else:
        wrapped = wrapped_name(inner_value, context)
        if wrapped:
            yield exported_as("default", wrapped, lines_of(statement))
        inside, end = bodies_of(inner_value, context), statement.end_byte
        yield defined("default", "const", statement, context, inside, head_end=end, visibility="public")
