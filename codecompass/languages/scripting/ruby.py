"""Ruby: classes, modules, methods, constants, and calls that define something (accessors, delegators, `define_method`,
`refine`, `Struct.new`, `alias`) or import.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import Display
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    body_of,
    children_in,
    leading_comment,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind
from codecompass.languages.scripting.ruby_imports import RUBY_IMPORTS
from codecompass.languages.scripting.ruby_routes import registered
from codecompass.languages.scripting.ruby_scopes import (
    SECTIONS,
    as_visibility,
    built_kind,
    define_method,
    define_type,
    enclosing_visibility_word,
    in_function,
    in_singleton,
    literal_names,
    note_named,
    path_of,
    source_until,
    source_until_block,
    struct_members,
    visibility_word,
)
from codecompass.languages.templates.marked_strings import HEREDOCS
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms, TypeConditions
from codecompass.languages.uses.patterns import (
    DOUBLE_LINES,
    HASH,
    HERE_DOCUMENT,
    PERCENT_LITERAL,
    SINGLE_LINES,
    SLASHED,
    after,
    any_of,
    declared,
)
from codecompass.languages.walk.block_tests import QUOTED, BlockTestSyntax
from codecompass.languages.walk.source_text import enter_if_marked, marker_finder
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

ACCESSORS: Final = word_set(
    "attr attr_accessor attr_reader attr_writer attr_internal cattr_accessor cattr_reader class_attribute mattr_accessor "
    "mattr_reader mattr_writer"
)

DELEGATORS: Final = frozenset({"delegate", "def_delegators", "def_instance_delegators"})

RENAMING_DELEGATORS: Final = frozenset({"def_delegator", "def_instance_delegator"})

ASSOCIATIONS: Final = word_set(
    "belongs_to has_and_belongs_to_many has_many has_many_attached has_one has_one_attached has_rich_text"
)

RECORDS: Final = ASSOCIATIONS | {"enum", "scope"}
"""Calls in a class of Active Record."""

CALLS: Final = frozenset({"define_method", "alias_method", "refine"}).union(
    SECTIONS, ACCESSORS, DELEGATORS, RENAMING_DELEGATORS, RECORDS
)
"""Methods whose calls define something or set visibility."""


def section(node: Node, context: RuleContext) -> Iterator[Found]:
    """`private` and the like alone on a line."""
    word = SECTIONS.get(context.text(node))
    if word is not None and not in_function(context):
        path = path_of(context)
        context.notes["section", path, "self" if in_singleton(node, path, context) else ""] = word
    return iter(())


def call(node: Node, context: RuleContext) -> Iterator[Found]:
    """Calls that define, import, change visibility, or hold definitions in their block."""
    word = context.field_text(node, "method")
    if word in ("require", "require_relative", "load", "autoload"):
        yield from _import(word, node, context)
        return
    if word in CALLS and not in_function(context):
        names = list(literal_names(node, context))
        block = node.child_by_field_name("block")
        if word == "refine" and block is not None:
            yield _refinement(node, block, context)
            return
        has_receiver = node.child_by_field_name("receiver") is not None
        if word in SECTIONS and not has_receiver and not children_in(node, "arguments"):
            yield from section(node.named_children[0], context)
            return
        if word in RECORDS:
            yield from _of_record(word, names, node, context)
            return
        kind: SymbolKind = "field" if word in ACCESSORS else "method"
        for name in _defined_by(word, names):
            bodies = body_of(block) if word == "define_method" else ()
            # The list of an accessor can be long and hold comments; the signature has the one name only.
            signature = f"{word} :{name}" if kind == "field" else source_until_block(node, node, context)
            yield define_method(name, kind, node, context, bodies, signature)
        if names:
            return
    yield from enter_if_marked(node, context)


def _defined_by(word: str, names: list[str]) -> list[str]:
    """Returns the names among `names`, the arguments of a call of `word`, that the call defines."""
    if word in ACCESSORS or word == "delegate":
        return names
    if word in DELEGATORS:
        return names[1:]
    if word in RENAMING_DELEGATORS:
        return names[-1:]
    return names[:1] if word in ("define_method", "alias_method") else []


def _of_record(word: str, names: list[str], node: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields an association or an enumeration as a field, a scope as a method of the class; nothing outside of classes."""
    path, first = path_of(context), children_in(node, "arguments")[:1]
    if word == "enum" and first and first[0].type == "pair":
        names = [context.field_text(first[0], "key").strip(":")]
    head = context.source[node.start_byte : node.end_byte].partition(b"\n")[0].decode("utf-8", "replace").removesuffix(" do")
    for name in names[:1] if path and context.enclosing in CLASS_LIKE | {"module"} else ():
        if word == "scope":
            yield Definition(name, "method", node, signature=head, visibility="public", qualified_name=f"{path}.{name}")
        else:
            yield define_method(name, "field", node, context, (), head)


def _refinement(node: Node, block: Node, context: RuleContext) -> Definition:
    arguments = children_in(node, "arguments")
    target = context.text(arguments[0]) if arguments else ""
    return define_type(target, "impl", node, context, body_of(block), source_until_block(node, node, context))


def _import(word: str, node: Node, context: RuleContext) -> Iterator[Found]:
    values = [value for value in children_in(node, "arguments") if value.type != "comment"]
    if not values or (node.child_by_field_name("receiver") is not None and word != "autoload"):
        return
    last = values[-1] if word == "autoload" else values[0]
    if last.type != "string" or any(part.type == "interpolation" for part in last.named_children):
        return
    name = context.text(values[0]).lstrip(":") if word == "autoload" else ""
    yield Import(
        line_start=node.start_point[0] + 1,
        line_end=node.end_point[0] + 1,
        spec=context.text(last)[1:-1],
        name=name,
        kind="relative" if word == "require_relative" else "module",
    )


MARKERS: Final = (b"def ", b"class ", b"module ", b"alias ", b"define_method", b"require", b"Class.new", b"Struct.new")

VARIABLES: Final = frozenset({"class_variable", "instance_variable", "global_variable"})
PREDEFINED: Final = frozenset({"$stdin", "$stdout", "$stderr", "$VERBOSE", "$DEBUG", "$PROGRAM_NAME", "$0", "$/", "$,", "$;"})
MAGIC_COMMENT: Final = lazy.pattern(
    r"^(?:#!.*|#.*\b(?:frozen[_-]string[_-]literal|(?:en)?coding|warn[_-]indent|typed|rubocop)\s*:.*)$",
    re.MULTILINE,
)


def comment_above(node: Node, context: RuleContext) -> str:
    """Returns the comment above the definition, or above the call whose argument it is (`private def x`)."""
    outer: Node | None = node
    # The comment above the first member is a child of the class, before the node that holds the members.
    for _ in range(4):
        if outer is None or outer.prev_named_sibling is not None:
            break
        outer = outer.parent
        if outer is not None and outer.type in ("class", "module", "method", "program"):
            return ""
        if outer is not None and outer.type == "argument_list" and outer.parent is not None:
            outer = outer.parent
    if outer is None:
        return ""
    return MAGIC_COMMENT.sub("", leading_comment(outer, context))


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """`def name`."""
    name = context.field_text(node, "name")
    yield define_method(name, "method", node, context, body_of(node), source_until(node, context, ("parameters", "name")))


def singleton_method(node: Node, context: RuleContext) -> Iterator[Found]:
    """`def self.name`, `def object.name`."""
    name, receiver, path = context.field_text(node, "name"), context.field_text(node, "object"), path_of(context)
    if receiver != "self" and receiver != path.rsplit("::", 1)[-1]:
        path = f"{path}::{receiver}" if path and receiver[:1].isupper() else receiver
    word = enclosing_visibility_word(node, context) or visibility_word(name, "self", False, path, context)
    yield Definition(
        name=name,
        kind="method",
        node=node,
        bodies=body_of(node),
        signature=source_until(node, context, ("parameters", "name")),
        visibility=as_visibility(word),
        qualified_name=f"{path}.{name}" if path else name,
    )


def type_definition(node: Node, context: RuleContext) -> Iterator[Found]:
    """`class A::B < C`, `module A`."""
    bodies = body_of(node)
    kind: SymbolKind = "module" if node.type == "module" else "class"
    signature = source_until(node, context, ("superclass", "name"))
    superclass = node.child_by_field_name("superclass")
    if superclass is not None and superclass.named_child_count:
        bodies = (*struct_members(superclass.named_children[0], context), *bodies)
    yield define_type(context.field_text(node, "name"), kind, node, context, bodies, signature)


def singleton_class(node: Node, context: RuleContext) -> Iterator[Found]:
    """`class << self`: its methods are methods of the type."""
    if context.field_text(node, "value") == "self":
        path = path_of(context)
        context.notes["singleton", path] = str(node.end_byte)
        context.notes["section", path, "self"] = "public"
        note_named(body_of(node), path, "self", context)
    for body in body_of(node):
        yield Descend(body)


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """Constants, variables of the class, globals; a local variable is no definition, but its value may hold some."""
    left = node.child_by_field_name("left")
    right = node.child_by_field_name("right")
    targets = [] if left is None else left.named_children if left.type == "left_assignment_list" else [left]
    for target in targets:
        name = context.text(target)
        if target.type in ("constant", "scope_resolution"):
            builder = built_kind(right, context) if len(targets) == 1 else None
            if builder is not None and right is not None:
                bodies = (*struct_members(right, context), *body_of(right.child_by_field_name("block")))
                yield define_type(name, builder, node, context, bodies, source_until_block(node, right, context))
                return
            yield define_type(name, "const", node, context, (), without_comments(node, context))
        elif not in_function(context) and target.type in VARIABLES and name not in PREDEFINED:
            path = path_of(context)
            is_global = target.type == "global_variable"
            yield Definition(
                name=name,
                kind="field" if path and not is_global else "var",
                node=node,
                signature=context.text(node),
                visibility="public" if is_global else "private",
                qualified_name=f"{path}::{name}" if path and not is_global else name,
            )
    if right is not None:
        yield from enter_if_marked(node, context)


def struct_member(node: Node, context: RuleContext) -> Iterator[Found]:
    """A symbol directly in the arguments of `Struct.new`."""
    start, end = context.notes.get(("members",), "0 0").split()
    if int(start) < node.start_byte < int(end):
        name = context.text(node)[1:]
        yield Definition(
            name=name,
            kind="field",
            node=node,
            signature=context.text(node),
            visibility="public",
            doc="",
            qualified_name=f"{path_of(context)}#{name}",
        )


def alias(node: Node, context: RuleContext) -> Iterator[Found]:
    """`alias new old`."""
    name = context.field_text(node, "name").lstrip(":")
    if name.startswith("$"):
        yield Definition(name=name, kind="var", node=node, visibility="public", qualified_name=name)
    else:
        yield define_method(name, "method", node, context, (), without_comments(node, context))


def branch(node: Node, context: RuleContext) -> Iterable[Found]:
    """`if`, `unless`, `begin`: always entered outside methods, because they may define constants."""
    return enter_if_marked(node, context) if in_function(context) else (Descend(node),)


TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(
        rb"\n[ \t]*+(?P<head>describe|context|it|specify|scenario|feature|test|should|RSpec\.describe|xit|xdescribe|fit)\b"
        rb"[ \t]*\(?[ \t]*" + QUOTED
    ),
    block=lazy.pattern(rb"\bdo\b|\{"),
    computed=lazy.pattern(rb"#\{"),
    nodes=frozenset({"call"}),
)
"""RSpec, Minitest::Spec, Rails and shoulda."""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="ruby",
        built_in=word_set(
            "ArgumentError Array BasicObject BigDecimal Class Comparable Complex Date DateTime Dir ENV Encoding Enumerable "
            "Enumerator Errno Etc Exception Fiber File FileTest FileUtils Float GC Hash IO IOError Integer Kernel Marshal Math "
            "Method Module Mutex NameError NilClass NoMethodError Numeric Object ObjectSpace Open3 OpenSSL Pathname Proc Process "
            "Queue Rational Ractor Random Range Regexp RuntimeError RubyVM SecureRandom Set Shellwords Signal Socket "
            "StandardError StopIteration String StringIO StringScanner Struct Symbol Tempfile Thread Time TracePoint TypeError "
            "URI UnboundMethod YAML Zlib"
        ),
        comments_and_strings=any_of(
            r"=begin\b(?:(?<=\A=begin)|(?<=\n=begin)).*?(?:\n=end\b|\Z)",
            *(HASH, rf'"(?P<code>{DOUBLE_LINES[1:]})', SINGLE_LINES),
            *(SLASHED, PERCENT_LITERAL, HERE_DOCUMENT),
            r"\$[\"'`]",
            r"\?(?<![\w)\]}?!]\?)[\"'#`](?!\w)",
        ),
        literal_marks="/%$?",
        interpolation=re.compile(r"#\{([^{}]*+)\}"),
        name=re.compile(r"[^\W\d]\w*+[?!]?(?![=~])|[^\W\d]\w*+"),
        keywords=word_set(
            "BEGIN END alias and begin break case class def defined? do else elsif end ensure false "
            "for if in module next nil not "
            "or redo rescue retry return self super then true undef unless until when while yield require require_relative "
            "include extend attr_accessor attr_reader attr_writer private public protected"
        ),
        declarations=(
            declared(
                r"\n[ \t]*+(?P<names>[a-z_]\w*+(?>(?:[ \t]*+,[ \t]*+\*?[a-z_]\w*+)*))"
                r"[ \t]*+(?:\|\|)?=(?![=~>])[ \t]*+(?P<value>[^\n]*+)"
            ),
            declared(r"@(?P<field>[a-z_]\w*+)[ \t]*+(?:\|\|)?=(?![=~>])[ \t]*+(?P<value>[^\n]*+)", "@"),
            declared(r"\|(?P<names>[^|\n]*+)\|"),
            declared(after("rescue") + r"[^\n]{0,200}?=>[ \t]*+(?P<names>\w++)"),
        ),
        has_implicit_members=True,
        keyword_argument=re.compile(r":(?!:)"),
        namespace_roots=word_set("System"),
        has_lists=True,
        field_mark="@",
        supertypes=SupertypeForms(
            head=re.compile(r"[\w:]++\s*+<(?!<)(?P<bases>[^\n;]*+)"),
            statement=re.compile(r"^[ \t]*+(?:include|extend|prepend)\b[ \t(]*+(?P<bases>[^\n;#)]*+)", re.MULTILINE),
        ),
        conditions=TypeConditions(
            mark="_a?",
            pattern=re.compile(
                r"(?<![\w.])(?P<value>@?[a-z_]\w*+)\.(?:is_a|kind_of|instance_of)\?[ (]\s*+(?P<type>[A-Z][\w:]*+)"
            ),
            has_indented_blocks=True,
        ),
    )


RUBY = Language(
    grammar="ruby",
    rules={
        "method": method,
        "singleton_method": singleton_method,
        "class": type_definition,
        "module": type_definition,
        "singleton_class": singleton_class,
        "identifier": section,
        "assignment": assignment,
        "operator_assignment": assignment,
        "alias": alias,
        "call": call,
        "simple_symbol": struct_member,
        **dict.fromkeys(("begin", "case", "if", "if_modifier", "unless", "unless_modifier"), branch),
        **dict.fromkeys(("argument_list", "binary", "block", "conditional", "hash", "lambda"), enter_if_marked),
        **dict.fromkeys(("pair", "return"), enter_if_marked),
        **dict.fromkeys(word_set("block_body body_statement do_block else elsif ensure rescue then when ERROR"), DESCEND),
    },
    separator="::",
    nested_markers=(b"def ", b"class ", b"require"),
    comment_starts=(b"#",),
    tests=TESTS,
    before_walk=marker_finder(MARKERS),
    doc=comment_above,
    registers=registered,
    uses=lexical_rules,
    imports=RUBY_IMPORTS,
    binding=Binding(continues_namespaces=True),
    members=Members(
        place="parts",
        opens_built_in_types=True,
        types_are_capitalised=True,
        functions_are_properties=True,
        unwrapping=word_set("new dup freeze tap itself"),
    ),
    types=WrittenTypes(supertypes="less_than"),
    display=Display(line_comment="#"),
    regions=HEREDOCS,
)
