"""C#: types and their members, delegates, local functions, namespaces of both forms, usings."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Calls, Extensions, Members
from codecompass.languages.display import Display
from codecompass.languages.dotnet.csharp_imports import CSHARP_IMPORTS
from codecompass.languages.dotnet.csharp_routes import registered
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext, body_of, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.templates.marked_strings import COMMENTED_STRINGS
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    CHARACTER,
    COMMON_KEYWORDS,
    DOUBLE,
    NAME,
    RAW_TRIPLE,
    SLASHES,
    after,
    any_of,
    case_of_type,
    cast_after,
    cast_before,
    declared,
    supertypes_after_colon,
    typed_declaration,
    untyped_loop,
)
from codecompass.languages.walk.preparation import blank, blank_matches, masked, resolve_conditionals
from codecompass.languages.walk.source_text import MAX_VALUE_BYTES, comment_above, plain_code
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_LITERALS: Final = lazy.pattern(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | @\$?"(?:[^"]++|"")*+"
    | "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)
_UNSUPPORTED: Final = (
    (b"partial", lazy.pattern(rb"\b(ref)\s+partial\s+struct\b")),
    (b"*", lazy.pattern(rb"(?:[;{}=(,]|\breturn)\s*(\*+\s*(?:\(\s*\w+\s*\*+\s*\)\s*&?)?)\s*[(\w]")),
    (b"&", lazy.pattern(rb"\(\s*\w+\s*\*+\s*\)\s*(&)")),
)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot parse."""
    code = masked(source, _LITERALS)
    text = bytearray(source)
    if b"#" in code:
        resolve_conditionals(text, code)
    blank_matches(text, bytes(code), _UNSUPPORTED)
    if b"extension" in code:
        _open_extensions(text, bytes(code))
    return bytes(text)


_EXTENSION: Final = lazy.pattern(rb"[{};]\s*+(?P<head>extension\s*+(?:<[^<>{};]*+>\s*+)?\([^(){};]*+\)[^{};()=]*+\{)")
_BRACES: Final = lazy.pattern(rb"[{}]")


def _open_extensions(text: bytearray, code: bytes) -> None:
    """Blanks `extension(T x) {` and its closing brace, which leaves its members to the class around it."""
    at = 0
    while (match := _EXTENSION.search(code, at)) is not None:
        blank(text, *match.span("head"))
        at, depth = match.end() - 1, 0
        for brace in _BRACES.finditer(code, at):
            depth += 1 if brace[0] == b"{" else -1
            if not depth:
                blank(text, brace.start(), brace.end())
                at = brace.start()
                break
        else:
            return


_KINDS: Final[dict[str, SymbolKind]] = {
    "class_declaration": "class",
    "struct_declaration": "struct",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "method_declaration": "method",
    "constructor_declaration": "method",
    "local_function_statement": "fn",
    "property_declaration": "field",
    "event_declaration": "field",
    "delegate_declaration": "type",
}
_BEFORE_HEAD: Final = frozenset({"attribute_list", "comment"})
_AFTER_HEAD: Final = frozenset({"block", "arrow_expression_clause", "declaration_list", "enum_member_declaration_list"})


def module_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the file-scoped namespace; namespaces with braces are scopes instead."""
    for child in root.named_children:
        if child.type == "file_scoped_namespace_declaration":
            name = child.child_by_field_name("name")
            return () if name is None else tuple(_parts(source[name.start_byte : name.end_byte].decode("utf-8", "replace")))
    return ()


def _parts(name: str) -> list[str]:
    return "".join(name.split()).split(".")


def namespace(node: Node, context: RuleContext) -> Iterator[Found]:
    """`namespace A.B { ... }`, and `namespace A.B;` for the whole file."""
    *outer, last = _parts(context.field_text(node, "name"))
    body = node.child_by_field_name("body")
    if body is None:
        yield Definition(
            last,
            "module",
            node,
            signature=context.text(node).rstrip(";"),
            visibility="public",
            qualified_name=".".join((*outer, last)),
        )
        return
    yield Definition(
        name=last,
        kind="module",
        node=node,
        bodies=(body,),
        visibility="public",
        qualifier=(*context.scope_names, *outer) if outer else None,
    )


def _modifiers(node: Node, context: RuleContext) -> frozenset[str]:
    return frozenset(context.text(child) for child in node.children if child.type == "modifier")


def _visibility(modifiers: frozenset[str], context: RuleContext) -> Visibility:
    if "public" in modifiers:
        return "public"
    if "protected" in modifiers:
        return "protected"
    if "internal" in modifiers:
        return "internal"
    if "private" in modifiers or "file" in modifiers:
        return "private"
    enclosing = context.enclosing
    if enclosing in FUNCTION_LIKE:
        return ""
    if enclosing in ("interface", "enum"):
        return "public"
    return "private" if enclosing in CLASS_LIKE else "internal"


def _start(node: Node) -> Node:
    """Returns the first word of a declaration after its attributes."""
    return next((child for child in node.children if child.type not in _BEFORE_HEAD), node)


def _head(node: Node, context: RuleContext) -> str:
    """Returns the signature: the source after the attributes up to the body, including accessors without bodies."""
    start, end = _start(node).start_byte, node.end_byte
    for child in node.children:
        if child.type in _AFTER_HEAD:
            end = child.start_byte
            break
        if child.type == "accessor_list":
            has_code = any(accessor.child_by_field_name("body") is not None for accessor in child.named_children)
            end = child.start_byte if has_code else child.end_byte
            break
    return plain_code(context.source[start:end])


def _define(node: Node, name: str, kind: SymbolKind, bodies: tuple[Node, ...], context: RuleContext) -> Definition:
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=_head(node, context),
        visibility=_visibility(_modifiers(node, context), context),
        start_line=_start(node).start_point[0] + 1,
    )


def _block_of(node: Node) -> tuple[Node, ...]:
    return tuple(body for body in body_of(node) if body.type != "arrow_expression_clause")


def declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """A type, a named member, a local function, a delegate."""
    name_node = node.child_by_field_name("name")
    if name_node is not None:
        yield _define(node, context.text(name_node).removeprefix("@"), _KINDS[node.type], _block_of(node), context)


def record(node: Node, context: RuleContext) -> Iterator[Found]:
    """`record Point(int X, int Y);`: each parameter is a property."""
    parameters = [child for child in node.named_children if child.type == "parameter_list"]
    kind: SymbolKind = "struct" if any(child.type == "struct" for child in node.children) else "class"
    yield _define(node, context.field_text(node, "name"), kind, (*parameters[:1], *body_of(node)), context)


def record_parameter(node: Node, context: RuleContext) -> Iterator[Found]:
    """A parameter of a record; parameters of functions are reached in broken code only."""
    if context.enclosing not in CLASS_LIKE:
        return
    name = context.field_text(node, "name")
    yield Definition(name, "field", node, signature=_head(node, context), visibility="public", doc="")


def special_method(node: Node, context: RuleContext) -> Iterator[Found]:
    """Members whose name is not an identifier: finalizers, operators, conversions, indexers."""
    if node.type == "destructor_declaration":
        name = "~" + context.field_text(node, "name")
    elif node.type == "operator_declaration":
        sign = context.field_text(node, "operator")
        name = f"operator {sign}" if sign.isalpha() else f"operator{sign}"
    elif node.type == "conversion_operator_declaration":
        name = "operator " + context.field_text(node, "type")
    else:
        name = "this[]"
    yield _define(node, name, "field" if node.type == "indexer_declaration" else "method", _block_of(node), context)


def fields(node: Node, context: RuleContext) -> Iterator[Found]:
    """`const int A = 1, B = 2;`, fields and field-like events: a definition for each name."""
    variables = next((child for child in node.named_children if child.type == "variable_declaration"), None)
    if variables is None:
        return
    modifiers = _modifiers(node, context)
    start = _start(node)
    declarators = [child for child in variables.named_children if child.type == "variable_declarator"]
    for declarator in declarators:
        name = declarator.child_by_field_name("name")
        if name is None:
            continue
        # A long value is left out.
        is_short = declarator.end_byte - declarator.start_byte <= MAX_VALUE_BYTES
        source = context.source
        head = source[start.start_byte : declarators[0].start_byte]
        text = head + source[declarator.start_byte : declarator.end_byte if is_short else name.end_byte]
        yield Definition(
            name=context.text(name).removeprefix("@"),
            kind="const" if "const" in modifiers else "field",
            node=node,
            signature=plain_code(text),
            visibility=_visibility(modifiers, context),
            start_line=start.start_point[0] + 1,
        )


def enum_member(node: Node, context: RuleContext) -> Iterator[Found]:
    """One member of an enum, with the visibility of the enum."""
    name = context.field_text(node, "name")
    start = _start(node)
    yield Definition(
        name,
        "const",
        node,
        signature=_head(node, context),
        visibility=context.scope_visibility,
        start_line=start.start_point[0] + 1,
    )


def using(node: Node, context: RuleContext) -> Iterator[Found]:
    """`using A.B;` and `using static A.B;` import all of a namespace or type; `using X = A.B.C;` imports one name."""
    first, last = lines_of(node)
    alias = node.child_by_field_name("name")
    target = node.named_children[-1] if node.named_child_count else None
    if target is None:
        return
    spec = "".join(context.text(target).split())
    if alias is None:
        yield Import(first, last, spec, "*")
        return
    # Generic arguments are not part of a name: `using Table = System.Collections.Generic.Dictionary<int, string>`.
    module, _, name = spec.partition("<")[0].rpartition(".")
    yield Import(first, last, module, name, context.text(alias)) if module else Import(first, last, name, "", context.text(alias))


_TAG: Final = lazy.pattern(r"<see(?:also)?\s+\w+=\"(?:[A-Z]:)?([^\"]*)\"\s*/>|</?[a-zA-Z][^>]*>")


def doc_of(node: Node, context: RuleContext) -> str:
    """Returns the comment above the attributes, without the tags of XML documentation."""
    text = comment_above(node, context)
    return _TAG.sub(lambda match: match[1] or "", text) if "<" in text else text


_TYPED_LOOP: Final = declared(
    after("foreach")
    + r"\s*+\((?!(?:var|await)\b)(?P<type>[^\W\d][\w.]*+(?:<[^;{}()]{0,200}?>)?[?\[\]]*+)\s++(?P<names>\w++)\s++in\b"
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="csharp",
        has_overloads=True,
        built_in=word_set(
            "bool byte char decimal double float int long nint nuint object sbyte short string uint ulong ushort Action "
            "Activator AppContext AppDomain Array ArraySegment Attribute BitConverter Boolean Buffer Byte Char CultureInfo "
            "Console Convert DateOnly DateTime DateTimeOffset DBNull Decimal Delegate Directory Double Encoding Enum Enumerable "
            "Environment EventArgs Exception File Func GC Guid HashCode Half HttpClient IntPtr Int16 Int32 Int64 Interlocked "
            "Lazy Math MathF Memory MemoryExtensions Monitor Nullable Object Parallel Path Predicate Process Random Range Regex "
            "SByte Single Span Stopwatch String StringBuilder StringComparer StringComparison System Task Thread ThreadPool "
            "TimeOnly TimeSpan Tuple Type UInt16 UInt32 UInt64 UIntPtr Uri ValueTask ValueTuple Version"
        ),
        comments_and_strings=any_of(
            SLASHES,
            BLOCK,
            r'@"(?:[^"]++|"")*+"?',
            RAW_TRIPLE,
            rf"\$(?P<code>@?{DOUBLE})",
            *(DOUBLE, CHARACTER),
        ),
        interpolation=re.compile(r"(?<!\{)\{([^{}]++)\}"),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract as base bool byte char checked class const decimal delegate double enum event explicit extern fixed float "
            "foreach goto implicit in int interface internal is lock long namespace object operator out override params private "
            "protected public readonly ref sbyte sealed short sizeof stackalloc static string struct typeof uint ulong unchecked "
            "unsafe ushort using virtual void volatile var async await record get set init where yield",
        ),
        soft=word_set("async get init record set where"),
        own=frozenset({"this"}),
        above=frozenset({"base"}),
        declarations=(
            _TYPED_LOOP,
            untyped_loop(),
            typed_declaration(),
            case_of_type(),
            declared(r"\((?P<names>[\w\s,]*+)\)\s*+=>"),
            declared(r"(?<!\w)(?P<names>(?![A-Z])\w++)[ \t]*+=>", "=>"),
            declared(after("is") + r"[ \t]++(?P<type>[A-Z][\w.]*+)[ \t]++(?!and\b|or\b)(?P<names>[a-z_]\w*+)"),
        ),
        parameters="type_first",
        has_implicit_members=True,
        namespace_roots=word_set("System"),
        casts=(cast_before(), cast_after()),
        supertypes=SupertypeForms(head=supertypes_after_colon()),
    )


_EXTENDED: Final = lazy.pattern(r"\(\s*this\s+(?:(?:ref|in|scoped|readonly)\s+)*(?P<type>[\w.]+)")


def extended_type(signature: str, _name: str) -> str:
    """Returns the type of `(this Type name)`; empty if the definition extends none."""
    found = _EXTENDED.search(signature) if "this " in signature else None
    return found["type"] if found is not None else ""


def is_extension_method(signature: str, _name: str) -> bool:
    """Whether the first parameter is the value that the method is called on."""
    return "(this " in signature


CSHARP = Language(
    grammar="csharp",
    rules={
        **dict.fromkeys(_KINDS, declaration),
        "record_declaration": record,
        "parameter": record_parameter,
        "destructor_declaration": special_method,
        "operator_declaration": special_method,
        "conversion_operator_declaration": special_method,
        "indexer_declaration": special_method,
        "field_declaration": fields,
        "event_field_declaration": fields,
        "enum_member_declaration": enum_member,
        "namespace_declaration": namespace,
        "file_scoped_namespace_declaration": namespace,
        "using_directive": using,
        "global_statement": DESCEND,
        "ERROR": DESCEND,
    },
    prepare=prepare,
    module=module_of,
    doc=doc_of,
    registers=registered,
    uses=lexical_rules,
    imports=CSHARP_IMPORTS,
    binding=Binding(
        only_types_are_everywhere=True,
        declares="namespace",
        directories_are_packages=True,
        continues_namespaces=True,
        has_relative_names=True,
        sees_namespaces_around=True,
    ),
    members=Members(
        place="parts",
        extensions=Extensions(extended_type=extended_type, is_function=is_extension_method, has_receiver_parameter=True),
        types_are_capitalised=True,
        functions_are_properties=True,
        unwrapping=word_set("ConfigureAwait Result Value"),
    ),
    calls=Calls(types_choose=True),
    types=WrittenTypes(variables="before_name", results="before_name", supertypes="colon"),
    display=Display(attribute_starts=("[",)),
    regions=COMMENTED_STRINGS,
)
