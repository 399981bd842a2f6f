"""What worktrees, branches and refs of a known repository cost: `python -m bench.branches TREE`.

TREE is copied into a new repository. Its second worktree is indexed; a running server follows a checkout of another branch and
back, which differs in --changed files; and a question names a commit that nobody has indexed. Times are from the end of git's
command, or from sending the question, to a complete and right answer. CPU is that of the server and its workers, or of the
command and its children.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from msgspec import Struct

from bench.client import Connection, serving
from bench.edits import edit_files, editable
from bench.figures import Figure, figure, written
from bench.measure import Usage, python, run
from bench.table import figures_table
from codecompass.store.filesystem import disk_usage
from codecompass.units import SECONDS

CHANGED: Final = 800
ROUNDS: Final = 5
SETTLE_SECONDS: Final = 2.5 * SECONDS
"""Neither git nor we trust files written in the same tick as git's index."""

DEADLINE_SECONDS: Final = 120 * SECONDS
MARK: Final = "branch_mark_"


class _Metadata(Struct, frozen=True):
    freshness_status: str = ""
    result_completeness: str = ""


class _Hit(Struct, frozen=True):
    path: str = ""


class _Answer(Struct, frozen=True):
    results: tuple[_Hit, ...] = ()
    metadata: _Metadata = _Metadata()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.branches", description=__doc__, formatter_class=layout)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--changed", type=int, default=CHANGED, help=f"files in which the branches differ (default {CHANGED})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"checkouts there and back (default {ROUNDS})")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="branches-") as directory:
        print(figures_table(measure(options.tree, Path(directory), changed=options.changed, rounds=options.rounds)))
    return 0


def measure(tree: Path, directory: Path, *, changed: int, rounds: int) -> list[Figure]:
    """Returns all rows. `directory` is empty and may be filled."""
    directory.mkdir(exist_ok=True)
    root, second, home = directory / "tree", directory / "second", directory / "home"
    shutil.copytree(tree, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    _git(root, "init", "--quiet", "--initial-branch=main")
    n_changed = _make_branches(root, changed)
    time.sleep(SETTLE_SECONDS)
    _git(root, "status")
    first = _index(root, home)
    bytes_first = disk_usage(home / "projects")
    _git(root, "worktree", "add", "--quiet", "--detach", str(second))
    time.sleep(SETTLE_SECONDS)
    _git(second, "status")
    again = _index(second, home)
    bytes_again = disk_usage(home / "projects") - bytes_first
    share = bytes_again / bytes_first
    rows = [
        figure("first index: wall", [first.wall_seconds], "s", note=f"CPU {written(first.cpu_seconds, 's')}"),
        figure(
            "second worktree: wall",
            [again.wall_seconds],
            "s",
            must="3 s",
            aim="1 s",
            beside=[("first index", first.wall_seconds)],
            note=f"CPU {written(again.cpu_seconds, 's')}, with the start of the command",
        ),
        figure("second worktree: disk, over that of the first index", [share], "x", must="0.10x", aim="0.03x"),
    ]
    with serving(root, home) as server:
        server.initialize()
        _wait_for(server, "main")
        rows += _switches(server, root, n_changed, rounds)
    return [*rows, *_refs(root, home, first.cpu_seconds)]


def _make_branches(root: Path, changed: int) -> int:
    """Makes the commits `main`, `side` and `other`; the latter two differ from it in `changed` files at most. Returns how
    many."""
    mark = root / f"{MARK}file.py"
    mark.write_text(f"def {MARK}main():\n    return 1\n")
    _commit(root, "main")
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True).stdout
    paths = editable(os.fsdecode(listed).split("\0")[:-1])[:changed]
    for tag, name in enumerate(("side", "other")):
        _git(root, "checkout", "--quiet", "-b", name, "main")
        edit_files(root, paths, tag=tag)
        mark.write_text(f"def {MARK}{name}():\n    return 1\n")
        _commit(root, name)
    _git(root, "checkout", "--quiet", "main")
    return len(paths)


def _switches(server: Connection, root: Path, n_changed: int, rounds: int) -> list[Figure]:
    before = _cpu_seconds(server.pid)
    unseen = _switch(server, root, "side")
    unseen_cpu = _cpu_seconds(server.pid) - before
    _switch(server, root, "main")
    times, cpu = [], []
    for number in range(2 * rounds):
        before = _cpu_seconds(server.pid)
        times.append(_switch(server, root, ("side", "main")[number % 2]))
        cpu.append(_cpu_seconds(server.pid) - before)
    return [
        figure(
            f"checkout of a branch with {n_changed} other files, never seen: to a fresh answer",
            [unseen],
            "s",
            note=f"CPU {written(unseen_cpu, 's')}, {written(1000 * unseen_cpu / max(1, n_changed), 'ms')} a file",
        ),
        figure(
            f"checkout of a branch with {n_changed} other files, seen before: to a fresh answer, median",
            [median(times)],
            "s",
            must="0.5 s",
            aim="0.2 s",
            note=f"{written(min(times), 's')} to {written(max(times), 's')} in {len(times)}; CPU {written(median(cpu), 's')}",
        ),
    ]


def _refs(root: Path, home: Path, first_cpu: float) -> list[Figure]:
    name = "other"
    command = python("-m", "codecompass", "locate", f"{MARK}{name}", "--ref", name, "--workspace", root)
    asked = [run(command, environment={"CODECOMPASS_HOME": str(home)}).usage for _ in range(2)]
    return [
        figure(
            "first question about another ref: CPU",
            [asked[0].cpu_seconds],
            "s",
            beside=[("first index", first_cpu)],
            note=f"the second takes {written(asked[1].cpu_seconds, 's')}, most of it the start of the command",
        )
    ]


def _switch(server: Connection, root: Path, branch: str) -> float:
    _git(root, "checkout", "--quiet", branch)
    return _wait_for(server, branch)


def _wait_for(server: Connection, branch: str) -> float:
    """Returns the seconds until a complete answer has that branch's marker. Raises AssertionError after DEADLINE_SECONDS."""
    began = time.monotonic()
    while time.monotonic() - began < DEADLINE_SECONDS:
        found = msgspec.json.decode(server.call("locate_symbol", {"name": f"{MARK}{branch}"}).result, type=_Answer)
        is_fresh = (found.metadata.freshness_status, found.metadata.result_completeness) == ("fresh", "complete")
        if is_fresh and any(hit.path == f"{MARK}file.py" for hit in found.results):
            return time.monotonic() - began
    raise AssertionError(f"no fresh answer about {branch} in {DEADLINE_SECONDS:.0f} s")


def _index(root: Path, home: Path) -> Usage:
    return run(python("-m", "codecompass", "index", root), environment={"CODECOMPASS_HOME": str(home)}).usage


def _cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process and its children so far, from /proc, including ended children."""
    total = 0.0
    for each in (pid, *_children(pid)):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        total += sum(int(field) for field in fields[11 : 15 if each == pid else 13])
    return total / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _commit(root: Path, message: str) -> None:
    _git(root, "add", "--all")
    _git(root, "-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "--quiet", "--message", message)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
