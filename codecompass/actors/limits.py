"""How much of each kind of work a process does at a time, over all workspaces.

Each kind has its own threads: in a shared pool, indexing would starve the queries.
"""

from typing import Final

import trio

from codecompass.actors.blocking_calls import BlockingCalls

QUERY_THREADS: Final = 4
"""Most of a query is Python and holds the interpreter lock: more threads would only take turns."""

WRITERS: Final = 2
"""Index jobs that run at a time. They share the worker processes; more would only lengthen each."""

CHECK_THREADS: Final = 2


class Limits:
    """The limiters of one server. Not a Struct: limiters are live objects of one event loop."""

    def __init__(self) -> None:
        self.queries = trio.CapacityLimiter(QUERY_THREADS)
        self.writers = trio.CapacityLimiter(WRITERS)
        self.checks = trio.CapacityLimiter(CHECK_THREADS)
        self.vectors = trio.CapacityLimiter(1)
        """Reading texts and writing vectors, in the background."""
        self.registry = trio.CapacityLimiter(1)
        """One connection, one thread at a time."""
        self.blocking = BlockingCalls()
        """Calls into the file systems of workspaces, which may never answer."""
