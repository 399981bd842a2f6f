"""The trees that are measured: made from a seed, or a copy of a given repository. Measurements that edit files never use the
given repository itself.

Trees are kept under `bench/out/trees`: making 20,000 files takes longer than some measurements on them.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench import synthetic
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

OUT: Final = Path(__file__).resolve().parent / "out"
"""All output of measurements. Ignored by git, removed by `make clean`."""

SEED: Final = 20261121

COMPLETE: Final = ".complete"
"""Suffix of an empty file beside a tree, named like it, that is created once the tree is completely written."""


class Tree(Struct, frozen=True, kw_only=True):
    """A directory to measure on. `is_ours`: files in it may be edited (and are restored)."""

    name: str
    root: Path
    is_ours: bool


def synthetic_tree(files: int, seed: int = SEED) -> Tree:
    """Returns the tree of files 0..files-1 of `seed`, a git repository if git is installed. Made once."""
    sources = [Path(__file__).with_name(name).read_bytes() for name in ("synthetic.py", "vocabulary.py")]
    recipe = hashlib.blake2b(b"".join(sources), digest_size=4).hexdigest()
    root = OUT / "trees" / f"synthetic-{recipe}-{seed}-{files}"
    if not _is_complete(root):
        _begin(root)
        # One by one: if the measuring process is large, its children look large too (see `measure`).
        _write(root, chain(synthetic.project_files(), synthetic.source_files(seed, files)))
        make_repository(root)
        _end(root)
    return Tree(name=f"{files:,} synthetic files", root=root, is_ours=True)


def given_tree(root: Path) -> Tree:
    """Returns a given directory, which is only read. Raises NotADirectoryError if it is not one."""
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is not a directory")
    return Tree(name=root.resolve().name, root=root.resolve(), is_ours=False)


def copy_of(tree: Tree) -> Tree:
    """Returns a fresh copy of the files of `tree` that would be indexed, as a new git repository."""
    root = OUT / "trees" / f"copy-of-{tree.root.name}"
    _begin(root)
    for file in scan(str(tree.root), ScanRules()).files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree.root / file.path, target)
    make_repository(root)
    return Tree(name=f"copy of {tree.name}", root=root, is_ours=True)


def trees_in(directories: Iterable[Path]) -> list[Path]:
    """Returns the trees: each directory that holds files or is a repository, else the directories in it."""
    trees = []
    for directory in directories:
        inside = sorted(path for path in directory.iterdir() if path.is_dir())
        is_tree = (directory / ".git").exists() or any(path.is_file() for path in directory.iterdir())
        trees += [directory] if is_tree else inside
    return trees


def make_repository(root: Path) -> None:
    """Makes `root` a git repository that tracks all its files; does nothing if git is not installed."""
    git = shutil.which("git")
    if git is None:
        return
    # Without the user's configuration: no hooks, no signing, no filters.
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    settings = ["user.name=bench", "user.email=bench@example.invalid", "core.compression=0", "gc.auto=0"]
    options = [part for setting in settings for part in ("-c", setting)]
    for arguments in (("init", "-q", "-b", "main"), ("add", "--force", "--all"), ("commit", "-q", "-m", "made")):
        subprocess.run([git, *options, *arguments], cwd=root, env=environment, check=True, capture_output=True)


def _write(root: Path, files: Iterable[synthetic.SourceFile]) -> None:
    for file in files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")


def _begin(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)


def _end(root: Path) -> None:
    root.with_name(root.name + COMPLETE).touch()


def _is_complete(root: Path) -> bool:
    return root.with_name(root.name + COMPLETE).exists() and root.is_dir()
