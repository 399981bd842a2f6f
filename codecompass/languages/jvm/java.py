"""Java: classes, records, enums, interfaces, annotations and their members, imports.

The package clause names the module. In the grammar annotations are part of a declaration, so a definition begins on the line of
its first modifier, type or name.
"""

from collections.abc import Iterator
from typing import Final

from msgspec import structs

from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.jvm.jvm import FAMILY, JVM_UNWRAPPING, NAMES_OF_JAVA, ROOTS, of_jvm
from codecompass.languages.jvm.jvm_imports import JVM_IMPORTS
from codecompass.languages.jvm.jvm_routes import registered
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    first_child,
    head_without_comments,
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind, Visibility
from codecompass.languages.templates.marked_strings import COMMENTED_STRINGS
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import (
    BLOCK,
    CHARACTER,
    COMMON_KEYWORDS,
    DOUBLE,
    NAME,
    SLASHES,
    TRIPLE,
    after,
    any_of,
    case_of_type,
    declared,
    typed_declaration,
    untyped_loop,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

ANNOTATIONS: Final = frozenset({"annotation", "marker_annotation"})


def package_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the package clause; empty without one."""
    for node in root.named_children:
        if node.type == "package_declaration":
            for child in node.named_children:
                if child.type in ("identifier", "scoped_identifier"):
                    name = source[child.start_byte : child.end_byte].decode("utf-8", "replace")
                    return tuple("".join(name.split()).split("."))
        if node.type in TYPES:
            break
    return ()


TYPES: Final[dict[str, SymbolKind]] = {
    "class_declaration": "class",
    "enum_declaration": "enum",
    "interface_declaration": "interface",
    "annotation_type_declaration": "interface",
}

VISIBILITIES: Final[dict[str, Visibility]] = {"public": "public", "private": "private", "protected": "protected"}


def modifiers_of(node: Node) -> Node | None:
    """Returns the modifiers, including annotations."""
    first = first_child(node)
    return first if first is not None and first.type == "modifiers" else None


def visibility_of(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns the visibility by the modifier; without one, public for members of an interface, private for constructors of an
    enum, internal for others."""
    modifiers = modifiers_of(node)
    if modifiers is not None:
        for child in modifiers.children:
            if child.type in VISIBILITIES:
                return VISIBILITIES[child.type]
    if context.enclosing == "interface":
        return "public"
    if context.enclosing == "enum" and node.type == "constructor_declaration":
        return "private"
    return context.scope_visibility if node.type == "enum_constant" else "internal"


def head_of(node: Node) -> tuple[int, int]:
    """Returns line and byte of the first part of a declaration that is not an annotation or a comment."""
    modifiers = modifiers_of(node)
    children = node.children
    if modifiers is not None:
        children = [*modifiers.children, *children[1:]]
    for child in children:
        if child.type not in ANNOTATIONS and "comment" not in child.type:
            return child.start_point[0] + 1, child.start_byte
    return node.start_point[0] + 1, node.start_byte


def defined(name: str, kind: SymbolKind, node: Node, context: RuleContext, body: Node | None = None) -> Definition:
    """Returns the definition of `node`, without its annotations."""
    line, start = head_of(node)
    end = node.end_byte if body is None else body.start_byte
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=() if body is None else (body,),
        signature=head_without_comments(node, start, end, context),
        start_line=line,
    )


def package_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """The package clause, but only that of `package-info.java`, which documents the package: each file has one."""
    if context.path.endswith("package-info.java") and context.module:
        name = ".".join(context.module)
        clause = defined(name, "module", node, context)
        yield structs.replace(clause, qualified_name=name, visibility="public")


def module_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """The module of `module-info.java`."""
    name, body = context.field_text(node, "name"), node.child_by_field_name("body")
    yield structs.replace(defined(name, "module", node, context, body), qualified_name=name, visibility="public")


def type_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """A class, enum, interface or annotation."""
    yield defined(context.field_text(node, "name"), TYPES[node.type], node, context, node.child_by_field_name("body"))


def record_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """A record; its components are its fields."""
    body, parameters = node.child_by_field_name("body"), node.child_by_field_name("parameters")
    record = defined(context.field_text(node, "name"), "class", node, context, body)
    bodies = tuple(part for part in (parameters, body) if part is not None)
    yield structs.replace(record, bodies=bodies)


def component(node: Node, context: RuleContext) -> Iterator[Found]:
    """A component of a record; the walk reaches no other parameters."""
    if context.enclosing == "class":
        declarator = next((child for child in node.named_children if child.type == "variable_declarator"), node)
        name = context.field_text(declarator, "name")
        yield Definition(name=name, kind="field", node=node, visibility="public")


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method, constructor or element of an annotation."""
    body = node.child_by_field_name("body")
    yield defined(context.field_text(node, "name"), "method", node, context, body)


def enum_constant(node: Node, context: RuleContext) -> Iterator[Found]:
    """A constant of an enum, which may have a class body."""
    yield defined(context.field_text(node, "name"), "const", node, context, node.child_by_field_name("body"))


def fields(node: Node, context: RuleContext) -> Iterator[Found]:
    """The variables of one declaration in a type; `static final` variables and those of interfaces are constants."""
    line, start = head_of(node)
    signature = head_without_comments(node, start, node.end_byte, context)
    modifiers = modifiers_of(node)
    words = {child.type for child in modifiers.children} if modifiers is not None else set()
    is_constant = node.type == "constant_declaration" or words >= {"static", "final"}
    for declarator in node.children_by_field_name("declarator"):
        yield Definition(
            name=context.field_text(declarator, "name"),
            kind="const" if is_constant else "field",
            node=node,
            # The value may be an anonymous class.
            bodies=(declarator,),
            signature=signature,
            start_line=line,
        )


def local_variables(node: Node, context: RuleContext) -> Iterator[Found]:
    """Variables outside any type (in a compact source file); in methods only definitions in their values count."""
    for declarator in node.children_by_field_name("declarator"):
        if context.enclosing is None:
            name = context.field_text(declarator, "name")
            yield Definition(name=name, kind="var", node=node, bodies=(declarator,), signature=context.text(node))
        else:
            yield Descend(declarator)


def creation(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`new T(...) { ... }`: the members of the anonymous class belong to the enclosing definition."""
    for child in node.named_children:
        if child.type == "class_body":
            yield Descend(child, "class")
        elif child.type == "argument_list":
            yield Descend(child)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a.b.C` imports `C` of `a.b`, `import static` members of a class, `import module a.b` all of a module.

    The grammar does not have module imports: it parses `module a.b` as one name with an error in it.
    """
    spec, name = "", ""
    for child in node.named_children:
        if child.type in ("identifier", "scoped_identifier"):
            first, *rest = context.text(child).split()
            is_module = first == "module" and rest != [] and not rest[0].startswith(".")
            spec = "".join(rest if is_module else (first, *rest))
            name = "*" if is_module else name
        elif child.type == "asterisk":
            name = "*"
    if name != "*" and "." in spec:
        spec, _, name = spec.rpartition(".")
    if spec:
        yield Import(*lines_of(node), spec, name)


TRANSPARENT: Final = (
    *("ERROR", "argument_list", "assignment_expression", "block", "cast_expression", "enhanced_for_statement"),
    *("enum_body_declarations", "expression_statement", "for_statement", "if_statement", "lambda_expression"),
    *("method_invocation", "parenthesized_expression", "return_statement", "static_initializer", "try_statement"),
    "while_statement",
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    rules = LexicalRules(
        family=FAMILY,
        has_overloads=True,
        built_in=word_set(NAMES_OF_JAVA, ROOTS, "boolean byte char double float int long short"),
        comments_and_strings=any_of(SLASHES, BLOCK, TRIPLE, DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract assert boolean byte char class const double enum extends final float goto implements import instanceof int "
            "interface long native package private protected public short static strictfp super synchronized throws transient "
            "void volatile var record sealed permits yield",
        ),
        soft=word_set("permits record sealed"),
        own=frozenset({"this"}),
        declarations=(
            untyped_loop(),
            typed_declaration(),
            case_of_type(),
            declared(
                after("instanceof")
                + r"[ \t]++(?:final[ \t]++)?(?P<type>[A-Z][\w.]*+)(?:<[^<>()]*+>)?[ \t]++(?P<names>[a-z_]\w*+)"
            ),
            declared(r"\((?P<names>[\w\s,]*+)\)\s*+->"),
            declared(r"(?<!\w)(?P<names>(?![A-Z])\w++)[ \t]*+->", "->"),
            declared(after("catch") + r"\s*+\((?:final\s++)?[\w.| ]+\s(?P<names>\w++)"),
        ),
        parameters="type_first",
        has_implicit_members=True,
    )
    return of_jvm(rules)


JAVA = Language(
    grammar="java",
    rules={
        "package_declaration": package_declaration,
        "module_declaration": module_declaration,
        "import_declaration": imports,
        "class_declaration": type_declaration,
        "enum_declaration": type_declaration,
        "interface_declaration": type_declaration,
        "annotation_type_declaration": type_declaration,
        "record_declaration": record_declaration,
        "formal_parameter": component,
        "spread_parameter": component,
        "method_declaration": method,
        "constructor_declaration": method,
        "compact_constructor_declaration": method,
        "annotation_type_element_declaration": method,
        "enum_constant": enum_constant,
        "field_declaration": fields,
        "constant_declaration": fields,
        "local_variable_declaration": local_variables,
        "object_creation_expression": creation,
        **dict.fromkeys(TRANSPARENT, DESCEND),
    },
    # Inside a method, `@Override` and `run() {` are almost always in an anonymous class.
    nested_markers=(b"class ", b"enum ", b"record ", b"interface ", b"@Override", b"() {"),
    comment_starts=(b"//", b"/*"),
    module=package_of,
    visibility=visibility_of,
    registers=registered,
    uses=lexical_rules,
    imports=JVM_IMPORTS,
    binding=Binding(
        only_types_are_everywhere=True,
        imports_members=True,
        declares="namespace",
        directories_are_packages=True,
        imports_are_per_file=True,
    ),
    members=Members(types_are_capitalised=True, unwrapping=JVM_UNWRAPPING),
    calls=Calls(types_choose=True, fields_share_names=True),
    types=WrittenTypes(variables="before_name", results="before_name_or_colon", has_square_brackets=True, supertypes="keywords"),
    display=Display(attribute_starts=DECORATORS),
    regions=COMMENTED_STRINGS,
)
