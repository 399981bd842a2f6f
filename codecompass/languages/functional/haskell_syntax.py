"""Reads Haskell's tree and text: the export list, names, signatures, comments; prepares the source for the grammar, and recovers
functions that the grammar misses.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.language import HEAD_BYTES, Definition, RuleContext, children_in
from codecompass.languages.nodes import Node
from codecompass.languages.records import Visibility


def note_exports(root: Node, context: RuleContext) -> None:
    """Notes the export list: values, types, and types whose members are all exported."""
    header = next((child for child in root.named_children if child.type == "header"), None)
    exports = None if header is None else header.child_by_field_name("exports")
    if exports is None:
        return
    names: list[tuple[str, str]] = []
    for export in exports.named_children:
        if export.type == "module_export" and context.field_text(export, "module") == ".".join(context.module):
            return
        value = export.child_by_field_name("variable") or export.child_by_field_name("operator")
        if value is not None:
            names.append(("value", unqualified(value, context)))
        exported = export.child_by_field_name("type")
        if exported is None:
            continue
        kind = "value" if context.field_text(export, "namespace") == "pattern" else "type"
        names.append((kind, unqualified(exported, context)))
        for member in children_in(export, "children"):
            if member.type == "all_names":
                names.append(("all", unqualified(exported, context)))
            else:
                # The list does not tell constructors, methods and associated types apart.
                names.extend((space, unqualified(member, context)) for space in ("value", "type"))
    context.notes["exports",] = ""
    for kind, name in names:
        context.notes["export", kind, name] = ""


def visibility_of(name: str, kind: str, context: RuleContext, owner: str = "") -> Visibility:
    notes = context.notes
    is_public = ("exports",) not in notes or ("export", kind, name) in notes or (owner and ("export", "all", owner) in notes)
    return "public" if is_public else "private"


def unqualified(node: Node, context: RuleContext) -> str:
    """Returns a name without parentheses or backquotes (`(<+>)`, `` `op` ``) and without its qualifier."""
    while node.type == "qualified":
        last = node.child_by_field_name("id")
        if last is None:
            return context.text(node)
        node = last
    text = context.text(node)
    return text.strip("()` \n") if node.type in ("prefix_id", "infix_id") else text


BETWEEN: Final = frozenset({"comment", "haddock", "pragma"})
"""Nodes that may be between the clauses of a function."""

HADDOCK: Final = lazy.pattern(r"^(--|\{-)\s*[|^*]\s?")


def bound_name(node: Node, context: RuleContext) -> str:
    """Returns the name that a clause or declaration binds, empty for a pattern."""
    name = node.child_by_field_name("name")
    while name is None and (inner := node.child_by_field_name("parens")) is not None:
        node = inner
        name = node.child_by_field_name("name")
    if name is not None:
        return unqualified(name, context)
    for child in node.named_children:
        if child.type == "infix":
            operator = child.child_by_field_name("operator")
            return "" if operator is None else unqualified(operator, context)
    return ""


def names_of(signature: Node, context: RuleContext) -> list[str]:
    """Returns the names that a type signature is for."""
    names = signature.child_by_field_name("names")
    if names is not None:
        return [unqualified(child, context) for child in names.named_children]
    name = signature.child_by_field_name("name")
    return [] if name is None else [unqualified(name, context)]


def text_between(start: int, end: int, context: RuleContext) -> str:
    """Returns the source from byte `start` to `end`."""
    return context.source[start:end].decode("utf-8", "replace")


def head_of(node: Node, end: Node | None, context: RuleContext) -> str:
    """Returns the source of `node` up to `end`, without the `where` or `=` before that."""
    text = text_between(node.start_byte, node.end_byte if end is None else end.start_byte, context).rstrip(" \n\r\t={|")
    return text.removesuffix("where")


def first_line_of(node: Node, context: RuleContext) -> int:
    """Returns the line of the first word in a node: some nodes begin with the white space and line breaks before them."""
    text = context.source[node.start_byte : node.end_byte]
    return node.start_point[0] + 1 + text[: len(text) - len(text.lstrip())].count(b"\n")


def doc_above(children: Sequence[Node], index: int, container: Node, context: RuleContext) -> str:
    """Returns the comment that ends on the line above `children[index]`. For the first child it is a sibling of `container`."""
    line = children[index].start_point[0]
    previous: Node | None = None
    while previous is None or previous.type == "pragma":
        if previous is not None:
            line = previous.start_point[0]
        index -= 1
        previous = children[index] if index >= 0 else container.prev_named_sibling
        if index < 0:
            break
    while previous is not None and previous.type == "imports" and previous.named_child_count:
        previous = previous.named_children[-1]
    if previous is None or previous.type not in ("comment", "haddock") or last_row(previous) != line - 1:
        return ""
    return "" if is_about_previous(previous, context) else comment_text(previous, context)


def is_about_previous(comment: Node, context: RuleContext) -> bool:
    """Whether a comment begins with `^`, which Haddock uses for comments about what precedes them."""
    return context.text(comment).removeprefix("--").lstrip().startswith("^")


def comment_text(comment: Node, context: RuleContext) -> str:
    """Returns the text of a comment without the mark of Haddock."""
    return HADDOCK.sub(r"\1 ", context.text(comment))


def last_row(node: Node) -> int:
    """Returns the row of the last line of `node`, 0-based; some nodes end with the line break after them."""
    row, column = node.end_point
    return row - 1 if column == 0 else row


def qualified_in_module(name: str, context: RuleContext) -> str | None:
    """Returns the name qualified by the module; None for members of an instance, which are qualified by the instance."""
    return None if context.enclosing == "impl" else ".".join((*context.module, name))


CONDITIONAL: Final = lazy.pattern(rb"^#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[^\n]*", re.MULTILINE)
SIGNATURE: Final = lazy.pattern(
    rb"\{-.{0,20000}?-\}|\[\w*\|.{0,20000}?\|\]|^(?P<name>[a-z_][\w']*)[ \t]*(?:\n[ \t]+)?::[^\n]*(?:\n[ \t]+\S[^\n]*)*",
    re.MULTILINE | re.DOTALL,
)
"""A signature at the start of a line. Comments and quotations are matched too, so that signatures in them are skipped."""
COMMENT: Final = lazy.pattern(rb"\{-.*?-\}|(?<![!#$%&*+./<=>?@\\^|~:-])--+(?![!#$%&*+./<=>?@\\^|~:])[^\n]*", re.DOTALL)
AT_TOP_LEVEL: Final = lazy.pattern(rb"^[^\W\d]|^\(", re.MULTILINE)

ESCAPED_CHARACTER: Final = lazy.pattern(rb"(?<![\w'])'\\(?:[abfnrtv\\\"'&]|\d+|x[0-9a-fA-F]+|o[0-7]+|\^.|[A-Z][A-Z0-9]{1,2})'")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without escaped characters and conditionals that break the tree."""
    return _without_conditionals(_without_escaped_characters(source))


def _without_escaped_characters(source: bytes) -> bytes:
    """For `'\\n'` at the end of a line the grammar would search for a closing quote in all lines up to the next `x'`."""
    if b"'\\" not in source:
        return source
    return ESCAPED_CHARACTER.sub(lambda match: b"'x'".ljust(match.end() - match.start()), source)


def _without_conditionals(source: bytes) -> bytes:
    """Blanks the directives of `#if ... #else ...` around top-level declarations.

    The grammar treats the text after `#else` as a comment; with the directives blanked, definitions in both branches are found.
    Conditionals inside a declaration are kept, because both of their branches together are not valid Haskell.
    """
    if b"#el" not in source and b"# el" not in source:
        return source
    blanked = bytearray(source)
    open_groups: list[list[re.Match[bytes]]] = []
    for directive in CONDITIONAL.finditer(source):
        word = directive[1]
        if word.startswith(b"if"):
            open_groups.append([directive])
        elif open_groups:
            open_groups[-1].append(directive)
        if word == b"endif" and open_groups:
            group = open_groups.pop()
            if len(group) > 2 and AT_TOP_LEVEL.search(source, group[1].end(), directive.start()):
                for line in group:
                    blanked[line.start() : line.end()] = b" " * (line.end() - line.start())
    return bytes(blanked)


def recover(root: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields functions whose signature begins a line, to replace those that the grammar misses after an unclosed bracket."""
    line, position = 1, 0
    for match in SIGNATURE.finditer(context.source):
        if match["name"] is None:
            continue
        name = match["name"].decode("utf-8", "replace")
        clause = re.compile(re.escape(match["name"]) + rb"(?![\w'])")
        later = (found.start() for found in AT_TOP_LEVEL.finditer(context.source, match.end()))
        end = next((start for start in later if clause.match(context.source, start) is None), len(context.source))
        text = context.source[match.start() : end].rstrip()
        line += context.source.count(b"\n", position, match.start())
        position = match.start()
        yield Definition(
            name=name,
            kind="fn",
            node=root,
            start_line=line,
            end_line=line + text.count(b"\n"),
            signature=COMMENT.sub(b"", match[0][:HEAD_BYTES]).decode("utf-8", "replace"),
            visibility=visibility_of(name, "value", context),
            doc="",
            qualified_name=".".join((*context.module, name)),
        )
