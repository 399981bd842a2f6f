"""The description of a language: a table from node type to rule, and the few functions that a table cannot say.

The walk itself is `codecompass.languages.extract`; what to call things is here. A rule is one of

* `Define`: the node is a definition of the given kind;
* `DESCEND`: the node is transparent, what is inside counts as if it stood outside (`export`, `if`, a block);
* a function from (node, context) to the definitions and imports that the node makes, for irregular shapes.

A node type without a rule is not entered: that makes extraction several times faster than any tree-sitter query.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal

import tree_sitter
from msgspec import Struct

from codecompass.languages.block_tests import BlockHeads
from codecompass.languages.records import SIGNATURE_LIMIT, Import, SymbolKind, Visibility

Node = tree_sitter.Node


class Context(Struct):
    """What a rule may know about where it stands. One per file; the walk updates the scope fields as it goes."""

    path: str
    source: bytes
    module: tuple[str, ...]
    scope_kinds: tuple[SymbolKind, ...] = ()
    scope_names: tuple[str, ...] = ()
    scope_visibility: Visibility = ""
    notes: dict[tuple[str | int, ...], str] = {}
    """What rules write down for the nodes after them: the section that `private` opened, exports, merged clauses.

    The keys are the language's own; the walk visits nodes in source order and never looks in here.
    """
    comment_marks: tuple[bytes, ...] = ()
    """What comments begin with; empty where the rules make their signatures without comments themselves."""
    marks: tuple[int, ...] | None = None
    """Byte offsets, ascending, at which a language expects definitions inside functions; None until it has looked."""

    def text(self, node: Node) -> str:
        """Returns the source of `node`; bytes that are not UTF-8 become U+FFFD."""
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def field_text(self, node: Node, field: str) -> str:
        """Returns the source of a field of `node`, empty where it has none."""
        child = node.child_by_field_name(field)
        return "" if child is None else self.text(child)

    @property
    def enclosing(self) -> SymbolKind | None:
        """The kind of the innermost enclosing definition, None at top level."""
        return self.scope_kinds[-1] if self.scope_kinds else None


class Definition(Struct, frozen=True):
    """A definition found by a rule. What is None is worked out by the walk in the usual way.

    `node` gives the line range (`start_line` and `end_line`, 1-based, override it, to leave out annotations); the nodes of
    `bodies` are walked for members, `members` are those that the rule has found itself; `qualifier` replaces the enclosing
    scope in the qualified name where the two differ (a Go method's receiver, a C++ `A::f` outside its class). Of what is only
    declared here, and defined elsewhere, the signature ends in `;`: a reader and a lookup tell it by that.
    """

    name: str
    kind: SymbolKind
    node: Node
    bodies: tuple[Node, ...] = ()
    signature: str | None = None
    visibility: Visibility | None = None
    doc: str | None = None
    start_line: int | None = None
    end_line: int | None = None
    qualifier: tuple[str, ...] | None = None
    qualified_name: str | None = None
    members: tuple["Definition", ...] = ()
    is_prototype: bool = False


class Inside(Struct, frozen=True):
    """What is inside `node` counts as if it stood outside: `DESCEND`, decided by a rule function.

    With a `kind` it stands in a nameless scope of that kind: a callback (`fn`), an anonymous class.
    """

    node: Node
    kind: SymbolKind | None = None


Found = Definition | Import | Inside
RuleFunction = Callable[[Node, Context], Iterable[Found]]


class Define(Struct, frozen=True):
    """The node is a definition: its name is the field `name`, its members are in the field `body`.

    `member_kind` replaces `kind` where the definition stands directly in a class-like one (a Python `def` in a class).
    """

    kind: SymbolKind
    member_kind: SymbolKind | None = None
    name: str = "name"
    body: str = "body"


DESCEND: Final = "descend"
Rule = Define | RuleFunction | Literal["descend"]

CLASS_LIKE: Final[frozenset[SymbolKind]] = frozenset({"class", "struct", "enum", "trait", "interface", "impl"})


MAX_COMMENTS: Final = 1_000
"""Comment nodes (often lines) above one definition. Each step to the one before costs the number of those before it."""


def no_visibility(_node: Node, _name: str, _context: Context) -> Visibility:
    """Says nothing about visibility."""
    return ""


def leading_comment(node: Node, context: Context) -> str:
    """Returns the comment lines that end on the line above `node`, markers and all, oldest first; empty if none."""
    lines: list[str] = []
    current, previous = node, node.prev_named_sibling
    while previous is not None and "comment" in previous.type and len(lines) < MAX_COMMENTS:
        gap = current.start_point[0] - previous.end_point[0]
        # Grammars differ in whether a line comment owns its line break (then it ends at column 0 of the next line).
        if _stands_behind_code(previous, context) or gap > 1 or (gap == 1 and previous.end_point[1] == 0):
            break
        lines.append(context.text(previous))
        current, previous = previous, previous.prev_named_sibling
    return "\n".join(reversed(lines))


def _stands_behind_code(comment: Node, context: Context) -> bool:
    """Whether a comment shares its line with code (`int a; // about a`, `{ // about it`): then it belongs to that code."""
    nearby = context.source[max(comment.start_byte - _LINE_BYTES, 0) : comment.start_byte]
    before = nearby[nearby.rfind(b"\n") + 1 :].strip()
    return before != b"" and not before.endswith(b"*/") and not before.startswith(b"<?")


_LINE_BYTES: Final = 200
"""Bytes looked at before a comment: enough to meet code or the beginning of the line, whose length is not ours."""


def head_without_comments(node: Node, start: int, end: int, context: Context) -> str:
    """Returns the source from byte `start` to `end` of `node` without the comments in it, as much as a signature can show."""
    source, marks, end = context.source, context.comment_marks, min(end, start + HEAD_BYTES)
    parts: list[bytes] = []
    pending = [node]
    while pending:
        current = pending.pop()
        first, last = max(current.start_byte, start), min(current.end_byte, end)
        if first >= last or not any(source.find(mark, first, last) >= 0 for mark in marks):
            continue
        if current.type in COMMENTS:
            parts.append(source[start:first])
            start = last
        else:
            pending.extend(reversed(current.named_children))
    return b"".join((*parts, source[start:end])).decode("utf-8", "replace")


def without_comments(node: Node, context: Context) -> str:
    """Returns the source of `node` without its comments, as much as a signature can show."""
    return head_without_comments(node, node.start_byte, node.end_byte, context)


HEAD_BYTES: Final = 8 * SIGNATURE_LIMIT
"""Four bytes are the longest UTF-8 sequence; twice the limit leaves room for white space that is folded away."""

COMMENTS: Final = frozenset({"block_comment", "comment", "haddock", "line_comment"})


class Language(Struct, frozen=True, kw_only=True):
    """Everything that the program knows about one language.

    `nested_markers`: a function body is entered only when it holds one of these byte strings, because a body without
    `def ` has no nested function and walking it would cost more than all the rest (empty: bodies are always entered).
    `module` gives the parts of the qualified name that come from the path, or from a package clause in the tree.
    `prepare` gives the parser other bytes than the source, equally long and with the same line breaks, where the
    grammar would stumble over what is written (C macros); rules still see the source.
    `before` sees the root before the walk, for what stands far from the definition that it is about (an export list).
    `recover` is asked when the tree has errors, or when there are no rules because no grammar is good enough: what it
    finds in the text, and the walk has not, stands at top level in its place by line.
    `tests` say how calls begin that are tests with a title and a block.
    `comment_marks` are what comments begin with, for `head_without_comments`.
    `member_separator` joins a member to its type where that differs from `separator` (Ruby `A::B#m`).
    """

    name: str
    grammar: str
    extensions: tuple[str, ...]
    filenames: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    rules: Mapping[str, Rule]
    separator: str = "."
    member_separator: str | None = None
    prepare: Callable[[bytes], bytes] | None = None
    before: Callable[[Node, Context], None] | None = None
    recover: Callable[[Node, Context], Iterable[Definition | Import]] | None = None
    nested_markers: tuple[bytes, ...] = ()
    comment_marks: tuple[bytes, ...] = ()
    tests: BlockHeads | None = None
    module: Callable[[str, Node, bytes], tuple[str, ...]]
    visibility: Callable[[Node, str, Context], Visibility] = no_visibility
    doc: Callable[[Node, Context], str] = leading_comment
