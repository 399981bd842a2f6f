"""Pages about projects: `/ui/projects`, `/ui/project`, actions that start and cancel jobs, changes as a stream of events; and
`/ui/activity`, the last calls of clients.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import trio
from msgspec import Struct

from codecompass.formatting import iso_time
from codecompass.protocol.state_replies import IndexStatusReply
from codecompass.scan.explain import SKIP_SENTENCES
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.outgoing import COMMENT
from codecompass.transport.http.request import BAD_REQUEST, SEE_OTHER, UNAVAILABLE, HttpRefusal, HttpRequest
from codecompass.transport.ui.fields import Fields, read_form
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendering import NOT_STORED, Rendering, address
from codecompass.transport.ui.shown_projects import ShownProject, chosen, shown_projects
from codecompass.units import MILLISECONDS, MINUTES

if TYPE_CHECKING:
    from codecompass.transport.call_records import NotedCall
    from codecompass.transport.server import Server

MAX_STREAMS: Final = 8
"""Streams of events at a time. A browser opens at most six connections to one server, and needs some for pages."""

LOOK_SECONDS: Final = 400 * MILLISECONDS
"""Interval at which a stream compares the published state, in memory, with what it has sent."""

STREAM_SECONDS: Final = 30 * MINUTES
"""Maximum duration of a stream; a page that is still open then reconnects."""

HEARTBEAT_SECONDS: Final = HttpLimits().comment

_TIMES: Final = re.compile(r"(?<=\">)[^<]*(?=</time>)")


class ShownClient(Struct, frozen=True):
    """A client with those of its calls that may be shown, newest first."""

    name: str
    transport: str
    calls: "tuple[tuple[str, NotedCall], ...]"


class ProjectPages:
    """Answers the pages about projects and activity. Each method raises PageError, HttpRefusal."""

    def __init__(self, server: "Server", questions: ToolQueries, rendering: Rendering) -> None:
        self._server = server
        self._questions = questions
        self._rendering = rendering
        self._n_streams = 0

    async def projects(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with all projects."""
        await self._rendering.page(request, "projects.html", {"projects": projects, "here": "projects"})

    async def project(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with one project: what is indexed, what was left out and why, its last jobs, and the state of one file."""
        fields = Fields(request)
        project = chosen(projects, fields.text("project"))
        if project is None:
            raise PageError("project_not_found", "no project of this name is served here.")
        path = fields.given("path")
        reply = await self._questions.show("index_status", project.project_id, path=path)
        assert isinstance(reply, IndexStatusReply)
        values = {
            "projects": projects,
            "project": project,
            "status": reply,
            "path": path or "",
            "sentences": SKIP_SENTENCES,
            "here": "projects",
        }
        await self._rendering.page(request, "project.html", values)

    async def act(self, request: HttpRequest) -> None:
        """Starts or cancels a job, and redirects to the projects."""
        form = await read_form(request)
        project = chosen(shown_projects(self._server), form.get("project", ""))
        if project is None or not form.get("project"):
            raise HttpRefusal(BAD_REQUEST, "there is no such project here. Load the page again.")
        try:
            match form.get("action"):
                case "update":
                    await self._questions.show("sync_repo", project.project_id)
                case "rebuild":
                    await self._questions.show("index_repo", project.project_id, force=True)
                case "cancel" if project.job is not None and project.job.job_id == form.get("job"):
                    await self._server.cancel_job(project.job.job_id)
                case "cancel":
                    pass  # it has ended meanwhile
                case _:
                    raise HttpRefusal(BAD_REQUEST, "there is no such action. Load the page again.")
        except PageError as trouble:
            values = {"trouble": trouble, "here": "projects", "projects": shown_projects(self._server)}
            await self._rendering.page(request, "trouble.html", values, status=trouble.status)
            return
        await request.answer(SEE_OTHER, headers=(("location", address("projects")), *NOT_STORED))

    async def activity(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the last calls of each client, if they are about projects that are shown."""
        log = self._server.activity
        roots = {project.root: project.label for project in projects}
        clients = []
        for client in log.clients() if log is not None else ():
            # A call about several projects names them, not a root: the server has left out those that may not be seen.
            calls = tuple(
                (iso_time(call.at), call)
                for call in client.calls
                if not call.workspace.startswith("/") or call.workspace in roots
            )
            if calls:
                clients.append(ShownClient(client.name, client.transport, calls))
        values = {"projects": projects, "clients": clients, "labels": roots, "is_kept": log is not None, "here": "activity"}
        await self._rendering.page(request, "activity.html", values)

    async def events(self, request: HttpRequest) -> None:
        """Streams changes of the list of projects: each event has the changed parts of the page, by id."""
        if self._n_streams >= MAX_STREAMS:
            raise HttpRefusal(
                UNAVAILABLE,
                "too many pages watch at a time. Close one of them.",
                headers=(("retry-after", "5"),),
                is_retryable=True,
            )
        self._n_streams += 1
        try:
            await request.body()
            async with request.cancelled_when_gone() as nursery:

                async def stop() -> None:
                    await self._server.core.stopping.wait()
                    told.cancel()

                with trio.move_on_after(STREAM_SECONDS) as told:
                    nursery.start_soon(stop)
                    await request.begin_stream()
                    await request.write(COMMENT)
                    await self._tell(request)
                await request.end_stream()
        finally:
            self._n_streams -= 1

    def _live_parts(self, projects: Sequence[ShownProject]) -> Mapping[str, str]:
        """Returns the part of the page that shows each project's state, by the id of its element."""
        return {
            f"live-{project.project_id}": self._rendering.html("project_state.html", {"project": project}) for project in projects
        }

    async def _tell(self, request: HttpRequest) -> None:
        known: Mapping[str, str] = {}
        quiet_since = trio.current_time()
        while True:
            # In a thread: there may be a thousand projects, and streams.
            parts = await trio.to_thread.run_sync(self._live_parts, shown_projects(self._server))
            changed = {name: html for name, html in parts.items() if _lasting(known.get(name, "")) != _lasting(html)}
            if changed:
                # JSON in ASCII contains no line end, so it is one line of an event.
                await request.write(b"event: projects\ndata: " + json.dumps(changed).encode("ascii") + b"\n\n")
                known, quiet_since = parts, trio.current_time()
            elif trio.current_time() - quiet_since > HEARTBEAT_SECONDS:
                await request.write(COMMENT)
                quiet_since = trio.current_time()
            await trio.sleep(LOOK_SECONDS)


def _lasting(html: str) -> str:
    """Returns a part of the page without what changes with the time of day alone, which the browser keeps up to date."""
    return _TIMES.sub("", html)
