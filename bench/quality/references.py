"""Who uses a definition, compared with compilers: `python -m bench.quality.references --trees DIR --truth DIR --home DIR`.

Each row of refs.jsonl (a definition, the lines that refer to it, the functions around them) is a call of `find_references`, each
row of subtypes.jsonl one of `get_symbol_hierarchy`. Lines that import are neutral, and so is the definition's own line; uses in
parts of the repository that the truth does not cover are ignored. `shared` are names that several definitions of the repository
have. For comparison: whole words found by ripgrep in the same files. --home has the indexes that
`python -m bench.quality --mode whole --out OUT` left (OUT/index).
"""

import argparse
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from bench.figures import percentile
from bench.job import layout_for
from bench.quality.data import Repository, read_lines
from bench.quality.harness import WorkTree, find_trees
from bench.table import plain_table
from codecompass.errors import CodeCompassError
from codecompass.identity import canonical_root, project_id
from codecompass.languages.records import FUNCTION_LIKE
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import TypeHierarchyReply
from codecompass.protocol.requests import MAX_REFERENCES, FindReferences, GetSymbolHierarchy
from codecompass.query import find_references, get_symbol_hierarchy
from codecompass.query.call_graph import CALLING_ROLES
from codecompass.query.names.exact_names import symbol_handle
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot

NEAR_LINES: Final = 12
"""A definition may begin up to this many lines above the truth's first line, with its decorators."""

COVERED: Final[Mapping[str, str]] = {"click": "src/", "flask": "src/flask/", "starlette": "starlette/", "zod": "packages/zod/"}
"""The part of a repository that the truth covers, if not all of it."""

Line = tuple[str, int]


class At(Struct, frozen=True):
    """A line, and the function around it if needed."""

    path: str
    line: int
    name: str = ""


class Row(Struct, frozen=True, kw_only=True):
    """A definition of the truth."""

    id: str
    repo: str
    language: str
    name: str
    definition: At = field(name="def")
    same_name: int = 1
    references: tuple[At, ...] = ()
    imports: tuple[At, ...] = ()
    callers: tuple[At, ...] = ()
    subtypes: tuple[At, ...] = ()
    scope: str = ""

    def is_covered(self, path: str) -> bool:
        """Whether the truth covers a file."""
        return path.startswith(COVERED.get(self.repo, "")) and (not self.scope or re.search(self.scope, path) is not None)


Counts = dict[str, list[int]]
"""By group: how many were found and right, found, and right."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.references", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--ripgrep", default="rg", help="the program to ask the same questions")
    options = parser.parse_args(arguments)
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    tables: dict[str, Counts] = {}
    times: list[float] = []
    for tree in trees:
        own = [row for row in read_lines(_data(options.truth, "refs.jsonl"), Row) if row.repo == tree.repository.repo]
        types = [row for row in read_lines(_data(options.truth, "subtypes.jsonl"), Row) if row.repo == tree.repository.repo]
        if not own and not types:
            continue
        root = canonical_root(tree.path)
        with WorkspaceIndex(layout_for(root, options.home), project_id(root)).snapshot() as snapshot:
            for row in own:
                times += _score_references(tables, snapshot, tree, row, options.ripgrep)
            for row in types:
                found = set(_subtypes(snapshot, row))
                _add(tables, "subtypes", row, found, {(at.path, at.line) for at in row.subtypes})
    for what, counts in tables.items():
        print(f"{what}\n{_table(counts)}\n")
    print(f"find_references: p50 {percentile(times, 0.5):.1f} ms, p95 {percentile(times, 0.95):.1f} ms")
    return 0


def _score_references(tables: dict[str, Counts], snapshot: Snapshot, tree: WorkTree, row: Row, ripgrep: str) -> Iterator[float]:
    """Adds the figures of one row; yields the milliseconds of the query."""
    neutral = {(at.path, at.line) for at in row.imports} | {(row.definition.path, row.definition.line)}
    right = {(at.path, at.line) for at in row.references}
    by_confidence: dict[str, set[Line]] = defaultdict(set)
    callers: set[tuple[str, str]] = set()
    name, path = _asked(snapshot, row)
    began = time.perf_counter()
    try:
        request = FindReferences(
            symbol_name=name, path=path, confidence="possible", limit=MAX_REFERENCES, detail_level="location"
        )
        reply = find_references(snapshot, request, _state(snapshot))
    except CodeCompassError as error:
        print(f"{row.id}: {error.message}", file=sys.stderr)
        return
    yield (time.perf_counter() - began) * 1000
    for each in reply.references:
        if not row.is_covered(each.path) or each.role == "import":
            continue
        by_confidence[each.confidence].add((each.path, each.line_start))
        is_calling = each.confidence != "possible" and each.role in CALLING_ROLES
        if is_calling and each.enclosing is not None and each.enclosing.kind in FUNCTION_LIKE:
            callers.add((each.path, each.enclosing.name))
    sure = by_confidence["exact"] | by_confidence["likely"]
    _add(tables, "exact and likely", row, sure - neutral, right)
    _add(tables, "exact", row, by_confidence["exact"] - neutral, right)
    _add(tables, "all three", row, (sure | by_confidence["possible"]) - neutral, right)
    listed = {(each.path, each.line_start) for each in reply.elsewhere if row.is_covered(each.path)}
    _add(tables, "with what is listed as elsewhere", row, (sure | by_confidence["possible"] | listed) - neutral, right)
    if row.callers:
        _add(tables, "callers", row, callers, {(at.path, at.name) for at in row.callers})
    _add(
        tables, "ripgrep -w", row, {line for line in _words(tree.path, row, ripgrep) if row.is_covered(line[0])} - neutral, right
    )


def _asked(snapshot: Snapshot, row: Row) -> tuple[str, str | None]:
    """Returns the `symbol_id` by which to query the definition of a row, or its name and path."""
    near = [
        symbol
        for symbol in snapshot.facts.symbols_named(row.name, 1000)
        if symbol.path == row.definition.path
        and symbol.kind not in ("impl", "use")
        and symbol.line_start <= row.definition.line + 1
        and row.definition.line <= max(symbol.line_start + 1, min(symbol.line_end, symbol.line_start + NEAR_LINES))
    ]
    best = min(near, key=lambda symbol: abs(symbol.line_start - row.definition.line), default=None)
    # Together with an id a path would only leave out the uses in other files.
    return (row.name, row.definition.path) if best is None else (symbol_handle(snapshot, best), None)


def _subtypes(snapshot: Snapshot, row: Row) -> Iterator[Line]:
    name, path = _asked(snapshot, row)
    try:
        reply = get_symbol_hierarchy(
            snapshot, GetSymbolHierarchy(symbol_name=name, path=path, relation="subtypes"), _state(snapshot)
        )
    except CodeCompassError as error:
        print(f"{row.id}: {error.message}", file=sys.stderr)
        return
    assert isinstance(reply, TypeHierarchyReply)
    for symbol in reply.symbols:
        if symbol.depth == 1 and row.is_covered(symbol.path):
            # The truth may name the line of a decorator or a comment's end.
            known = [at.line for at in row.subtypes if at.path == symbol.path and abs(at.line - symbol.line_start) <= 1]
            yield symbol.path, known[0] if known else symbol.line_start


def _words(root: Path, row: Row, ripgrep: str) -> Iterator[Line]:
    command = [ripgrep, "--no-heading", "--line-number", "--fixed-strings", "--word-regexp", "--", row.name, "."]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)
    for line in done.stdout.splitlines():
        path, number, _ = line.split(":", 2)
        yield path.removeprefix("./"), int(number)


def _add(tables: dict[str, Counts], what: str, row: Row, found: AbstractSet[object], right: AbstractSet[object]) -> None:
    groups = ["overall", "shared" if row.same_name > 1 else "unique", row.language]
    counts = tables.setdefault(what, {})
    for group in groups:
        figures = counts.setdefault(group, [0, 0, 0])
        figures[0] += len(found & right)
        figures[1] += len(found)
        figures[2] += len(right)


def _table(counts: Counts) -> str:
    rows = []
    for group in sorted(counts, key=lambda group: (group not in ("overall", "shared", "unique"), group)):
        both, found, right = counts[group]
        precision, recall = both / found if found else 0.0, both / right if right else 0.0
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        rows.append((group, f"{precision:.3f}", f"{recall:.3f}", f"{f1:.3f}"))
    return plain_table(("", "precision", "recall", "F1"), rows, "<>>>")


def _state(snapshot: Snapshot) -> AnswerState:
    return AnswerState(workspace="/", project_id=snapshot.project_id, ref="live")


def _data(directory: Path, name: str) -> Path:
    return directory / name if (directory / name).exists() else directory / "dev" / name


if __name__ == "__main__":
    sys.exit(main())
