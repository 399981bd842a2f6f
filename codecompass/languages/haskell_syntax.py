"""Haskell below definitions: the export list that says what is public, names and heads in its tree, the comments that say what
something is, and the source as the grammar can parse it.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codecompass.languages.language import HEAD_BYTES, Context, Definition, Node
from codecompass.languages.records import Visibility


def note_exports(root: Node, context: Context) -> None:
    """Writes down the export list: values, types, and the types whose members are all exported."""
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
            names.append(("value", bare(value, context)))
        exported = export.child_by_field_name("type")
        if exported is None:
            continue
        kind = "value" if context.field_text(export, "namespace") == "pattern" else "type"
        names.append((kind, bare(exported, context)))
        members = export.child_by_field_name("children")
        for member in [] if members is None else members.named_children:
            if member.type == "all_names":
                names.append(("all", bare(exported, context)))
            else:
                # A constructor, a method or an associated type: the list does not say which.
                names.extend((space, bare(member, context)) for space in ("value", "type"))
    context.notes["exports",] = ""
    for kind, name in names:
        context.notes["export", kind, name] = ""


def visibility_of(name: str, kind: str, context: Context, owner: str = "") -> Visibility:
    notes = context.notes
    is_public = ("exports",) not in notes or ("export", kind, name) in notes or (owner and ("export", "all", owner) in notes)
    return "public" if is_public else "private"


def bare(node: Node, context: Context) -> str:
    """`(<+>)` and `` `op` `` without what makes them prefix or infix; the last part of a qualified name."""
    while node.type == "qualified":
        last = node.child_by_field_name("id")
        if last is None:
            return context.text(node)
        node = last
    text = context.text(node)
    return text.strip("()` \n") if node.type in ("prefix_id", "infix_id") else text


BETWEEN: Final = frozenset({"comment", "haddock", "pragma"})
"""What may stand between the clauses of one function."""

HADDOCK: Final = re.compile(r"^(--|\{-)\s*[|^*]\s?")


def bound_name(node: Node, context: Context) -> str:
    """The name that a clause or a declaration binds, empty for a pattern."""
    name = node.child_by_field_name("name")
    while name is None and (inner := node.child_by_field_name("parens")) is not None:
        node = inner
        name = node.child_by_field_name("name")
    if name is not None:
        return bare(name, context)
    for child in node.named_children:
        if child.type == "infix":
            operator = child.child_by_field_name("operator")
            return "" if operator is None else bare(operator, context)
    return ""


def names_of(signature: Node, context: Context) -> list[str]:
    """The names that a type signature is for."""
    names = signature.child_by_field_name("names")
    if names is not None:
        return [bare(child, context) for child in names.named_children]
    name = signature.child_by_field_name("name")
    return [] if name is None else [bare(name, context)]


def text_between(start: int, end: int, context: Context) -> str:
    """The source from byte `start` to `end`."""
    return context.source[start:end].decode("utf-8", "replace")


def head_of(node: Node, end: Node | None, context: Context) -> str:
    """The source of `node` up to `end`, without the `where` or `=` before it."""
    text = text_between(node.start_byte, node.end_byte if end is None else end.start_byte, context).rstrip(" \n\r\t={|")
    return text.removesuffix("where")


def first_line_of(node: Node, context: Context) -> int:
    """Some nodes begin with the white space before them, line breaks too."""
    text = context.source[node.start_byte : node.end_byte]
    return node.start_point[0] + 1 + text[: len(text) - len(text.lstrip())].count(b"\n")


def doc_above(children: Sequence[Node], index: int, container: Node, context: Context) -> str:
    """The comment that ends on the line above `children[index]`; above the first it belongs to what precedes them all."""
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
    # A comment about what precedes it is of no use here.
    return "" if is_about_previous(previous, context) else prose(previous, context)


def is_about_previous(comment: Node, context: Context) -> bool:
    """Whether a comment begins with `^`."""
    return context.text(comment).removeprefix("--").lstrip().startswith("^")


def prose(comment: Node, context: Context) -> str:
    """The text of a comment without the mark of Haddock."""
    return HADDOCK.sub(r"\1 ", context.text(comment))


def last_row(node: Node) -> int:
    """The row of the last line of `node`, from 0; some nodes own the line break behind them."""
    row, column = node.end_point
    return row - 1 if column == 0 else row


def qualified_in_module(name: str, context: Context) -> str | None:
    """Constructors, fields and methods are the module's; only what stands in an instance is the instance's."""
    return None if context.enclosing == "impl" else ".".join((*context.module, name))


CONDITIONAL: Final = re.compile(rb"^#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[^\n]*", re.MULTILINE)
SIGNATURE: Final = re.compile(
    rb"\{-.{0,20000}?-\}|\[\w*\|.{0,20000}?\|\]|^(?P<name>[a-z_][\w']*)[ \t]*(?:\n[ \t]+)?::[^\n]*(?:\n[ \t]+\S[^\n]*)*",
    re.MULTILINE | re.DOTALL,
)
"""A signature that begins a line; what only looks like one, in a comment or a quotation, is matched with these."""
COMMENT: Final = re.compile(rb"\{-.*?-\}|(?<![!#$%&*+./<=>?@\\^|~:-])--+(?![!#$%&*+./<=>?@\\^|~:])[^\n]*", re.DOTALL)
AT_TOP_LEVEL: Final = re.compile(rb"^[^\W\d]|^\(", re.MULTILINE)


ESCAPED_CHARACTER: Final = re.compile(rb"(?<![\w'])'\\(?:[abfnrtv\\\"'&]|\d+|x[0-9a-fA-F]+|o[0-7]+|\^.|[A-Z][A-Z0-9]{1,2})'")


def prepared(source: bytes) -> bytes:
    """Returns the source without two things that the grammar stumbles over; see the functions that remove them."""
    return _without_conditionals(_without_escaped_characters(source))


def _without_escaped_characters(source: bytes) -> bytes:
    """`'\\n'` at the end of a line sends the grammar looking for a quote, through all lines up to the next `x'`."""
    if b"'\\" not in source:
        return source
    return ESCAPED_CHARACTER.sub(lambda match: b"'x'".ljust(match.end() - match.start()), source)


def _without_conditionals(source: bytes) -> bytes:
    """Blanks the directives of `#if ... #else ...` around top-level declarations.

    The grammar takes what follows `#else` for a comment; here both branches are code, and both are found. Conditionals
    inside a declaration stay, because both of their branches together would be no Haskell.
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


def recover(root: Node, context: Context) -> Iterator[Definition]:
    """Functions whose signature begins a line, for those that the grammar lost: an open bracket swallows what follows it."""
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
