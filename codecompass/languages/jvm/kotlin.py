"""Kotlin: classes, interfaces and objects, functions with and without receivers, properties, enum entries, imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.binding import Binding, Calls, Extensions, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.jvm.jvm import FAMILY, JVM_UNWRAPPING, NAMES_OF_JAVA, ROOTS, of_jvm
from codecompass.languages.jvm.jvm_imports import JVM_IMPORTS
from codecompass.languages.jvm.jvm_routes import registered_by_text
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.templates.marked_strings import COMMENTED_STRINGS
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
from codecompass.languages.walk.preparation import blank, blank_matches, masked
from codecompass.languages.walk.source_text import (
    MAX_VALUE_BYTES,
    comment_above,
    comment_above_byte,
    enter_function_if_marked,
    enter_if_marked,
    holds_marker,
    marker_finder,
    plain_code,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_LITERALS: Final = lazy.pattern(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)
_ARGUMENTS: Final = rb"(?:\((?>(?:[^()]++|\((?>(?:[^()]++|\([^()]*+\))*)\))*)\))"
_UNSUPPORTED: Final = (
    (b"@", lazy.pattern(rb"^[ \t]*((?:@(?:\w+:[ \t]*)?[\w.]+" + _ARGUMENTS + rb"?[ \t]*)+)", re.MULTILINE)),
    (b"when", lazy.pattern(rb"^[ \t]*(?:!?is|in)\s[^\n{}]*?\s(if\b[^{};]*?)->", re.MULTILINE)),
    (b" by ", lazy.pattern(rb"\bva[lr]\s[^\n=]{0,200}?\sby\s+[A-Z]\w*(\s+[a-z]\w*\s+[A-Z][^\n]*)$", re.MULTILINE)),
    (b"actual", lazy.pattern(rb"\b(actual)\s+va[lr]\b")),
    (b"!!", lazy.pattern(rb"(!!)[ \t\r]*$", re.MULTILINE)),
    (b"in ", lazy.pattern(rb"^[ \t]*(!?in)\s[^\n]*->", re.MULTILINE)),
    (b"..<", lazy.pattern(rb"\.\.(<)")),
    (b" & Any", lazy.pattern(rb"\w( & Any)\b")),
    (b">::", lazy.pattern(rb"\w(<[^<>\n()]*>)::")),
    (
        b"constructor",
        lazy.pattern(
            rb"\bclass\s+\w+(?:<[^<>\n]*>)?[ \t\r]*\n\s*"
            rb"((?:@\w+(?:\([^()]*\))?\s+)*(?:(?:private|internal|protected|public)\s+)?constructor)\s*\("
        ),
    ),
    (
        b"context",
        lazy.pattern(
            rb"^[ \t]*+(context[ \t]*+\([^(){}\n]*+(?>(?:\([^(){}\n]*+\)[^(){}\n]*+)*)\))"
            rb"(?=\s*+(?:@|(?:[a-z]++\s++){0,6}?(?:fun|va[lr]|class|interface|object)\b))",
            re.MULTILINE,
        ),
    ),
    (b'$$"', lazy.pattern(rb'(\$\$+)"')),
)
_DELEGATION: Final = lazy.pattern(
    rb"\s(by\s+(?:[\w.]+" + _ARGUMENTS + rb"?(?:\s+as\s+[\w.<>]+)?|" + _ARGUMENTS + rb"))(?=\s*[,{])"
)
_SUPERTYPES: Final = lazy.pattern(
    rb"[ \t]*(?:[):]|[A-Z][\w.<>?, ()]*\Z)|(?![ \t]*(?:\w+ )*va[lr]\s+\w+\s*:).*\b(?:class|object)\b"
)
"""The text before the `by` of a class's delegation, as opposed to a property's."""

_LONGEST_HEAD: Final = 500
"""Bytes of a line that are read to tell what it declares."""

_DECLARES: Final = lazy.pattern(rb"[^\n{}]*?\b(?:class|object|interface|fun|va[lr])\b")
_LAST_BLANK: Final = lazy.pattern(rb"(?<=[^\s{;])(?<!->) (?=\})")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without what the grammar cannot parse."""
    code = bytes(masked(source, _LITERALS))
    text = bytearray(source)
    blank_matches(text, code, _UNSUPPORTED)
    if b" by " in source:
        for match in _DELEGATION.finditer(code):
            line_start = max(code.rfind(b"\n", 0, match.start()) + 1, match.start() - _LONGEST_HEAD)
            if _SUPERTYPES.match(code, line_start, match.start()):
                blank(text, match.start(1), match.end(1))
    line_start, declares = -1, False
    for match in _LAST_BLANK.finditer(code):
        start = code.rfind(b"\n", 0, match.start()) + 1
        if start != line_start:
            line_start, declares = start, _DECLARES.match(code, start, start + _LONGEST_HEAD) is not None
        if declares:
            # For the grammar, a body on one line must end in a semicolon.
            text[match.start()] = 0x3B
    return bytes(text)


_NAMES: Final = frozenset({"simple_identifier", "type_identifier"})
_BEFORE_START: Final = frozenset({"annotation", "line_comment", "multiline_comment"})
_BODIES: Final = frozenset({"class_body", "enum_class_body", "function_body", "statements"})
_ACCESSORS: Final = frozenset({"getter", "setter"})
_VALUES: Final = frozenset({"object_literal", "call_expression"})
_MEMBERS_OF: Final = CLASS_LIKE | {"const", "var", "field"}
"""Scopes whose functions are methods: classes, enum entries with a body, properties with an anonymous object."""

_LOCAL_MARKERS: Final = (b"fun ", b"class ", b"interface ", b"object ", b"object:")
"""Markers of definitions inside function bodies. `fun` without the blank would also match `function`."""


def module_of(_path: str, root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the package clause, which need not match the path."""
    for child in root.named_children:
        if child.type == "package_header":
            name = _package_name(child)
            text = b"" if name is None else source[name.start_byte : name.end_byte]
            return tuple(part.strip(" `\r\n\t") for part in text.decode("utf-8", "replace").split(".")) if text else ()
        if child.type not in ("file_annotation", "line_comment", "multiline_comment", "shebang_line"):
            break
    return ()


def _package_name(node: Node) -> Node | None:
    # The node of the header includes a comment that follows.
    return next((child for child in node.named_children if child.type == "identifier"), None)


def package(node: Node, context: RuleContext) -> Iterator[Found]:
    """The package of the file."""
    name_node = _package_name(node)
    if context.module and name_node is not None:
        name = ".".join(context.module)
        last = name_node.end_point[0] + 1
        yield Definition(context.module[-1], "module", node, (), f"package {name}", "public", end_line=last, qualified_name=name)


def _visibility(words: str, context: RuleContext) -> Visibility:
    if context.enclosing in FUNCTION_LIKE:
        return ""
    for word in words.split():
        if word in ("private", "protected", "internal", "public"):
            return word  # type: ignore[return-value]
    return "public"


class _Shape(Struct, frozen=True):
    """The parts of a declaration, found in one pass over its children, because the grammar has no field names."""

    start: Node
    """The first word after annotations."""
    modifiers: str
    name: str
    bodies: tuple[Node, ...]
    head_end: int
    """Byte at which the signature ends."""
    tokens: frozenset[str]
    """The types of all children."""


def _shape(node: Node, context: RuleContext) -> _Shape:
    start: Node | None = None
    modifiers = name = ""
    bodies: list[Node] = []
    head_end = -1
    tokens: list[str] = []
    for child in node.children:
        kind = child.type
        tokens.append(kind)
        if kind == "modifiers":
            modifiers = context.text(child)
            if start is None:
                # The declaration begins after its annotations.
                start = next((word for word in child.children if word.type != "annotation"), None)
        elif start is None and kind not in _BEFORE_START:
            start = child
        if kind in _NAMES:
            name = name or context.text(child).strip("` ")
        elif kind in _BODIES:
            bodies.append(child)
            head_end = child.start_byte if head_end < 0 else head_end
        elif kind == "{" and head_end < 0:
            head_end = child.start_byte
    return _Shape(start or node, modifiers, name, tuple(bodies), node.end_byte if head_end < 0 else head_end, frozenset(tokens))


def _name(node: Node, context: RuleContext, *types: str) -> str:
    for child in node.named_children:
        if child.type in types:
            return context.text(child).strip("` ")
    return ""


def _define(
    node: Node,
    shape: _Shape,
    name: str,
    kind: SymbolKind,
    context: RuleContext,
    parts: tuple[Node, ...] = (),
    *,
    is_whole: bool = False,
) -> Definition:
    bodies = shape.bodies
    if kind in FUNCTION_LIKE:
        bodies = tuple(body for body in bodies if holds_marker(body, context))
    start = shape.start
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=(*parts, *bodies),
        signature=plain_code(context.source[start.start_byte : node.end_byte if is_whole else shape.head_end]),
        visibility=_visibility(shape.modifiers, context),
        start_line=start.start_point[0] + 1,
    )


def class_like(node: Node, context: RuleContext) -> Iterator[Found]:
    """Classes, interfaces and enums, `object`s and companions; the properties of the constructor are members."""
    shape = _shape(node, context)
    kind: SymbolKind = "interface" if "interface" in shape.tokens else "enum" if "enum" in shape.tokens else "class"
    name = shape.name or ("Companion" if node.type == "companion_object" else "")
    parts: tuple[Node, ...] = ()
    if "primary_constructor" in shape.tokens:
        parts = tuple(child for child in node.named_children if child.type == "primary_constructor")
    if name:
        yield _define(node, shape, name, kind, context, parts)


def constructor_parameter(node: Node, context: RuleContext) -> Iterator[Found]:
    """`val` or `var` makes a parameter of the constructor a property."""
    shape = _shape(node, context)
    if "binding_pattern_kind" in shape.tokens and context.enclosing in _MEMBERS_OF:
        yield _define(node, shape, shape.name, "field", context, is_whole=True)


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`fun name()`, `fun Type.name()`; a function in a class is a method."""
    shape = _shape(node, context)
    if shape.name:
        yield _define(node, shape, shape.name, "method" if context.enclosing in _MEMBERS_OF else "fn", context)


def constructor(node: Node, context: RuleContext) -> Iterator[Found]:
    """A secondary constructor has the name of its class."""
    if context.scope_names and context.enclosing in _MEMBERS_OF:
        yield _define(node, _shape(node, context), context.scope_names[-1], "method", context)


def enum_entry(node: Node, context: RuleContext) -> Iterator[Found]:
    """One entry of an enum class, with or without members."""
    shape = _shape(node, context)
    yield _define(node, shape, shape.name, "const", context)


def property_of(node: Node, context: RuleContext) -> Iterator[Found]:
    """`val` and `var` outside functions, each name of a destructuring; the lines include the accessors below."""
    value = node.named_children[-1] if node.named_child_count else None
    # A call as the value may hold an anonymous object too.
    literal = value if value is not None and value.type in _VALUES and holds_marker(value, context) else None
    if context.enclosing in FUNCTION_LIKE:
        if holds_marker(node, context):
            yield Descend(node)
        return
    shape = _shape(node, context)
    start = shape.start
    variables = [child for child in node.named_children if child.type == "variable_declaration"]
    for child in node.named_children:
        if child.type == "multi_variable_declaration":
            variables += [inner for inner in child.named_children if inner.type == "variable_declaration"]
    if not variables:
        return
    end = _end_of_head(node, variables[-1])
    last = _last_accessor(node, context)
    kind: SymbolKind = "const" if "const" in shape.modifiers.split() else "field" if context.enclosing in _MEMBERS_OF else "var"
    for variable in variables:
        yield Definition(
            name=_name(variable, context, "simple_identifier"),
            kind=kind,
            node=node,
            bodies=(literal,) if literal is not None and variable is variables[0] else (),
            signature=plain_code(context.source[start.start_byte : end]),
            visibility=_visibility(shape.modifiers, context),
            start_line=start.start_point[0] + 1,
            end_line=None if last is None else last.end_point[0] + 1,
        )


def _end_of_head(node: Node, variable: Node) -> int:
    """Returns where the signature ends: after a short value, else after the type."""
    for child in node.named_children:
        if child.type in _ACCESSORS:
            return child.start_byte
        if child.type == "object_literal":
            body = next((part for part in child.named_children if part.type == "class_body"), child)
            return body.start_byte
        if child.type == "type_constraints":
            variable = child
    return node.end_byte if node.end_byte - variable.end_byte <= MAX_VALUE_BYTES else variable.end_byte


_QUOTED: Final = rb"\"(?:[^\"\\]++|\\.)*+\""
_ANNOTATIONS: Final = lazy.pattern(
    rb"\s*(?:@[\w.:]+(?:\((?>(?:[^()\"]++|" + _QUOTED + rb"|\((?>(?:[^()\"]++|" + _QUOTED + rb")*)\))*)\))?\s*)+\Z"
)
_FARTHEST_COMMENT: Final = 3000
"""Bytes of annotations allowed between a comment and its declaration."""


def doc_of(node: Node, context: RuleContext) -> str:
    """Returns the comment above the declaration and its annotations, which may take any number of lines."""
    text = comment_above(node, context)
    source, start = context.source, node.start_byte
    if text or source.rfind(b"@", max(0, start - _FARTHEST_COMMENT), start) < 0:
        return text
    end = source.rfind(b"*/", max(0, start - _FARTHEST_COMMENT), start) + 2
    first = source.find(b"@", end, start)
    if end < 2 or first < 0 or not _ANNOTATIONS.match(source[end:start]):
        return ""
    return comment_above_byte(source, first)


def _last_accessor(node: Node, context: RuleContext) -> Node | None:
    """Returns the last getter or setter below a property; in a class the grammar makes them siblings of it."""
    after = context.source[node.end_byte : node.end_byte + 200].split(None, 4)
    if not any(word.startswith((b"get", b"set")) for word in after[:3]):
        return None
    last, following = None, node.next_named_sibling
    while following is not None and following.type in _ACCESSORS:
        last, following = following, following.next_named_sibling
    return last


def anonymous_object(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`object : Type { ... }` in a function: its functions are methods in a nameless scope."""
    yield Descend(node, "class")


def type_alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`typealias Name<T> = Type`"""
    shape = _shape(node, context)
    yield _define(node, shape, shape.name, "type", context, is_whole=True)


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a.b.C`, `import a.b.C as D`, `import a.b.*`"""
    line = node.start_point[0] + 1
    path = next((child for child in node.named_children if child.type == "identifier"), None)
    if path is None:
        return
    written = "".join(context.text(path).split()).replace("`", "")
    if any(child.type == "wildcard_import" for child in node.named_children):
        yield Import(line, line, written, "*")
        return
    alias = next(
        (
            _name(child, context, "type_identifier", "simple_identifier")
            for child in node.named_children
            if child.type == "import_alias"
        ),
        "",
    )
    module, _, name = written.rpartition(".")
    yield Import(line, line, module, name, alias) if module else Import(line, line, name, "", alias)


_ENTERED_IF_MARKED: Final = word_set(
    "annotated_lambda assignment call_expression call_suffix control_structure_body for_statement if_expression jump_expression "
    "navigation_expression try_expression value_argument value_arguments when_entry when_expression while_statement"
)
"""Expressions that may hold a class or object in the body of a function."""

TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(
        rb"\n[ \t]*+(?P<head>test|should|it|describe|context|expect|feature|scenario|given|Given|When|Then|xit|`when`)[ \t]*"
        rb"\([ \t]*" + DOUBLE_QUOTED + rb"[^\n{]*+(?=\{)",
    ),
    block=lazy.pattern(rb"\{"),
    computed=lazy.pattern(rb"\$"),
)
"""Kotest."""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    rules = LexicalRules(
        family=FAMILY,
        has_overloads=True,
        block_argument="yes",
        built_in=word_set(
            NAMES_OF_JAVA,
            ROOTS,
            "kotlin Any Array ArrayList BooleanArray ByteArray Char CharArray DoubleArray FloatArray HashMap HashSet Int "
            "IntArray LinkedHashMap LinkedHashSet List LongArray Map MutableList MutableMap MutableSet Nothing Pair Regex Result "
            "Sequence Set ShortArray Triple UByte UInt ULong UShort Unit",
        ),
        comments_and_strings=any_of(SLASHES, BLOCK, rf'"(?P<code>{RAW_TRIPLE[1:]}|{DOUBLE[1:]})', CHARACTER),
        interpolation=re.compile(r"\$(?:\{([^{}]*+)\}|(?=\w))"),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "as class companion const constructor data enum external fun import in infix init inline inner interface internal is "
            "it lateinit object open operator out override package private protected public reified sealed super suspend tailrec "
            "typealias val var vararg when where by get set",
        ),
        soft=word_set("by constructor data get infix inline inner internal open operator out sealed set vararg where"),
        own=frozenset({"this"}),
        declarations=(
            named_value(),
            declared(r"\{\s*+(?P<names>[\w\s,:]+)->"),
            loop(after("for") + r"\s*+\((?P<names>\w++|\([^()]*+\))\s++in\b(?P<value>[^\n]{0,200})"),
        ),
        has_implicit_members=True,
    )
    return of_jvm(rules)


_EXTENSION: Final = lazy.pattern(
    r"\b(?:fun|va[lr])\s+(?P<parameters><[^()]*?>\s*)?\(?(?P<type>[\w.]+(?:<[^()=]*>)?)\??\)?\??\.`?(?P<name>\w+)`?\s*[(:<=]"
)


def extended_type(signature: str, name: str) -> str:
    """Returns the type of `fun Type.name()` without its arguments; empty if the definition extends none."""
    found = _EXTENSION.search(signature) if "." in signature else None
    return found["type"].partition("<")[0] if found is not None and found["name"] == name else ""


def is_extension_function(signature: str, name: str) -> bool:
    """Whether a signature is that of a function, not a property, that extends a type."""
    return f".{name}(" in signature.partition("=")[0]


KOTLIN = Language(
    grammar="kotlin",
    rules={
        "package_header": package,
        "import_list": DESCEND,
        "import_header": imports,
        "class_declaration": class_like,
        "object_declaration": class_like,
        "companion_object": class_like,
        "class_parameter": constructor_parameter,
        "function_declaration": function,
        "secondary_constructor": constructor,
        "property_declaration": property_of,
        "enum_entry": enum_entry,
        "type_alias": type_alias,
        "object_literal": anonymous_object,
        "class_body": DESCEND,
        "lambda_literal": enter_function_if_marked,
        "anonymous_initializer": enter_function_if_marked,
        "anonymous_function": enter_function_if_marked,
        **dict.fromkeys(_ENTERED_IF_MARKED, enter_if_marked),
        "statements": DESCEND,
        "ERROR": DESCEND,
    },
    prepare=prepare,
    tests=TESTS,
    module=module_of,
    before_walk=marker_finder(_LOCAL_MARKERS),
    doc=doc_of,
    registers=registered_by_text,
    uses=lexical_rules,
    imports=JVM_IMPORTS,
    binding=Binding(
        only_types_are_everywhere=True,
        imports_members=True,
        declares="namespace",
        directories_are_packages=True,
        imports_are_per_file=True,
    ),
    members=Members(
        companions=("companion object", "private companion object"),
        extensions=Extensions(extended_type=extended_type, is_function=is_extension_function, n_holders=0),
        types_are_capitalised=True,
        functions_are_properties=True,
        unwrapping=JVM_UNWRAPPING,
    ),
    calls=Calls(types_choose=True, fields_share_names=True),
    types=WrittenTypes(variables="colon", results="before_name_or_colon", has_square_brackets=True, supertypes="colon"),
    display=Display(attribute_starts=DECORATORS),
    regions=COMMENTED_STRINGS,
)
