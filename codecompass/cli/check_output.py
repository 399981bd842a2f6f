"""The results of checks (`doctor`, `cluster doctor`) as lines for people."""

import textwrap
from typing import Final

from codecompass.cli.json_output import Check
from codecompass.cli.terminal import Style, Terminal, printable

_STYLES: Final[dict[str, tuple[Style, ...]]] = {
    "ok": ("green",),
    "warn": ("yellow", "bold"),
    "fail": ("red", "bold"),
}

NAME_WIDTH: Final = 14


def write_check(terminal: Terminal, check: Check) -> None:
    """Writes the result of one check, and below it what to do."""
    indent = " " * (len("fail") + 2 + NAME_WIDTH + 2)
    label = terminal.style(check.status.ljust(len("fail")), *_STYLES[check.status])
    first, *others = _wrapped(terminal, check.message, len(indent))
    terminal.line(f"{label}  {terminal.style(check.name.ljust(NAME_WIDTH), 'bold')}  {first}")
    for line in others:
        terminal.line(indent + line)
    for number, line in enumerate(_wrapped(terminal, check.remedy, len(indent) + 2) if check.remedy else ()):
        terminal.line(indent + terminal.style(("  " if number else "→ ") + line, "cyan"))
    terminal.out.flush()


def summary(terminal: Terminal, n_failed: int, n_warned: int) -> str:
    """Returns how many checks failed, and how many need a look."""
    if n_failed:
        return terminal.style(f"{n_failed} failed, {n_warned} to look at", "red", "bold")
    if n_warned:
        return terminal.style(f"everything works; {n_warned} to look at", "yellow", "bold")
    return terminal.style("everything works", "green", "bold")


def _wrapped(terminal: Terminal, text: str, indent: int) -> list[str]:
    if terminal.width is None:
        return [printable(text)]
    width = max(30, terminal.width - indent)
    return textwrap.wrap(printable(text), width, break_long_words=False, break_on_hyphens=False) or [""]
