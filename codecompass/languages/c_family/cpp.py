"""C++: everything of C, classes with access sections, namespaces, templates, aliases, concepts, members defined outside."""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codecompass.languages.binding import Calls
from codecompass.languages.c_family.c import BUILT_IN, C_BINDING, C_MEMBERS, C_RULES, C_TYPES, KEYWORDS, c_casts, function
from codecompass.languages.c_family.c_declarators import SECTIONS, head, open_section, visibility_here
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.c_family.c_macros import registered
from codecompass.languages.c_family.c_preprocessing import prepare_cpp
from codecompass.languages.display import Display
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, Rule, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    CHARACTER,
    COMMON_KEYWORDS,
    DOUBLE,
    NAME,
    SLASHES,
    any_of,
    supertypes_after_colon,
    typed_declaration,
    untyped_loop,
)
from codecompass.languages.walk.source_text import comment_above
from codecompass.languages.words import word_set

_DEEPEST_TEMPLATE: Final = 16
"""Levels of `template <...> template <...>`; a member template of a class template has two of them."""

_LONGEST_TEMPLATE_HEAD: Final = 90
"""Characters of a template's parameter list in a signature; a longer list is left out to keep the rest."""


def namespace(node: Node, context: RuleContext) -> Iterator[Found]:
    """`namespace a::b {`; a nameless namespace is private to the file."""
    body = node.child_by_field_name("body")
    if body is None:
        return
    name = node.child_by_field_name("name")
    if name is None:
        end = max(node.end_byte, int(context.notes.get(("hidden",), "0")))
        context.notes[("hidden",)] = str(end)
        yield Descend(body)
        return
    *outer, last = context.text(name).replace(" ", "").split("::")
    outer = [part.removeprefix("inline") for part in outer]
    yield Definition(
        name=last.removeprefix("inline") if outer else last,
        kind="module",
        node=node,
        bodies=(body,),
        signature=head(node, body, context),
        visibility=visibility_here(context, node),
        qualifier=(*context.scope_names, *outer) if outer else None,
    )


def namespace_alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`namespace fs = std::filesystem;`"""
    if context.enclosing not in ("fn", "method", "test"):
        name = context.field_text(node, "name")
        yield Definition(name, "module", node, signature=head(node, None, context), visibility=visibility_here(context, node))


def alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`using Name = type;` and `concept Name = condition;`"""
    name = context.field_text(node, "name")
    yield Definition(name, "type", node, signature=head(node, None, context), visibility=visibility_here(context, node))


def section(node: Node, context: RuleContext) -> Iterator[Found]:
    """`public:` and the like set the visibility of the members that follow."""
    visibility = SECTIONS.get(context.text(node))
    if visibility is not None:
        open_section(context, visibility)
    return iter(())


def friend(node: Node, context: RuleContext) -> Iterator[Found]:
    """A friend function defined in the class belongs to the enclosing namespace; a friend without a body is no definition."""
    for child in node.named_children:
        if child.type == "function_definition":
            for item in function(child, context):
                yield replace(item, kind="fn") if isinstance(item, Definition) and item.node == child else item


def template(node: Node, context: RuleContext) -> Iterator[Found]:
    """The templated definition, with the parameter list in its signature; its lines do not include the parameter list."""
    inner = node
    for _ in range(_DEEPEST_TEMPLATE):
        if inner.type != "template_declaration":
            break
        inner = next((child for child in reversed(inner.named_children) if child.type in CPP_RULES), inner)
    if inner.type == "template_declaration":
        return
    rule = CPP_RULES[inner.type]
    if not callable(rule):
        return
    parameters = " ".join(head(node, inner, context).split())
    if len(parameters) > _LONGEST_TEMPLATE_HEAD:
        parameters = "template <…>"
    doc = comment_above(node, context)
    for item in rule(inner, context):
        if isinstance(item, Definition) and inner.start_byte <= item.node.start_byte < inner.end_byte:
            signature = f"{parameters} {item.signature}" if item.signature else item.signature
            yield replace(item, signature=signature, doc=doc)
        else:
            yield item


def module_import(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import name;` and `import <header>;` of C++ 20."""
    line = node.start_point[0] + 1
    name, header = context.field_text(node, "name"), context.field_text(node, "header")
    if name:
        yield Import(line, line, name)
    elif header:
        yield Import(line, line, header.strip('"<>'), kind="system" if header.startswith("<") else "include")


CPP_RULES: Final[Mapping[str, Rule]] = {
    **C_RULES,
    "class_specifier": C_RULES["struct_specifier"],
    "namespace_definition": namespace,
    "namespace_alias_definition": namespace_alias,
    "alias_declaration": alias,
    "concept_definition": alias,
    "access_specifier": section,
    "friend_declaration": friend,
    "template_declaration": template,
    "export_declaration": DESCEND,
    "import_declaration": module_import,
    "for_range_loop": DESCEND,
}


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="c",
        has_overloads=True,
        built_in=BUILT_IN,
        comments_and_strings=any_of(
            SLASHES, BLOCK, r'R"(?<=\bR")(?P<mark>[^\s()\\"]{0,16}+)\(.*?(?:\)(?P=mark)"|\Z)', DOUBLE, CHARACTER
        ),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            KEYWORDS,
            "class template typename using namespace public "
            "private protected virtual override final noexcept explicit friend operator constexpr consteval constinit decltype "
            "nullptr delete const_cast static_cast dynamic_cast reinterpret_cast mutable requires concept co_await co_return",
        ),
        own=frozenset({"this"}),
        above=frozenset(),
        declarations=(
            untyped_loop(),
            typed_declaration(),
        ),
        parameters="type_first",
        has_implicit_members=True,
        namespace_roots=word_set("std"),
        casts=c_casts(),
        supertypes=SupertypeForms(head=supertypes_after_colon()),
    )


CPP = Language(
    grammar="cpp",
    rules=CPP_RULES,
    separator="::",
    prepare=prepare_cpp,
    doc=comment_above,
    registers=registered,
    uses=lexical_rules,
    imports=C_IMPORTS,
    binding=C_BINDING,
    members=replace(C_MEMBERS, are_defined_at_top_level=True),
    calls=Calls(types_choose=True, constructors_convert=True, has_prototypes=True),
    types=C_TYPES,
    display=Display(attribute_starts=("template", "__attribute__", "[[")),
)
