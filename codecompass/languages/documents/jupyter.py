"""Notebooks of Jupyter in Python: the code of their cells, one after another."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.records import Symbol
from codecompass.languages.scripting.python import PYTHON
from codecompass.languages.walk.regions import Region, Regions


class _Named(Struct):
    name: str = ""
    language: str = ""


class _Metadata(Struct):
    kernelspec: _Named | None = None
    language_info: _Named | None = None


class _Notebook(Struct):
    metadata: _Metadata | None = None


_notebook_decoder: Final = msgspec.json.Decoder(_Notebook)
_TOKEN: Final = lazy.pattern(r'"(?>(?:[^"\\]++|\\.)*)"|[{}\[\],:\n]', re.DOTALL)
_MAGIC: Final = lazy.pattern(r"\s*+[%!?]|[^\n#'\"]*\?\s*$")
_HARMLESS_CELL_MAGIC: Final = lazy.pattern(r"%%(?:time|timeit|capture|prun)\b")


def regions(text: str) -> tuple[Region, ...]:
    """Returns the code of a notebook in Python, cell after cell, as one region; empty for another notebook."""
    try:
        metadata = _notebook_decoder.decode(text.encode("utf-8", "replace")).metadata or _Metadata()
    except (msgspec.DecodeError, RecursionError):
        return ()
    kernel, info = metadata.kernelspec or _Named(), metadata.language_info or _Named()
    if not (info.name or kernel.language or kernel.name or "python").lower().startswith(("python", "ipython")):
        return ()
    code: list[str] = []
    lines: list[int] = []
    for cell in _code_cells(text):
        written = _lines_of_cell(cell)
        if written and written[0][1].startswith("%%") and not _HARMLESS_CELL_MAGIC.match(written[0][1]):
            continue
        code += ["" if _MAGIC.match(line) else line for _, line in written]
        lines += [number for number, _ in written]
    if not code:
        return ()
    # The text may end in a line break, after which there is one more line.
    whole = "\n".join(code) + "\n"
    return (Region("python", 0, len(text), whole, lines=(*lines, lines[-1])),)


def _lines_of_cell(pieces: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Returns the lines of a cell, each with its line in the file. A piece may hold several lines, or a part of one."""
    found: list[tuple[int, str]] = []
    is_complete = True
    for number, piece in pieces:
        for line in piece.splitlines(keepends=True):
            bare = line.rstrip("\r\n")
            if is_complete:
                found.append((number, bare))
            else:
                found[-1] = (found[-1][0], found[-1][1] + bare)
            is_complete = bare != line
    return found


_CELL: Final = ["{", "cells[", "{"]
_SOURCE: Final = [*_CELL, "source["]


def _code_cells(text: str) -> Iterator[list[tuple[int, str]]]:
    """Yields the strings of the source of each code cell, each with its line."""
    path: list[str] = []
    """The open containers, each as its key and bracket."""
    key, is_value = "", False
    line = 1
    kind = ""
    pieces: list[tuple[int, str]] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n":
            line += 1
        elif token[0] == '"':
            if path == _SOURCE or (is_value and path == _CELL and key == "source"):
                pieces.append((line, msgspec.json.decode(token, type=str)))
            elif is_value and path == _CELL and key == "cell_type":
                kind = token[1:-1]
            elif not is_value:
                key = token[1:-1]
        elif token in ":,":
            is_value = token == ":"
        elif token in "{[":
            path.append((key if is_value else "") + token)
            key, is_value = "", False
        elif path:
            if path == _CELL:
                if kind == "code":
                    yield pieces
                kind, pieces = "", []
            path.pop()


def _first_variables(symbols: Sequence[Symbol], _text: str, _path: str) -> list[Symbol]:
    """Returns the symbols with the first assignment only of each variable: the cells of a notebook assign the same ones."""
    known: set[tuple[str, int]] = set()
    kept: list[Symbol] = []
    new_index: dict[int, int] = {-1: -1}
    for index, symbol in enumerate(symbols):
        if symbol.kind == "var":
            if (symbol.name, symbol.parent) in known:
                continue
            known.add((symbol.name, symbol.parent))
        new_index[index] = len(kept)
        kept.append(replace(symbol, parent=new_index.get(symbol.parent, -1)))
    return kept


JUPYTER = replace(PYTHON, regions=Regions(holds="cells", found=regions, are_all=True, completed=_first_variables))
