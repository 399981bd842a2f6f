"""Checksums of files, as `sha256sum --check` reads them."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUMS = "SHA256SUMS"


def write_checksums(files: Iterable[Path], directory: Path) -> Path:
    """Writes the SHA-256 of files that are in `directory`, sorted by name, and returns the file."""
    target = directory / SUMS
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in sorted(files)]
    target.write_text("".join(lines), encoding="utf-8")
    return target
