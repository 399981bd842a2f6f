"""What a tree defines and uses now, by the worker's own code and by ripgrep, to compare answers with."""

import os
import subprocess
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.actors.index_limits import IndexLimits
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.languages.uses.packed_uses import unpacked_all
from codecompass.languages.words import WordSplitter
from codecompass.scan.rules import ScanRules
from codecompass.worker.messages import Batch, FileSymbols, FileTask
from codecompass.worker.parsing import Parsers, parse_file
from codecompass.worker.reading import read_file
from tests.conftest import tool

WORKTREE: Final = "nested"
"""The directory of a linked worktree inside the tree: its files are no part of it."""


class Place(Struct, frozen=True, order=True):
    """A definition, or a line that uses a name."""

    path: str
    line: int


class Node(Struct, frozen=True, order=True):
    """A definition in an outline. Lines from 1, inclusive."""

    line_start: int
    line_end: int
    kind: str
    name: str


class Parsed(Struct, frozen=True):
    """What the worker's code finds in a tree. `blocks` are `impl` blocks of Rust: places of a type, not definitions."""

    definitions: dict[str, set[Place]]
    uses: dict[str, set[Place]]
    outlines: dict[str, list[Node]]
    blocks: set[Place]


def parsed(root: Path) -> Parsed:
    """Parses every file that ripgrep lists in a tree; hidden and ignored ones are left out."""
    limits = IndexLimits(rules=ScanRules())
    batch = Batch(
        root=os.fsencode(root),
        tasks=(),
        parse=True,
        max_file_bytes=limits.rules.max_file_bytes,
        max_line_characters=limits.max_line_characters,
        parse_cpu_seconds=limits.parse_cpu_seconds,
    )
    definitions: dict[str, set[Place]] = {}
    uses: dict[str, set[Place]] = {}
    outlines: dict[str, list[Node]] = {}
    blocks: set[Place] = set()
    parsers, splitter = _PARSERS, WordSplitter()
    for path in listed(root):
        reading = read_file(batch, FileTask(path), splitter)
        if reading.answer.status != "indexed":
            continue
        symbols = FileSymbols(path, b"")
        if reading.answer.language in SYMBOL_LANGUAGES:
            symbols = parse_file(batch, reading.answer, reading.source, parsers)
        outlines[path] = sorted(Node(each.line_start, each.line_end, each.kind, each.name) for each in symbols.symbols)
        for symbol in symbols.symbols:
            definitions.setdefault(symbol.name, set()).add(Place(path, symbol.line_start))
            if symbol.kind == "impl":
                blocks.add(Place(path, symbol.line_start))
        for name in unpacked_all(symbols.uses):
            uses.setdefault(name.name, set()).update(Place(path, use.line) for use in name.uses)
    return Parsed(definitions, uses, outlines, blocks)


_PARSERS: Final = Parsers()


def listed(root: Path) -> list[str]:
    """Returns the files that ripgrep would search, sorted."""
    return sorted(_ripgrep(root, "--files", "."))


def matching(root: Path, name: str) -> set[Place]:
    """Returns the lines that `rg -w` finds."""
    found = (line.split(":", 2) for line in _ripgrep(root, "-w", "-n", "-F", "--no-heading", "--", name, "."))
    return {Place(path, int(line)) for path, line, _ in found}


def _ripgrep(root: Path, *arguments: str) -> list[str]:
    """Returns the lines of its output. A linked worktree is another checkout: its files are no part of the tree."""
    command = [tool("rg"), "--no-require-git", "-g", f"!{WORKTREE}", *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return [line.removeprefix("./") for line in done.stdout.splitlines()]
