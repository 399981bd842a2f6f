"""How the engine is, looked at all the time, so that whoever asks is told at once and waits for nothing."""

from typing import Final

import trio

from codecompass.cluster.calls import EngineCalls
from codecompass.cluster.engine import Engine, EngineHealth
from codecompass.cluster.library import Libraries
from codecompass.errors import CodeCompassError
from codecompass.log import get_logger
from codecompass.protocol.state_replies import EngineReport
from codecompass.units import SECONDS

LOOK_SECONDS: Final = 2 * SECONDS
"""Between two looks."""

PATIENCE_SECONDS: Final = 3 * SECONDS
"""For one of them."""

READY_SECONDS: Final = 10 * SECONDS
"""A server whose engine has not answered for so long is not ready: a balancer is to ask others."""


class EngineWatch:
    """One for a server. Nothing but `work` waits."""

    def __init__(self, engine: Engine, libraries: Libraries) -> None:
        self._engine = engine
        self._libraries = libraries
        self._calls = EngineCalls(1)
        self._health: EngineHealth | None = None
        self._error = "it was not asked yet"

    @property
    def answered_seconds_ago(self) -> float | None:
        """How long ago any call of this server was answered; None where none ever was."""
        calls = (self._calls, self._libraries.lookups, self._libraries.questions)
        answered = [each.answered_at for each in calls if each.answered_at is not None]
        return trio.current_time() - max(answered) if answered else None

    @property
    def is_ready(self) -> bool:
        """Whether questions can be expected to be answered."""
        ago = self.answered_seconds_ago
        return ago is not None and ago < READY_SECONDS

    def report(self) -> EngineReport:
        """Returns what is known now."""
        ago = self.answered_seconds_ago
        seconds = None if ago is None else int(ago)
        if self._health is None:
            return EngineReport(status="unavailable", answered_seconds_ago=seconds, error=self._error)
        return EngineReport(
            status=self._health.status,
            nodes=self._health.nodes,
            missing_shards=self._health.missing_shards,
            pending_tasks=self._health.pending_tasks,
            answered_seconds_ago=seconds,
        )

    async def work(self) -> None:
        """Never ends by itself."""
        while True:
            was_there = self._health is not None
            try:
                self._health = await self._calls.run(self._engine.health, PATIENCE_SECONDS)
                self._error = ""
            except CodeCompassError as error:
                self._health, self._error = None, error.message
                if was_there:
                    get_logger(__name__).error("engine_unavailable", cause=error.message)
            else:
                if not was_there:
                    get_logger(__name__).info("engine_available", status=self._health.status, nodes=self._health.nodes)
            await trio.sleep(LOOK_SECONDS)
