"""Trees deeper than a path can name, created level by level and removed by `rm`."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def chain(root: Path, depth: int, *, name: str = "d") -> Iterator[int]:
    """Creates `depth` nested directories called `name` below `root`; yields a descriptor of the deepest."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for _ in range(depth):
            os.mkdir(name, dir_fd=descriptor)
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def write_in(descriptor: int, name: str | bytes, content: str) -> None:
    """Writes a file into the directory that the descriptor refers to."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=descriptor)
    try:
        os.write(file, content.encode())
    finally:
        os.close(file)


def remove(root: Path) -> None:
    """Removes a tree of any depth; `shutil.rmtree` is recursive before Python 3.13."""
    subprocess.run(["rm", "-rf", str(root)], check=True)
