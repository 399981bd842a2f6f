"""`codecompass languages`: which languages are supported, and how far; which module reads a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import Cell, printable, write_table
from codecompass.errors import InvalidInput

if TYPE_CHECKING:
    from codecompass.cli.json_output import FileLanguage

MOST_FILES: Final = 4
"""Extensions and names of files that a row shows."""


@command(
    "languages",
    text="""
    Show which languages are supported, and how far.

    Definitions are read from the tree that a grammar gives, from the text, or from the code within a file of another
    language; they are nested as they are in the file. Imports are those that lead to files, uses those of names.
    Registered is what annotations, calls and macros define: routes of web frameworks (POST /orders), tasks, types. What a
    language holds are parts of its files that are read as other languages: scripts, cells, strings with a mark. Text
    search reads every other text too.

    With --why, says of one file which language it is in and which module reads it.
    """,
    examples=(
        Example("codecompass languages", "all of them"),
        Example("codecompass languages --why src/routes.rb", "what reads this file"),
        Example("codecompass languages --json | jq -r '.languages[] | select(.uses) | .name'", "those with uses"),
    ),
    chooses_project=False,
)
@asyncclick.option("--why", "path", metavar="FILE", help="Say which language FILE is in, and which module reads it.")
def languages(invocation: Invocation, path: str | None) -> int:
    """Prints a table, or what is known of one file."""
    from codecompass.cli.json_output import LanguageTable
    from codecompass.languages.support import HEADS, all_supported, cells

    terminal = invocation.terminal
    if path is not None:
        found = _of_file(path)
        if invocation.options.as_json:
            invocation.print_json(found)
        else:
            terminal.line(_sentence(found))
        return failure.DONE
    rows = tuple(all_supported())
    if invocation.options.as_json:
        invocation.print_json(LanguageTable(rows))
    else:
        lines = (HEADS, *(cells(row, MOST_FILES) for row in rows))
        write_table(terminal, [tuple(Cell(text) for text in line) for line in lines])
    return failure.DONE


def _of_file(path: str) -> "FileLanguage":
    from codecompass.cli.json_output import FileLanguage
    from codecompass.languages.detect import HEAD_BYTES, language_of
    from codecompass.languages.support import supported
    from codecompass.languages.table import LANGUAGES

    try:
        with Path(path).open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", field="why") from error
    name = language_of(Path(path).as_posix(), head)
    return FileLanguage(path, name, supported(name) if name in LANGUAGES else None)


def _sentence(found: "FileLanguage") -> str:
    support = found.support
    start = f"{printable(found.path)}: {found.language}"
    if support is None or not support.module:
        return f"{start}, searched as text; no module reads it"
    by = f" with the grammar {support.grammar}" if support.grammar else ""
    has = {"definitions": support.definitions, "imports": support.imports, "uses": support.uses, "registered": support.registered}
    holds = f"; {support.holds} are read as other languages" if support.holds else ""
    return f"{start}, read by {support.module}{by}: {', '.join(word for word, is_there in has.items() if is_there)}{holds}"
