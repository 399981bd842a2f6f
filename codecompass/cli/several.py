"""Questions about several projects on the command line: `--all`, and `--in` with names. Answered by a server inside of this
process: each project from its index as it is, without a job, and the organisation's server at the same time.
"""

from collections.abc import Mapping

import trio
from msgspec.structs import replace

from codecompass.actors.job_model import JobView
from codecompass.cli.invocation import Invocation
from codecompass.cli.organisation import organisation_target_of
from codecompass.errors import InvalidInput, error_of
from codecompass.projects.caller import TransportName
from codecompass.projects.rules import RoutingRules
from codecompass.protocol.replies import ErrorReply, Reply
from codecompass.transport.server import Launch, open_server


class _Person:
    """The Caller at a terminal."""

    transport: TransportName = "stdio"
    request_id = ""
    project_path = None
    identity = None

    async def roots(self) -> tuple[str, ...]:
        """Returns no roots: the options name the projects."""
        return ()

    def take_hint(self) -> bool:
        """Returns False: hints are for agents."""
        return False

    async def follow(self, job: JobView, seconds: float) -> None:
        """Does nothing: no job is waited for."""


def answer_several(invocation: Invocation, tool: str, arguments: Mapping[str, object], names: tuple[str, ...]) -> Reply:
    """Returns a tool's reply about the projects of these names, `*` for all.

    Raises the error that the tool replies with, and InvalidInput if options choose a single project as well.
    """
    options = invocation.options
    if options.workspace is not None or options.project_id is not None:
        raise InvalidInput(
            "--all and --in are about several projects. Leave out --workspace and --project-id.", field="workspace"
        )
    form = "json" if options.as_json else "text"
    settings = replace(invocation.settings, server=replace(invocation.settings.server, prewarm=False, answers=form))
    launch = Launch(
        settings=settings,
        settings_for=invocation.logged_settings_for,
        home=invocation.home,
        rules=RoutingRules(),
        organisation=organisation_target_of(settings, invocation.environment),
        has_upkeep=False,
    )

    async def ask() -> Reply:
        async with open_server(launch) as server:
            outcome = await server.tools.call(tool, {**arguments, "workspace": list(names)}, _Person())
            return outcome.reply

    reply = trio.run(ask)
    if isinstance(reply, ErrorReply):
        raise error_of(reply.error.code, reply.error.message, **(reply.error.data or {}))
    return reply
