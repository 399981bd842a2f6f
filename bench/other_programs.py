"""Other programs that the same work is measured with, in the same run: what is installed of them."""

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import floor
from bench.measure import RunFailed, Usage, python, run


@cache
def ctags() -> str | None:
    """Returns the path of Universal Ctags, None where it is not installed (other ctags know other options)."""
    found = shutil.which("ctags")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    return found if "Universal Ctags" in said else None


def ctags_usage(root: Path) -> Usage | None:
    """Returns what `ctags -R` costs over a tree, None where it is not installed. The tags are thrown away."""
    program = ctags()
    if program is None:
        return None
    with TemporaryDirectory() as directory:
        return run([program, "-R", "-f", f"{directory}/tags", "."], cwd=root).usage


def git_status_usage(root: Path) -> Usage | None:
    """Returns what git needs to say that nothing has changed, None outside repositories, without git, and where it refuses."""
    program = shutil.which("git")
    if program is None or not (root / ".git").exists():
        return None
    try:
        return run([program, "status", "--porcelain"], cwd=root).usage
    except RunFailed:
        # A clone of another user's, most likely: git's figure is missing then, ours are not.
        return None


def floor_run(root: Path, home: Path) -> floor.FloorRun:
    """Returns the cost of reading and parsing, alone, what the index of `root` in the store `home` holds."""
    return floor.decode(run(python("-m", "bench.floor", root, "--home", home)).stdout)
