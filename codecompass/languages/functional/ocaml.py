"""OCaml: modules, signatures, types with their fields and constructors, values, classes, exceptions; `open` and module paths."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.binding import Binding
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses import patterns
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.walk.node_rules import defines, descend, imports, reach, value_or_function
from codecompass.languages.words import word_set


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    quoted = r"\{(?P<mark>[a-z_]*+)\|.*?(?:\|(?P=mark)\}|\Z)"
    return LexicalRules(
        family="ocaml",
        comments_and_strings=patterns.any_of(r"\(\*.*?(?:\*\)|\Z)", quoted, patterns.DOUBLE_LINES, r"'(?:[^'\\\n]|\\[^\n']+)'"),
        name=re.compile(r"[^\W\d][\w']*+"),
        keywords=word_set(
            "and as assert begin class constraint do done downto else end exception external false for fun function functor",
            "if in include inherit initializer lazy let match method module mutable new nonrec object of open or private rec sig",
            "struct then to true try type val virtual when while with mod land lor lxor lsl lsr asr",
            "unit int string bool float list option",
        ),
        member_marks=".",
        own=frozenset({"self"}),
        above=frozenset(),
        built_in=word_set("Array Buffer Bytes Char Fun Hashtbl List Map Option Printf Result Seq Set Stdlib String Sys Unix"),
        declarations=(
            patterns.declared(patterns.after("fun") + r"[ \t]++(?P<names>\w++)[ \t]*+->"),
            patterns.declared(
                r"[ \t]" + patterns.after("let") + r"[ \t]++(?:rec[ \t]++)?(?P<names>[a-z_]\w*+)[^=\n]{0,100}=(?P<value>[^\n]*+)"
            ),
        ),
    )


_import: Final = imports("module")


def opened(node: Node, context: RuleContext) -> Iterator[Found]:
    """`open A.B`, and `include struct .. end`, whose definitions are of the module around it."""
    inner = reach(node, "module|structure|signature")
    yield from map(Descend, inner) if inner and inner[0].type in ("structure", "signature") else _import(node, context)


_value: Final = value_or_function("pattern", "parameter", "body", "fun_expression function_expression")
_operator: Final = defines("fn", "pattern", "body", quotes="( )")
_parts: Final = defines("const", "pattern/value_name", "body", several=True, enters=False)


def binding(node: Node, context: RuleContext) -> Iterator[Found]:
    """`let f x = ..`, `let a, b = ..`, `let ( let* ) = ..`, `let%test "title" = ..`."""
    pattern = node.child_by_field_name("pattern")
    if pattern is not None and pattern.type == "string":
        if node.parent is not None and reach(node.parent, "attribute_id"):
            title = " ".join(context.text(pattern).strip('"').split())[:200]
            yield Definition(title, "test", node, tuple(reach(node, "body")))
        return
    is_operator = pattern is not None and bool(reach(pattern, "let_operator|let_and_operator"))
    is_tuple = pattern is not None and pattern.type == "tuple_pattern"
    yield from (_operator if is_operator else _parts if is_tuple else _value)(node, context)


_type: Final = defines("type", "name", "body")
_extension: Final = defines("impl", "name", ".")


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type t = ..`; `type t += ..` adds to a type that is defined elsewhere."""
    yield from (_extension if any(child.type == "+=" for child in node.children) else _type)(node, context)


_constructor: Final = defines("const", "constructor_name", "", is_local=True)


def constructor(node: Node, context: RuleContext) -> Iterator[Found]:
    """`A of t`; that of the empty list is two tokens."""
    yield from (
        replace(item, name="[]") if isinstance(item, Definition) and item.name == "[" else item
        for item in _constructor(node, context)
    )


_specified: Final = defines("fn", "value_name|parenthesized_operator", "", quotes="( )")
_specified_value: Final = defines("const", "value_name|parenthesized_operator", "", quotes="( )", is_local=True)


def specification(node: Node, context: RuleContext) -> Iterator[Found]:
    """`val f : a -> b`, `val x : t`."""
    is_function = bool(reach(node, "function_type") or reach(node, "polymorphic_type/function_type"))
    yield from (_specified if is_function or reach(node, "parenthesized_operator") else _specified_value)(node, context)


_class: Final = defines("class", "class_name", "body")
_MAX_PARAMETERS: Final = 50
"""Parameters of a class that are passed to find its type."""


def class_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`class c = object .. end`, `class c : a -> object .. end`."""
    types = reach(node, "class_function_type|class_body_type")
    for _ in range(_MAX_PARAMETERS):
        types = [inner for each in types for inner in reach(each, "class_function_type|class_body_type")] or types
        if not types or types[0].type == "class_body_type":
            break
    bodies = tuple(each for each in types[:1] if each.type == "class_body_type")
    for item in _class(node, context):
        yield replace(item, bodies=bodies) if isinstance(item, Definition) and not item.bodies else item


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a definition, or above the `let` or `type` that it is a part of, or the one below a value."""
    parent = node.parent
    starts_with_parent = parent is not None and parent.start_point[0] == node.start_point[0]
    text = leading_comment(node, context) or (
        leading_comment(parent, context) if parent is not None and starts_with_parent else ""
    )
    after = node.next_named_sibling
    if not text and after is not None and after.type == "comment" and after.start_point[0] == node.end_point[0] + 1:
        # One that begins on the next line is about the value above it, unless another definition follows at once.
        following = after.next_named_sibling
        if following is None or following.start_point[0] > after.end_point[0] + 1:
            text = context.text(after)
    return text.replace("(*", "/*").replace("*)", "*/")


def _path(item: Import) -> str:
    """Returns the name of the file of a module, which begins in lower case."""
    name = item.spec.rpartition(".")[2]
    return name[:1].lower() + name[1:]


OCAML = Language(
    grammar="ocaml",
    rules={
        **descend("module_definition value_definition type_definition class_definition structure signature object_expression"),
        **descend("variant_declaration record_declaration let_expression class_type_definition sequence_expression"),
        "open_module": opened,
        "include_module": opened,
        "include_module_type": opened,
        "module_binding": defines("module", "module_name", "body|signature"),
        "module_type_definition": defines("interface", "module_type_name"),
        "type_binding": type_,
        "constructor_declaration": constructor,
        "field_declaration": defines("field", "field_name", "", is_local=True),
        "exception_definition": defines("type", "constructor_declaration/constructor_name", ""),
        "let_binding": binding,
        "value_specification": specification,
        "external": defines("fn", "value_name|parenthesized_operator", "", quotes="( )"),
        "class_binding": class_,
        "class_type_binding": defines("interface", "class_type_name", "body"),
        "method_definition": defines("method", "method_name", "body"),
        "method_specification": defines("method", "method_name", ""),
        "instance_variable_specification": defines("field", "instance_variable_name", ""),
        "instance_variable_definition": defines("field", "instance_variable_name", ""),
    },
    imports=plain_imports(endings=(".ml", ".mli"), path_of=_path),
    doc=documentation,
    uses=lexical_rules,
    binding=Binding(declaration_endings=(".mli",)),
    display=Display(line_comment="(*", lexer="ocaml"),
)

OCAML_INTERFACE = replace(OCAML, grammar="ocaml_interface")
"""The files of signatures, which have a grammar of their own."""
