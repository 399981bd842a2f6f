"""Rules made from a few words, for grammars whose definitions and imports need no function of their own.

A *way* leads from a node to nodes in it: steps between slashes, each of which is the name of a field or a node type, or several
with a `|` between them (`declarator/name|identifier`). A node that has such a field is asked for that alone. A step that ends in
`!` leads to the first only.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.language import (
    DESCEND,
    HEAD_BYTES,
    Definition,
    Descend,
    Found,
    Rule,
    RuleContext,
    RuleFunction,
    head_without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.walk.source_text import comment_above_byte

_IN_TYPES: Final[Mapping[str, SymbolKind]] = {"fn": "method", "var": "field"}
"""What a kind is in a type."""

_LOCAL: Final = frozenset({"const", "field", "var"})
"""Kinds that are no definitions inside a function."""

_VALUE_NAME: Final = lazy.pattern(r"[^\W\d][\w'?!]*|\(\s*[^\w\s()]+\s*\)|``[^`]+``")

MAX_REACHED: Final = 10_000
"""Nodes that one way leads to; more are generated data."""


def reach(node: Node, way: str) -> list[Node]:
    """Returns the nodes to which a way leads, in source order; empty if there is none."""
    found = [node]
    if way == ".":
        return found
    for step in way.split("/"):
        names, count = step.removesuffix("!").split("|"), 1 if step.endswith("!") else None
        found = [each for one in found for each in _children(one, names)[:count]][:MAX_REACHED]
    return found


def _children(node: Node, names: list[str]) -> list[Node]:
    for name in names:
        in_field = node.children_by_field_name(name)
        if in_field:
            return [child for child in in_field if child.is_named]
    return [child for child in node.named_children if child.type in names]


def descend(*types: str) -> dict[str, Rule]:
    """Returns rules that make the node types in the texts transparent."""
    return dict.fromkeys(" ".join(types).split(), DESCEND)


def defines(
    kind: SymbolKind,
    name: str = "name",
    body: str = "body",
    *,
    several: bool = False,
    is_last: bool = False,
    from_line: bool = False,
    enters: bool = True,
    is_local: bool = False,
    through: str = "",
    splits: str = "",
    quotes: str = "",
    member: SymbolKind | None = None,
    called: str = "",
) -> RuleFunction:
    """Returns a rule by which a node defines what `name`, a way, leads to.

    A function in a type is a method, a variable a field, or both `member`; a variable or constant of a function is left out.

    Args:
        body: the way to what is walked for members; the signature ends before it. With `.` all children of the node are walked,
            and the signature is its first line.
        several: whether each name that the way leads to is defined, and not only the first.
        is_last: whether the last one is the name, and not the first.
        from_line: whether the signature begins with the line, because the node lacks what is before the name.
        enters: whether bodies are walked, and not only left out of the signature.
        is_local: whether it is defined in functions too, of whatever kind it is.
        through: the type of the node after it that belongs to it (a body beside its head).
        splits: what separates the name from those of its owners, if it is written with them.
        called: its name, if it is the same for all (a constructor).
        quotes: the characters around the name that are not part of it.
    """

    def rule(node: Node, context: RuleContext) -> Iterator[Found]:
        scope = context.enclosing
        own: SymbolKind = kind
        if scope in CLASS_LIKE:
            own = member or _IN_TYPES.get(kind, kind)
        elif scope in FUNCTION_LIKE and kind in _LOCAL and not is_local:
            return
        bodies = (node,) if body == "." else tuple(reach(node, body)) if body else ()
        signature, end_line = None, None
        if body == ".":
            signature = re.split(r"[{\n]", context.text(node)[:HEAD_BYTES], maxsplit=1)[0]
        after = _sibling(node, through) if through else None
        if after is not None:
            end_line = after.end_point[0] + 1
            bodies = (after,)
            signature = head_without_comments(node, node.start_byte, node.end_byte, context)
        elif bodies and not enters:
            signature = head_without_comments(node, node.start_byte, bodies[0].start_byte, context)
        doc = None
        if from_line:
            start = context.source.rfind(b"\n", 0, node.start_byte) + 1
            signature = context.source[start : bodies[0].start_byte if bodies else node.end_byte].decode("utf-8", "replace")
            doc = comment_above_byte(context.source, start)
        names = [node] if called else reach(node, name)
        for found in names if several else names[-1:] if is_last else names[:1]:
            *owners, last = (part.strip() for part in _parts(called or context.text(found).strip(quotes), splits))
            yield Definition(
                last,
                "method" if owners and own == "fn" else own,
                node,
                bodies if enters else (),
                signature=signature,
                doc=doc,
                end_line=end_line,
                qualifier=(*context.scope_names, *owners) if owners else None,
            )

    return rule


def value_or_function(name: str, parameters: str, body: str, functions: str = "", value: SymbolKind = "const") -> RuleFunction:
    """Returns a rule for `let` and its like: a function if the way `parameters` leads to something or the body is of one of the
    types in `functions`, else a value, which is a definition only outside functions."""
    function_rule = defines("fn", name, body)
    value_rule = defines(value, name, body, enters=False)
    types = frozenset(functions.split())

    def rule(node: Node, context: RuleContext) -> Iterator[Found]:
        is_function = bool(reach(node, parameters)) or any(each.type in types for each in reach(node, body))
        for item in (function_rule if is_function else value_rule)(node, context):
            if isinstance(item, Definition) and _VALUE_NAME.fullmatch(item.name):
                yield replace(item, name=item.name.strip("( )"), kind="fn" if item.kind == "method" else item.kind)

    return rule


def written(kind: SymbolKind, pattern: str, body: str = "", *, several: bool = False) -> RuleFunction:
    """Returns a rule by which a node defines what the group 1 of a pattern matches in the first 2,000 characters of its text,
    or each of the names in it with `several`. `body` is as in `defines`."""
    compiled = re.compile(pattern)
    words = re.compile(r"(?:^|,)\s*([^\W\d]\w*)")
    values = re.compile(r"[({\[][^(){}\[\]]*[)}\]]")

    def rule(node: Node, context: RuleContext) -> Iterator[Found]:
        own: SymbolKind = _IN_TYPES.get(kind, kind) if context.enclosing in CLASS_LIKE else kind
        if context.enclosing in FUNCTION_LIKE and kind in _LOCAL:
            return
        text = context.source[node.start_byte : min(node.end_byte, node.start_byte + 2_000)].decode("utf-8", "replace")
        found = compiled.match(text)
        if found is None:
            return
        bodies = (node,) if body == "." else tuple(reach(node, body)) if body else ()
        signature = text.partition("\n")[0] if body else None
        for name in words.findall(values.sub("", values.sub("", found[1]))) if several else [found[1]]:
            yield Definition(name, own, node, bodies, signature=signature)

    return rule


def or_descend(rule: RuleFunction) -> RuleFunction:
    """Returns a rule that makes a node in which the other rule finds nothing transparent."""

    def rule_or_children(node: Node, context: RuleContext) -> Iterator[Found]:
        found = tuple(rule(node, context))
        yield from found or (Descend(node),)

    return rule_or_children


def _sibling(node: Node, type_: str) -> Node | None:
    """Returns the node of a type that follows a node, or the one that holds it alone."""
    for each in (node, node.parent):
        after = None if each is None else each.next_named_sibling
        if after is not None and after.type == type_:
            return after
    return None


def _parts(name: str, separator: str) -> list[str]:
    return name.split(separator) if separator and not name.startswith(separator) else [name]


def imports(module: str, *, name: str = "", alias: str = "", kind: str = "module", quotes: str = "'\"") -> RuleFunction:
    """Returns a rule by which a node imports each module that a way leads to, or of one module each of the names."""

    def rule(node: Node, context: RuleContext) -> Iterator[Found]:
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        names = [context.text(each) for each in reach(node, name)] if name else []
        local = next((context.text(each) for each in reach(node, alias)), "") if alias else ""
        for found in reach(node, module):
            spec = context.text(found).strip(quotes).strip()
            for each in names or [""]:
                yield Import(first, last, spec, each, local, kind)

    return rule


def note_clauses(types: str, name: str) -> Callable[[Node, RuleContext], None]:
    """Returns a `before_walk` for languages in which a function is several top-level nodes of these types with one name in turn
    (clauses, a written type): `merged` makes one definition of them."""
    known = frozenset(types.split())

    def note(root: Node, context: RuleContext) -> None:
        first, called = -1, ""
        for node in root.named_children:
            if node.type not in known:
                called = called if "comment" in node.type else ""
                continue
            own = next((context.text(each) for each in reach(node, name)), "")
            if own and own == called:
                context.notes["ends", first] = str(node.end_point[0] + 1)
                context.notes["ends", node.start_byte] = ""
            else:
                first, called = node.start_byte, own

    return note


def merged(rule: RuleFunction) -> RuleFunction:
    """Returns a rule that yields one definition for the clauses that `note_clauses` has found."""

    def of_first(node: Node, context: RuleContext) -> Iterator[Found]:
        end = context.notes.get(("ends", node.start_byte))
        if end == "":
            return
        for item in rule(node, context):
            if end is not None and isinstance(item, Definition):
                item = replace(item, end_line=int(end))
            yield item

    return of_first


def underscore_is_private(_node: Node, name: str, context: RuleContext) -> Visibility:
    """The visibility of languages in which it follows from the name."""
    if context.enclosing in FUNCTION_LIKE:
        return ""
    return "private" if name.startswith("_") else "public"
