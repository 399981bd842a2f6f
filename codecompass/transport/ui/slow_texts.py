"""Remembers which texts have killed a worker process, so that none is given to another one."""

import hashlib
from typing import Final

MAX_KNOWN: Final = 1_000
"""Texts that are remembered, the latest."""


class SlowTexts:
    """The keys of texts that took too much processor time."""

    def __init__(self) -> None:
        self._keys: dict[bytes, None] = {}

    def key(self, *parts: bytes) -> bytes:
        """Returns the key of a text and of what is done with it."""
        return hashlib.sha256(b"\n".join(parts)).digest()

    def __contains__(self, key: bytes) -> bool:
        return key in self._keys

    def add(self, key: bytes) -> None:
        """Adds a text; forgets the oldest one if there are too many."""
        while len(self._keys) >= MAX_KNOWN:
            del self._keys[next(iter(self._keys))]
        self._keys[key] = None
