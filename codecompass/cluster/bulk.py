"""Bulk writes: documents are made in the caller's thread while earlier ones are being sent by others."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from codecompass.cluster.engine import Engine
from codecompass.units import MIB, SECONDS

BULK_BYTES: Final = 4 * MIB
"""Size of one bulk request. The engine's documentation advises 5 to 15 MB; with a heap of 512 MB it limits writes in progress to
51 MB."""

AT_ONCE: Final = 2
"""Requests in flight, so that the engine never waits for the next one."""

LOOK_SECONDS: Final = 0.5 * SECONDS


def write_documents(
    engine: Engine, index: str, actions: Iterable[bytes], *, routing: str = "", checkpoint: Callable[[], None] = lambda: None
) -> int:
    """Writes documents and returns their number. Each of `actions` is the lines of one bulk action, with their line breaks.

    Actions must be idempotent, because rejected ones are sent again, and independent of each other. `checkpoint` is called in the
    caller's thread, at least twice a second while waiting, and may raise.
    Raises EngineUnavailable after `Engine`'s patience, EngineRefused for a document that the engine rejects for good.
    """
    given_up = threading.Event()
    under_way: set[Future[None]] = set()
    n_written = 0

    def wait_for_all_but(n_left: int) -> None:
        checkpoint()
        while len(under_way) > n_left:
            done, _ = wait(under_way, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
            checkpoint()
            under_way.difference_update(done)
            for each in done:
                each.result()

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="bulk") as threads:
        try:
            for batch in _batches(actions):
                wait_for_all_but(AT_ONCE - 1)
                under_way.add(threads.submit(engine.write, index, batch, routing=routing, is_given_up=given_up.is_set))
                n_written += len(batch)
            wait_for_all_but(0)
        finally:
            given_up.set()
    return n_written


def _batches(actions: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    n_bytes = 0
    for action in actions:
        batch.append(action)
        n_bytes += len(action)
        if n_bytes >= BULK_BYTES:
            yield batch
            batch, n_bytes = [], 0
    if batch:
        yield batch
