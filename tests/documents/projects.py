"""The projects that the documents show: Flask with some of its releases as commits, and Click. From the package index, by pip."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

RELEASES = ("1.0", "2.3.1", "2.3.2", "3.1.2")
"""Of Flask, oldest first; each is a commit and a tag."""

CLICK = "8.3.0"

DATES = {"GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z"}
"""The same commits each time."""

FETCH_SECONDS = 120


class NotFetched(Exception):
    """A release cannot be downloaded."""


def make_projects(directory: Path, cache: Path) -> None:
    """Makes `flask` and `click` in `directory`. What is downloaded stays in `cache`. Raises NotFetched."""
    flask = directory / "flask"
    flask.mkdir(parents=True)
    _git(flask, "init", "-q", "-b", "main")
    for release in RELEASES:
        for old in flask.iterdir():
            if old.name != ".git":
                shutil.rmtree(old) if old.is_dir() else old.unlink()
        _unpack(_fetched("flask", release, cache), flask)
        _git(flask, "add", "-A", "-f")
        _git(flask, "commit", "-q", "-m", release)
        _git(flask, "tag", release)
    _unpack(_fetched("click", CLICK, cache), directory / "click")


def reset(directory: Path) -> None:
    """Takes back what a command has written into the projects."""
    _git(directory / "flask", "checkout", "-q", "-f", "main")
    _git(directory / "flask", "clean", "-q", "-f", "-d")


def _fetched(name: str, release: str, cache: Path) -> Path:
    found = list(cache.glob(f"[{name[0]}{name[0].upper()}]{name[1:]}-{release}.tar.gz"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", f"{name}=={release}"]
        done = subprocess.run(
            [*command, "--dest", str(cache)], capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
        if done.returncode != 0:
            raise NotFetched(done.stderr[-500:])
        return _fetched(name, release, cache)
    return found[0]


def _unpack(archive: Path, directory: Path) -> None:
    """Unpacks a source distribution without its top directory."""
    unpacked = archive.parent / "unpacked"
    with tarfile.open(archive) as file:
        file.extractall(unpacked, filter="data")
    (top,) = unpacked.iterdir()
    shutil.copytree(top, directory, dirs_exist_ok=True)
    shutil.rmtree(unpacked)


def _git(root: Path, *arguments: str) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, **DATES}
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *identity, *arguments], cwd=root, env=environment, check=True, capture_output=True)
