"""Whether `diff_context` agrees with git and with the parser, on real commits.

    python -m bench.quality.differences [--commits N] REPOSITORY ...

For each commit with one parent (the newest N of each repository): files, renames and lines are compared with what `git diff`
prints, and definitions with a comparison of both parsed versions that shares only the parser with ours: a name that is on one
side only must be reported as added, removed, renamed or moved (or be inside one that is); a definition whose own lines differ
must be reported, and none whose lines are the same.
"""

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import trio
from msgspec import Struct

from codecompass.actors.differences import IsCancelled, read_difference
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.worker_pool import WorkerPool, default_pool_size, open_worker_pool
from codecompass.protocol.requests import DiffContext
from codecompass.query.differences.definition_changes import FileDefinitions, definition_changes
from codecompass.query.differences.file_versions import FileVersion, TreeDifference
from codecompass.scan.git_changes import GitChanges
from codecompass.scan.rules import ScanRules

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
MAX_SHOWN = 10


class Tally(Struct):
    """Counts of what was compared, and the disagreements."""

    commits: int = 0
    files: int = 0
    renames: int = 0
    hunks: int = 0
    names: int = 0
    changed: int = 0
    seconds: float = 0.0
    wrong: list[str] = []


def git(root: Path, *arguments: str) -> bytes:
    """Returns what git prints, with the user's settings."""
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True).stdout


def commits(root: Path, wanted: int) -> list[str]:
    """Returns the newest commits with one parent; a third of them rename files."""
    plain = ("--no-merges", "--min-parents=1", "--format=%H", "HEAD")
    renaming = git(root, "log", "-M", "--diff-filter=R", "-n", str(wanted // 3), *plain).decode().split()
    newest = git(root, "log", "-n", str(wanted), *plain).decode().split()
    return list(dict.fromkeys([*renaming, *newest]))[:wanted]


def files_of_git(root: Path, commit: str) -> dict[str, tuple[str, str, int]]:
    """Returns by new path: the status letter, the old path, the similarity."""
    words = git(root, "diff", "--name-status", "-z", "-M", f"{commit}~1", commit).decode("utf-8", "surrogateescape").split("\0")
    found, at = {}, 0
    while at < len(words) - 1:
        letter, path = words[at], words[at + 1]
        if letter[0] == "R":
            found[words[at + 2]] = ("R", path, int(letter[1:]))
            at += 3
        else:
            found[path] = (letter, path, 0)
            at += 2
    return found


def hunks_of_git(root: Path, commit: str, path: str, old_path: str) -> list[tuple[int, int, int, int]]:
    """Returns the hunks of a file as `git diff -U0` prints them."""
    patch = git(root, "diff", "-U0", "-M", "--no-ext-diff", "--no-textconv", f"{commit}~1", commit, "--", path, old_path)
    # Lines of the contents begin with a sign.
    return [
        (int(a), 1 if b is None else int(b), int(c), 1 if d is None else int(d))
        for a, b, c, d in (match.groups() for match in HUNK.finditer(patch.decode("utf-8", "replace").replace("\r", " ")))
    ]


def is_line_of_a_function(version: FileVersion, number: int) -> bool:
    """Whether a definition is inside a function that is its sibling: a field that a constructor sets."""
    symbol = version.symbols[number]
    return any(
        other.kind in ("fn", "method")
        and other.parent == symbol.parent
        and other.line_start < symbol.line_start
        and symbol.line_end <= other.line_end
        for other in version.symbols
    )


def own_lines(version: FileVersion) -> dict[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns by path of names (with the kind) the own lines of each such definition.

    Lines directly above a definition do not belong to the enclosing one: they are its annotations and comments.
    """
    names: list[tuple[str, ...]] = []
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for number, symbol in enumerate(version.symbols):
        above = names[symbol.parent] if symbol.parent >= 0 else ()
        names.append((*above, f"{symbol.kind} {symbol.name}"))
        if symbol.kind == "use" or is_line_of_a_function(version, number):
            continue
        inner = set()
        for at, child in enumerate(version.symbols):
            if child.parent == number and child.kind != "use" and not is_line_of_a_function(version, at):
                inner |= set(range(child.line_start, child.line_end + 1))
                above = child.line_start - 1
                while above > symbol.line_start and version.lines[above - 1].strip():
                    inner.add(above)
                    above -= 1
        own = tuple(
            version.lines[line - 1]
            for line in range(symbol.line_start, symbol.line_end + 1)
            if line not in inner and line <= len(version.lines) and version.lines[line - 1].strip()
        )
        found.setdefault(names[number], []).append(own)
    return found


def reported(file: FileDefinitions, kind: str) -> set[tuple[str, ...]]:
    """Returns the names reported as one kind of change, each with its side."""
    names = set()
    for change in file.changes:
        for definition, is_old in ((change.old, True), (change.new, False)):
            if definition is not None and (change.change == kind):
                names.add((*definition.scope, definition.symbol.name, "old" if is_old else "new"))
    return names


def compare_symbols(found: list[FileDefinitions], where: str, tally: Tally) -> None:
    """Compares the reported changes of each file with its two versions."""
    moved_away = {
        (change.old.path, *change.old.scope, change.old.symbol.name)
        for file in found
        for change in file.changes
        if change.change == "moved" and change.old is not None
    }
    for file in found:
        old, new = file.file.old, file.file.new
        if any(version is not None and not version.has_symbols for version in (old, new)):
            continue
        before = own_lines(old) if old is not None else {}
        after = own_lines(new) if new is not None else {}
        path = file.file.change.path
        places = {name[:-1] for kind in ("added", "removed", "renamed", "moved") for name in reported(file, kind)}
        places |= {name[1:] for name in moved_away if old is not None and name[0] == old.path}
        touched = {name[:-1] for kind in ("changed", "renamed", "moved") for name in reported(file, kind)}
        kinds_changed = {name[:-1] for name in reported(file, "changed")}

        def is_covered(key: tuple[str, ...], covering: set[tuple[str, ...]]) -> bool:
            bare = tuple(part.partition(" ")[2] for part in key)
            return any(bare[:n] in covering for n in range(1, len(bare) + 1))

        for key in before.keys() ^ after.keys():
            tally.names += 1
            bare = tuple(part.partition(" ")[2] for part in key)
            # A definition whose kind has changed is reported as changed.
            if not is_covered(key, places) and bare not in kinds_changed and not is_covered(key, kinds_changed):
                tally.wrong.append(f"{where} {path}: {'/'.join(key)} is on one side only and not reported")
        for key in before.keys() & after.keys():
            if len(before[key]) > 1 or len(after[key]) > 1:
                continue
            bare = tuple(part.partition(" ")[2] for part in key)
            tally.changed += before[key] != after[key]
            if before[key] != after[key] and bare not in touched | places and not is_covered(key, places):
                tally.wrong.append(f"{where} {path}: {'/'.join(key)} differs and is not reported")
        for change in file.changes:
            if change.change == "changed" and change.new is not None and not change.pieces:
                tally.wrong.append(f"{where} {path}: {change.new.local_name} is reported without a line that differs")


def compare(root: Path, commit: str, difference: TreeDifference, tally: Tally) -> None:
    """Adds the comparison of one commit to the tally."""
    where = f"{root.name} {commit[:10]}"
    tally.commits += 1
    said = files_of_git(root, commit)
    letters = {"added": "A", "removed": "D", "changed": "M", "renamed": "R"}
    ours = {each.path: each for each in difference.changes.files}
    tally.files += len(said)
    tally.renames += sum(letter == "R" for letter, _, _ in said.values())
    for path in said.keys() | ours.keys():
        if path not in said or path not in ours:
            tally.wrong.append(f"{where} {path}: {'only git' if path in said else 'only ours'}")
            continue
        letter, old_path, similarity = said[path]
        each = ours[path]
        mine = (letters[each.status], each.old_path, each.similarity)
        if mine != (letter.replace("T", "M"), old_path, similarity):
            tally.wrong.append(f"{where} {path}: git {said[path]}, ours {mine}")
        if each.note in ("", "mode", "binary"):
            hunks = hunks_of_git(root, commit, path, old_path)
            tally.hunks += len(hunks)
            if hunks != [(hunk.old, hunk.n_old, hunk.new, hunk.n_new) for hunk in each.hunks]:
                tally.wrong.append(f"{where} {path}: other lines than git")
    compare_symbols(definition_changes(difference.files).files, where, tally)


async def look_at(root: Path, commit: str, pool: WorkerPool, tally: Tally) -> None:
    """Compares one commit with its parent."""

    async def blocking(work: Callable[[IsCancelled], GitChanges]) -> GitChanges:
        return work(never)

    def never() -> bool:
        return False

    began = time.process_time()
    limits = IndexLimits(rules=ScanRules())
    difference = await read_difference(root, DiffContext(base=f"{commit}~1", head=commit), limits, pool, blocking)
    tally.seconds += time.process_time() - began
    compare(root, commit, difference, tally)


async def run(roots: list[Path], wanted: int) -> bool:
    """Prints a line for each repository and returns whether all agree."""
    agrees = True
    async with open_worker_pool(default_pool_size()) as pool:
        for root in roots:
            tally = Tally()
            for commit in commits(root, wanted):
                await look_at(root, commit, pool, tally)
            kinds = Counter(line.rsplit(": ", 1)[1].partition(" ")[0] for line in tally.wrong)
            print(
                f"{root.name}: {tally.commits} commits, {tally.files} files, {tally.renames} renames, {tally.hunks} hunks, "
                f"{tally.names} names on one side, {tally.changed} definitions that differ; "
                f"{len(tally.wrong)} disagreements {dict(kinds)}; {tally.seconds / max(1, tally.commits):.3f} s CPU a commit here"
            )
            for line in tally.wrong[:MAX_SHOWN]:
                print(f"  {line}")
            agrees = agrees and not tally.wrong
    return agrees


def main() -> None:
    """Compares the given repositories."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=70)
    options = parser.parse_args()
    sys.exit(0 if trio.run(run, [path.resolve() for path in options.repositories], options.commits) else 1)


if __name__ == "__main__":
    main()
