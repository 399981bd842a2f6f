"""Between a session and the tools: what a tool knows of its caller, and what it gives back. No wire format in here."""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from codecompass.actors.job_model import JobState, JobView
from codecompass.errors import ErrorBody
from codecompass.projects.caller import Caller


class ToolAnswer(Struct, frozen=True):
    """What a tool says: `payload` is its JSON. That goes out as text, and as structured content on success, unless there is
    `text`: the same as plain text for models, which then goes out alone.

    `error` is there on failure, `job` where the call started or joined one that may still be running. `at_end` makes of
    the job's last state what the call would have said had it waited for it; without it no task is made of the job.
    """

    payload: bytes
    text: str | None = None
    error: ErrorBody | None = None
    job: JobView | None = None
    at_end: Callable[[JobState], "ToolAnswer"] | None = None


class ToolDescription(Struct, frozen=True, kw_only=True):
    """A tool as `tools/list` shows it. Schemas are JSON Schema 2020-12, inline, with bounds; `meta` becomes `_meta`."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object]
    is_read_only: bool
    meta: Mapping[str, object]


class Tools(Protocol):
    """All tools of a server. Implemented by the catalogue."""

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """Those that `tools/list` shows, always in the same order."""

    def knows(self, name: str) -> bool:
        """Whether `call` takes this name. Tools that are not listed can be called all the same."""

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> ToolAnswer:
        """Runs a tool. Never raises but for cancellation: every failure is an answer with `error`."""
