"""Opens nurseries whose failures reach their caller as one of our errors.

trio wraps whatever ends a nursery in an exception group, even a single error, and no `except CodeCompassError` catches that.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio

from codecompass.errors import collapse_groups


@asynccontextmanager
async def open_nursery() -> AsyncIterator[trio.Nursery]:
    """Yields a nursery, as `trio.open_nursery` does.

    If its block or a task raises one of our errors, the block raises the one to report (`errors.cause_of`) without its group;
    an interrupt and groups without an error of ours propagate unchanged.
    """
    with collapse_groups():
        async with trio.open_nursery() as nursery:
            yield nursery
