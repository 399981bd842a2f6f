"""Differences on the command line: reads them before a question is asked, and shows them to people."""

from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from codecompass.cli.terminal import Style, Terminal, cut, printable
from codecompass.protocol.requests import AnyRequest, DiffContext
from codecompass.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from codecompass.protocol.difference_replies import DiffContextReply, DiffItem, DiffPiece, DiffVersion
    from codecompass.query.options import QueryOptions
    from codecompass.scan.git_revisions import NamedCommit

T = TypeVar("T")

MAX_LINE_COLUMNS: Final = 200
"""Columns of a line of code where stdout is no terminal."""

_STYLES: Final[dict[str, Style]] = {
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "renamed": "cyan",
    "moved": "cyan",
    "lines": "dim",
    "unchanged": "dim",
}


def differing(
    options: "QueryOptions", request: AnyRequest, root: Path, settings: Settings, commit: "NamedCommit | None" = None
) -> "QueryOptions":
    """Returns the options with what differs from the working tree, or from `commit`, where the question is about that.

    Runs git and worker processes. Raises what `with_differences` raises.
    """
    if not isinstance(request, DiffContext) and getattr(request, "changed_since", None) is None:
        return options
    import trio

    from codecompass.actors.differences import IsCancelled, with_differences
    from codecompass.actors.index_limits import index_limits
    from codecompass.actors.worker_pool import default_pool_size, open_worker_pool

    async def here(work: "Callable[[IsCancelled], T]") -> T:
        return work(lambda: False)

    n_workers = settings.index.workers or default_pool_size()
    limits = index_limits(settings.index)
    return trio.run(with_differences, options, request, root, limits, lambda: open_worker_pool(n_workers), here, commit)


def write_differences(terminal: Terminal, reply: "DiffContextReply") -> None:
    """Writes what differs: a heading each, who uses it, and the lines, coloured on a terminal."""
    from codecompass.protocol.text.differences import difference_lines, file_line

    head = next(iter(difference_lines(replace(reply, items=(), files=()))))
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
    for warning in reply.metadata.warnings:
        terminal.warn(warning)


def _write_item(terminal: Terminal, item: "DiffItem") -> None:
    from codecompass.protocol.text.differences import heading, item_lines

    plain = replace(item, pieces=(), lines_omitted=0, old=None, new=None)
    change, _, rest = printable(heading(item)).partition(": ")
    terminal.line(f"{terminal.style(change, _STYLES[item.change], 'bold')}: {rest}")
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
