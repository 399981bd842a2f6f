"""Turns: which requests of all clients of a server run, so that none of them holds back the others.

    a request comes -> fewer than MAX_RUNNING run -> it runs
                    -> else it waits; when one ends, the client runs next whose last turn is longest ago
    it waits for an index job, or has run for LONG_SECONDS -> it goes on, and its turn is given to another one

A client that sends one question while another one sends thousands is next, or nearly: the thousands wait for each other.
"""

from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from math import inf
from typing import Final

import trio

MAX_RUNNING: Final = 16
"""Requests of a server that run at a time. Most of their work is Python: more would only take turns on the same cores, and each
step of the event loop would serve all of them before a new request is read."""

LONG_SECONDS: Final = 2.0
"""How long a request counts as running. One that takes longer waits for something: a client's roots, a disk, an engine."""

ADVANTAGE_SECONDS: Final = 5.0
"""A client that begins to wait is treated as if its last turn was at most this long ago. So it comes before those that have had
one since, and those that wait are never overtaken for longer than that."""


class Turn:
    """A request's right to run."""

    def __init__(self, turns: "Turns", client: Hashable) -> None:
        self.client: Final = client
        self.is_granted = False
        self.woken = trio.Event()
        """Set when it is granted, or when its request is to keep the time."""
        self._turns = turns

    def give_back(self) -> None:
        """Lets another request run instead, while this one waits for something else. Does nothing the second time."""
        self._turns.end(self)


class Turns:
    """The turns of one server. Belongs to one event loop."""

    def __init__(self, size: int = MAX_RUNNING) -> None:
        self._size = size
        self._running: OrderedDict[Turn, float] = OrderedDict()
        """When each began, in the order in which they began; without those that have given theirs back or run for long."""
        self._waiting: dict[Hashable, deque[Turn]] = {}
        self._ranks: dict[Hashable, float] = {}
        """Of each client that waits: when its last turn began, or ADVANTAGE_SECONDS before it began to wait."""
        self._last: OrderedDict[Hashable, float] = OrderedDict()
        """When the last turn of each client began; without those that are longer ago than an advantage."""
        self._keeper: Turn | None = None
        """The waiting turn whose request keeps the time for all: thousands of deadlines would cost more than the work."""

    @property
    def n_running(self) -> int:
        """Requests that run and count."""
        return len(self._running)

    @property
    def n_waiting(self) -> int:
        """Requests that wait for their turn."""
        return sum(len(each) for each in self._waiting.values())

    @asynccontextmanager
    async def taken(self, client: Hashable) -> AsyncIterator[Turn]:
        """Waits for a turn of this client and yields it. Safe to cancel. Each caller bounds how many of a client wait."""
        turn = Turn(self, client)
        self._enter(turn)
        self._hand_out()
        try:
            while not turn.is_granted:
                await self._wait(turn)
                self._hand_out()
            self._keep_time_after(turn)
            yield turn
        finally:
            self._leave(turn)
            self._keep_time_after(turn)
            self.end(turn)

    async def _wait(self, turn: Turn) -> None:
        if self._keeper is None:
            self._keeper = turn
        next_overdue = next(iter(self._running.values()), inf) + LONG_SECONDS
        with trio.move_on_at(next_overdue if self._keeper is turn else inf):
            await turn.woken.wait()
        turn.woken = trio.Event()

    def _keep_time_after(self, turn: Turn) -> None:
        """Lets another request that waits keep the time, if this one has."""
        if self._keeper is turn:
            self._keeper = next((each[0] for each in self._waiting.values()), None)
            if self._keeper is not None:
                self._keeper.woken.set()

    def end(self, turn: Turn) -> None:
        """Counts a request as running no longer; called any number of times."""
        if self._running.pop(turn, None) is not None:
            self._hand_out()

    def _enter(self, turn: Turn) -> None:
        queue = self._waiting.setdefault(turn.client, deque())
        if not queue:
            self._ranks[turn.client] = max(self._last.get(turn.client, -inf), trio.current_time() - ADVANTAGE_SECONDS)
        queue.append(turn)

    def _leave(self, turn: Turn) -> None:
        queue = self._waiting.get(turn.client)
        if queue is None or turn not in queue:
            return
        queue.remove(turn)
        if not queue:
            del self._waiting[turn.client], self._ranks[turn.client]

    def _hand_out(self) -> None:
        now = trio.current_time()
        while self._running and next(iter(self._running.values())) + LONG_SECONDS <= now:
            self._running.popitem(last=False)
        while self._waiting and len(self._running) < self._size:
            client = min(self._ranks, key=self._ranks.__getitem__)
            turn = self._waiting[client][0]
            self._leave(turn)
            self._note(client, now)
            self._running[turn] = now
            turn.is_granted = True
            turn.woken.set()

    def _note(self, client: Hashable, now: float) -> None:
        if client in self._ranks:
            self._ranks[client] = now
        self._last[client] = now
        self._last.move_to_end(client)
        while next(iter(self._last.values())) < now - ADVANTAGE_SECONDS:
            self._last.popitem(last=False)
