"""The store of segments: finished files of indexes, which workers write once and servers fetch.

    <prefix>/<repo_id>/<generation>/<digest>     an object, wherever the store keeps it (`directory.py`, `s3.py`)

An object is there as a whole or not at all, and never changes. Nothing refers to it before the document of its repository names
a generation, and only the holder of the repository's lease removes objects, so nobody has to lock anything here.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from codecompass.cluster.engine.failures import EngineUnavailable

UNFINISHED: Final = ".new-"
"""The beginning of the names of files that are being written."""

CHECKED: Final = "doctor-check"
"""Where a check of the store writes, in place of the id of a repository."""

_PART: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


class StoreUnavailable(EngineUnavailable):
    """The store of segments cannot be read or written at the moment."""


class ObjectMissing(Exception):
    """The store answers, and has no object of this key."""


class SegmentStore(Protocol):
    """Objects by their keys, `repo_id/generation/digest`. Blocking; threads may share one. All methods raise StoreUnavailable."""

    @property
    def address(self) -> str:
        """Where the store is, as the settings say it; without secrets."""

    def put(self, key: str, path: Path) -> None:
        """Stores the content of a file durably, as a whole or not at all, in place of what the key had. Raises
        OSError if the file cannot be read."""

    def blocks(self, key: str) -> Iterator[bytes]:
        """Yields the content of an object. Raises ObjectMissing."""

    def size(self, key: str) -> int | None:
        """Returns the size of an object in bytes; None if there is none."""

    def written_at(self, key: str) -> float | None:
        """Returns when an object was written, in seconds since 1970 by the store's clock; None if there is none."""

    def keys(self, repo_id: str) -> list[str]:
        """Returns the keys of all objects of a repository, sorted."""

    def remove(self, key: str) -> None:
        """Removes an object, if it is there."""

    def repositories(self) -> list[str]:
        """Returns the ids of the repositories that have objects, sorted."""

    def free(self) -> tuple[int, int] | None:
        """Returns the free bytes and all bytes of where the store is; None if it does not tell."""


def checked_part(name: str) -> str:
    """Returns a part of a key that cannot lead out of its directory. Raises ValueError for any other."""
    if _PART.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no part of a key")
    return name


def checked_key(key: str) -> str:
    """Returns a key of three such parts. Raises ValueError for any other."""
    repo_id, generation, name = key.split("/")
    return f"{checked_part(repo_id)}/{checked_part(generation)}/{checked_part(name)}"
