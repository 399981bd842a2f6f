"""C: functions and prototypes, structs and unions with their fields, enumerators, typedefs, variables, macros.

C++ shares these rules, so some are for what only C++ has. The trees are of prepared source (`c_preprocessing.py`), the texts of
the original source.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.c_family.c_declarators import (
    FUNCTIONS,
    Declared,
    declared_by,
    first_line,
    head,
    local_bodies,
    open_section,
    type_name,
    visibility_here,
)
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.c_family.c_macros import registered
from codecompass.languages.c_family.c_preprocessing import prepare
from codecompass.languages.display import Display
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, Rule, RuleContext, first_child
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.uses.lexical_rules import Cast, LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    CHARACTER,
    COMMON_KEYWORDS,
    DOUBLE,
    NAME,
    SLASHES,
    WRITTEN_TYPE,
    any_of,
    cast_before,
    supertypes_after_colon,
    typed_declaration,
)
from codecompass.languages.walk.source_text import MAX_VALUE_BYTES, comment_above, plain_code
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

SPECIFIER_KINDS: Final[dict[str, SymbolKind]] = {
    "struct_specifier": "struct",
    "union_specifier": "struct",
    "class_specifier": "class",
    "enum_specifier": "enum",
}


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function with a body, inside or outside a class."""
    declarator = node.child_by_field_name("declarator")
    body = node.child_by_field_name("body")
    declared = None if declarator is None else declared_by(declarator, context)
    type_node = node.child_by_field_name("type")
    if type_node is not None and type_node.type in SPECIFIER_KINDS:
        if declared is not None and not declared.is_function and body is not None:
            # `class UNKNOWN Name { ... }`, parsed as a function: a macro that preparation did not blank.
            kind = SPECIFIER_KINDS[type_node.type]
            open_section(context, "private" if kind == "class" else "public", 1)
            yield Definition(declared.name, kind, node, (body,), head(node, body, context), visibility_here(context, node))
            return
        yield from tagged_type(type_node, context)
    if declared is not None and type_node is not None and type_node.type == "qualified_identifier":
        *scopes, last = context.text(type_node).replace(" ", "").split("::")
        if last == "operator":
            # `A::operator short() {`: the grammar parses `A::operator` as the type.
            declared = Declared(f"operator {declared.name}", True, False, tuple(scopes))
    if declared is None or (not declared.is_function and type_node is None):
        if body is not None:
            yield Descend(body, "fn")
        return
    clause = next((child for child in node.named_children if child.type in _AFTER_HEAD), body)
    signature = head(node, clause, context)
    if clause is not None and context.source[clause.start_byte : clause.start_byte + 1] == b"=":
        signature = context.source[node.start_byte : clause.end_byte + 16].decode("utf-8", "replace").split(";", 1)[0]
    if type_node is None and declared.name.isupper() and not declared.qualifier and context.enclosing not in CLASS_LIKE:
        arguments = None if declarator is None else declarator.child_by_field_name("parameters")
        yield _generated(node, declared.name, arguments, body, signature, context)
        return
    yield _function(node, declared, signature, local_bodies(body, context), context)


_AFTER_HEAD: Final = frozenset({"field_initializer_list", "compound_statement", "try_statement"})


def _function(
    node: Node,
    declared: Declared,
    signature: str,
    bodies: tuple[Node, ...],
    context: RuleContext,
    *,
    is_prototype: bool = False,
) -> Definition:
    enclosing = context.enclosing
    kind: SymbolKind = "method" if enclosing in CLASS_LIKE or declared.qualifier else "fn"
    return Definition(
        name=declared.name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=signature,
        start_line=first_line(node),
        # A member defined outside its class was declared in a section that is in another file.
        visibility="" if declared.qualifier else visibility_here(context, node, _is_static(signature)),
        qualifier=(*context.scope_names, *declared.qualifier) if declared.qualifier else None,
        is_prototype=is_prototype,
    )


def _generated(
    node: Node, macro_name: str, arguments: Node | None, body: Node | None, signature: str, context: RuleContext
) -> Definition:
    """`TEST(Suite, Name) {`: a macro call before a body defines the name in its last argument."""
    words = [] if arguments is None else [context.text(child) for child in arguments.named_children]
    name, qualifier = macro_name, context.scope_names
    if words and words[0][:1] == '"' == words[0][-1:]:
        # `TEST_CASE("parses numbers", "[tag]")`
        name = words[0].strip('" ') or macro_name
    elif 1 <= len(words) <= 2 and all(word.isidentifier() for word in words):
        name, qualifier = words[-1], (*context.scope_names, *words[:-1])
    return Definition(
        name=name,
        kind="test" if _TEST_MACRO.search(macro_name) else "fn",
        node=node if body is None else body,
        bodies=local_bodies(body, context),
        signature=signature,
        visibility=visibility_here(context, node),
        doc=comment_above(node, context),
        start_line=node.start_point[0] + 1,
        qualifier=qualifier,
    )


_TEST_MACRO: Final = lazy.pattern(r"(?:^|_)(?:TEST|SCENARIO|SECTION|SUBCASE)(?:_|$)")


def _is_static(signature: str) -> bool:
    return "static" in signature.partition("(")[0].split()


def declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """Variables, fields, prototypes, and a type that is defined in the same declaration."""
    type_node = node.child_by_field_name("type")
    body = None
    if type_node is not None and type_node.type in SPECIFIER_KINDS:
        body = type_node.child_by_field_name("body")
        if body is not None and (type_node.child_by_field_name("name") is not None or type_node.type == "enum_specifier"):
            yield from tagged_type(type_node, context)
            body = None
    declarators = node.children_by_field_name("declarator")
    if context.enclosing in FUNCTIONS:
        return
    if not declarators and body is not None:
        yield Descend(body)
    if not declarators and type_node is not None and type_node.type == "macro_type_specifier":
        # `BIT(done);` in a struct.
        name = context.field_text(type_node, "type")
        if name.isidentifier():
            yield Definition(name, "field", node, signature=head(node, None, context), visibility=visibility_here(context, node))
    for index, declarator in enumerate(declarators):
        declared = declared_by(declarator, context)
        if declared is None:
            continue
        if declared.is_function:
            # A declaration without a type is a constructor or the like; `MACRO(x);` is not.
            if type_node is None and (
                context.enclosing not in CLASS_LIKE or (declared.name.isupper() and declared.name not in context.scope_names)
            ):
                continue
            yield _function(node, declared, head(node, None, context), (), context, is_prototype=True)
            continue
        signature = _variable_signature(node, declarators, index, type_node, context)
        yield Definition(
            name=declared.name,
            kind=_variable_kind(node, declared, context),
            node=node,
            # The members of a struct without a tag belong to the first variable of its type.
            bodies=(body,) if body is not None and index == 0 else (),
            signature=signature,
            start_line=first_line(node),
            visibility="" if declared.qualifier else visibility_here(context, node, _is_static(signature)),
            qualifier=(*context.scope_names, *declared.qualifier) if declared.qualifier else None,
        )


def _variable_kind(node: Node, declared: Declared, context: RuleContext) -> SymbolKind:
    words = {context.text(child) for child in node.children if child.type in ("type_qualifier", "storage_class_specifier")}
    is_member = context.enclosing in CLASS_LIKE or context.enclosing in ("var", "field", "type")
    if "constexpr" in words or ("const" in words and not declared.is_pointer and (not is_member or "static" in words)):
        return "const"
    return "field" if is_member else "var"


def _variable_signature(node: Node, declarators: list[Node], index: int, type_node: Node | None, context: RuleContext) -> str:
    """Returns `static const int limit = 3` for one name of a declaration, without long values, lambdas and struct bodies."""
    source = context.source
    body = None if type_node is None or type_node.type not in SPECIFIER_KINDS else type_node.child_by_field_name("body")
    start = source[node.start_byte : declarators[0].start_byte]
    if body is not None:
        start = source[node.start_byte : body.start_byte] + source[body.end_byte : declarators[0].start_byte]
    if index > 0:
        start = start.rstrip() + b" "
    declarator = declarators[index]
    end = declarator.end_byte
    if declarator.type == "init_declarator":
        value = declarator.child_by_field_name("value")
        inner = declarator.child_by_field_name("declarator")
        if value is not None and inner is not None and _is_long(value):
            end = inner.end_byte
    elif len(declarators) == 1:
        # A member's initial value is beside the declarator, not in it.
        value = node.child_by_field_name("default_value")
        if value is None or not _is_long(value):
            end = node.end_byte
    return plain_code(start + source[declarator.start_byte : end])


def _is_long(value: Node) -> bool:
    return value.type == "lambda_expression" or value.end_byte - value.start_byte > MAX_VALUE_BYTES


def tagged_type(node: Node, context: RuleContext) -> Iterator[Found]:
    """`struct`, `union`, `class` and `enum` with a body; without one they refer to a type that is defined elsewhere."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    kind = SPECIFIER_KINDS[node.type]
    name_node = node.child_by_field_name("name")
    name, qualifier = ("", ()) if name_node is None else type_name(name_node, context)
    if not name:
        # Its members belong to the enclosing scope.
        yield Descend(body)
        return
    open_section(context, "private" if kind == "class" else "public", 1)
    if kind == "enum":
        context.notes.pop(("section", len(context.scope_kinds) + 1), None)
    yield Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=(body,),
        signature=head(node, body, context),
        visibility=visibility_here(context, node),
        qualifier=(*context.scope_names, *qualifier) if qualifier else None,
    )


def enumerator(node: Node, context: RuleContext) -> Iterator[Found]:
    """One member of an enumeration."""
    name = node.child_by_field_name("name")
    if name is None or _is_inside_macro(node, context.source):
        return
    visibility = context.scope_visibility if context.enclosing == "enum" else visibility_here(context, node)
    yield Definition(context.text(name), "const", node, signature=context.text(node), visibility=visibility)


def _is_inside_macro(node: Node, source: bytes) -> bool:
    """Whether `node` is an argument in `ENTRY(NAME, kind, 1),` after the first, which the grammar parses as an enumerator."""
    before = source[source.rfind(b"\n", 0, node.start_byte) + 1 : node.start_byte].rstrip()
    return before.count(b"(") > before.count(b")") and not before.endswith(b"(")


_FUNCTION_POINTER: Final = lazy.pattern(rb"(?:\w+[\s*]+)+\(\s*\*\s*(?:const\s+)?([A-Za-z_]\w*)\s*(?:\[[^\]]*\]\s*)*\)\s*\(")


def block(node: Node, context: RuleContext) -> Iterator[Found]:
    """A block, of a function or of a macro call that heads one; declarations in it are local."""
    if ("taken", node.start_byte) not in context.notes:
        yield Descend(node, "fn")


def statement(node: Node, context: RuleContext) -> Iterator[Found]:
    """A node that is parsed as a statement outside functions.

    `type_t (*pointer)(void);` is parsed as a call, `TEST(Suite, Name) {` as a call without its semicolon and then a block.
    """
    if context.enclosing in FUNCTIONS:
        return
    if context.source[node.end_byte - 1 : node.end_byte] == b";":
        match = _FUNCTION_POINTER.match(context.source, node.start_byte, node.end_byte)
        if match is not None:
            text = plain_code(context.source[node.start_byte : node.end_byte])
            yield Definition(match[1].decode(), "var", node, signature=text, visibility=visibility_here(context, node))
        return
    call = first_child(node)
    after = node.next_named_sibling
    if call is None or call.type != "call_expression" or after is None or after.type != "compound_statement":
        return
    called, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if called is not None and called.type == "identifier":
        # The block is the next node of the walk and the body of this definition.
        context.notes[("taken", after.start_byte)] = ""
        yield _generated(node, context.text(called), arguments, after, context.text(call), context)


def typedef(node: Node, context: RuleContext) -> Iterator[Found]:
    """Each new name of a `typedef`; if the struct in it has no tag, the new name is that of the struct."""
    type_node = node.child_by_field_name("type")
    declarators = node.children_by_field_name("declarator")
    named = [
        item for item in (declared_by(declarator, context, is_typedef=True) for declarator in declarators) if item is not None
    ]
    body = tag = None
    if type_node is not None and type_node.type in SPECIFIER_KINDS:
        body, tag = type_node.child_by_field_name("body"), type_node.child_by_field_name("name")
    visibility = visibility_here(context, node)
    text = head(node, None, context)
    primary = None
    if type_node is not None and body is not None:
        keyword = head(type_node, body, context)
        text = f"typedef {keyword} " + ", ".join(context.text(declarator) for declarator in declarators)
        if tag is not None:
            yield from tagged_type(type_node, context)
            primary = context.text(tag)
        elif named:
            primary = next((item.name for item in named if not item.is_pointer), named[0].name)
            open_section(context, "public", 1)
            kind = SPECIFIER_KINDS[type_node.type]
            yield Definition(primary, kind, node, (body,), f"typedef {keyword} {primary}", visibility)
    for item in named:
        if item.name != primary:
            yield Definition(item.name, "type", node, signature=text, visibility=visibility)


_GUARD: Final = lazy.pattern(rb"#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*$")
_DIRECTIVE: Final = lazy.pattern(rb"^[ \t]*#", re.MULTILINE)


def macro(node: Node, context: RuleContext) -> Iterator[Found]:
    """`#define`, with or without parameters; include guards are left out."""
    name_node = node.child_by_field_name("name")
    if name_node is None:
        return
    source = context.source
    value = node.child_by_field_name("value")
    if value is not None and not source[value.start_byte : value.end_byte].strip():
        value = None
    parameters = node.child_by_field_name("parameters")
    name = context.text(name_node)
    if value is None and parameters is None:
        above = _GUARD.search(source, max(0, node.start_byte - 300), node.start_byte)
        if above is not None and above[1].decode() == name and not _DIRECTIVE.search(source, 0, above.start()):
            return
    end = name_node.end_byte if parameters is None else parameters.end_byte
    if (
        value is not None
        and parameters is None
        and value.end_byte - value.start_byte <= MAX_VALUE_BYTES
        and b"\n" not in source[value.start_byte : value.end_byte].strip()
    ):
        end = value.end_byte
    visibility: Visibility = "public" if context.path.rsplit(".", 1)[-1].lower().startswith("h") else "private"
    signature = source[node.start_byte : end].decode("utf-8", "replace")
    # A macro is global even if it is defined inside a function.
    yield Definition(name, "macro", node, signature=signature, visibility=visibility, qualified_name=name)


def include(node: Node, context: RuleContext) -> Iterator[Found]:
    """`#include "x.h"` and `#include <x.h>`; an include of a macro's value is left out."""
    path = node.child_by_field_name("path")
    if path is None:
        return
    line = node.start_point[0] + 1
    text = context.text(path)
    if path.type == "string_literal":
        yield Import(line, line, text.strip('"'), kind="include")
    elif path.type == "system_lib_string":
        yield Import(line, line, text.strip("<>"), kind="system")


C_RULES: Final[Mapping[str, Rule]] = {
    "function_definition": function,
    "declaration": declaration,
    "field_declaration": declaration,
    "struct_specifier": tagged_type,
    "union_specifier": tagged_type,
    "enum_specifier": tagged_type,
    "enumerator": enumerator,
    "type_definition": typedef,
    "preproc_def": macro,
    "preproc_function_def": macro,
    "preproc_include": include,
    "expression_statement": statement,
    "linkage_specification": DESCEND,
    "declaration_list": DESCEND,
    "ERROR": DESCEND,
    # Blocks in functions that hold a definition.
    "compound_statement": block,
    **dict.fromkeys(
        word_set(
            "if_statement else_clause for_statement while_statement do_statement switch_statement case_statement "
            "labeled_statement"
        ),
        DESCEND,
    ),
}

KEYWORDS: Final = (
    "void char short int long float double signed unsigned bool size_t ssize_t auto const volatile static extern register inline "
    "struct union enum typedef sizeof goto define include ifdef ifndef endif elif undef pragma error defined"
)
BUILT_IN: Final = word_set("std __gnu_cxx")


def c_casts() -> tuple[Cast, ...]:
    """Returns the forms of casts of C and C++."""
    named = (
        rf"\s*+(?:(?:static|dynamic|reinterpret|const)_cast|(?:std::)?make_(?:unique|shared))"
        rf"<(?:const )?{WRITTEN_TYPE}[ *&]*+>\("
    )
    return cast_before(), Cast("<", re.compile(named))


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="c",
        built_in=BUILT_IN,
        comments_and_strings=any_of(SLASHES, BLOCK, DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set(COMMON_KEYWORDS, KEYWORDS),
        own=frozenset(),
        above=frozenset(),
        declarations=(typed_declaration(),),
        parameters="type_first",
        namespace_roots=word_set("std"),
        casts=c_casts(),
        supertypes=SupertypeForms(head=supertypes_after_colon()),
    )


C_BINDING: Final = Binding(
    constants_of_enums_are_bare=True,
    own_file_prefix="static ",
    own_file_endings=(".c", ".cc", ".cpp", ".cxx", ".m", ".mm"),
    continues_namespaces=True,
    has_namespaces_before_names=True,
    foreign_namespaces=frozenset({"std"}),
)
"""Of C, C++ and Objective-C, which share headers."""

C_MEMBERS: Final = Members(place="qualified", unwrapping=word_set("get value"))
C_TYPES: Final = WrittenTypes(
    variables="before_name",
    results="before_name",
    aliases="before_name",
    has_arrays_after_names=True,
    supertypes="colon",
)

C = Language(
    grammar="c",
    rules=C_RULES,
    separator="::",
    prepare=prepare,
    doc=comment_above,
    registers=registered,
    uses=lexical_rules,
    imports=C_IMPORTS,
    binding=C_BINDING,
    members=C_MEMBERS,
    calls=Calls(constructors_convert=True, has_prototypes=True),
    types=C_TYPES,
    display=Display(attribute_starts=("__attribute__", "[[")),
)
