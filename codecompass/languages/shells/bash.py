"""Bash and other Bourne shells: functions, global variables, aliases, `source`.

A variable is a definition where it is first assigned outside functions, or exported or made read-only anywhere. `source` leads to
a file beside the script or below a directory above it; a variable may stand for such a directory.
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, join, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    body_of,
    leading_comment,
    lines_of,
    without_comments,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, SymbolKind
from codecompass.languages.shells.shell_words import shell_words
from codecompass.languages.templates.marked_strings import HEREDOCS
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import HASH, after, any_of, declared
from codecompass.languages.walk.block_tests import QUOTED, BlockTestSyntax
from codecompass.languages.walk.source_text import holds_marker, marker_finder
from codecompass.languages.words import word_set

PREDEFINED: Final = frozenset({"HOME", "IFS", "LANG", "LC_ALL", "OPTIND", "PATH", "PS1", "PS2", "PS4", "PWD", "SHELL", "TERM"})
"""Variables that the shell or its caller defines: an assignment is not their definition."""

FUNCTION_MARKERS: Final = (b"()", b"function ")

AT_LINE_START: Final = lazy.pattern(
    rb"<<-?[ \t]*(?P<quote>['\"\\]?)(?P<mark>\w+)(?P=quote)(?s:.{0,20000}?)^[ \t]*(?P=mark)$"
    rb"|^(?P<indent>[ \t]*)(?:function[ \t]+(?P<word>[\w:.@-]+)[ \t]*(?:\([ \t]*\))?|(?P<name>[\w:.@-]+)[ \t]*\([ \t]*\))"
    rb"\s*\{(?P<body>.*)"
    rb"|^[ \t]*alias[ \t]+(?:-[gs][ \t]+)?(?P<alias>[\w:.@%+~-]+)=(?P<stands_for>[^\n]*)",
    re.MULTILINE,
)
"""A function or an alias at the start of a line. Here-documents (`<<EOF`) are matched too, so that what is in them is skipped."""


def comment_above(node: Node, context: RuleContext) -> str:
    """Returns the comment above without the `#!` line and directives for ShellCheck."""
    lines = leading_comment(node, context).splitlines()
    return "\n".join(line for line in lines if not line.startswith(("#!", "# shellcheck ", "#shellcheck ")))


def _variable(assignment: Node, kind: SymbolKind, node: Node, signature: str, doc: str, context: RuleContext) -> Iterator[Found]:
    name = context.field_text(assignment, "name")
    if assignment.type == "variable_name":
        name = context.text(assignment)
    # `a[1]=x` changes an element; `A+=x` adds to what is defined elsewhere.
    adds = any(child.type == "+=" for child in assignment.children)
    if not name.isidentifier() or adds or name in PREDEFINED or ("variable", name) in context.notes:
        return
    context.notes["variable", name] = ""
    yield Definition(name=name, kind=kind, node=node, signature=signature, doc=doc, qualified_name=name)


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """`X=1` outside functions and tests."""
    if not _is_local(node, context):
        yield from _variable(node, "var", node, without_comments(node, context), comment_above(node, context), context)


def _is_local(node: Node, context: RuleContext) -> bool:
    """Whether a statement is in a function or in a Bats test. The grammar has no node for the body of a test, but an indent."""
    return context.enclosing is not None or (context.path.endswith(".bats") and node.start_point[1] > 0)


def declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """`readonly`, `declare`, `typeset`, `export`; in a function only `readonly`, `export` and `declare -g` are global."""
    words = [context.text(child) for child in node.children if child.type in ("word", "concatenation")]
    flags = {letter for word in words if word.startswith("-") for letter in word[1:]}
    keyword = context.text(node.children[0])
    if keyword == "local" or flags & {"f", "F", "p"}:
        return
    if _is_local(node, context) and keyword not in ("readonly", "export") and "g" not in flags:
        return
    kind: SymbolKind = "const" if keyword == "readonly" or "r" in flags else "var"
    # `declare -A map` declares a bare name; `export NAME` and `readonly NAME` refer to an existing variable.
    wanted = ("variable_assignment", "variable_name") if keyword in ("declare", "typeset") else ("variable_assignment",)
    found = [child for child in node.named_children if child.type in wanted]
    doc = comment_above(node, context)
    for child in found:
        before = " ".join([keyword, *(word for word in words if word.startswith("-"))])
        where = node if len(found) == 1 else child
        yield from _variable(child, kind, where, f"{before} {without_comments(child, context)}", doc, context)


def command(node: Node, context: RuleContext) -> Iterator[Found]:
    """`source x`, `. x`, `load x` of a Bats test, `alias x=y`."""
    word = context.field_text(node, "name")
    if word not in ("source", ".", "alias", "load"):
        return
    arguments = node.children_by_field_name("argument")
    if word == "alias":
        for argument in arguments:
            name, equals, _ = context.text(argument).partition("=")
            if equals and name and not name.startswith("-"):
                where = node if len(arguments) == 1 else argument
                signature = f"alias {context.text(argument)}"
                yield Definition(name=name, kind="macro", node=where, signature=signature, qualified_name=name)
    elif arguments and (word != "load" or context.path.endswith((".bats", ".bash"))):
        spec = _unquoted(arguments[0], context)
        if spec and "\n" not in spec:
            yield Import(*lines_of(node), spec, kind="relative")


def _unquoted(node: Node, context: RuleContext) -> str:
    """Returns an argument without the quotes of its strings: `"$DIR"/x.sh` is `$DIR/x.sh`."""
    parts: list[str] = []
    pending = [node]
    while pending:
        current = pending.pop()
        if current.type == "concatenation":
            pending.extend(reversed(current.children))
            continue
        text = context.text(current)
        parts.append(text[1:-1] if current.type in ("string", "raw_string") else text)
    return "".join(parts)


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`name() { }`, `function name { }`."""
    name = context.field_text(node, "name")
    yield Definition(name=name, kind="fn", node=node, bodies=body_of(node), qualified_name=name)


def loop(node: Node, context: RuleContext) -> Iterator[Found]:
    """A loop is entered only for functions: its variables are temporary."""
    if holds_marker(node, context):
        yield Descend(node)


def recover(root: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields functions and aliases at the start of a line that the grammar misses: a stray quote or what only Z shell knows hides
    many."""
    source = context.source
    found = (match for match in AT_LINE_START.finditer(source) if match["body"] is not None or match["alias"] is not None)
    matches = [match for match in found if not _is_in_value(root, match.start())]
    line, position = 1, 0
    for index, match in enumerate(matches):
        line += source.count(b"\n", position, match.start())
        position = match.start()
        if match["alias"] is not None:
            name, signature = match["alias"].decode("utf-8", "replace"), match[0].decode("utf-8", "replace").strip()
            yield Definition(
                name, "macro", root, start_line=line, end_line=line, signature=signature, doc="", qualified_name=name
            )
            continue
        near = (matches[at] for at in range(index + 1, min(index + 1 + _NESTED_FUNCTIONS, len(matches))))
        outer = (other.start() for other in near if other["body"] is not None and len(other["indent"]) <= len(match["indent"]))
        limit = next(outer, len(source))
        closing = source.find(b"\n" + match["indent"] + b"}", match.end(), limit)
        is_one_line = match["body"].rstrip().endswith(b"}")
        end = match.end() if is_one_line or closing < 0 else closing + 1
        name = (match["word"] or match["name"]).decode("utf-8", "replace")
        yield Definition(
            name=name,
            kind="fn",
            node=root,
            start_line=line,
            end_line=line + source.count(b"\n", match.start(), end),
            signature=source[match.end("indent") : match.start("body")].decode("utf-8", "replace"),
            doc="",
            qualified_name=name,
        )


_NESTED_FUNCTIONS: Final = 200
"""Functions and aliases below a function among which the next one that is not in it is looked for."""


def _is_in_value(root: Node, start: int) -> bool:
    """Whether a byte is in a string that is the value of a variable. Other strings may begin with a stray quote."""
    node = root.descendant_for_byte_range(start, start)
    while node is not None and node.type in ("string_content", "string", "raw_string"):
        if node.type != "string_content" and node.parent is not None and node.parent.type == "variable_assignment":
            return True
        node = node.parent
    return False


TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(
        rb"\n[ \t]*+(?P<head>@test)[ \t]+" + QUOTED + rb"[ \t]*(?=\{)",
    ),
    block=lazy.pattern(rb"\{"),
)
"""Bats. The grammar parses the block as commands, so its end is found by the indentation."""


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="bash",
        comments_and_strings=any_of(HASH),
        words=shell_words,
        name=re.compile(r"[^\W\d][\w:.-]*+"),
        keywords=frozenset(),
        own=frozenset(),
        declarations=(declared(after("local declare typeset") + r"(?P<names>(?>(?:[ \t]++(?:-\w++|\w++(?:\+?=)?))*))"),),
    )


_EXTENSIONS: Final = ("", ".sh", ".bash")
_VARIABLE_DIRECTORIES: Final = lazy.pattern(r"^.*(?:\$\w+|\$\{[^}]*\}|\$\(.*\)|`.*`)[^/]*/")


def import_tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the path; only the name of the file if the path leaves the importing file's directory (`..`)."""
    path = _fixed_part(item)
    plain = join("", path)
    return (tail_of(last_part(path)) if plain is None else dependency_tail(plain),)


def resolve_import(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file: below a directory above the script; else, after a variable directory, one whose path ends in the rest."""
    path = _fixed_part(item)
    tail = tail_of(last_part(path))
    if not paths.files_with_tail(tail):
        return ""
    for directory in ancestors(from_path):
        for extension in _EXTENSIONS:
            found = join(directory, path + extension)
            if found is not None and paths.has_file(found):
                return found
    if path == item.spec and "/" not in path:
        return ""
    for extension in _EXTENSIONS:
        matches = paths.files_ending(tail, path + extension)
        if matches:
            return nearest(matches, from_path)
    return ""


def _fixed_part(item: Import) -> str:
    """Returns the path without a directory that is known only at run time; empty if no fixed path is left."""
    path = _VARIABLE_DIRECTORIES.sub("", item.spec).strip("\"'")
    return "" if "$" in path or "`" in path or path.startswith(("/", "~")) else path.removeprefix("./")


BASH_IMPORTS: Final = ImportRules(tails=import_tails, resolve=resolve_import)

BASH = Language(
    grammar="bash",
    rules={
        "function_definition": function,
        "variable_assignment": assignment,
        "variable_assignments": DESCEND,
        "declaration_command": declaration,
        "command": command,
        "for_statement": loop,
        "while_statement": loop,
        **dict.fromkeys(
            word_set(
                "do_group if_statement elif_clause else_clause case_statement case_item compound_statement list "
                "redirected_statement subshell ERROR"
            ),
            DESCEND,
        ),
    },
    nested_markers=(*FUNCTION_MARKERS, b"export ", b"readonly ", b"declare -g", b"source ", b". "),
    comment_starts=(b"#",),
    tests=TESTS,
    before_walk=marker_finder(FUNCTION_MARKERS),
    recover=recover,
    doc=comment_above,
    uses=lexical_rules,
    imports=BASH_IMPORTS,
    display=Display(line_comment="#"),
    regions=HEREDOCS,
)
