"""Mounts a real file system from an image file, for behaviour specific to that file system. Needs permission to mount."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

IMAGE_BYTES = 512 << 20


@contextmanager
def ext4_of_whole_seconds(place: Path) -> Iterator[Path]:
    """Yields a directory on an ext4 file system with inodes of 128 bytes, whose times are whole seconds."""
    if shutil.which("mkfs.ext4") is None:
        pytest.skip("needs mkfs.ext4")
    image, point = place / "image", place / "mounted"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-I", "128", "-i", "4096", image], check=True, capture_output=True, timeout=60)
    mounted = subprocess.run(["mount", "-o", "loop", image, point], capture_output=True, text=True, timeout=60, check=False)
    if mounted.returncode:
        pytest.skip(f"may not mount: {mounted.stderr.strip()}")
    try:
        yield point
    finally:
        subprocess.run(["umount", "--lazy", point], check=True, timeout=60)
