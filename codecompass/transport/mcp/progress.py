"""Progress of an index job as notifications: `ProgressTrack` makes the frames, `follow` sends them in time.

Each frame carries the members of the standard and also `value`, which older clients of this server read; other clients ignore it.
For one token `progress` only rises. At most 4 frames a second, at least one in 5 seconds; the first, each new stage and the end
are sent at once, however short the job is.
"""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import PurePath
from typing import Final

import trio
from msgspec import UNSET, Struct, UnsetType, field

from codecompass.actors.job_state import JobHandle, JobState
from codecompass.transport.mcp.protocol import META_JOB_ID
from codecompass.transport.mcp.wire import ProgressToken

MIN_INTERVAL_SECONDS: Final = 0.25
MAX_INTERVAL_SECONDS: Final = 4.0
"""Clients are promised a report every 5 seconds; the difference is for delivery."""

TOTAL: Final = 100
_SMALLEST_STEP: Final = 0.001
_DECIMALS: Final = 12


class ProgressValue(Struct, frozen=True, omit_defaults=True):
    """The member that is not in the standard. `percentage` is 0..100, absent at the end."""

    kind: str
    title: str
    message: str
    percentage: int | UnsetType = UNSET


class ProgressParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The parameters of `notifications/progress`."""

    progress_token: ProgressToken
    progress: float
    total: int | float | UnsetType = UNSET
    message: str | UnsetType = UNSET
    value: ProgressValue | UnsetType = UNSET
    meta: Mapping[str, object] | UnsetType = field(name="_meta", default=UNSET)


_ENDINGS: Final = {"published": "complete", "cancelled": "cancelled"}


class ProgressTrack:
    """The frames of one job under one token."""

    def __init__(self, token: ProgressToken) -> None:
        self._token = token
        self._last = -_SMALLEST_STEP

    def report(self, state: JobState) -> ProgressParams:
        """Returns the frame of a running job. Its `progress` is above that of the previous frame and below 100."""
        # Even a job that reports the same percentage for hours never reaches 100: each step is a fraction of the rest.
        step = min(_SMALLEST_STEP, (TOTAL - self._last) * _SMALLEST_STEP)
        self._last = max(float(state.progress.percentage), self._last + step)
        value = ProgressValue("report", f"Indexing project: {_called(state)}", state.message, int(self._last))
        return self._frame(state, self._last, state.message, value)

    def end(self, state: JobState) -> ProgressParams:
        """Returns the frame of a job that has ended, successfully or not."""
        is_done = state.status == "published"
        progress = float(TOTAL) if is_done else max(0.0, self._last + _SMALLEST_STEP)
        title = f"Indexing {_ENDINGS.get(state.status, 'failed')}: {_called(state)}"
        return self._frame(state, progress, state.message, ProgressValue("end", title, state.message))

    def _frame(self, state: JobState, progress: float, text: str, value: ProgressValue) -> ProgressParams:
        return ProgressParams(
            progress_token=self._token,
            progress=round(progress, _DECIMALS),
            total=TOTAL,
            message=text,
            value=value,
            meta={META_JOB_ID: state.job_id},
        )


def _called(state: JobState) -> str:
    """Returns the project's name for people: its alias, else the name of its directory."""
    has_name = state.project_name != state.project_id
    return state.project_name if has_name else PurePath(state.root).name or state.project_name


async def follow(job: JobHandle, token: ProgressToken, send: Callable[[ProgressParams], Awaitable[None]]) -> None:
    """Sends the progress of `job` until it has ended. Cancel it to stop earlier; there is no last frame then."""
    track = ProgressTrack(token)
    state = job.state
    while not state.has_ended:
        await send(track.report(state))
        stage, sent_at = state.progress.stage, trio.current_time()
        with trio.move_on_at(sent_at + MAX_INTERVAL_SECONDS):
            state = await job.wait_change(state)
        with trio.move_on_at(sent_at + MIN_INTERVAL_SECONDS):
            # Changes of counts within a stage wait, so that the next frame has the newest.
            while not state.has_ended and state.progress.stage == stage:
                state = await job.wait_change(state)
        state = job.state
    await send(track.end(state))
