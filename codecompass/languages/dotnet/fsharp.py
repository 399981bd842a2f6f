"""F#: modules, types of all forms with their members, values and functions, exceptions; `open`."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import CHARACTER, DOUBLE_LINES, NAME, SLASHES, TRIPLE, any_of, declared
from codecompass.languages.walk.node_rules import defines, descend, imports, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_MEMBER: Final = re.compile(
    r"(?:(?:static|abstract|member|override|default|val|let|mutable|private|internal|public|inline)\s+)*(?:\w+\.)?"
    r"(\w+|``[^`]+``|\(\s*[^\w\s()]+\s*\))"
)


_DIRECTIVE: Final = re.compile(rb"^[ \t]*+#(?:if|else|endif|nowarn|light|load|r|I|line)\b[^\n]*+", re.MULTILINE)
_MEASURE: Final = re.compile(
    rb"^[ \t]*+(?P<head>\[<Measure>\]\s*+type)[ \t]++\w++(?P<value>[ \t]*+=[^\n]*+)?[ \t]*+$", re.MULTILINE
)
_OF_MEMBER: Final = re.compile(
    rb"^[ \t]*+\[<[^\n]*>\][ \t]*$(?=\s*+(?:static[ \t]+)?(?:member|abstract|override|default)\b)", re.MULTILINE
)
_OPEN_TYPE: Final = re.compile(rb"^[ \t]*+open[ \t]++(?P<head>type)(?=[ \t])", re.MULTILINE)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of that at which the grammar fails: directives and attributes of
    members. A unit of measure (`[<Measure>] type kg`) becomes an exception, which is a type without a value too."""
    text = bytearray(source)

    def blank(start: int, end: int, word: bytes = b"") -> None:
        text[start:end] = word + re.sub(rb"[^\n]", b" ", text[start + len(word) : end])

    for pattern in (_DIRECTIVE, _OF_MEMBER):
        for match in pattern.finditer(source):
            blank(*match.span())
    for match in _OPEN_TYPE.finditer(source):
        blank(*match.span("head"))
    for match in _MEASURE.finditer(source):
        blank(*match.span("head"), b"exception")
        if match["value"]:
            blank(*match.span("value"))
    return bytes(text)


_class: Final = defines("class", "type_name/type_name", ".")
_OWN: Final = re.compile(r"(?<!abstract )\b(?:member|default|override|val|let|do|new)\b")


def class_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type A(..) = ..`; a type that has abstract members alone is an interface."""
    text = context.text(node)
    is_interface = re.search(r"^[ \t]+abstract\b", text, re.MULTILINE) and not _OWN.search(text.partition("=")[2])
    for found in _class(node, context):
        yield replace(found, kind="interface") if is_interface and isinstance(found, Definition) else found


def member(node: Node, context: RuleContext) -> Iterator[Found]:
    """`member this.Name(..) = ..`, `abstract Name: T`, `static member Name = ..`."""
    text = context.text(node)
    found = _MEMBER.match(text)
    if found is not None and found[1] != "new":
        head = re.split(r"=|\n", text[found.end() :], maxsplit=1)[0]
        is_method = re.match(r"\s*[(<]|\s+(?!with\b)\w", head) is not None or ("abstract" in text[: found.end()] and "->" in head)
        kind = "method" if is_method or found[1].startswith("(") else "field"
        yield Definition(found[1].strip("( )`"), kind, node, signature=text[: found.end()] + head)  # type: ignore[arg-type]


def named(node: Node, context: RuleContext) -> Iterator[Found]:
    """`module A.B`, `namespace A.B`."""
    name = context.text(reach(node, "name|long_identifier!")[0]) if reach(node, "name|long_identifier!") else ""
    *owners, last = name.split(".")
    yield Definition(last, "module", node, (node,), signature=context.text(node).partition("\n")[0], qualifier=tuple(owners))


_module: Final = defines("module", "identifier!", ".")


def module(node: Node, context: RuleContext) -> Iterator[Found]:
    """`module A = ..`, whose signature is without attributes above it."""
    head = re.sub(r"\A(?:\[<[^\n]*>\]\s*\n\s*)+", "", context.text(node)).partition("\n")[0]
    for found in _module(node, context):
        yield replace(found, signature=head) if isinstance(found, Definition) else found


_BOUND: Final = re.compile(
    r"(?:(?:\[<[^>]*>\]|rec|inline|mutable|private|internal|public)\s+)*"
    r"(?:\(\s*(?P<operator>[^\w\s()|]+|[^\w\s()]{2,})\s*\)|(?:\(?\|)?(?P<name>``[^`]+``|[\w']+))"
)


def value(node: Node, context: RuleContext) -> Iterator[Found]:
    """`let name .. = .. and other .. = ..` of a module; one in a function or class is entered for what is in it."""
    heads, bodies = reach(node, "function_declaration_left|value_declaration_left"), reach(node, "body")
    if len(heads) < 2 or len(heads) != len(bodies):
        yield from _bound(node, heads[:1], tuple(bodies), context)
        return
    for head, body in zip(heads, bodies, strict=True):
        for found in _bound(node, [head], (body,), context):
            first = lines_of(node if head is heads[0] else head)[0]
            signature = context.source[(node if head is heads[0] else head).start_byte :].partition(b"\n")[0].split(b" =")[0]
            yield replace(found, signature=signature.decode("utf-8", "replace"), start_line=first, end_line=lines_of(body)[1])


def _bound(node: Node, heads: list[Node], bodies: tuple[Node, ...], context: RuleContext) -> Iterator[Definition]:
    if not heads:
        return
    left = heads[0]
    text = context.text(left)
    found = _BOUND.match(text)
    if found is None or context.enclosing in ("class", "struct", "interface", "enum"):
        return
    is_function = left.type == "function_declaration_left" or re.match(r"\s*(?:[(\w]|<)", text[found.end() :]) is not None
    name = (found["operator"] or found["name"]).strip("`")
    if is_function:
        head = context.text(node).partition("\n")[0].split(" =")[0]
        yield Definition(name, "fn", node, bodies, signature=head)
    elif context.enclosing not in ("fn", "method", "test"):
        yield Definition(name, "const", node, signature=context.text(node).partition("\n")[0])


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    block = r"\(\*(?!\)).*?(?:\*\)|\Z)"
    return LexicalRules(
        family="fsharp",
        comments_and_strings=any_of(SLASHES, block, rf"\$(?P<code>{DOUBLE_LINES})", TRIPLE, DOUBLE_LINES, CHARACTER),
        interpolation=re.compile(r"\{([^{}]*+)\}"),
        name=NAME,
        keywords=word_set(
            "abstract and as assert base begin class default delegate do done downcast downto elif else end exception extern",
            "false finally fixed for fun function global if in inherit inline interface internal lazy let match member module",
            "mutable namespace new not null of open or override private public rec return select static struct then this to",
            "true try type upcast use val void when while with yield int string bool float unit list option seq async task",
        ),
        member_marks=".",
        own=frozenset({"this"}),
        built_in=word_set("Array List Map Math Option Seq Set String System"),
        declarations=(declared(r"^[ \t]+(?:let|use)!?[ \t]++(?:mutable[ \t]++)?(?P<names>\w++)[ \t]*+=(?P<value>[^\n]*+)"),),
        supertypes=SupertypeForms(statement=re.compile(r"^[ \t]+(?:inherit|interface)[ \t]+(?P<bases>[\w.]+)", re.MULTILINE)),
    )


FSHARP = Language(
    grammar="fsharp",
    rules={
        **descend(
            "declaration_expression type_definition union_type_cases record_fields type_extension_elements enum_type_cases"
        ),
        "namespace": named,
        "named_module": named,
        "module_defn": module,
        "import_decl": imports("long_identifier"),
        "record_type_defn": defines("struct", "type_name/type_name", "."),
        "record_field": defines("field", "identifier!", ""),
        "union_type_defn": defines("enum", "type_name/type_name", "."),
        "union_type_case": defines("const", "identifier!", ""),
        "enum_type_defn": defines("enum", "type_name/type_name", "."),
        "enum_type_case": defines("const", "identifier!", ""),
        "anon_type_defn": class_,
        "interface_type_defn": defines("interface", "type_name/type_name", "."),
        "type_abbrev_defn": defines("type", "type_name/type_name", ""),
        "delegate_type_defn": defines("type", "type_name/type_name", ""),
        "type_extension": defines("impl", "type_name/type_name", "."),
        "exception_definition": defines("type", "exception_name", ""),
        "function_or_value_defn": value,
        "member_defn": member,
        "interface_implementation": lambda node, _context: (Descend(node),),
    },
    prepare=prepare,
    imports=plain_imports(endings=(".fs",), separator="."),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="colon"),
    display=Display(attribute_starts=("[<",)),
)
