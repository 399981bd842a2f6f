"""Polls the engine's health in the background, so that health checks are answered without waiting."""

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
"""Between two polls."""

PATIENCE_SECONDS: Final = 3 * SECONDS
"""Deadline of one poll."""

READY_SECONDS: Final = 10 * SECONDS
"""A server whose engine has not answered for this long is not ready, so that a load balancer uses others."""


class EngineWatch:
    """The engine's last known health. Only `work` waits."""

    def __init__(self, engine: Engine, libraries: Libraries) -> None:
        self._engine = engine
        self._libraries = libraries
        self._calls = EngineCalls(1)
        self._health: EngineHealth | None = None
        self._error = "it was not asked yet"

    @property
    def answered_seconds_ago(self) -> float | None:
        """Seconds since the engine last answered any call of this server; None if it never did."""
        calls = (self._calls, self._libraries.lookups, self._libraries.questions)
        answered = [each.answered_at for each in calls if each.answered_at is not None]
        return trio.current_time() - max(answered) if answered else None

    @property
    def is_ready(self) -> bool:
        """Whether the engine has answered within READY_SECONDS."""
        ago = self.answered_seconds_ago
        return ago is not None and ago < READY_SECONDS

    def report(self) -> EngineReport:
        """Returns the last known health, for `health_check`."""
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
        """Polls until cancelled."""
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
