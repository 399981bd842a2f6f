"""Requests to a served workspace: queries, jobs, and waiting for publications."""

import trio

from codecompass.actors.messages import Query, StartJob
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.settings import IndexSettings, QuerySettings, ServerSettings, Settings
from codecompass.store.registry import Registry
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

SECONDS = 60

ONE_WORKER = Settings(
    server=ServerSettings(prewarm=False),
    query=QuerySettings(freshness_wait_ms=60_000, first_answer_wait_ms=600_000, files_answer_after_ms=600_000),
    index=IndexSettings(workers=1),
)
"""One worker process, which a test can stop."""

HURRIED = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0), index=IndexSettings(workers=1))
"""Requests do not wait for changes to be indexed."""


def locate(name: str, **arguments) -> Query:
    return Query(request=LocateSymbol(name=name, **arguments))


def search(query: str, **arguments) -> Query:
    return Query(request=SearchCode(query=query, **arguments))


async def open_workspace(serving, workspace: TestWorkspace):
    return serving.server.supervisor.route(await serving.registry.run(Registry.register, workspace.root))


async def index(handle, *, force: bool = False):
    """Runs a job and returns its final state."""
    with trio.fail_after(SECONDS):
        job = await handle.ask(StartJob(cause="test", force=force))
        return await job.wait_end()


async def until_indexed(handle) -> None:
    state = await index(handle)
    assert state.status == "published", state.error


async def until_quiet(handle) -> None:
    """Returns once the workspace is idle and its watcher reports every change."""
    await until(
        lambda: (
            handle.observation.is_watched
            and handle.observation.freshness_status == "fresh"
            and not handle.observation.is_working
            and not handle.observation.in_flight
        ),
        "a quiet workspace",
    )


async def until_evicted(serving, handle) -> None:
    await until(lambda: serving.server.supervisor.evict(handle.project.project_id), seconds=SECONDS)


async def paths_of(handle, name: str, **arguments) -> list[str]:
    """Returns the paths of the symbols with exactly this name."""
    with trio.fail_after(SECONDS):
        reply = await handle.ask(locate(name, **arguments))
    return [result.path for result in reply.results if result.name == name]


class Neighbour:
    """A second workspace on the same server, which must not be affected."""

    def __init__(self, handle) -> None:
        self.handle = handle
        self.before = self._state()

    def _state(self) -> tuple:
        seen = self.handle.observation
        return seen.generation, seen.restarts, seen.last_error, seen.last_job

    async def check(self) -> None:
        assert await paths_of(self.handle, "omega") == ["o.py"]
        assert self._state() == self.before, "the neighbour noticed"


async def open_neighbour(serving, top) -> Neighbour:
    other = TestWorkspace(top / "neighbour", top / "home")
    other.write({"o.py": "def omega(): pass\n"})
    handle = await open_workspace(serving, other)
    await until_indexed(handle)
    await until_quiet(handle)
    return Neighbour(handle)
