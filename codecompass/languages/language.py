"""The form in which each language is described: a table from node types to rules, and a few functions.

The walk over the tree is in `extract.py`. A rule is either `DESCEND`, which makes a node transparent (its children count as
children of its parent: `export`, `if`, a block), or a function from (node, context) to the definitions and imports in the node.

A node type without a rule is not entered: that makes extraction several times faster than any tree-sitter query.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages.binding import Binding, Calls, Members
from codecompass.languages.display import Display
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.nodes import Node
from codecompass.languages.records import SIGNATURE_LIMIT, Import, SymbolKind, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.walk.block_tests import BlockTestSyntax
from codecompass.languages.walk.regions import Regions
from codecompass.languages.walk.registrations import Registers
from codecompass.languages.walk.text_rules import Outline
from codecompass.languages.written_types import WrittenTypes


class RuleContext(Struct):
    """What a rule knows besides its node. One per file; the walk updates the scope fields."""

    path: str
    """Relative to the workspace root."""
    source: bytes
    module: tuple[str, ...]
    """The parts of qualified names that come from the path or a package clause."""
    scope_kinds: tuple[SymbolKind, ...] = ()
    """Kinds of the enclosing scopes, outermost first."""
    scope_names: tuple[str, ...] = ()
    """Names of the enclosing scopes that have one, outermost first."""
    scope_visibility: Visibility = ""
    """Visibility of the innermost enclosing definition."""
    notes: dict[tuple[str | int, ...], str] = {}
    """What rules record for later nodes: the section that `private` opened, exports, merged clauses.

    Each language has its own keys; nodes are visited in source order. The walk itself never reads them.
    """
    comment_starts: tuple[bytes, ...] = ()
    """What comments begin with; empty if the rules of the language remove comments from signatures themselves."""
    marker_offsets: tuple[int, ...] | None = None
    """Byte offsets, ascending, of the language's markers (text that begins a nested definition); None until searched."""

    def text(self, node: Node) -> str:
        """Returns the source of `node`; bytes that are not UTF-8 become U+FFFD."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def field_text(self, node: Node, field: str) -> str:
        """Returns the source of a field of `node`; empty if it does not have the field."""
        child = node.child_by_field_name(field)
        return "" if child is None else self.text(child)

    @property
    def enclosing(self) -> SymbolKind | None:
        """The kind of the innermost enclosing scope, None at top level."""
        return self.scope_kinds[-1] if self.scope_kinds else None


class Definition(Struct, frozen=True):
    """A definition found by a rule. The walk computes the fields that are None."""

    name: str
    kind: SymbolKind
    node: Node
    """Gives the lines unless `start_line` or `end_line` overrides them."""
    bodies: tuple[Node, ...] = ()
    """Nodes that are walked for members."""
    signature: str | None = None
    """As in the source; the walk cleans and cuts it."""
    visibility: Visibility | None = None
    doc: str | None = None
    """As in the source; the walk cleans and cuts it."""
    start_line: int | None = None
    """1-based; set to leave out annotations."""
    end_line: int | None = None
    """1-based."""
    qualifier: tuple[str, ...] | None = None
    """Replaces the enclosing scopes in the qualified name (a Go method's receiver, a C++ `A::f` outside its class)."""
    qualified_name: str | None = None
    """Replaces the whole qualified name."""
    members: tuple["Definition", ...] = ()
    """Members that the rule itself has found."""
    is_prototype: bool = False
    """Whether it is only declared here and defined elsewhere; its signature ends in `;`, which lookups rely on."""


class Descend(Struct, frozen=True):
    """Makes the walk continue with the children of `node`, like `DESCEND` but as the result of a rule function.

    With a `kind` they are in a nameless scope of that kind: a callback (`fn`), an anonymous class.
    """

    node: Node
    kind: SymbolKind | None = None


Found = Definition | Import | Descend
RuleFunction = Callable[[Node, RuleContext], Iterable[Found]]

DESCEND: Final = "descend"
Rule = RuleFunction | Literal["descend"]

MAX_COMMENTS: Final = 1_000
"""Comment nodes (often lines) read above one definition. Each step to a previous sibling takes time in the number of siblings."""


def no_path_module(_path: str) -> tuple[str, ...]:
    """Returns an empty module, for languages whose qualified names do not depend on the path."""
    return ()


def no_module(_path: str, _root: Node, _source: bytes) -> tuple[str, ...]:
    """Returns an empty module, for languages whose qualified names do not depend on a package clause."""
    return ()


def no_visibility(_node: Node, _name: str, _context: RuleContext) -> Visibility:
    """Returns the empty visibility, for languages without one."""
    return ""


def first_child(node: Node | None) -> Node | None:
    """Returns the first named child of a node; None without one."""
    return node.named_child(0) if node is not None and node.named_child_count else None


def body_of(node: Node | None) -> tuple[Node, ...]:
    """Returns the field `body` of a node; empty without one."""
    body = None if node is None else node.child_by_field_name("body")
    return () if body is None else (body,)


def children_in(node: Node, field: str) -> list[Node]:
    """Returns the named children of a field of `node`; empty if it does not have the field."""
    child = node.child_by_field_name(field)
    return [] if child is None else child.named_children


def lines_of(node: Node) -> tuple[int, int]:
    """Returns the first and last line of a node, 1-based."""
    return node.start_point[0] + 1, node.end_point[0] + 1


def leading_comment(node: Node, context: RuleContext) -> str:
    """Returns the comment lines that end on the line above `node`, in order, with their comment markers; empty if none."""
    lines: list[str] = []
    current, previous = node, node.prev_named_sibling
    while previous is not None and "comment" in previous.type and len(lines) < MAX_COMMENTS:
        gap = current.start_point[0] - previous.end_point[0]
        # Grammars differ in whether a line comment owns its line break (then it ends at column 0 of the next line).
        if _is_after_code(previous, context) or gap > 1 or (gap == 1 and previous.end_point[1] == 0):
            break
        lines.append(context.text(previous))
        current, previous = previous, previous.prev_named_sibling
    return "\n".join(reversed(lines))


def _is_after_code(comment: Node, context: RuleContext) -> bool:
    """Whether code precedes a comment on its line (`int a; // about a`, `{ // about it`): the comment belongs to that code."""
    nearby = context.source[max(comment.start_byte - _LOOK_BACK_BYTES, 0) : comment.start_byte]
    before = nearby[nearby.rfind(b"\n") + 1 :].strip()
    return before != b"" and not before.endswith(b"*/") and not before.startswith(b"<?")


_LOOK_BACK_BYTES: Final = 200
"""Bytes read before a comment: enough to find code or the beginning of the line, which can be of any length."""


def head_without_comments(node: Node, start: int, end: int, context: RuleContext) -> str:
    """Returns the source from byte `start` to `end` of `node` without comments, as much as a signature can show."""
    source, starts, end = context.source, context.comment_starts, min(end, start + HEAD_BYTES)
    parts: list[bytes] = []
    pending = [node]
    while pending:
        current = pending.pop()
        first, last = max(current.start_byte, start), min(current.end_byte, end)
        if first >= last or not any(source.find(comment_start, first, last) >= 0 for comment_start in starts):
            continue
        if current.type in COMMENTS:
            parts.append(source[start:first])
            start = last
        else:
            pending.extend(reversed(current.named_children))
    return b"".join((*parts, source[start:end])).decode("utf-8", "replace")


def without_comments(node: Node, context: RuleContext) -> str:
    """Returns the source of `node` without its comments, as much as a signature can show."""
    return head_without_comments(node, node.start_byte, node.end_byte, context)


HEAD_BYTES: Final = 8 * SIGNATURE_LIMIT
"""Bytes of source that make a signature: up to four bytes for a character, and as much again for white space that is folded."""

COMMENTS: Final = frozenset({"block_comment", "comment", "haddock", "line_comment"})


class Language(Struct, frozen=True, kw_only=True):
    """The description of one language with symbols."""

    grammar: str = ""
    """Name of the tree-sitter grammar; empty for a language that is not parsed."""
    rules: Mapping[str, Rule] = {}
    """By node type of the grammar."""
    outline: Outline | None = None
    """Reads definitions and imports from the text instead (`walk/text_rules.py`), for a language that is not parsed."""
    separator: str = "."
    """Separates the parts of a qualified name."""
    member_separator: str | None = None
    """Separates a type from its member, if that differs (Ruby `A::B#m`)."""
    prepare: Callable[[bytes], bytes] | None = None
    """Returns the text to parse instead of the source, equally long and with the same line breaks, if the grammar cannot parse
    the source (C macros). Rules still see the source."""
    before_walk: Callable[[Node, RuleContext], None] | None = None
    """Reads the root before the walk, for what is far from the definitions that it concerns (an export list)."""
    recover: Callable[[Node, RuleContext], Iterable[Definition | Import]] | None = None
    """Called if the tree has errors or there are no rules: what it finds in the text and the walk has missed becomes a top-level
    definition."""
    nested_markers: tuple[bytes, ...] = ()
    """A function body is entered only if it holds one of these byte strings, because walking bodies without nested definitions
    would take more time than all the rest. Empty: bodies are always entered."""
    comment_starts: tuple[bytes, ...] = ()
    """What comments begin with, for `head_without_comments`."""
    tests: BlockTestSyntax | None = None
    """Finds tests that are calls with a title and a block."""
    registers: Registers | None = None
    """Returns what is registered with a framework by annotations or calls: routes, tasks."""
    path_module: Callable[[str], tuple[str, ...]] = no_path_module
    """Returns the first parts of qualified names, from the path: the names change when the file moves (`moved_names.py`)."""
    module: Callable[[str, Node, bytes], tuple[str, ...]] = no_module
    """Returns the parts of qualified names that come from a package clause in the tree."""
    imports: ImportRules | None = None
    """How import statements lead to files, and the packages of other files; None for a language whose imports lead nowhere."""
    visibility: Callable[[Node, str, RuleContext], Visibility] = no_visibility
    """For definitions to which their rule gives none, like `doc`."""
    doc: Callable[[Node, RuleContext], str] = leading_comment
    uses: Callable[[], LexicalRules] | None = None
    """Returns the rules by which uses of names are found in the text; called for the first file or question that needs them.
    None: uses are not read."""
    regions: Regions | None = None
    """Where its files hold code of other languages. If they hold nothing else, the other fields are those of the usual one."""
    binding: Binding = Binding()
    """How names lead to definitions: by scopes, imports and packages."""
    members: Members = Members()
    """Which definitions are members of a type."""
    calls: Calls = Calls()
    """How a call chooses between functions of one name."""
    types: WrittenTypes = WrittenTypes()
    """How heads of definitions write types."""
    display: Display = Display()
    """How code is shown."""
