"""Output for people and for programs: answers to stdout, everything else to stderr, tables cut to the terminal's width."""

import os
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final, Literal, TextIO

from msgspec import Struct

from codecompass.hints import for_people
from codecompass.settings import wants_color

Style = Literal["bold", "dim", "red", "green", "yellow", "blue", "magenta", "cyan"]

_CODES: Final[Mapping[Style, str]] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}

ELLIPSIS: Final = "…"

DEFAULT_WIDTH: Final = 80
"""Columns of a terminal that does not report its size."""

GONE_DIRECTORY: Final = (
    "the current directory does not exist any more. Change to another, or pass --workspace with an absolute path."
)


class Terminal:
    """The output streams of a command. `width` is that of stdout in columns, None if it is not a terminal."""

    def __init__(self, environment: Mapping[str, str], out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = sys.stdout if out is None else out
        self.err = sys.stderr if err is None else err
        allowed = wants_color(environment)
        self._is_colored = {id(stream): allowed and stream.isatty() for stream in (self.out, self.err)}
        self.shows_progress = self.err.isatty() and environment.get("TERM") != "dumb"
        """Whether stderr is a terminal whose last line can be redrawn."""
        self.width = _terminal_columns() if self.out.isatty() else None

    def style(self, text: str, *styles: Style, stream: TextIO | None = None) -> str:
        """Returns `text` in these styles; unchanged if the stream, by default stdout, shows none."""
        target = self.out if stream is None else stream
        if not styles or not text or not self._is_colored[id(target)]:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}\x1b[0m"

    def line(self, text: str = "") -> None:
        """Writes a line of the answer."""
        self.out.write(text + "\n")

    def note(self, text: str, *styles: Style) -> None:
        """Writes a line to stderr: a warning, a summary, a hint.

        Dropped if stderr cannot be written: the answer and the exit code are what matters.
        """
        self.out.flush()
        self._write_err(self.style(text, *styles, stream=self.err) + "\n")

    def draw(self, text: str) -> None:
        """Replaces the last line of stderr, a terminal, by `text` without an end of line; an empty text clears the line."""
        try:
            width = os.get_terminal_size(self.err.fileno()).columns or DEFAULT_WIDTH
        except OSError:
            width = DEFAULT_WIDTH
        # Some terminals begin a new line after the last column.
        self._write_err(f"\r\x1b[2K{cut(text, width - 1)}")

    def _write_err(self, text: str) -> None:
        try:
            self.err.write(text)
            self.err.flush()
        except BrokenPipeError:
            raise
        except OSError:
            _send_nowhere(self.err)

    def warn(self, text: str) -> None:
        """Writes a warning, with commands and options where it names tools and arguments."""
        self.note(f"{self.style('warning:', 'yellow', 'bold', stream=self.err)} {printable(for_people(text))}")

    def abandon_output(self) -> None:
        """Discards the rest of the answer, also what is buffered, so that the flush at the end of the process cannot fail."""
        _send_nowhere(self.out)

    def json(self, content: bytes) -> None:
        """Writes exactly these bytes and a newline."""
        self.out.flush()
        os_out = getattr(self.out, "buffer", None)
        if os_out is None:
            self.out.write(content.decode() + "\n")
        else:
            os_out.write(content + b"\n")


def _terminal_columns() -> int:
    import shutil

    return shutil.get_terminal_size().columns


def _send_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def printable(text: str) -> str:
    """Returns `text` on one line, with control characters and bytes that are not UTF-8 escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_printable_character, text))


def _printable_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    category = unicodedata.category(character)
    if character == "\t":
        return "    "
    # Cc: control. Cf includes the bidirectional overrides that make code look different from what runs. Cs: lone surrogates.
    if category in ("Cc", "Cs", "Zl", "Zp") or (category == "Cf" and character not in "\u200d\u200c\u00ad"):
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def columns(text: str) -> int:
    """Returns the width of `text` in columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(character) for character in text)


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int | None) -> str:
    """Returns `text`, shortened with an ellipsis to at most `width` columns."""
    if width is None or columns(text) <= width:
        return text
    taken, kept = 0, []
    for character in text:
        taken += _columns_of(character)
        if taken > width - 1:
            break
        kept.append(character)
    return "".join(kept).rstrip() + ELLIPSIS


def pad(text: str, width: int) -> str:
    """Returns `text` filled with spaces to `width` columns."""
    return text + " " * (width - columns(text))


def working_directory() -> str | None:
    """Returns the current directory, None if it no longer exists."""
    try:
        return os.getcwd()
    except OSError:
        return None


_GAP = "  "


class Cell(Struct, frozen=True):
    """A field of a row. `is_right` aligns it to the right, as numbers are."""

    text: str
    styles: tuple[Style, ...] = ()
    is_right: bool = False


def write_table(terminal: Terminal, rows: Sequence[Sequence[Cell]]) -> None:
    """Writes rows of equally many cells in aligned columns. The last column is cut to the remaining width."""
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
