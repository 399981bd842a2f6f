"""Computes the ids of projects, symbols, results and contents.

Ids that clients may store are the first 16 hexadecimal characters (64 bits) of a BLAKE3 hash. None depends on a branch, a commit
or a time, so the ids of an unchanged file survive a switch of branches.
"""

import os
from pathlib import Path
from typing import Final, Literal, NewType

from blake3 import blake3

ProjectId = NewType("ProjectId", str)
"""First 16 hex characters of blake3(realpath(root))."""

ObjectFormat = Literal["sha1", "sha256"]
"""The hash algorithm of a git repository's object ids."""

ID_PREFIX_LENGTH: Final = 4
"""Hexadecimal characters of a `symbol_id` that do not depend on the project."""

_PREFIX_OF: Final = "symbol_prefix:v1"


def canonical_root(path: str | os.PathLike[str]) -> Path:
    """Returns the real, absolute path, whether or not it exists."""
    return Path(os.path.realpath(path))


def project_id(root: Path) -> ProjectId:
    """Returns the id of the project whose canonical root is `root`."""
    return ProjectId(_short_hash(os.fsencode(root)))


def symbol_id(project: str, path: str, kind: str, line_start: int, name: str, ordinal: int) -> str:
    """Returns the id of one definition in one file; it changes when the definition moves to another line."""
    place = (path, kind, str(line_start), name, str(ordinal))
    return _prefix(*place) + _join_hash("symbol:v1", project, *place)[ID_PREFIX_LENGTH:]


def id_prefix_at(path: str, kind: str, line_start: int, name: str, ordinal: int) -> int:
    """Returns the `id_prefix` of the `symbol_id` of a definition, in any project."""
    # In one step, because it is done for every definition of an index: the same number as `id_prefix` of the `symbol_id`.
    place = f"{_PREFIX_OF}\0{path}\0{kind}\0{line_start}\0{name}\0{ordinal}"
    return int.from_bytes(blake3(place.encode("utf-8", "surrogatepass")).digest(2), "big") - 0x8000


def _prefix(*place: str) -> str:
    # Indexes of several projects share rows, which contain the prefix, so it must not depend on the project.
    return _join_hash(_PREFIX_OF, *place)[:ID_PREFIX_LENGTH]


def id_prefix(symbol_id: str) -> int:
    """Returns the first 16 bits of a `symbol_id` as the facts store them: as a number from -32768, which takes SQLite two bytes.
    They are the same in every project.

    One symbol in 65,536 has the same prefix and is compared in full. Prefixes take 1 % of an index, full ids would take 4 %.
    """
    return int(symbol_id[:ID_PREFIX_LENGTH], 16) - 0x8000


def symbol_stable_id(language: str, kind: str, qualified_name: str, signature: str) -> str:
    """Returns an id that does not change when the symbol moves within or between files. Symbols of a project may share it."""
    return _join_hash("stable_id:v1", language, kind, qualified_name, signature)


def result_id(project: str, path: str, line_start: int, line_end: int) -> str:
    """Returns the id of a range of lines without a symbol."""
    return _join_hash("result:v1", project, path, str(line_start), str(line_end))


def content_hash(content: bytes) -> bytes:
    """Returns 16 bytes that identify a file's content."""
    return blake3(content).digest(16)


def blob_id(content: bytes, object_format: ObjectFormat) -> bytes:
    """Returns git's id of a file's content, provided that no filter changes it when it is added to the repository."""
    import hashlib

    digest = hashlib.new(object_format, b"blob %d\0" % len(content), usedforsecurity=False)
    digest.update(content)
    return digest.digest()


def _join_hash(*parts: str) -> str:
    # Paths and names contain no NUL, so different lists of parts give different inputs.
    return _short_hash("\0".join(parts).encode("utf-8", "surrogatepass"))


def _short_hash(data: bytes) -> str:
    return blake3(data).hexdigest(8)
