"""Hits, outlines and differences as text for people: `path:line` first, which terminals and editors can open."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from codecompass.cli.invocation import shown_path
from codecompass.cli.terminal import Style, Terminal, columns, cut, printable
from codecompass.protocol.replies import Excerpt, FileOutlineReply, OutlineNode, Result
from codecompass.protocol.text.code import LINES, Name, further_lines, gathered, place_of, short_name

if TYPE_CHECKING:
    from codecompass.protocol.difference_replies import DiffContextReply, DiffItem, DiffPiece, DiffVersion

SHOWN_COMPANIONS: Final = 5
"""Files of each list that go with a change: `--json` has all."""

MAX_LINE_COLUMNS: Final = 200
"""Columns of a line if stdout is not a terminal. Longer lines are data rather than code."""

_TYPES: Final[tuple[Style, ...]] = ("magenta",)
KIND_STYLES: Final[dict[str, tuple[Style, ...]]] = {
    "fn": ("blue",),
    "method": ("blue",),
    "macro": ("blue",),
    **dict.fromkeys(("class", "struct", "enum", "trait", "interface", "impl", "type"), _TYPES),
    "use": ("dim",),
}

_CHANGE_STYLES: Final[dict[str, Style]] = {
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "renamed": "cyan",
    "moved": "cyan",
    "lines": "dim",
    "unchanged": "dim",
}


def write_hits(
    terminal: Terminal,
    roots: Mapping[str, Path],
    results: Sequence[Result],
    pattern: re.Pattern[str] | None,
    around: Mapping[str, Mapping[int, str]] = MappingProxyType({}),
) -> None:
    """Writes a block for each hit: path and name, the signature, the lines of the excerpt, or the matching lines of a file with
    the lines `around` them, which are by path and number.

    `roots` are the roots of the projects by the label in a hit, which is empty if one project was queried. A hit of any other
    project is in no file of this machine, and is shown with its label.
    """
    import textwrap

    written: set[tuple[str, int]] = set()
    for index, result in enumerate(results):
        excerpt = result.excerpt or Excerpt()
        if result.result_type == LINES:
            if result.path in around:
                _write_lines_around(terminal, roots.get(result.project), results, index, pattern, around[result.path], written)
            else:
                _write_lines(terminal, roots.get(result.project), result, pattern)
            continue
        is_block = bool(result.signature or excerpt.lines)
        if index and is_block:
            terminal.line()
        terminal.line(_heading(terminal, roots.get(result.project), result, excerpt))
        if result.signature and not excerpt.is_whole and result.signature.strip() != result.name:
            _write_code(terminal, "    ", result.signature, None)
        width = max(4, len(str(excerpt.lines[-1].line)) if excerpt.lines else 0)
        code = textwrap.dedent("\n".join(line.text.expandtabs(4) for line in excerpt.lines)).split("\n")
        for line, text in zip(excerpt.lines, code, strict=False):
            number = terminal.style(str(line.line).rjust(width), "dim")
            _write_code(terminal, f"{number}  ", text, pattern, indent=width + 2)
        if excerpt.n_omitted:
            terminal.line(terminal.style(" " * width + "  …", "dim"))
        for beside in further_lines(result):
            terminal.line(terminal.style(" " * width + "  " + printable(beside), "dim"))


def _write_lines(terminal: Terminal, root: Path | None, result: Result, pattern: re.Pattern[str] | None) -> None:
    """Writes matching lines as `rg` does, each with its place."""
    path = _styled_path(terminal, shown_path(root, result.path) if root is not None else printable(place_of(result)))
    for line in result.excerpt.lines if result.excerpt is not None else ():
        place = path + terminal.style(f":{line.line}:", "cyan")
        _write_code(terminal, place, line.text.expandtabs(4), pattern, indent=columns(result.path) + len(str(line.line)) + 2)


def _write_lines_around(
    terminal: Terminal,
    root: Path | None,
    results: Sequence[Result],
    index: int,
    pattern: re.Pattern[str] | None,
    around: Mapping[int, str],
    written: set[tuple[str, int]],
) -> None:
    """Writes all matching lines of a hit's file with those around them, as `rg` does, unless an earlier hit has: `:` after the
    number of a line that matches, `-` after others, and `--` between lines that are not neighbours."""
    path = results[index].path
    shown = shown_path(root, path) if root is not None else printable(place_of(results[index]))
    matching = {line.line for each in results if each.path == path and each.excerpt for line in each.excerpt.lines}
    for number in sorted(around):
        if (path, number) in written:
            continue
        if written and (path, number - 1) not in written:
            terminal.line(terminal.style("--", "dim"))
        written.add((path, number))
        mark = ":" if number in matching else "-"
        place = _styled_path(terminal, shown) + terminal.style(f"{mark}{number}{mark}", "cyan")
        text = around[number].expandtabs(4)
        used = pattern if number in matching else None
        _write_code(terminal, place, text, used, indent=columns(shown) + len(str(number)) + 2)


def _styled_path(terminal: Terminal, path: str) -> str:
    directory, slash, name = path.rpartition("/")
    return terminal.style(directory + slash, "cyan") + terminal.style(name, "cyan", "bold")


def _heading(terminal: Terminal, root: Path | None, result: Result, excerpt: Excerpt) -> str:
    path = shown_path(root, result.path) if root is not None else printable(place_of(result))
    directory, slash, name = path.rpartition("/")
    is_symbol = result.result_type == "symbol"
    # A hit in text points to its first excerpt line, where the reader wants to be.
    line = f":{excerpt.lines[0].line if excerpt.lines and not is_symbol else result.line_start}"
    place = _styled_path(terminal, path) + terminal.style(line, "cyan")
    if not result.name:
        return f"{place}  {terminal.style(f'lines {result.line_start}-{result.line_end}', 'dim')}"
    kind = terminal.style(result.kind, *KIND_STYLES.get(result.kind, ("yellow",)))
    before = "" if is_symbol else terminal.style("in ", "dim")
    room = MAX_LINE_COLUMNS
    if terminal.width is not None:
        taken = columns(directory + slash + name + line) + 2 + len(result.kind) + 1 + (0 if is_symbol else 3)
        room = max(len(result.name), terminal.width - taken)
    named = cut(printable(short_name(Name(result.kind, result.name, result.qualified_name, "", result.path))), room)
    around, _, own = named.rpartition(printable(result.name))
    shown = terminal.style(around, "dim") + terminal.style(own or printable(result.name), "bold")
    return f"{place}  {before}{kind} {shown if around else terminal.style(named, 'bold')}"


def _write_code(terminal: Terminal, prefix: str, text: str, pattern: re.Pattern[str] | None, indent: int | None = None) -> None:
    room = MAX_LINE_COLUMNS if terminal.width is None else max(20, terminal.width - (indent or len(prefix)))
    code = cut(printable(text.rstrip()), room)
    terminal.line(prefix + "".join(_highlighted(terminal, code, pattern)))


def _highlighted(terminal: Terminal, code: str, pattern: re.Pattern[str] | None) -> Iterator[str]:
    end = 0
    for match in pattern.finditer(code) if pattern is not None else ():
        if match.end() > match.start():
            yield code[end : match.start()]
            yield terminal.style(match[0], "yellow", "bold")
            end = match.end()
    yield code[end:]


def write_outline(terminal: Terminal, root: Path, reply: FileOutlineReply) -> None:
    """Writes an outline as a tree: line numbers on the left, nesting as indentation, signatures if there are any."""
    place = terminal.style(shown_path(root, reply.file_path), "cyan", "bold")
    terminal.line(f"{place}  {terminal.style(reply.language, 'dim')}")
    nodes = list(_flattened(reply.symbols, 0))
    width = max(4, max((len(str(node.line_start)) for _, node in nodes), default=0))
    for depth, node in nodes:
        number = terminal.style(str(node.line_start).rjust(width), "dim")
        indent = "  " * depth
        room = MAX_LINE_COLUMNS if terminal.width is None else max(20, terminal.width - width - 2 - len(indent))
        terminal.line(f"{number}  {indent}{_node(terminal, node, room)}")


def _flattened(nodes: Sequence[OutlineNode], depth: int) -> Iterator[tuple[int, OutlineNode]]:
    for node in gathered(nodes):
        yield depth, node
        yield from _flattened(node.children, depth + 1)


def _node(terminal: Terminal, node: OutlineNode, room: int) -> str:
    styles = KIND_STYLES.get(node.kind, ("yellow",))
    name = printable(node.name)
    signature = printable(node.signature)
    # A signature that contains the name says what the symbol is; otherwise the kind is written.
    text = signature if name in signature else f"{node.kind} {name}"
    text = cut(text, room)
    before, found, after = text.partition(name)
    if not found or node.kind == "use":
        return terminal.style(text, *styles)
    return terminal.style(before, *styles) + terminal.style(found, "bold") + terminal.style(after, "dim")


def write_differences(terminal: Terminal, reply: "DiffContextReply") -> None:
    """Writes each change: a heading, who uses the definition, and the lines that differ, coloured on a terminal."""
    from codecompass.protocol.text.differences import companion_lines, difference_lines, file_line

    head = next(iter(difference_lines(replace(reply, items=(), files=(), tests=(), may_change=()))))
    terminal.line(terminal.style(printable(head), "bold"))
    for item in reply.items:
        terminal.line()
        _write_item(terminal, item)
    if reply.items_omitted:
        terminal.line()
        terminal.note(f"{reply.items_omitted:,} more changes; see them with --max-tokens, --path or --symbol", "dim")
    if reply.files:
        terminal.line()
        for file in reply.files:
            terminal.line(_fitting(terminal, file_line(file)))
    if reply.files_omitted:
        terminal.note(f"and {reply.files_omitted:,} more files", "dim")
    for line in companion_lines(reply, SHOWN_COMPANIONS):
        terminal.line(_fitting(terminal, line))
    for warning in reply.metadata.warnings:
        terminal.warn(warning)


def _write_item(terminal: Terminal, item: "DiffItem") -> None:
    from codecompass.protocol.text.differences import heading, item_lines

    plain = replace(item, pieces=(), lines_omitted=0, old=None, new=None)
    change, _, rest = printable(heading(item)).partition(": ")
    terminal.line(f"{terminal.style(change, _CHANGE_STYLES[item.change], 'bold')}: {rest}")
    for line in list(item_lines(plain))[1:]:
        terminal.line(terminal.style(_fitting(terminal, line), "dim"))
    if item.old is not None:
        _write_version(terminal, item.old, "-", "red")
    if item.new is not None:
        _write_version(terminal, item.new, "+", "green")
    for piece in item.pieces:
        _write_piece(terminal, piece)
    if item.lines_omitted:
        terminal.line(terminal.style(f"({item.lines_omitted:,} more lines)", "dim"))


def _write_piece(terminal: Terminal, piece: "DiffPiece") -> None:
    for number, line in enumerate(piece.removed, piece.old_start):
        terminal.line(terminal.style(_fitting(terminal, f"-{number} {line}"), "red"))
    for number, line in enumerate(piece.added, piece.new_start):
        terminal.line(terminal.style(_fitting(terminal, f"+{number} {line}"), "green"))


def _write_version(terminal: Terminal, version: "DiffVersion", sign: str, style: Style) -> None:
    terminal.line(terminal.style(f"{sign * 3} {printable(version.path)}:{version.line_start}-{version.line_end}", style, "bold"))
    for number, line in enumerate(version.body.split("\n") if version.body else (), version.line_start):
        terminal.line(terminal.style(_fitting(terminal, f"{sign}{number} {line}"), style))
    if version.lines_omitted:
        terminal.line(terminal.style(f"({version.lines_omitted:,} more lines)", "dim"))


def _fitting(terminal: Terminal, text: str) -> str:
    return cut(printable(text.rstrip()), MAX_LINE_COLUMNS if terminal.width is None else terminal.width)
