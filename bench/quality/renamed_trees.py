"""Copies of work trees under other names, to show whether figures depend on the name of a repository or a folder.

A ranking must not gain from words that every path of a repository has. `renamed` puts the same files into a folder of another
name; `hidden` also removes the repository's own name from every path inside. Answers have the original paths.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from bench.quality.harness import WorkTree

FOLDER: Final = "tree"
STAND_IN: Final = "project"
"""Replaces the repository's name in paths."""

GENERAL_ENDINGS: Final = frozenset({"cpp", "core", "js", "nvim", "py", "rs"})
"""Last words of repository names that say what it is written in, not what it is called."""


def renamed(tree: WorkTree, home: Path) -> WorkTree:
    """Returns the tree in a folder with a neutral name below `home`, including git's own files."""
    target = _fresh(home, tree)
    shutil.copytree(tree.path, target, copy_function=_link, symlinks=True)
    return msgspec.structs.replace(tree, path=target)


def hidden(tree: WorkTree, home: Path) -> WorkTree:
    """Returns a copy of what git tracks in the tree (of everything, without git) with the repository's name in no path."""
    target = _fresh(home, tree)
    target.mkdir(parents=True)
    true_paths: dict[str, str] = {}
    for path in _files(tree.path):
        neutral = without_name(path, tree.repository.repo)
        while neutral in true_paths:
            head, _, name = neutral.rpartition("/")
            neutral = f"{head}/_{name}" if head else f"_{name}"
        true_paths[neutral] = path
        (target / neutral).parent.mkdir(parents=True, exist_ok=True)
        _link(tree.path / path, target / neutral)
    if (tree.path / ".git").exists():
        # What git tracks is indexed whatever its name; nothing is hashed for that.
        for arguments in (["init", "--quiet"], ["add", "--all", "--force", "--intent-to-add", "."]):
            subprocess.run(["git", "-C", target, *arguments], check=True, capture_output=True)
    repository = msgspec.structs.replace(tree.repository, root=without_name(tree.repository.root, tree.repository.repo))
    return msgspec.structs.replace(tree, path=target, repository=repository, true_paths=true_paths)


def without_name(path: str, repository: str) -> str:
    """Returns a path with `STAND_IN` for the repository's name, however its words are joined and capitalised."""
    words = re.findall(r"[A-Za-z0-9]+", repository)
    names = [words, words[:-1]] if len(words) > 1 and words[-1].lower() in GENERAL_ENDINGS else [words]
    for name in names:
        path = re.sub(r"[-_. ]?".join(map(re.escape, name)), _stand_in, path, flags=re.IGNORECASE)
    return path


def _stand_in(match: re.Match[str]) -> str:
    return STAND_IN.capitalize() if match[0][:1].isupper() else STAND_IN


def _files(root: Path) -> Iterator[str]:
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True).stdout
        paths: Sequence[str] = [os.fsdecode(path) for path in listed.split(b"\0") if path]
    else:
        paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
    yield from (path for path in paths if (root / path).is_file() and not (root / path).is_symlink())


def _fresh(home: Path, tree: WorkTree) -> Path:
    # The parent folder keeps trees apart; its name is in no path of the index either.
    target = home / tree.repository.repo / FOLDER
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _link(source: str | Path, target: str | Path, *, follow_symlinks: bool = True) -> None:
    try:
        os.link(source, target, follow_symlinks=follow_symlinks)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=follow_symlinks)
