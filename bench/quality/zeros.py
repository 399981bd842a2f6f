"""How often `find_references` says nothing of a name that is used: `python -m bench.quality.zeros --trees DIR --home DIR`.

Names are drawn by a seed among those that each repository defines and are asked with the defaults, as agents ask. For each
answer:

refused      `ambiguous_symbol`
says 0       `0 uses`, although ripgrep finds the whole word outside of the definitions of that name
shows none   no line with the name, although ripgrep finds one

--home has the indexes that `python -m bench.quality --mode whole --out OUT` left (OUT/index).
"""

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.job import layout_for
from bench.table import plain_table
from codecompass.errors import AmbiguousSymbol, CodeCompassError
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import FindReferences
from codecompass.protocol.text import render
from codecompass.query import find_references
from codecompass.store.index import WorkspaceIndex
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_DEFINITIONS: Final = 1_000
LEFT_OUT: Final = frozenset({"use", "impl", "section", "test", "key"})
"""Kinds that nobody refers to by a name of code."""

MIN_LENGTH: Final = 3
FIGURES: Final = ("asked", "refused", "says 0", "shows none")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.zeros", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--repos", required=True, help="names of work trees, with commas")
    parser.add_argument("--names", type=int, default=1_000, help="names in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ripgrep", default="rg")
    parser.add_argument("--show", type=int, default=0, help="print so many of the names that have no line shown")
    options = parser.parse_args(arguments)
    names = options.repos.split(",")
    figures: dict[str, dict[str, int]] = {}
    shown: list[str] = []
    for number, repository in enumerate(names):
        n_names = options.names * (number + 1) // len(names) - options.names * number // len(names)
        root = canonical_root(options.trees / repository)
        counts = figures[repository] = dict.fromkeys(FIGURES, 0)
        with WorkspaceIndex(layout_for(root, options.home), project_id(root)).snapshot() as snapshot:
            for name in _drawn(snapshot, random.Random(f"{options.seed} {repository}"), n_names):
                verdict = _verdict(snapshot, name, root, options.ripgrep)
                counts["asked"] += 1
                for each in verdict:
                    counts[each] += 1
                if verdict:
                    shown.append(f"{repository} {name}: {', '.join(verdict)}")
    print(_table(figures))
    print("\n".join(shown[: options.show]))
    return 0


def _drawn(snapshot: Snapshot, chance: random.Random, number: int) -> list[str]:
    """Returns names that the repository defines, each once, the same for the same seed."""
    names = {row.name for file in snapshot.facts.files() for row in snapshot.facts.symbols_in_file(file.id) if _is_name(row)}
    known = sorted(names)
    return chance.sample(known, min(number, len(known)))


def _is_name(row: SymbolRow) -> bool:
    return row.kind not in LEFT_OUT and len(row.name) >= MIN_LENGTH and row.name.isidentifier()


def _verdict(snapshot: Snapshot, name: str, root: Path, ripgrep: str) -> tuple[str, ...]:
    """Returns what is wrong with the answer about a name: some of FIGURES."""
    state = AnswerState(workspace="/", project_id=snapshot.project_id, ref="live")
    try:
        reply = find_references(snapshot, FindReferences(symbol_name=name), state)
    except AmbiguousSymbol:
        return ("refused",)
    except CodeCompassError as error:
        print(f"{name}: {error.message}", file=sys.stderr)
        return ("refused",)
    text = render(reply)
    says_zero = text.split(",")[0].split("\n")[0] == "0 uses"
    shows_none = not reply.references and not getattr(reply, "elsewhere", ())
    if not (says_zero or shows_none) or not _is_used(snapshot, name, root, ripgrep):
        return ()
    return ("says 0",) * says_zero + ("shows none",) * shows_none


def _is_used(snapshot: Snapshot, name: str, root: Path, ripgrep: str) -> bool:
    """Whether ripgrep finds a name in an indexed file, outside of what is defined under it."""
    rows = [row for row in snapshot.facts.symbols_named(name, MAX_DEFINITIONS) if row.name == name]
    by_path: dict[str, list[SymbolRow]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    for path, line in _words(root, name, ripgrep):
        if snapshot.facts.file(path) is not None and not any(_is_inside(row, line) for row in by_path.get(path, ())):
            return True
    return False


def _is_inside(row: SymbolRow, line: int) -> bool:
    return row.line_start <= line <= row.line_end


def _words(root: Path, name: str, ripgrep: str) -> Iterator[tuple[str, int]]:
    command = [ripgrep, "--no-heading", "--line-number", "--fixed-strings", "--word-regexp", "--", name, "."]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, errors="replace", check=False)
    for found in done.stdout.splitlines():
        path, number, _ = found.split(":", 2)
        yield path.removeprefix("./"), int(number)


def _table(figures: Mapping[str, Mapping[str, int]]) -> str:
    rows = [(name, *(str(counts[each]) for each in FIGURES)) for name, counts in figures.items()]
    total = ("together", *(str(sum(counts[each] for counts in figures.values())) for each in FIGURES))
    return plain_table(("", *FIGURES), [*rows, total], "<>>>>")


if __name__ == "__main__":
    sys.exit(main())
