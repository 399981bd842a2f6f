"""Success of lookups with wrong names: `python -m bench.quality.misremembered_names --trees DIR --truth DIR --home DIR`.

Functions, methods and types with unique names are drawn from each index; each is looked up with both tools under its name,
changed in one way at a time. Success means that the definition is among the first five results. --home has the indexes that
`python -m bench.quality --out OUT` left (OUT/index).
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from bench.job import layout_for
from bench.quality.data import Repository, read_lines
from bench.quality.harness import find_trees
from bench.table import plain_table
from codecompass.identity import canonical_root, project_id
from codecompass.languages.words import split_identifier
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import locate_symbol, search_code
from codecompass.query.words.query_words import name_parts
from codecompass.scan.path_roles import role_of
from codecompass.store.index import WorkspaceIndex
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

FIRST: Final = 5
SHORTEST_NAME: Final = 5
DEFINING_KINDS: Final = frozenset({"fn", "method", "class", "struct", "enum", "trait", "interface"})

Change = Callable[[SymbolRow, Random], str]
"""Returns the query made from a symbol; empty if the change makes no sense for it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.misremembered_names", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--symbols", type=int, default=40, help="of each repository")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--misses", type=int, default=0, help="show so many of each change that were not found")
    options = parser.parse_args(arguments)
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    totals: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for tree in trees:
        root = canonical_root(tree.path)
        random = Random(options.seed)
        with WorkspaceIndex(layout_for(root, options.home), project_id(root)).snapshot() as snapshot:
            rows = unique_symbols(snapshot, random, options.symbols)
            for change, asked, found in ask(snapshot, rows, random):
                totals[change].append(found)
                if not found[0] and sum(not located for located, _ in totals[change]) <= options.misses:
                    print(f"{change}: {tree.repository.repo}: {asked}", file=sys.stderr)
    print(guesses_table(totals))
    return 0


def unique_symbols(snapshot: Snapshot, random: Random, count: int) -> list[SymbolRow]:
    """Returns `count` definitions of product code with names that no other definition has, in any case."""
    paths = [(file_id, path) for file_id, path in snapshot.facts.paths() if role_of(path).rank == 0]
    random.shuffle(paths)
    rows: list[SymbolRow] = []
    for file_id, _ in paths:
        if len(rows) == count:
            break
        known = [row for row in snapshot.facts.symbols_in_file(file_id) if _is_plain(row)]
        alone = [row for row in known if len(snapshot.facts.symbols_named(row.name, 2)) == 1]
        rows += [random.choice(alone)] if alone else []
    return rows


def ask(snapshot: Snapshot, rows: Sequence[SymbolRow], random: Random) -> Iterator[tuple[str, str, tuple[bool, bool]]]:
    """Yields (change, query, (found by locate_symbol, found by search_code)) for each symbol and change."""
    state = AnswerState(workspace="/", project_id=snapshot.project_id, ref="live")
    for row in rows:
        for name, change in CHANGES.items():
            asked = change(row, random)
            if not asked:
                continue
            located = locate_symbol(snapshot, LocateSymbol(name=asked, limit=FIRST), state).results
            found = search_code(snapshot, SearchCode(query=asked, limit=FIRST), state).results
            yield name, asked, (_holds(located, row), _holds(found, row))


def guesses_table(totals: Mapping[str, Sequence[tuple[bool, bool]]]) -> str:
    """Returns the share of symbols that each tool has among its first five, by change."""
    rows = [
        (
            name,
            f"{sum(located for located, _ in found) / len(found):.3f}",
            f"{sum(searched for _, searched in found) / len(found):.3f}",
            str(len(found)),
        )
        for name, found in totals.items()
    ]
    return plain_table(("success@5", "locate_symbol", "search_code", "n"), rows, "<>>>")


def _is_plain(row: SymbolRow) -> bool:
    return row.kind in DEFINING_KINDS and len(row.name) >= SHORTEST_NAME and row.name.isidentifier() and row.name.isascii()


def _holds(results: Sequence[object], row: SymbolRow) -> bool:
    return any(
        getattr(result, "path", None) == row.path
        and getattr(result, "line_start", 0) <= row.line_start <= getattr(result, "line_end", 0)
        and getattr(result, "name", "") == row.name
        for result in results
    )


def _scope(row: SymbolRow) -> str:
    parts = name_parts(row.qualified_name)
    return parts[-2] if len(parts) > 1 and parts[-1] == row.name else ""


def _words(row: SymbolRow) -> list[str]:
    return split_identifier(row.name)


def _joined(separator: str) -> Change:
    return lambda row, random: f"{_scope(row)}{separator}{row.name}" if _scope(row) else ""


def _other_case(row: SymbolRow, random: Random) -> str:
    return row.name.lower() if row.name != row.name.lower() else row.name.upper()


def _other_notation(row: SymbolRow, random: Random) -> str:
    words = _words(row)
    if len(words) < 2:
        return ""
    return words[0] + "".join(map(str.capitalize, words[1:])) if "_" in row.name.strip("_") else "_".join(words)


def _other_number(row: SymbolRow, random: Random) -> str:
    if row.name.endswith("ss") or not row.name[-1].isalpha():
        return ""
    return row.name[:-1] if row.name.endswith("s") else row.name + "s"


def _without_first_word(row: SymbolRow, random: Random) -> str:
    words = _words(row)
    return "_".join(words[1:]) if len(words) > 2 else ""


def _with_a_word_before(row: SymbolRow, random: Random) -> str:
    return f"{random.choice(('get', 'do', 'my', 'handle'))}_{'_'.join(_words(row))}"


def _swapped_letters(row: SymbolRow, random: Random) -> str:
    at = random.randrange(1, len(row.name) - 1)
    swapped = row.name[:at] + row.name[at + 1] + row.name[at] + row.name[at + 2 :]
    return swapped if swapped.lower() != row.name.lower() else ""


def _wrong_scope(row: SymbolRow, random: Random) -> str:
    return f"Base{_scope(row).capitalize()}.{row.name}" if _scope(row) else ""


def _path_and_name(row: SymbolRow, random: Random) -> str:
    return f"{row.path.rpartition('.')[0] or row.path}:{row.name}"


def _signature(row: SymbolRow, random: Random) -> str:
    return row.signature


def _call(row: SymbolRow, random: Random) -> str:
    return f"{row.name}(a, b)" if row.kind in ("fn", "method") else ""


def _line(row: SymbolRow, random: Random) -> int:
    return random.randint(row.line_start, row.line_end)


def _python_frame(row: SymbolRow, random: Random) -> str:
    return f'  File "/home/ci/{row.path}", line {_line(row, random)}, in {row.name}' if row.language == "python" else ""


def _jvm_frame(row: SymbolRow, random: Random) -> str:
    if row.language not in ("java", "kotlin", "scala") or not _scope(row):
        return ""
    name = ".".join(name_parts(row.qualified_name))
    return f"\tat {name}({row.path.rpartition('/')[2]}:{_line(row, random)})"


def _go_frame(row: SymbolRow, random: Random) -> str:
    return f"\t/home/ci/{row.path}:{_line(row, random)} +0x1d" if row.language == "go" else ""


def _script_frame(row: SymbolRow, random: Random) -> str:
    if row.language not in ("javascript", "typescript", "tsx"):
        return ""
    return f"    at {row.name} (/home/ci/{row.path}:{_line(row, random)}:9)"


def _place_alone(row: SymbolRow, random: Random) -> str:
    return f"{row.path}:{_line(row, random)}:5"


CHANGES: Final[Mapping[str, Change]] = {
    "the name itself": lambda row, random: row.name,
    "other case": _other_case,
    "other notation (snake, camel)": _other_notation,
    "singular for plural, plural for singular": _other_number,
    "without its first word": _without_first_word,
    "with a word before it": _with_a_word_before,
    "two letters swapped": _swapped_letters,
    "Scope.name": _joined("."),
    "Scope#name": _joined("#"),
    "Scope::name": _joined("::"),
    "name in a scope that is not its own": _wrong_scope,
    "path/module:name": _path_and_name,
    "its signature": _signature,
    "name(a, b)": _call,
    "frame, Python": _python_frame,
    "frame, Java, Kotlin, Scala": _jvm_frame,
    "frame, Go": _go_frame,
    "frame, JavaScript, TypeScript": _script_frame,
    "frame, path:line:column": _place_alone,
}
"""Defined last because it refers to the functions above."""


if __name__ == "__main__":
    sys.exit(main())
