"""Queries an index in this process and measures how long each answer took: `python -m bench.probe ROOT --home DIR`.

`bench.latency` starts it as a separate process. A query is what a server does for one request: a snapshot, the query, the answer
as JSON bytes. The questions are drawn from the index itself, by a seed.
"""

import argparse
import random
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.job import layout_for
from codecompass.identity import canonical_root, project_id
from codecompass.languages.words import split_identifier
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import GetCodeContext, GetFileOutline, LocateSymbol, SearchCode, SearchMode
from codecompass.query import get_code_context, get_file_outline, locate_symbol, search_code
from codecompass.store.index import WorkspaceIndex
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.units import NANOSECONDS_PER_MILLISECOND

Query = Callable[[Snapshot], Struct]

WARM_UP: Final = 10
"""Number of queries of each kind before timing starts."""

OPENINGS: Final = 20
OUTLINE_SYMBOLS: Final = 200
OUTLINE_FILES: Final = 10
"""Outlines are requested of this many files, those with a number of symbols nearest to OUTLINE_SYMBOLS."""

MIN_WORDS: Final = 4
"""Minimum words of a comment's sentence that serves as a question in natural language."""


LITERAL_CHARACTERS: Final = 24


class Timings(Struct, frozen=True, kw_only=True):
    """One kind of query: milliseconds of each answer in order, and CPU milliseconds of a mean answer; bytes of each answer."""

    kind: str
    milliseconds: tuple[float, ...]
    cpu_milliseconds: float
    answer_bytes: tuple[int, ...]


class ProbeRun(Struct, frozen=True, kw_only=True):
    """All kinds, and some of the names in the questions, for queries to other programs."""

    timings: tuple[Timings, ...]
    names: tuple[str, ...]
    outline_symbols: tuple[int, ...]


class Questions(Struct, frozen=True, kw_only=True):
    """The questions. There may be fewer `sentences` than requested, or none, if a repository has few comments.

    `literals` are alternately names and pieces of code, `patterns` regular expressions for calls and for families of names.
    """

    names: tuple[str, ...]
    phrases: tuple[str, ...]
    sentences: tuple[str, ...]
    literals: tuple[str, ...]
    patterns: tuple[str, ...]


def decode(stdout: bytes) -> ProbeRun:
    """Decodes the output of the process."""
    return msgspec.json.decode(stdout, type=ProbeRun)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=100)
    options = parser.parse_args(arguments)
    root = canonical_root(options.root)
    index = WorkspaceIndex(layout_for(root, options.home), project_id(root))
    state = AnswerState(workspace=str(root), project_id=project_id(root), ref="live")
    with index.snapshot() as snapshot:
        asked = questions(snapshot, random.Random(options.seed), options.queries)
        long_files = _files_of_size(snapshot, OUTLINE_SYMBOLS, OUTLINE_FILES)
    outlines = [_outline(path, state) for path, _ in long_files]
    timings = [
        _time(index, "locate_symbol", [_locate(name, state) for name in asked.names]),
        _time(index, "search_code, symbol names", [_search(name, state) for name in asked.names]),
        _time(index, "search_code, phrases", [_search(phrase, state) for phrase in asked.phrases]),
        _time(index, "search_code, natural language", [_search(sentence, state) for sentence in asked.sentences]),
        _time(index, "search_code, literal", [_scan(text, "literal", state) for text in asked.literals]),
        _time(index, "search_code, regex", [_scan(pattern, "regex", state) for pattern in asked.patterns]),
        _time(index, "get_file_outline", outlines * (options.queries // OUTLINE_FILES + 1)),
        _time(index, "get_code_context", [_context(phrase, state) for phrase in asked.phrases]),
        _time_openings(index, [_locate(name, state) for name in asked.names[:OPENINGS]]),
    ]
    run = ProbeRun(
        timings=tuple(timing for timing in timings if timing is not None),
        names=asked.names[:20],
        outline_symbols=tuple(count for _, count in long_files),
    )
    sys.stdout.buffer.write(msgspec.json.encode(run))


def questions(snapshot: Snapshot, source: random.Random, count: int) -> Questions:
    """Returns `count` questions of each kind about symbols of `snapshot`, at most one per file."""
    paths = snapshot.facts.paths()
    source.shuffle(paths)
    rows: list[SymbolRow] = []
    sentences: list[str] = []
    for file_id, _ in paths:
        if len(rows) >= count and len(sentences) >= count:
            break
        symbols = [row for row in snapshot.facts.symbols_in_file(file_id) if row.kind not in ("use", "impl")]
        if not symbols:
            continue
        row = source.choice(symbols)
        if len(rows) < count:
            rows.append(row)
        if len(sentences) < count and len(row.doc.split()) >= MIN_WORDS:
            sentences.append(row.doc.partition(". ")[0][:200])
    return Questions(
        names=tuple(row.name for row in rows),
        phrases=tuple(_phrase(row) for row in rows),
        sentences=tuple(sentences),
        literals=tuple(_literal(row) if number % 2 else row.name for number, row in enumerate(rows)),
        patterns=tuple(_pattern(row, is_call=number % 2 == 0) for number, row in enumerate(rows)),
    )


def _phrase(row: SymbolRow) -> str:
    """Returns two or three words of the symbol's name and scope, as a person would type them."""
    parts = [part for name in row.qualified_name.replace("::", ".").replace("/", ".").split(".")[-2:] for part in _words(name)]
    return " ".join(parts[-3:]) or row.name


def _literal(row: SymbolRow) -> str:
    """Returns a piece of code as a person would copy it: the beginning of the signature."""
    return row.signature[:LITERAL_CHARACTERS].strip() or row.name


def _pattern(row: SymbolRow, *, is_call: bool) -> str:
    words = _words(row.name)
    if is_call or len(words) < 2:
        return rf"\b{re.escape(row.name)}\s*\("
    return rf"(?i){re.escape(words[0])}\w*{re.escape(words[-1])}"


def _words(name: str) -> list[str]:
    return [part.lower() for piece in name.split("_") for part in (split_identifier(piece) or [piece]) if part]


def _files_of_size(snapshot: Snapshot, symbols: int, count: int) -> list[tuple[str, int]]:
    files = [(row.path, row.symbol_count) for row in snapshot.facts.files() if row.symbol_count]
    return sorted(files, key=lambda file: (abs(file[1] - symbols), file[0]))[:count]


def _locate(name: str, state: AnswerState) -> Query:
    return lambda snapshot: locate_symbol(snapshot, LocateSymbol(name=name), state)


def _search(query: str, state: AnswerState) -> Query:
    return lambda snapshot: search_code(snapshot, SearchCode(query=query), state)


def _scan(text: str, mode: SearchMode, state: AnswerState) -> Query:
    return lambda snapshot: search_code(snapshot, SearchCode(query=text, mode=mode), state)


def _outline(path: str, state: AnswerState) -> Query:
    return lambda snapshot: get_file_outline(snapshot, GetFileOutline(path=path), state)


def _context(query: str, state: AnswerState) -> Query:
    return lambda snapshot: get_code_context(snapshot, GetCodeContext(query=query), state)


def _time(index: WorkspaceIndex, kind: str, queries: Sequence[Query]) -> Timings | None:
    for query in queries[:WARM_UP]:
        _answer(index, query)
    return _timed(kind, [(index, query) for query in queries])


def _time_openings(index: WorkspaceIndex, queries: Sequence[Query]) -> Timings | None:
    """Times the first answer of an index that was not open; the system has its files in memory."""
    index.close()
    return _timed("first query after opening", [(WorkspaceIndex(index.layout, index.project_id), query) for query in queries])


def _timed(kind: str, queries: Sequence[tuple[WorkspaceIndex, Query]]) -> Timings | None:
    if not queries:
        return None
    times, sizes = [], []
    cpu = time.process_time()
    for index, query in queries:
        began = time.perf_counter_ns()
        size = _answer(index, query)
        times.append((time.perf_counter_ns() - began) / NANOSECONDS_PER_MILLISECOND)
        sizes.append(size)
    return Timings(
        kind=kind,
        milliseconds=tuple(times),
        cpu_milliseconds=(time.process_time() - cpu) * 1000 / len(queries),
        answer_bytes=tuple(sizes),
    )


def _answer(index: WorkspaceIndex, query: Query) -> int:
    with index.snapshot() as snapshot:
        return len(encode(query(snapshot)))


if __name__ == "__main__":
    main()
