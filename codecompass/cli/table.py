"""Columns that line up, cut to the terminal's width where there is one."""

from collections.abc import Sequence

from msgspec import Struct

from codecompass.cli.terminal import Style, Terminal, columns, cut, pad

_GAP = "  "


class Cell(Struct, frozen=True):
    """A field of a row. `is_right` aligns it to the right, as numbers are."""

    text: str
    styles: tuple[Style, ...] = ()
    is_right: bool = False


def write_table(terminal: Terminal, rows: Sequence[Sequence[Cell]]) -> None:
    """Writes rows of equally many cells. The last column takes what is left of the width."""
    if not rows:
        return
    widths = [max(columns(row[index].text) for row in rows) for index in range(len(rows[0]))]
    taken = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)
    last = None if terminal.width is None else max(20, terminal.width - taken)
    for row in rows:
        parts = []
        for index, cell in enumerate(row):
            is_last = index == len(row) - 1
            text = cut(cell.text, last) if is_last else cell.text
            fill = " " * (widths[index] - columns(text)) if not is_last or cell.is_right else ""
            styled = terminal.style(text, *cell.styles)
            parts.append(fill + styled if cell.is_right else styled + fill)
        terminal.line(_GAP.join(parts).rstrip())


def write_pairs(terminal: Terminal, pairs: Sequence[tuple[str, str]]) -> None:
    """Writes names and values in two columns; a value may have several lines."""
    width = max((columns(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        first, *others = value.split("\n")
        terminal.line(f"{terminal.style(pad(name, width), 'dim')}{_GAP}{first}")
        for other in others:
            terminal.line(f"{' ' * width}{_GAP}{other}")
