"""A complete server without a transport: tools with the real registry, supervisor, workers and index."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from codecompass.actors.job_state import JobHandle
from codecompass.errors import ErrorBody
from codecompass.identity import canonical_root
from codecompass.projects.detection import RoutingRules
from codecompass.protocol import text
from codecompass.protocol.encode import encode
from codecompass.protocol.replies import ErrorReply, Reply
from codecompass.semantic.target import SemanticTarget
from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.layout import HomeLayout
from codecompass.transport.calls import CallOutcome
from codecompass.transport.organisation.target import OrganisationTarget
from codecompass.transport.server import Server, ServerOptions, open_server
from codecompass.units import GIB
from tests.support.routing import Client
from tests.support.waiting import until

SETTINGS = Settings(
    server=ServerSettings(prewarm=False, max_memory=64 * GIB),
    query=QuerySettings(freshness_wait_ms=60_000, first_answer_wait_ms=600_000, files_answer_after_ms=600_000),
)
"""The waits are generous, so that the next answer is the index's and has what a test wrote, however busy the machine is. The
memory limit closes no workspace: this process also holds the memory of all earlier tests."""


class Answer(Struct):
    """A reply in both forms, with its error, if any, and the call's job."""

    payload: bytes
    text: str
    error: ErrorBody | None
    job: JobHandle | None = None
    at_end: Callable[[object], "Answer"] | None = None


def answer_of(outcome: CallOutcome) -> Answer:
    answer = _of_reply(outcome.reply)
    answer.job = outcome.job
    at_end = outcome.at_end
    if at_end is not None:
        answer.at_end = lambda state: _of_reply(at_end(state))
    return answer


def _of_reply(reply: Reply) -> Answer:
    return Answer(encode(reply), text.render(reply), reply.error if isinstance(reply, ErrorReply) else None)


class Serving:
    """Calls tools as a session does."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.registry = server.registry

    async def wait_known(self, project_id: str) -> None:
        """Returns once the server has discovered a project's index."""
        await until(lambda: project_id in self._indexed())

    async def wait_watched(self, project_id: str) -> None:
        """Returns once a live workspace is watched, fresh and idle."""

        def is_quiet() -> bool:
            seen = self.server.supervisor.find(project_id)
            return seen is not None and seen.is_watched and seen.freshness_status == "fresh" and not seen.is_working

        await until(is_quiet, "a watched and quiet workspace")

    def _indexed(self) -> set[str]:
        return {each.project.project_id for each in self.server.moment().known.projects if each.meta is not None}

    async def answer(self, tool: str, client: Client | None = None, **arguments) -> Answer:
        given = {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}
        return answer_of(await self.server.tools.call(tool, given, client or Client()))

    async def call(self, tool: str, client: Client | None = None, **arguments) -> dict:
        """Returns the decoded answer; fails the test on an error."""
        answer = await self.answer(tool, client, **arguments)
        assert answer.error is None, answer.payload
        return json.loads(answer.payload)

    async def refusal(self, tool: str, client: Client | None = None, **arguments) -> dict:
        """Returns the decoded error envelope."""
        return self.refusal_of(await self.answer(tool, client, **arguments))

    @staticmethod
    def refusal_of(answer: Answer) -> dict:
        """Returns the decoded error envelope of an answer."""
        assert answer.error is not None, answer.payload
        decoded = json.loads(answer.payload)
        assert decoded["error"]["code"] == answer.error.code
        return decoded


@asynccontextmanager
async def open_serving(
    home: Path,
    *,
    settings: Settings = SETTINGS,
    settings_for: Callable[[Path], Settings] | None = None,
    rules: RoutingRules | None = None,
    semantic: SemanticTarget | None = None,
    organisation: OrganisationTarget | None = None,
    has_upkeep: bool = True,
) -> AsyncIterator[Serving]:
    launch = ServerOptions(
        settings=settings,
        settings_for=settings_for or (lambda _root: settings),
        home=HomeLayout(canonical_root(home)),
        rules=rules or RoutingRules(),
        semantic=semantic,
        organisation=organisation,
        has_upkeep=has_upkeep,
    )
    async with open_server(launch) as server:
        yield Serving(server)
