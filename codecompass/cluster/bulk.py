"""Writing many documents at once: some are made, in the caller's thread, while those before them are on their way."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Final

from codecompass.cluster.engine import Engine
from codecompass.units import MIB, SECONDS

BULK_BYTES: Final = 4 * MIB
"""Of one bulk request. The engine advises 5 to 15 MB; with a heap of 512 MB its limit for writes under way is 51 MB."""

AT_ONCE: Final = 2
"""Requests on their way: the engine has the next one when it is ready for it."""

LOOK_SECONDS: Final = 0.5 * SECONDS


def write_documents(
    engine: Engine, index: str, actions: Iterable[bytes], *, routing: str = "", checkpoint: Callable[[], None] = lambda: None
) -> int:
    """Writes documents: each of `actions` is the lines of one action, with their line breaks. Returns how many.

    Writing one twice must give the same, because what the engine was too busy for is sent again, and none may depend on one
    before it. `checkpoint` is called in the caller's thread, at least twice a second while nothing else happens, and may raise.
    Raises EngineUnavailable when the engine's patience is over, EngineRefused for a document that it will never take.
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
