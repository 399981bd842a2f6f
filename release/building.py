"""Builds the wheel and the sdist of a commit, twice, and compares them byte for byte."""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from msgspec import Struct

from release.source import Commit, ReleaseError, export

BUILD_SECONDS = 300


class Built(Struct, frozen=True, kw_only=True):
    """The files that were built."""

    wheel: Path
    sdist: Path


def build_reproducibly(repository: Path, commit: Commit, target: Path) -> Built:
    """Builds a commit into `target` and returns the files.

    Whoever builds the same commit gets the same bytes: it is built again in another directory with another umask, and a wheel
    from the unpacked sdist, too. Raises ReleaseError if any of them differs.
    """
    with tempfile.TemporaryDirectory(prefix="release-") as scratch:
        first = _build(repository, commit, Path(scratch) / "first", umask=0o022)
        second = _build(repository, commit, Path(scratch) / "another place" / "second", umask=0o077)
        for one, other in ((first.wheel, second.wheel), (first.sdist, second.sdist)):
            require_same_bytes(one, other, "when it is built again")
        require_same_bytes(first.wheel, _wheel_of_sdist(first.sdist, commit, Path(scratch) / "from sdist"), "from the sdist")
        target.mkdir(parents=True, exist_ok=True)
        return Built(wheel=_copied(first.wheel, target), sdist=_copied(first.sdist, target))


def require_same_bytes(one: Path, other: Path, how: str) -> None:
    """Raises ReleaseError if two files have other names or contents."""
    if one.name != other.name or one.read_bytes() != other.read_bytes():
        raise ReleaseError(f"{one.name} is not reproducible: its bytes differ {how}")


def _build(repository: Path, commit: Commit, place: Path, umask: int) -> Built:
    source = place / "source"
    source.mkdir(parents=True)
    old = os.umask(umask)
    try:
        export(repository, commit, source)
        _run_backend(source, place / "out", commit)
    finally:
        os.umask(old)
    return Built(wheel=only_file(place / "out", "*.whl"), sdist=only_file(place / "out", "*.tar.gz"))


def _wheel_of_sdist(sdist: Path, commit: Commit, place: Path) -> Path:
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    _run_backend(place / sdist.name.removesuffix(".tar.gz"), place / "out", commit, "--target", "wheel")
    return only_file(place / "out", "*.whl")


def only_file(directory: Path, pattern: str) -> Path:
    """Returns the file of a directory that matches. Raises ReleaseError if not exactly one does."""
    found = sorted(directory.glob(pattern))
    if len(found) != 1:
        raise ReleaseError(f"expected one {pattern} in {directory}, found {len(found)}")
    return found[0]


def _run_backend(source: Path, target: Path, commit: Commit, *arguments: str) -> None:
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(commit.seconds)}
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--directory", str(target), *arguments],
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"the build failed: {done.stderr.strip()}")


def _copied(file: Path, target: Path) -> Path:
    copy = target / file.name
    copy.write_bytes(file.read_bytes())
    return copy
