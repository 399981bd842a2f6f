"""Elixir: modules, protocols and their implementations, functions, macros, types, callbacks, structs, attributes.

Everything is a call in the tree. Consecutive clauses of a function are one definition, from the first to the last. `quote`, `if`,
`describe` and other blocks are entered where they may hold a definition.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from codecompass import lazy
from codecompass.languages.beam.elixir_imports import ELIXIR_IMPORTS
from codecompass.languages.beam.elixir_routes import registered
from codecompass.languages.beam.elixir_syntax import (
    CALLBACKS,
    RESERVED,
    SCHEMA_FIELDS,
    TYPES,
    aliases_in,
    arguments_of,
    attribute_name,
    blocks_of,
    documentation,
    key_of,
    keyword_value,
    keywords,
    module_path,
    name_and_arity,
    qualified_in_module,
    schema,
    schema_field,
    struct,
    struct_field,
    target_of,
)
from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import Display
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    head_without_comments,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import DOUBLE_LINES, HASH, SINGLE, TRIPLE, after, any_of, declared, delimited
from codecompass.languages.walk.block_tests import DOUBLE_QUOTED, BlockTestSyntax
from codecompass.languages.walk.source_text import enter_if_marked, marker_finder
from codecompass.languages.words import word_set

FUNCTIONS: Final[Mapping[str, SymbolKind]] = {
    "def": "fn",
    "defp": "fn",
    "defn": "fn",
    "defnp": "fn",
    "defdelegate": "fn",
    "defmacro": "macro",
    "defmacrop": "macro",
    "defguard": "macro",
    "defguardp": "macro",
}

MARKERS: Final = (b"def", b"alias ", b"import ", b"require ")
DEFINITION: Final = lazy.pattern(
    rb"(?:def(?:p|n|np|delegate|exception|guardp?|impl|macrop?|module|protocol|recordp?|struct)?[ (]|alias |import |require )"
)
NESTED: Final = (b"def ", b"defp ", b"defmacro", b"defmodule ", b"alias ", b"import ", b"require ")


def module(node: Node, context: RuleContext) -> Iterator[Found]:
    """`defmodule A.B do`, `defprotocol P do`."""
    arguments, blocks = arguments_of(node), blocks_of(node)
    written = context.text(arguments[0]) if arguments and arguments[0].type in ("alias", "dot", "atom") else ""
    if not written:
        for block in blocks:
            yield Descend(block)
        return
    is_protocol = target_of(node, context) == "defprotocol"
    yield _define_module(written, "interface" if is_protocol else "module", node, blocks, context)


def _define_module(written: str, kind: SymbolKind, node: Node, blocks: tuple[Node, ...], context: RuleContext) -> Definition:
    outer = module_path(context)
    written = written.lstrip(":").removeprefix("Elixir.").removeprefix("__MODULE__.")
    path = f"{outer}.{written}" if outer else written
    context.notes["path", len(context.scope_kinds) + 1] = path
    return Definition(
        name=path.rsplit(".", 1)[-1].strip("\"'"),
        kind=kind,
        node=node,
        bodies=blocks,
        visibility="public",
        qualified_name=path.strip("\"'"),
    )


def implementation(node: Node, context: RuleContext) -> Iterator[Found]:
    """`defimpl P, for: [A, B] do`: a definition for each type, with its name; without `for` the type is the enclosing module."""
    arguments, blocks = arguments_of(node), blocks_of(node)
    if not arguments:
        return
    protocol = context.text(arguments[0])
    value = keyword_value(arguments, "for", context)
    types = [] if value is None else value.named_children if value.type == "list" else [value]
    names = [context.text(child) for child in types if child.type in ("alias", "atom", "identifier", "dot")]
    for index, name in enumerate(names or [module_path(context) or protocol]):
        name = (module_path(context) or name) if name == "__MODULE__" else name
        path = f"{protocol}.{name}"
        end = blocks[0].start_byte if blocks else node.end_byte
        if index == 0:
            context.notes["path", len(context.scope_kinds) + 1] = path
        yield Definition(
            name=name.rsplit(".", 1)[-1].lstrip(":"),
            kind="impl",
            node=node,
            bodies=blocks if index == 0 else (),
            signature=head_without_comments(node, node.start_byte, end, context),
            visibility="public",
            qualified_name=path.replace(".:", "."),
        )


def _head_of(call: Node) -> Node | None:
    """Returns the node of `foo(x) when x > 1` in `def foo(x) when x > 1, do: x`."""
    arguments = arguments_of(call)
    return arguments[0] if arguments else None


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`def` and the like; following clauses with the same name and arity belong to the first."""
    depth = len(context.scope_kinds)
    if node.start_byte < int(context.notes.get(("merged until", depth), "0")):
        return
    word, head = target_of(node, context), _head_of(node)
    name, arity = ("", 0) if head is None else name_and_arity(head, context)
    if head is None or not name:
        for block in blocks_of(node):
            yield Descend(block, "fn")
        return
    clauses = [node, *_further_clauses(node, word, name, arity, context)]
    context.notes["merged until", depth] = str(clauses[-1].end_byte)
    end = node.end_byte if word == "defdelegate" else head.end_byte
    kind = FUNCTIONS[word]
    if kind == "fn" and context.enclosing in ("interface", "impl"):
        kind = "method"
    yield Definition(
        name=name,
        kind=kind,
        node=clauses[-1],
        bodies=tuple(block for clause in clauses for block in blocks_of(clause)),
        signature=head_without_comments(node, node.start_byte, end, context),
        visibility="private" if word.endswith("p") else "public",
        doc=documentation(node, context),
        start_line=node.start_point[0] + 1,
        qualified_name=qualified_in_module(name, context),
    )


def _further_clauses(node: Node, word: str, name: str, arity: int, context: RuleContext) -> Iterator[Node]:
    following = node.next_named_sibling
    while following is not None:
        if following.type == "call" and target_of(following, context) == word:
            head = _head_of(following)
            if head is None or name_and_arity(head, context) != (name, arity):
                return
            yield following
        elif following.type != "comment":
            return
        following = following.next_named_sibling


def described(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`describe "x" do` of a test: always entered, because it may hold attributes."""
    for block in blocks_of(node):
        yield Descend(block)


def attribute(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@type`, `@callback`, and constants (`@timeout 5_000`) where they are set first."""
    word = attribute_name(node, context)
    operand = node.child_by_field_name("operand")
    arguments = [] if operand is None or not word else arguments_of(operand)
    if not arguments:
        return
    if word in TYPES or word in CALLBACKS:
        name, _ = name_and_arity(arguments[0], context)
        kind: SymbolKind = "type" if word in TYPES else "method"
        visibility: Visibility = "private" if word == "typep" else "public"
    elif word not in RESERVED and context.enclosing not in ("fn", "method", "macro"):
        path = module_path(context)
        if ("attribute", path, word) in context.notes:
            return
        context.notes["attribute", path, word] = ""
        name, kind, visibility = word, "const", "private"
    else:
        return
    yield Definition(
        name=name,
        kind=kind,
        node=node,
        signature=without_comments(node, context),
        visibility=visibility,
        qualified_name=qualified_in_module(name, context),
    )


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`alias`, `import`, `require`, `use`; `import A, only: [f: 1]` imports single names, without `only` everything."""
    word, arguments = target_of(node, context), arguments_of(node)
    if not arguments:
        return
    first, last = lines_of(node)
    local = keyword_value(arguments, "as", context)
    alias = "" if local is None else context.text(local)
    only = keyword_value(arguments, "only", context) if word == "import" else None
    for spec in aliases_in(arguments[0], context):
        taken = [] if only is None else [key_of(pair, context) for part in only.named_children for pair in part.named_children]
        if taken:
            for name in taken:
                yield Import(first, last, spec, name)
        else:
            yield Import(first, last, spec, "*" if word == "import" else "", alias)


HANDLERS: Final[Mapping[str, Callable[[Node, RuleContext], Iterable[Found]]]] = {
    "defmodule": module,
    "defprotocol": module,
    "defimpl": implementation,
    **dict.fromkeys(FUNCTIONS, function),
    **dict.fromkeys(("defstruct", "defexception", "defrecord", "defrecordp"), struct),
    "describe": described,
    **dict.fromkeys(("schema", "embedded_schema"), schema),
    **dict.fromkeys(SCHEMA_FIELDS, schema_field),
    **dict.fromkeys(("alias", "import", "require", "use"), imports),
}


def call(node: Node, context: RuleContext) -> Iterable[Found]:
    """Any call: the name of the called function selects the rule."""
    handler = HANDLERS.get(context.field_text(node, "target"))
    return enter_if_marked(node, context) if handler is None else handler(node, context)


TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(rb"\n[ \t]*+(?P<head>test|describe|property|feature)\b[ \t]*\(?[ \t]*" + DOUBLE_QUOTED),
    block=lazy.pattern(rb"\bdo\b"),
    computed=lazy.pattern(rb"#\{"),
    nodes=frozenset({"call"}),
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="elixir",
        built_in=word_set(
            "Access Agent Application ArgumentError Atom Base Behaviour Bitwise Calendar Code Collectable Config Date DateTime "
            "Duration DynamicSupervisor Enum Enumerable ExUnit Exception File Float Function GenEvent GenServer IEx IO Inspect "
            "Integer JSON Kernel Keyword List Logger Macro Map MapSet Mix Module NaiveDateTime Node OptionParser Path Port "
            "Process Protocol Range Record Regex Registry RuntimeError Stream String StringIO Supervisor System Task Time Tuple "
            "URI Version"
        ),
        comments_and_strings=any_of(
            r"\?(?<![\w?]\?)(?:\\.|[^\w\s])",
            rf"~(?<!~~)[a-zA-Z]\w*+{delimited('//', '||', '()', '[]', '{}', '<>')}",
            *(HASH, rf'"(?P<code>{TRIPLE[1:]}|{DOUBLE_LINES[1:]})', SINGLE),
        ),
        literal_marks="?~",
        interpolation=re.compile(r"#\{([^{}]*+)\}"),
        name=re.compile(r"[^\W\d]\w*+[?!]?"),
        keywords=word_set(
            "after and case catch cond do else end false fn for if in nil not or quote raise receive rescue true try unless "
            "unquote when with alias import require use def defp defmodule defmacro defstruct"
        ),
        own=frozenset({"__MODULE__"}),
        defining=("def ", "defp ", "defmacro ", "defmacrop "),
        declarations=(
            declared(r"\n[ \t]*+(?P<names>[a-z_]\w*+)[ \t]*+=(?![=~>])"),
            declared(r"(?<!\w)(?P<names>[a-z_]\w*+)[ \t]*+<-", "<-"),
            declared(after("fn") + r"\s++(?P<names>[\w\s,]{1,200})->"),
        ),
        keyword_argument=re.compile(r":(?!:)"),
        namespace_roots=word_set("System"),
        supertypes=SupertypeForms(
            implementation=re.compile(r"[ \t]*+defimpl\b[ \t(]*+(?P<bases>[\w.]++)"),
            statement=re.compile(r"^[ \t]*+(?:@behaviour|use)\b[ \t(]*+(?P<bases>[\w.]++)", re.MULTILINE),
        ),
    )


ELIXIR = Language(
    grammar="elixir",
    rules={
        "call": call,
        "unary_operator": attribute,
        "atom": struct_field,
        "pair": struct_field,
        "keywords": keywords,
        **dict.fromkeys(("arguments", "anonymous_function", "binary_operator", "tuple"), enter_if_marked),
        **dict.fromkeys(word_set("after_block body do_block else_block stab_clause ERROR"), DESCEND),
    },
    nested_markers=NESTED,
    comment_starts=(b"#",),
    tests=TESTS,
    before_walk=marker_finder(MARKERS, DEFINITION),
    doc=documentation,
    registers=registered,
    uses=lexical_rules,
    imports=ELIXIR_IMPORTS,
    binding=Binding(writes_modules_in_full=True, declares="module", continues_namespaces=True),
    members=Members(constructs_modules=True, types_are_capitalised=True),
    display=Display(
        attribute_starts=("@spec", "@impl", "@deprecated"),
        doc_attributes=("@doc", "@moduledoc", "@typedoc"),
        line_comment="#",
    ),
)
