"""Trees deeper than a path can name: made step by step, and removed by a program that does the same."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def chain(root: Path, depth: int, *, name: str = "d") -> Iterator[int]:
    """Makes `depth` directories called `name` in each other below `root`; gives a descriptor of the deepest."""
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
    """Writes a file into the directory of a descriptor."""
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=descriptor)
    try:
        os.write(file, content.encode())
    finally:
        os.close(file)


def remove(root: Path) -> None:
    """Removes a tree however deep it is; `shutil.rmtree` recurses until Python 3.13."""
    subprocess.run(["rm", "-rf", str(root)], check=True)
