"""Scala 2 and 3: classes, traits, objects and enums, functions and values, givens and extensions, imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.binding import Binding, Calls, Extensions, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.jvm.jvm import FAMILY, JVM_UNWRAPPING, NAMES_OF_JAVA, ROOTS, of_jvm
from codecompass.languages.jvm.jvm_imports import JVM_IMPORTS
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, RuleContext, body_of, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
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
    declared,
    loop,
    named_value,
)
from codecompass.languages.walk.block_tests import DOUBLE_QUOTED, BlockTestSyntax
from codecompass.languages.walk.preparation import blank_matches, masked
from codecompass.languages.walk.source_text import (
    MAX_VALUE_BYTES,
    comment_above,
    enter_if_marked,
    holds_marker,
    marker_finder,
    plain_code,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_LITERALS: Final = lazy.pattern(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | "(?:[^"\\\n]++|\\.)*+" """, re.DOTALL | re.VERBOSE
)
_UNSUPPORTED: Final = ((b")(", lazy.pattern(rb"\bextends\s+[\w.]+(?:\[[^\n()]*\])?\([^()\n]*\)(\([^()\n]*\))")),)
_GIVEN_WITH: Final = lazy.pattern(rb"^[ \t]*given\b[^\n{]*\b(with)\s*\{", re.MULTILINE)
_SOFT_KEYWORD: Final = lazy.pattern(rb"\bend(?=\s+match\s*\{)|\bextension(?=\s*[:.,)=])")
_QUOTED_NAME: Final = lazy.pattern(rb"`[^`\n]+`")
# Letters, because after an underscore an operator is part of the name.
_ONLY_WORDS: Final = bytes(byte if byte >= 0x80 or chr(byte).isalnum() else 0x71 for byte in range(256))


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without what the grammar cannot parse."""
    code = bytes(masked(source, _LITERALS))
    text = bytearray(source)
    blank_matches(text, code, _UNSUPPORTED)
    for match in _GIVEN_WITH.finditer(code):
        text[match.start(1) : match.end(1)] = b"=new"
    for match in _SOFT_KEYWORD.finditer(code):
        text[match.start() : match.end()] = b"q" * len(match[0])
    if b"`" in code:
        for match in _QUOTED_NAME.finditer(code):
            text[match.start() : match.end()] = b"q" + match[0][1:].translate(_ONLY_WORDS)
    return bytes(text)


_KINDS: Final[dict[str, SymbolKind]] = {
    "class_definition": "class",
    "object_definition": "class",
    "trait_definition": "trait",
    "enum_definition": "enum",
    "package_object": "module",
}
_COMMENTS: Final = frozenset({"comment", "block_comment"})
_LOCAL: Final = frozenset({"fn", "method", "const", "var", "field"})
"""Scopes in which a value is local: functions, and blocks in other values."""

_LOCAL_MARKERS: Final = (b"def ", b"class ", b"object ", b"trait ", b"type ")
"""Markers of definitions inside expressions."""


def module_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the packages around the whole file; packages with braces are scopes."""
    parts: list[str] = []
    for child in root.named_children:
        if child.type == "package_clause" and child.child_by_field_name("body") is None:
            parts += _package_name(child, source)
        elif child.type not in _COMMENTS:
            break
    return tuple(parts)


def _package_name(node: Node, source: bytes) -> list[str]:
    name = node.child_by_field_name("name")
    if name is None:
        return []
    return "".join(source[name.start_byte : name.end_byte].decode("utf-8", "replace").split()).replace("`", "").split(".")


def package(node: Node, context: RuleContext) -> Iterator[Found]:
    """`package a.b`, for the file or for the content of its braces."""
    *outer, last = _package_name(node, context.source) or [""]
    body = node.child_by_field_name("body")
    if body is not None:
        qualifier = (*context.scope_names, *outer)
        yield Definition(last, "module", node, (body,), f"package {'.'.join((*outer, last))}", "public", qualifier=qualifier)
        return
    # Each package clause of a file is nested in those above it.
    before = context.notes.get(("package",), "")
    full = ".".join(part for part in (before, *outer, last) if part)
    context.notes[("package",)] = full
    yield Definition(last, "module", node, signature=context.text(node), visibility="public", qualified_name=full)


def _start(node: Node) -> Node:
    """Returns the first word of a definition after its annotations."""
    return next((child for child in node.children if child.type != "annotation" and child.type not in _COMMENTS), node)


def _visibility(node: Node, context: RuleContext) -> Visibility:
    if context.enclosing in FUNCTION_LIKE:
        return ""
    for child in node.named_children:
        if child.type == "modifiers":
            words = context.text(child)
            if "private" in words:
                # `private[package]` is visible in the package, `private[this]` in the instance only.
                scope = words.partition("private[")[2].partition("]")[0]
                return "internal" if scope and scope != "this" else "private"
            return "protected" if "protected" in words else "public"
    return "public"


def _end_line(node: Node, name: str, context: RuleContext) -> int | None:
    """Returns the last line of code: with indentation syntax the node includes blank lines and comments after the definition."""
    source, end = context.source, node.end_byte
    text = source[node.start_byte : end].rstrip()
    closing = source[end : end + len(name) + 40].split(None, 2)
    if source[end - 1 : end].isspace() and closing[:2] == [b"end", name.encode()]:
        return node.end_point[0] + 1
    last_line = text[text.rfind(b"\n") + 1 :].lstrip()
    if last_line.startswith(b"//") or last_line.endswith(b"*/"):
        return _last_code(node).end_point[0] + 1
    return node.end_point[0] + 1 - source.count(b"\n", node.start_byte + len(text), end)


def _last_code(node: Node) -> Node:
    """Returns the last leaf of a node that is not a comment."""
    while True:
        last = next(
            (child for child in reversed(node.children) if child.type not in _COMMENTS and child.end_byte > child.start_byte),
            None,
        )
        if last is None:
            return node
        node = last


def _define(
    node: Node, name: str, kind: SymbolKind, context: RuleContext, bodies: tuple[Node, ...] = (), end: int | None = None
) -> Definition:
    start = _start(node)
    if end is None:
        end = min([body.start_byte for body in bodies if body.start_byte > start.start_byte], default=node.end_byte)
    return Definition(
        name=name.strip("` "),
        kind=kind,
        node=node,
        bodies=bodies,
        signature=plain_code(context.source[start.start_byte : end]).rstrip("{:= \n"),
        visibility=_visibility(node, context),
        start_line=start.start_point[0] + 1,
        end_line=_end_line(node, name, context),
    )


def type_of(node: Node, context: RuleContext) -> Iterator[Found]:
    """Classes, traits, objects, enums, with members for the parameters of case classes and `val` parameters."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    parameters = tuple(node.children_by_field_name("class_parameters"))
    is_case = any(child.type == "case" for child in node.children)
    if parameters:
        # In a case class only the parameters of the first list are members.
        context.notes[("case", str(parameters[0].start_byte))] = "case" if is_case else ""
    definition = _define(node, context.text(name), _KINDS[node.type], context, body_of(node))
    yield replace(definition, bodies=(*parameters, *definition.bodies))


def class_parameter(node: Node, context: RuleContext) -> Iterator[Found]:
    """A parameter of a class that is also a member."""
    if context.enclosing not in CLASS_LIKE:
        return
    name = context.field_text(node, "name")
    is_member = any(child.type in ("val", "var") for child in node.children)
    if not is_member:
        parameters = node.parent
        is_member = parameters is not None and context.notes.get(("case", str(parameters.start_byte))) == "case"
    if is_member:
        yield _define(node, name, "field", context)


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`def`, with a body or abstract; the constructor `def this` has the name of its class."""
    name = context.field_text(node, "name")
    if name == "this" and context.scope_names:
        name = context.scope_names[-1]
    body = node.child_by_field_name("body")
    kind: SymbolKind = "method" if context.enclosing in CLASS_LIKE else "fn"
    bodies = () if body is None or not holds_marker(body, context) else (body,)
    yield _define(node, name, kind, context, bodies, None if body is None else body.start_byte)


def value(node: Node, context: RuleContext) -> Iterator[Found]:
    """`val` and `var`, each name of a pattern; in functions they are local."""
    body = node.child_by_field_name("value")
    if body is not None and not holds_marker(body, context):
        body = None
    if context.enclosing in _LOCAL:
        if body is not None:
            yield Descend(node)
        return
    pattern = node.child_by_field_name("pattern") or node.child_by_field_name("name")
    if pattern is None:
        return
    end = _end_of_head(node)
    is_member = context.enclosing in CLASS_LIKE
    is_constant = node.type.startswith("val") and any(
        child.type == "modifiers" and "final" in context.text(child) for child in node.named_children
    )
    kind: SymbolKind = "const" if is_constant else "field" if is_member else "var"
    for index, name in enumerate(_names(pattern, context)):
        yield _define(node, name, kind, context, (body,) if body is not None and index == 0 else (), end)


def _names(pattern: Node, context: RuleContext) -> list[str]:
    """Returns the names that a pattern binds: those in lower case, or all if the pattern is a name or list of names."""
    if pattern.type == "identifier":
        return [context.text(pattern)]
    if pattern.type == "identifiers":
        return [context.text(child) for child in pattern.named_children if child.type == "identifier"]
    found: list[str] = []
    pending = list(reversed(pattern.named_children))
    while pending:
        node = pending.pop()
        if node.type == "identifier":
            text = context.text(node)
            if text[:1].islower():
                found.append(text)
        else:
            pending.extend(reversed(node.named_children))
    return found


def _end_of_head(node: Node) -> int:
    """Returns the byte where the signature ends: after a short value, before a long one."""
    body = node.child_by_field_name("value")
    if body is None or body.end_byte - body.start_byte <= MAX_VALUE_BYTES:
        return node.end_byte
    return body.start_byte


def type_member(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type Name = ...`, `type Name`, `opaque type Name = ...`"""
    yield _define(node, context.field_text(node, "name"), "type", context)


def enum_case(node: Node, context: RuleContext) -> Iterator[Found]:
    """One case of an enum, with or without parameters."""
    definition = _define(node, context.field_text(node, "name"), "const", context)
    yield replace(definition, signature=f"case {definition.signature}", visibility="public")


def given(node: Node, context: RuleContext) -> Iterator[Found]:
    """`given name: Type with ...`; without a name it has the name of its type."""
    name = context.field_text(node, "name") or context.field_text(node, "return_type").partition("[")[0].rpartition(".")[2]
    body = node.child_by_field_name("body")
    bodies = () if body is None or not holds_marker(body, context) else (body,)
    returned = node.child_by_field_name("return_type")
    yield _define(node, name, "impl", context, bodies, None if returned is None else returned.end_byte)


def extension(node: Node, context: RuleContext) -> Iterator[Found]:
    """`extension (name: Type)`: its functions are methods of the type."""
    parameters = [child for child in node.children_by_field_name("parameters") if "using" not in context.text(child)[:8]]
    declared = context.text(parameters[0]).strip("()").partition(":")[2] if parameters else ""
    name = declared.strip().partition("[")[0].rpartition(".")[2].strip()
    body = node.child_by_field_name("body")
    yield _define(node, name or "extension", "impl", context, (node,), None if body is None else body.start_byte)


def anonymous_class(node: Node, _context: RuleContext) -> Iterator[Found]:
    """The body of `new Type { ... }`: its functions are methods in a nameless scope."""
    yield Descend(node, "class")


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a.b, c.{d, e => f, _}`: an import for each name."""
    first, last = lines_of(node)
    if node.end_point[1] == 0:
        last = max(first, last - 1)
    path: list[str] = []
    selectors: list[Node] = []
    for child in [*node.children[1:], None]:
        if child is None or child.type == ",":
            yield from _imported(".".join(path), selectors, first, last, context)
            path, selectors = [], []
        elif child.type == "namespace_selectors":
            selectors = list(child.named_children)
        elif child.type in ("namespace_wildcard", "as_renamed_identifier", "arrow_renamed_identifier"):
            selectors = [child]
        elif child.type != ".":
            path.append(context.text(child).strip("`"))


def _imported(path: str, selectors: list[Node], first: int, last: int, context: RuleContext) -> Iterator[Import]:
    if not selectors and path:
        module, _, name = path.rpartition(".")
        yield Import(first, last, module, name) if module else Import(first, last, name)
    for selector in selectors:
        if selector.type == "namespace_wildcard":
            yield Import(first, last, path, "*")
        elif selector.type == "identifier":
            yield Import(first, last, path, context.text(selector).strip("`"))
        else:
            alias = context.field_text(selector, "alias").strip("`")
            # `{Name => _}` hides a name and imports nothing.
            if alias != "_":
                yield Import(first, last, path, context.field_text(selector, "name").strip("`"), alias)


_ENTERED_IF_MARKED: Final = word_set(
    "arguments assignment_expression block call_expression case_block case_clause colon_argument field_expression for_expression "
    "generic_function if_expression indented_block infix_expression instance_expression lambda_expression match_expression "
    "parenthesized_expression try_expression"
)

TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(
        rb"\n[ \t]*+(?P<head>(?:test|it|describe|property|feature|scenario|Feature|Scenario)\([ \t]*(?=\")"
        rb"|(?P<lead>(?:it|they|\"[^\"\n]*\")[ \t]+(?:should|must|can))[ \t]+(?=\")"
        rb"|(?=\"[^\"\n]*\"[ \t]+(?:should|must|can|when|in)[ \t]*\{))" + DOUBLE_QUOTED + rb"[^\n{]*+(?=\{)",
    ),
    block=lazy.pattern(rb"\{"),
)
"""MUnit and ScalaTest. The grammar fails on infix operators, so the end of a block is found by the indentation."""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    rules = LexicalRules(
        family=FAMILY,
        has_overloads=True,
        block_argument="yes",
        built_in=word_set(
            NAMES_OF_JAVA,
            ROOTS,
            "scala Any AnyRef Array BigDecimal BigInt Char Either Function Int Iterator LazyList Left List Map None Nil Option "
            "Ordering Predef Range Right Seq Set Some Stream StringContext Tuple Unit Vector",
        ),
        comments_and_strings=any_of(
            rf"(?P<code>\b[sf](?:{RAW_TRIPLE}|{DOUBLE}))",
            *(SLASHES, BLOCK, RAW_TRIPLE, DOUBLE, CHARACTER),
        ),
        interpolation=re.compile(r"\$\{([^{}]*+)\}"),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract class def extends final forSome implicit import lazy match object override "
            "package private protected sealed "
            "super trait type val var with yield given using then enum",
        ),
        own=frozenset({"this"}),
        declarations=(
            named_value(),
            declared(r"(?<!\w)(?P<names>(?![A-Z])\w++)\)?[ \t]*+=>", "=>"),
            declared(r"\((?P<parameters>[^()]*+)\)[ \t]*+=>", "=>"),
            loop(r"(?<!\w)(?P<names>\w++)[ \t]*+<-(?P<value>[^\n]{0,200})", "<-"),
            declared(after("case") + r"[ \t]++(?P<names>\w++)[ \t]*+:[ \t]*+(?P<type>[A-Z][\w.\[\], ]*?)[ \t]*+(?:=>|if\b)"),
        ),
        has_implicit_members=True,
    )
    return of_jvm(rules)


SCALA = Language(
    grammar="scala",
    rules={
        "package_clause": package,
        "import_declaration": imports,
        **dict.fromkeys(_KINDS, type_of),
        "class_parameter": class_parameter,
        "function_definition": function,
        "function_declaration": function,
        "val_definition": value,
        "val_declaration": value,
        "var_definition": value,
        "var_declaration": value,
        "type_definition": type_member,
        "enum_case_definitions": DESCEND,
        "simple_enum_case": enum_case,
        "full_enum_case": enum_case,
        "given_definition": given,
        "extension_definition": extension,
        "template_body": anonymous_class,
        **dict.fromkeys(_ENTERED_IF_MARKED, enter_if_marked),
        "ERROR": DESCEND,
    },
    prepare=prepare,
    tests=TESTS,
    module=module_of,
    before_walk=marker_finder(_LOCAL_MARKERS),
    doc=comment_above,
    uses=lexical_rules,
    imports=JVM_IMPORTS,
    binding=Binding(
        only_types_are_everywhere=True,
        imports_members=True,
        declares="namespace",
        directories_are_packages=True,
        has_relative_names=True,
    ),
    members=Members(
        extensions=Extensions(block="extension"),
        opens_built_in_types=True,
        types_are_capitalised=True,
        functions_are_properties=True,
        calls_take_elements=True,
        unwrapping=JVM_UNWRAPPING,
    ),
    calls=Calls(types_choose=True, fields_share_names=True),
    types=WrittenTypes(
        variables="colon",
        results="before_name_or_colon",
        has_infix_types=True,
        has_square_brackets=True,
        supertypes="keywords",
    ),
    display=Display(attribute_starts=DECORATORS),
)
