"""Other programs that are measured for comparison in the same run, if they are installed."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import floor
from bench.measure import RunFailed, Usage, python, run


@cache
def ctags() -> str | None:
    """Returns the path of Universal Ctags; None if it is not installed (other ctags have other options)."""
    found = shutil.which("ctags")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found if "Universal Ctags" in said else None


def ctags_usage(root: Path) -> Usage | None:
    """Returns what `ctags -R` costs over a tree; None if it is not installed. The tags are discarded."""
    program = ctags()
    if program is None:
        return None
    with TemporaryDirectory() as directory:
        return run([program, "-R", "-f", f"{directory}/tags", "."], cwd=root).usage


def git_status_usage(root: Path) -> Usage | None:
    """Returns the cost of a `git status` without changes; None outside repositories, without git, and if git refuses."""
    program = shutil.which("git")
    if program is None or not (root / ".git").exists():
        return None
    try:
        return run([program, "status", "--porcelain"], cwd=root).usage
    except RunFailed:
        # Most likely another user's clone; only git's figure is missing then.
        return None


def floor_run(root: Path, home: Path) -> floor.FloorRun:
    """Returns the cost of only reading and parsing the files in the index of `root` in the store `home`."""
    return floor.decode(run(python("-m", "bench.floor", root, "--home", home)).stdout)
