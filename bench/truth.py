"""Compares our symbols with independent truth: `python -m bench.truth --trees DIR --files 200 --seed 1`.

Takes random files of the given trees (--files per language), copies them, indexes the copy with a real job, and compares the
index with Python's `ast` and Universal Ctags: recall by language and kind, for Python precision too, and each class of
disagreement with examples. A disagreement is a question, not a verdict: ctags errs as well.
"""

import argparse
import random
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Literal

from msgspec import Struct

from bench.corpus import make_repository, trees_in
from bench.definitions import CTAGS_PARSER, PYTHON, Definition, bare_name, ctags_definitions, python_definitions
from bench.job import index, layout_for
from bench.programs import ctags as ctags_path
from bench.table import plain_table
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.languages.detect import HEAD_BYTES, language_of
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from codecompass.store.index import WorkspaceIndex

LINE_TOLERANCE: Final = 1
NOT_COMPARED: Final = frozenset({"use", "impl"})
"""Our kinds that do not define a name."""

Outcome = Literal["found", "other line", "missing"]
LOST: Final[tuple[Outcome, ...]] = ("other line", "missing")


class Compared(Struct, frozen=True):
    """A definition and its match on the other side: found under its name within one line, at another line of the file (the
    nearest), or missing. `other` is the matched definition."""

    language: str
    definition: Definition
    outcome: Outcome
    other: Definition | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.truth", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_sample_options(parser, files=200)
    parser.add_argument("--examples", type=int, default=3, help="examples of each class of disagreement")
    options = parser.parse_args(arguments)
    ctags = ctags_path()
    if ctags is None:
        print("Universal Ctags is not installed: Python alone can be compared", file=sys.stderr)
    with TemporaryDirectory(prefix="codecompass-truth-") as directory:
        root = Path(directory) / "tree"
        files = sample(trees_in(options.trees), options.languages, options.files, options.seed, root)
        print(f"{sum(map(len, files.values())):,} files: " + ", ".join(f"{len(files[name])} {name}" for name in sorted(files)))
        _, done = index(root, Path(directory) / "home")
        if done.skipped:
            print("skipped by the index and left out: " + ", ".join(f"{n} {reason}" for reason, n in done.skipped.items()))
        ours, indexed = symbols_of(root, Path(directory) / "home")
        files = {language: [path for path in paths if path in indexed] for language, paths in files.items()}
        truth, unparsed = truth_of(root, files, ctags)
    compared = compare(truth, ours)
    extra = [row for row in compare({PYTHON: ours.get(PYTHON, [])}, truth) if row.definition.path not in unparsed]
    without = sorted(name for name in files if name != PYTHON and (ctags is None or name not in CTAGS_PARSER))
    print(f"no independent truth for: {', '.join(without) or 'none of them'}; {len(unparsed)} files that ast refuses left out\n")
    print("recall, by name within one line:", recall_table(compared), sep="\n\n")
    print("\nkinds that they have and the kinds that we give:", kind_table(compared), sep="\n\n")
    print("\nPython: precision of ours, by our kind:", precision_table(extra), sep="\n\n")
    print("\nwhat they define and we do not, or elsewhere:", disagreement_table(compared, options.examples), sep="\n\n")
    print("\nPython: what we define and ast does not:", disagreement_table(extra, options.examples), sep="\n\n")
    return 0


def add_sample_options(parser: argparse.ArgumentParser, *, files: int) -> None:
    """Adds the options that say what `sample` takes. `files` is the default for each language."""
    parser.add_argument("--trees", type=Path, nargs="+", required=True, help="source trees, or directories of them")
    parser.add_argument("--files", type=int, default=files, help="files of each language")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--languages", type=lambda text: tuple(text.split(",")), default=SYMBOL_LANGUAGES, help="only these, separated by commas"
    )


def sample(trees: Iterable[Path], languages: Sequence[str], count: int, seed: int, target: Path) -> dict[str, list[str]]:
    """Copies up to `count` random files of each language into `target` and returns their paths there, by language.

    Each path begins with the name of its tree. `target` is a git repository that tracks the files, so that none is ignored.
    """
    candidates: dict[str, list[tuple[Path, str]]] = defaultdict(list)
    for tree in trees:
        for file in scan(str(tree), ScanRules()).files:
            with (tree / file.path).open("rb") as content:
                language = language_of(file.path, content.read(HEAD_BYTES))
            if language in languages:
                candidates[language].append((tree, file.path))
    taken: dict[str, list[str]] = {}
    for language, places in sorted(candidates.items()):
        chosen = random.Random(f"{seed}:{language}").sample(sorted(places), min(count, len(places)))
        taken[language] = []
        for tree, path in sorted(chosen):
            copied = f"{tree.name}/{path}"
            (target / copied).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(tree / path, target / copied)
            taken[language].append(copied)
    make_repository(target)
    return taken


def symbols_of(root: Path, home: Path) -> tuple[dict[str, list[Definition]], frozenset[str]]:
    """Returns the definitions in the index of `root`, by language (the kinds are ours), and the indexed paths."""
    found: dict[str, list[Definition]] = defaultdict(list)
    with WorkspaceIndex(layout_for(root, home), "").snapshot() as snapshot:
        files = [file for file in snapshot.facts.files() if file.status == "indexed"]
        for file in files:
            found[file.language] += [
                Definition(file.path, row.name, row.kind, row.line_start)
                for row in snapshot.facts.symbols_in_file(file.id)
                if row.kind not in NOT_COMPARED
            ]
    return found, frozenset(file.path for file in files)


def truth_of(
    root: Path, files: Mapping[str, Sequence[str]], ctags: str | None
) -> tuple[dict[str, list[Definition]], frozenset[str]]:
    """Returns what the other programs find in `files`, by language, and the Python files that `ast` cannot parse."""
    truth: dict[str, list[Definition]] = {}
    unparsed = set()
    for path in files.get(PYTHON, ()):
        try:
            truth.setdefault(PYTHON, []).extend(python_definitions(path, (root / path).read_text(encoding="utf-8-sig")))
        except (SyntaxError, ValueError, RecursionError):
            unparsed.add(path)
    for language in sorted(set(files) - {PYTHON}):
        if ctags is not None and language in CTAGS_PARSER:
            truth[language] = ctags_definitions(ctags, root, language, files[language])
    return truth, frozenset(unparsed)


def compare(one: Mapping[str, Iterable[Definition]], other: Mapping[str, Iterable[Definition]]) -> list[Compared]:
    """Returns for each definition of `one` whether `other` has it."""
    compared = []
    for language, definitions in one.items():
        known: dict[tuple[str, str], list[Definition]] = defaultdict(list)
        for definition in other.get(language, ()):
            known[definition.path, bare_name(language, definition.name)].append(definition)
        for definition in definitions:
            same = known.get((definition.path, bare_name(language, definition.name)), [])
            nearest = min(same, key=lambda candidate: (abs(candidate.line - definition.line), candidate.kind), default=None)
            if nearest is None:
                compared.append(Compared(language, definition, "missing"))
            else:
                is_found = abs(nearest.line - definition.line) <= LINE_TOLERANCE
                compared.append(Compared(language, definition, "found" if is_found else "other line", nearest))
    return compared


def recall_table(compared: Iterable[Compared]) -> str:
    """Returns shares by language and, below each, by the other programs' kind."""
    groups: dict[tuple[str, str], Counter[Outcome]] = defaultdict(Counter)
    for row in compared:
        for kind in ("", row.definition.kind):
            groups[row.language, kind][row.outcome] += 1
    rows = [
        (f"  {kind}" if kind else language, _share(counts), *(f"{counts[outcome]:,}" for outcome in LOST), f"{counts.total():,}")
        for (language, kind), counts in sorted(groups.items())
    ]
    return plain_table(("", "recall", "other line", "missing", "n"), rows, "<>>>>")


def precision_table(compared: Iterable[Compared]) -> str:
    """Returns the share of our definitions that the others have, by our kind."""
    groups: dict[str, Counter[Outcome]] = defaultdict(Counter)
    for row in compared:
        for kind in ("all", row.definition.kind):
            groups[kind][row.outcome] += 1
    rows = [(kind, _share(counts), f"{counts.total():,}") for kind, counts in sorted(groups.items())]
    return plain_table(("", "precision", "n"), rows, "<>>")


def kind_table(compared: Iterable[Compared]) -> str:
    """Returns how often each of their kinds was found as each of ours."""
    kinds: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in compared:
        if row.outcome == "found" and row.other is not None:
            kinds[row.language, row.definition.kind][row.other.kind] += 1
    rows = [
        (language, kind, ", ".join(f"{name} {count:,}" for name, count in counts.most_common()))
        for (language, kind), counts in sorted(kinds.items())
    ]
    return plain_table(("language", "theirs", "ours"), rows)


def disagreement_table(compared: Iterable[Compared], examples: int) -> str:
    """Returns each class (language, kind, outcome) with its size and its first `examples`, the largest class first."""
    classes: dict[tuple[str, str, Outcome], list[Compared]] = defaultdict(list)
    for row in compared:
        if row.outcome != "found":
            classes[row.language, row.definition.kind, row.outcome].append(row)
    lines = []
    for (language, kind, outcome), members in sorted(classes.items(), key=lambda item: (-len(item[1]), item[0])):
        lines.append(f"{len(members):,} {language} {kind}: {outcome}")
        # Spread over the members, which are ordered by file: neighbours tend to have the same cause.
        for row in members[:: max(1, len(members) // max(1, examples))][:examples]:
            elsewhere = "" if row.other is None else f" (line {row.other.line} there)"
            lines.append(f"    {row.definition.path}:{row.definition.line} {row.definition.name}{elsewhere}")
    return "\n".join(lines) or "nothing"


def _share(counts: Counter[Outcome]) -> str:
    return f"{counts['found'] / counts.total():.4f}"


if __name__ == "__main__":
    sys.exit(main())
