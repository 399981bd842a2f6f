"""What a server knows of all registered projects without asking their workspaces: read in the background, published whole.

Whoever answers for the state of the server reads what is published and never waits for a disk.
"""

import os
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.errors import CodeCompassError, FileSystemUnresponsive
from codecompass.jobs import Interruption
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.protocol.metadata import SchemaStatus
from codecompass.store.index import IndexMeta
from codecompass.store.job_log import JobLog, JobRecord
from codecompass.store.layout import HomeLayout
from codecompass.store.peek import Peek, peek
from codecompass.store.registry import Project, Registry
from codecompass.units import SECONDS

GRAMMAR_PACK: Final = "tree_sitter_language_pack"
SEPARATE_GRAMMARS: Final[Mapping[str, str]] = {"csharp": "tree_sitter_c_sharp"}
"""Grammars that the pack takes from a package of their own."""


PRESENCE_SECONDS: Final = 2 * SECONDS


class KnownProject(Struct, frozen=True, kw_only=True):
    """A registered project as its files and the log of jobs tell. `meta` is None without a readable index.

    `active_job` may be one of another process, then it is `is_elsewhere`. `exists` is false where its
    directory is gone.
    """

    project: Project
    schema_status: SchemaStatus
    current_schema_version: int
    meta: IndexMeta | None = None
    active_job: JobRecord | None = None
    is_elsewhere: bool = False
    interruption: Interruption | None = None
    exists: bool = True


class ProjectJobs(Struct, frozen=True):
    """A project and what the registry says of its jobs, whichever process they run in."""

    project: Project
    active_job: JobRecord | None
    interruption: Interruption | None


class Known(Struct, frozen=True, kw_only=True):
    """What was found at the last look. `registry_error` says why there was none, `projects` are then those before."""

    projects: tuple[KnownProject, ...] = ()
    registry_error: str = ""
    missing_grammars: tuple[str, ...] = ()


class Survey:
    """Looks at all projects. One for a server; each look costs a few file states a project, and more where they changed."""

    def __init__(self, registry: AsyncRegistry, home: HomeLayout, blocking: BlockingCalls) -> None:
        self._blocking = blocking
        self._registry = registry
        self._home = home
        self._limiter = trio.CapacityLimiter(1)
        self._seen: Mapping[str, Peek] = {}
        self._latest = Known()
        self._missing_grammars: tuple[str, ...] | None = None

    async def refresh(self) -> Known:
        """Returns what there is to know now. Never raises: what cannot be read is said."""
        if self._missing_grammars is None:
            self._missing_grammars = await trio.to_thread.run_sync(missing_grammars, limiter=self._limiter)
        try:
            await self._registry.run_jobs(JobLog.recover, self._home)
            projects = await self._registry.run(_projects_with_jobs)
            gone = {each.project.project_id for each in projects if await is_gone(self._blocking, each.project.root)}
            known = await trio.to_thread.run_sync(lambda: self._look(projects, gone), limiter=self._limiter)
        except CodeCompassError as error:
            self._latest = Known(
                projects=self._latest.projects, registry_error=error.message, missing_grammars=self._missing_grammars
            )
        else:
            self._latest = Known(projects=known, missing_grammars=self._missing_grammars)
        return self._latest

    def _look(self, projects: Sequence[ProjectJobs], gone: Collection[str]) -> tuple[KnownProject, ...]:
        seen: dict[str, Peek] = {
            each.project.project_id: peek(self._home.project(each.project.project_id), self._seen.get(each.project.project_id))
            for each in projects
        }
        self._seen = seen
        return tuple(_known(each, seen[each.project.project_id], exists=each.project.project_id not in gone) for each in projects)


async def is_gone(blocking: BlockingCalls, root: Path) -> bool:
    """Returns whether the directory of a project is no more; false where its file system does not say."""
    try:
        return not await blocking.run(lambda _call: root.is_dir(), root, patience=PRESENCE_SECONDS)
    except FileSystemUnresponsive:
        return False


def _projects_with_jobs(registry: Registry) -> tuple[ProjectJobs, ...]:
    """Returns all projects by root."""
    jobs = JobLog(registry)
    active, interruptions = jobs.all_active(), jobs.all_interruptions()
    return tuple(
        ProjectJobs(project, active.get(project.project_id), interruptions.get(project.project_id))
        for project in registry.projects()
    )


def _known(entry: ProjectJobs, seen: Peek, *, exists: bool) -> KnownProject:
    job = entry.active_job
    return KnownProject(
        project=entry.project,
        schema_status=seen.found.status,
        current_schema_version=seen.found.current_schema_version,
        meta=seen.meta,
        active_job=job,
        is_elsewhere=job is not None and job.process.pid != os.getpid(),
        interruption=entry.interruption,
        exists=exists,
    )


def missing_grammars() -> tuple[str, ...]:
    """Returns the languages whose grammar is not installed, without loading any. Blocking."""
    spec = find_spec(GRAMMAR_PACK)
    places = [] if spec is None else spec.submodule_search_locations or []
    bound = {entry.name.partition(".")[0] for place in places for entry in _bindings(place)}
    if not bound:
        return SYMBOL_LANGUAGES
    return tuple(
        language
        for language in SYMBOL_LANGUAGES
        if language not in bound and (language not in SEPARATE_GRAMMARS or find_spec(SEPARATE_GRAMMARS[language]) is None)
    )


def _bindings(place: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(Path(place) / "bindings") as entries:
            return list(entries)
    except OSError:
        return []
