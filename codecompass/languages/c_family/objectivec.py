"""Objective-C: everything of C, interfaces, categories, implementations, protocols, their methods, properties and variables.

A method is named by the first part of its selector (`initWithTitle` for `initWithTitle:count:`), which is where a message names
it; its signature has the whole selector. Declarations in an interface are prototypes of what an implementation
defines.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.binding import Calls
from codecompass.languages.c_family import c
from codecompass.languages.c_family.c import C_BINDING, C_MEMBERS, C_RULES, C_TYPES, function, include
from codecompass.languages.c_family.c_declarators import head, local_bodies
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import DESCEND, Definition, Found, Language, Rule, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.walk.preparation import masked, resolve_conditionals
from codecompass.languages.walk.source_text import comment_above, plain_code
from codecompass.languages.words import word_set

_ENUMERATION: Final = lazy.pattern(
    rb"(?:\btypedef[ \t]+)?\b(?:NS|CF)_(?:(?:CLOSED|ERROR)_)?(?:ENUM|OPTIONS)[ \t]*"
    rb"\([ \t]*[\w \t]++,[ \t]*(?P<name>\w+)[ \t]*\)(?=\s*\{)"
)
_MODULE_IMPORT: Final = lazy.pattern(rb"^@import[ \t]+([\w.]+)[ \t]*;", re.MULTILINE)
_QUALIFIER: Final = lazy.pattern(
    rb"\b(?:_Nullable|_Nonnull|_Null_unspecified|__(?:nullable|nonnull|unused|weak|strong|block|kindof|unsafe_unretained)"
    rb"|(?:NS|CF)_(?:TYPED|STRING)_(?:EXTENSIBLE_)?ENUM"
    rb"|[A-Z]{2,12}_(?:EXPORT|EXTERN|INLINE|REQUIRES_SUPER|DESIGNATED_INITIALIZER))\b"
    rb"|\b[A-Z]{2,12}_(?:API_|CLASS_|ENUM_)?(?:AVAILABLE|UNAVAILABLE|DEPRECATED|SWIFT_NAME)(?>(?:_[A-Z]++)*)"
    rb"(?:\((?>(?:[^()\n]++|\([^()\n]*+\))*)\))?"
)
"""What says nothing of a type or declaration but to the compiler."""

_LINE_OF_MACROS: Final = lazy.pattern(rb"^[ \t]*+(?>(?:[A-Z][A-Z0-9]*+_[A-Z0-9_]++(?:\([^()\n]*+\))?[ \t]*+)+)$", re.MULTILINE)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot parse, and enumerations as in C."""
    text = bytearray(source)
    masked_text = masked(source)
    resolve_conditionals(text, masked_text)
    code = bytes(masked_text)
    for match in _QUALIFIER.finditer(code):
        kept = b"static" if match[0].endswith(b"_INLINE") else b""
        text[match.start() : match.end()] = kept.ljust(match.end() - match.start())
    for match in _ENUMERATION.finditer(code):
        start, end = match.span("name")
        text[match.start() : start] = b"enum".ljust(start - match.start())
        text[end : match.end()] = b" " * (match.end() - end)
    for match in _LINE_OF_MACROS.finditer(code):
        text[match.start() : match.end()] = b" " * (match.end() - match.start())
    for match in _MODULE_IMPORT.finditer(code):
        name = match[1].replace(b".", b"_")
        text[match.start(0) : match.end(0)] = (b"#import " + name).ljust(match.end() - match.start())
    return bytes(text)


def interface(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@interface A : B`; a category `A (B)` and an extension `A ()` belong to the type A, which is defined elsewhere."""
    name = _first_name(node, context)
    if not name:
        return
    start = context.source[node.start_byte : node.start_byte + _HEAD_BYTES]
    found = _HEAD.match(start)
    is_category = found is not None and found["category"] is not None
    yield Definition(
        name=name,
        kind="impl" if is_category else "class",
        node=node,
        bodies=(node,),
        signature=plain_code(start if found is None else found[0]),
        visibility="public",
    )


def implementation(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@implementation A` and `@implementation A (B)`: the methods of a type whose interface is elsewhere."""
    name = _first_name(node, context)
    if name:
        found = _HEAD.match(context.source[node.start_byte : node.start_byte + _HEAD_BYTES])
        signature = "" if found is None else plain_code(found[0])
        yield Definition(name, "impl", node, (node,), signature, visibility="")


_HEAD_BYTES: Final = 2_000
_HEAD: Final = lazy.pattern(
    rb"@(?:interface|implementation)\s+\w+(?:\s*<(?:[^<>{}@;]|<[^<>{}@;]*>)*>)?(?P<category>\s*\([^()\n]*\))?"
    rb"(?:\s*:\s*\w+(?:\s*<[^<>{}@;]*>)?)?(?:\s*<[^<>{}@;]*>)?"
)
_PROTOCOL_HEAD: Final = lazy.pattern(rb"@protocol\s+\w+(?:\s*<[^<>{}@;]*>)?")


def protocol(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@protocol A <B>`; `@protocol A;` refers to a protocol that is defined elsewhere."""
    name = _first_name(node, context)
    found = _PROTOCOL_HEAD.match(context.source[node.start_byte : node.start_byte + _HEAD_BYTES])
    if name and found is not None:
        yield Definition(name, "interface", node, (node,), plain_code(found[0]), visibility="public")


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """`- (T)name:(U)a and:(V)b`, with a body or without one."""
    name = _first_name(node, context)
    if not name:
        return
    body = next((child for child in node.named_children if child.type == "compound_statement"), None)
    yield Definition(
        name=name,
        kind="method",
        node=node,
        bodies=local_bodies(body, context),
        signature=head(node, body, context),
        visibility=_visibility(context),
        is_prototype=body is None,
    )


def property_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@property (..) T name;`."""
    yield from _variables(node, context, _visibility(context))


def instance_variable(node: Node, context: RuleContext) -> Iterator[Found]:
    """`T name;` between the braces of an interface or implementation."""
    yield from _variables(node, context, _visibility_above(node, context))


def _visibility_above(node: Node, context: RuleContext) -> Visibility:
    """Returns the visibility that the last `@private` or its like before a variable gives; without one it is protected."""
    before = node.prev_named_sibling
    for _ in range(_MAX_VARIABLES):
        if before is None:
            break
        if before.type == "instance_variable" and (mark := _VISIBILITY.match(context.text(before))):
            return "public" if mark[1] in ("public", "package") else "private" if mark[1] == "private" else "protected"
        before = before.prev_named_sibling
    return "protected"


_MAX_VARIABLES: Final = 200
_VISIBILITY: Final = lazy.pattern(r"@(private|protected|public|package)\b")


def _variables(node: Node, context: RuleContext, visibility: Visibility) -> Iterator[Definition]:
    for declaration in node.named_children:
        if declaration.type != "struct_declaration":
            continue
        for declarator in declaration.named_children:
            found = _NAME.search(context.text(declarator)) if declarator.type == "struct_declarator" else None
            if found is not None:
                yield Definition(found[0], "field", node, signature=head(node, None, context), visibility=visibility)


_NAME: Final = lazy.pattern(r"(?<=\^)\s*\w+|[A-Za-z_]\w*")


def _visibility(context: RuleContext) -> Visibility:
    return context.scope_visibility if context.enclosing in ("class", "interface", "impl") else ""


def _first_name(node: Node, context: RuleContext) -> str:
    return next((context.text(child) for child in node.named_children if child.type == "identifier"), "")


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`#import` and `#include` as in C, and `@import A.B;`."""
    path = node.child_by_field_name("path")
    if path is not None and path.type == "identifier" and context.source[node.start_byte : node.start_byte + 1] == b"@":
        line = node.start_point[0] + 1
        yield Import(line, line, context.text(path), kind="system")
        return
    yield from include(node, context)


def function_in_implementation(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function of C; between `@implementation` and `@end` it is none of the type's methods."""
    for item in function(node, context):
        is_own = isinstance(item, Definition) and item.node == node and context.enclosing == "impl" and item.kind == "method"
        if is_own:
            item = replace(item, kind="fn", qualifier=())
        if isinstance(item, Definition) and re.match(r"[A-Z]{2,12}_INLINE\b", item.signature or ""):
            item = replace(item, visibility="private")
        yield item


OBJECTIVEC_RULES: Final[Mapping[str, Rule]] = {
    **C_RULES,
    "class_interface": interface,
    "class_implementation": implementation,
    "function_definition": function_in_implementation,
    "implementation_definition": DESCEND,
    "instance_variable": instance_variable,
    "instance_variables": DESCEND,
    "method_declaration": method,
    "preproc_include": imports,
    "method_definition": method,
    "property_declaration": property_,
    "protocol_declaration": protocol,
    "qualified_protocol_interface_declaration": DESCEND,
}


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    rules = c.lexical_rules()
    return replace(
        rules,
        keywords=rules.keywords
        | word_set(
            "self super nil Nil YES NO id instancetype BOOL SEL IMP interface implementation protocol property synthesize in end "
            "dynamic selector encode autoreleasepool synchronized optional required import pragma nonatomic strong weak retain "
            "copy assign readonly readwrite nullable nonnull __block __weak __strong"
        ),
        soft=word_set("end optional required property copy in"),
        own=frozenset({"self"}),
        above=frozenset({"super"}),
        has_messages=True,
        has_implicit_members=True,
    )


OBJECTIVEC = Language(
    grammar="objc",
    rules=OBJECTIVEC_RULES,
    separator="::",
    prepare=prepare,
    doc=comment_above,
    uses=lexical_rules,
    imports=C_IMPORTS,
    binding=C_BINDING,
    members=C_MEMBERS,
    calls=Calls(constructors_convert=True),
    types=C_TYPES,
    display=Display(lexer=None),
)
