"""Projects on disk, the real registry, and a client without a connection, for tests of routing and tools."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec.structs import replace

from codecompass.actors.async_registry import AsyncRegistry, open_async_registry
from codecompass.actors.blocking_calls import BlockingCalls, Limits
from codecompass.actors.job_state import JobHandle
from codecompass.actors.observation import WorkspaceObservation
from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.projects.caller import TransportName
from codecompass.projects.detection import RoutingRules
from codecompass.projects.eviction import AutoWorkspaces
from codecompass.projects.router import Routed, Router
from codecompass.protocol.decode import decode
from codecompass.store.layout import HomeLayout


class Client:
    """A caller as a session presents it: identifies itself, receives no answer."""

    request_id = "r1"
    identity = None
    trace = None

    def __init__(self, *, transport: TransportName = "stdio", roots=(), project_path: str | None = None) -> None:
        self.transport = transport
        self.project_path = project_path
        self.root_paths = tuple(str(root) for root in roots)
        self.n_followed = 0
        self._has_hint = True

    async def roots(self) -> tuple[str, ...]:
        return self.root_paths

    def take_hint(self) -> bool:
        taken, self._has_hint = self._has_hint, False
        return taken

    async def follow(self, job: JobHandle, seconds: float) -> None:
        import trio

        self.n_followed += 1
        with trio.move_on_after(seconds):
            await job.wait_end()


class IdleWorkspaces:
    """A fake supervisor that only evicts; `busy` holds the ids that it refuses to evict."""

    def __init__(self) -> None:
        self.busy: set[str] = set()
        self.evicted: list[str] = []
        self.seen: tuple[WorkspaceObservation, ...] = ()

    def observe(self) -> tuple[WorkspaceObservation, ...]:
        return self.seen

    def find(self, project_id: str, commit=None) -> WorkspaceObservation | None:
        return next((each for each in self.seen if each.project_id == project_id), None)

    def find_job(self, job_id: str) -> JobHandle | None:
        return None

    def route(self, project):
        raise AssertionError("routing a request starts no workspace")

    async def evict(self, project_id: str) -> bool:
        if project_id in self.busy:
            return False
        self.evicted.append(project_id)
        return True


class World:
    """Directories below `top`; `user` is the home directory of the user who runs the server."""

    def __init__(self, top: Path, registry: AsyncRegistry) -> None:
        self.top = Path(os.path.realpath(top))
        self.user = self.directory("user")
        self.home = HomeLayout(self.top / "store")
        self.registry = registry
        self.workspaces = IdleWorkspaces()
        self.rules = RoutingRules(never=frozenset({Path("/"), self.user}))

    def directory(self, name: str, *, git: bool = False, marker: str = "") -> Path:
        path = self.top / name
        path.mkdir(parents=True, exist_ok=True)
        if git:
            (path / ".git").mkdir(exist_ok=True)
            (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
        if marker:
            (path / marker).write_text("")
        return path

    def repository(self, name: str) -> Path:
        return self.directory(name, git=True)

    def router(self, **changes) -> Router:
        return self.router_and_registrations(**changes)[0]

    def router_and_registrations(self, **changes) -> tuple[Router, OwnRegistrations]:
        rules = replace(self.rules, **changes)
        own = OwnRegistrations(self.registry, self.home)
        auto = AutoWorkspaces(rules, self.registry, own, self.workspaces, self.home)
        return Router(rules, self.registry, own, auto, BlockingCalls()), own

    async def route(self, client: Client | None = None, *, tool: str = "index_status", arguments=None, **changes) -> Routed:
        return await self.ask(self.router(**changes), client, tool=tool, **(arguments or {}))

    async def ask(self, router: Router, client: Client | None = None, *, tool: str = "index_status", **arguments) -> Routed:
        given = {key: str(value) if isinstance(value, Path) else value for key, value in arguments.items()}
        return await router.route(decode(tool, given).request, client or Client())


@asynccontextmanager
async def open_world(top: Path) -> AsyncIterator[World]:
    async with open_async_registry(HomeLayout(top / "store"), Limits(), busy_timeout_ms=1000) as registry:
        yield World(top, registry)
