"""A check of the store of segments: whether it can be written, listed, read and removed from, what its clock says, what is free.

It writes one small object at a place of its own (`CHECKED`), which nobody takes for the segments of a repository.
"""

import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cluster.stores.segment_store import CHECKED, ObjectMissing, SegmentStore, StoreUnavailable
from codecompass.units import HOURS

LEFT_SECONDS: Final = 1 * HOURS
"""After this time the object of another check was left by one that was killed."""


class StoreFacts(Struct, frozen=True, kw_only=True):
    """What a check of the store found. Sizes in bytes, times in seconds; None if the store does not tell."""

    address: str
    failed_step: str = ""
    """`written`, `listed`, `read` or `removed from`: what could not be done; empty if all could."""
    problem: str = ""
    """Why, with what helps."""
    clock_skew: float | None = None
    """How far the store's clock is ahead of this machine's."""
    free_bytes: int | None = None
    total_bytes: int | None = None


class _Failed(Exception):
    def __init__(self, step: str, problem: str) -> None:
        super().__init__(problem)
        self.step = step
        self.problem = problem


def check_store(store: SegmentStore) -> StoreFacts:
    """Tries what workers and servers do with a store, and returns what was found."""
    try:
        return _tried(store)
    except _Failed as failed:
        return StoreFacts(address=store.address, failed_step=failed.step, problem=failed.problem)


def _tried(store: SegmentStore) -> StoreFacts:
    key = f"{CHECKED}/{secrets.token_hex(8)}/{secrets.token_hex(16)}"
    content = secrets.token_bytes(64)
    with _step("written"):
        begun, written_at = _put(store, key, content), store.written_at(key)
        ended = time.time()
        free = store.free()
    with _step("listed"):
        keys = store.keys(CHECKED)
    if key not in keys:
        raise _Failed(
            "listed",
            f"{store.address} does not list what was just written. It has to show it at once.",
        )
    with _step("read"):
        found = b"".join(store.blocks(key))
    if found != content:
        raise _Failed("read", f"{store.address} gives other content than what was written. Look into its log.")
    with _step("removed from"):
        store.remove(key)
        left = store.size(key)
    if left is not None or written_at is None:
        raise _Failed("removed from", f"{store.address} still has the object. Check whether it forbids removals.")
    with _step("removed from"):
        _remove_left(store, keys, written_at)
    return StoreFacts(
        address=store.address,
        # Some stores cut off fractions of seconds.
        clock_skew=written_at - min(max(written_at, begun - 1.0), ended),
        free_bytes=None if free is None else free[0],
        total_bytes=None if free is None else free[1],
    )


def _put(store: SegmentStore, key: str, content: bytes) -> float:
    """Writes an object, and returns when that began."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "content"
        path.write_bytes(content)
        begun = time.time()
        store.put(key, path)
    return begun


def _remove_left(store: SegmentStore, keys: Sequence[str], now: float) -> None:
    for key in keys:
        written_at = store.written_at(key)
        if written_at is not None and written_at < now - LEFT_SECONDS:
            store.remove(key)


@contextmanager
def _step(name: str) -> Iterator[None]:
    try:
        yield
    except StoreUnavailable as error:
        raise _Failed(name, error.message) from error
    except ObjectMissing as error:
        raise _Failed(name, "what was just written is not there. The store has to give it at once.") from error
