"""The survey: what a server knows of its visible projects (`visibility.py`) without asking their actors. Read in the background
and published as a whole.

Health and metrics use the last published result, so that they never wait for a disk.
"""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from codecompass import hints
from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.errors import CodeCompassError, FileSystemUnresponsive
from codecompass.formatting import size
from codecompass.jobs import Interruption
from codecompass.languages import PARSED_LANGUAGES
from codecompass.languages.table import LANGUAGES
from codecompass.projects.detection import RoutingRules
from codecompass.projects.visibility import visible
from codecompass.protocol.metadata import SchemaStatus
from codecompass.scan.git_failures import GIT_MISSING, INSTALL_GIT
from codecompass.store.filesystem import FULL_DISK_BYTES
from codecompass.store.index import IndexInspection, inspect_index
from codecompass.store.job_log import JobLog, JobRecord
from codecompass.store.layout import OTHER_PLACE, HomeLayout
from codecompass.store.registry import Project, Registry
from codecompass.store.snapshot import IndexMeta
from codecompass.units import SECONDS

GRAMMAR_PACK: Final = "tree_sitter_language_pack"

PRESENCE_SECONDS: Final = 2 * SECONDS
"""How long a file system may take to report whether the root of a project exists."""


class SurveyedProject(Struct, frozen=True, kw_only=True):
    """A registered project, as described by its index on disk and the log of jobs."""

    project: Project
    schema_status: SchemaStatus
    current_schema_version: int
    """Schema version of the index on disk; 0 without an index."""
    is_newer: bool = False
    """Whether a newer program wrote the index, so that this one does not rebuild it."""
    meta: IndexMeta | None = None
    """Metadata of the index; None without a readable one."""
    active_job: JobRecord | None = None
    is_elsewhere: bool = False
    """Whether another process runs the active job."""
    interruption: Interruption | None = None
    """Jobs that were lost with their process since the last success."""
    exists: bool = True
    """Whether the root directory exists."""


class ProjectJobs(Struct, frozen=True):
    """A project and its jobs in the registry, by any process."""

    project: Project
    active_job: JobRecord | None
    interruption: Interruption | None


class SurveyResult(Struct, frozen=True, kw_only=True):
    """The result of a survey. If the registry could not be read, `registry_error` says why, and `projects` are those of the
    previous survey."""

    projects: tuple[SurveyedProject, ...] = ()
    registry_error: str = ""
    missing_grammars: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What keeps indexes from being written or git from being asked on this machine, and what helps; sentences without full
    stop."""


class ProjectSurvey:
    """Surveys the visible projects. One instance a server; a survey costs a few stat() calls a project, more if its index has
    changed."""

    def __init__(self, registry: AsyncRegistry, home: HomeLayout, blocking: BlockingCalls, rules: RoutingRules) -> None:
        self._rules = rules
        self._blocking = blocking
        self._registry = registry
        self._home = home
        self._limiter = trio.CapacityLimiter(1)
        self._seen: Mapping[str, IndexInspection] = {}
        self._latest = SurveyResult()
        self._missing_grammars: tuple[str, ...] | None = None

    async def refresh(self) -> SurveyResult:
        """Surveys all projects now. Never raises: errors are part of the result."""
        if self._missing_grammars is None:
            self._missing_grammars = await trio.to_thread.run_sync(missing_grammars, limiter=self._limiter)
        problems = await trio.to_thread.run_sync(machine_problems, self._home.root, limiter=self._limiter)
        try:
            await self._registry.run_jobs(JobLog.recover, self._home)
            registered = await self._registry.run(_projects_with_jobs)
            here = frozenset(each.project_id for each in visible((each.project for each in registered), self._rules))
            projects = tuple(each for each in registered if each.project.project_id in here)
            gone = {each.project.project_id for each in projects if await is_gone(self._blocking, each.project.root)}
            known = await trio.to_thread.run_sync(lambda: self._read(projects, gone), limiter=self._limiter)
        except CodeCompassError as error:
            self._latest = SurveyResult(
                projects=self._latest.projects,
                registry_error=error.message,
                missing_grammars=self._missing_grammars,
                problems=problems,
            )
        else:
            self._latest = SurveyResult(projects=known, missing_grammars=self._missing_grammars, problems=problems)
        return self._latest

    def _read(self, projects: Sequence[ProjectJobs], gone: Collection[str]) -> tuple[SurveyedProject, ...]:
        """Reads the indexes of all projects. Blocking."""
        seen: dict[str, IndexInspection] = {
            each.project.project_id: inspect_index(
                self._home.project(each.project.project_id), self._seen.get(each.project.project_id)
            )
            for each in projects
        }
        self._seen = seen
        return tuple(
            _surveyed(each, seen[each.project.project_id], exists=each.project.project_id not in gone) for each in projects
        )


async def is_gone(blocking: BlockingCalls, root: Path) -> bool:
    """Whether the root of a project no longer exists; False if its file system does not answer."""
    try:
        return not await blocking.run(lambda _call: root.is_dir(), root, patience=PRESENCE_SECONDS)
    except FileSystemUnresponsive:
        return False


def _projects_with_jobs(registry: Registry) -> tuple[ProjectJobs, ...]:
    """Returns all projects, ordered by root, with their jobs."""
    jobs = JobLog(registry)
    active, interruptions = jobs.all_active(), jobs.all_interruptions()
    return tuple(
        ProjectJobs(project, active.get(project.project_id), interruptions.get(project.project_id))
        for project in registry.projects()
    )


def _surveyed(entry: ProjectJobs, seen: IndexInspection, *, exists: bool) -> SurveyedProject:
    job = entry.active_job
    return SurveyedProject(
        project=entry.project,
        schema_status=seen.found.status,
        current_schema_version=seen.found.current_schema_version,
        is_newer=seen.found.is_newer,
        meta=seen.meta,
        active_job=job,
        is_elsewhere=job is not None and job.process.pid != os.getpid(),
        interruption=entry.interruption,
        exists=exists,
    )


def machine_problems(home: Path) -> tuple[str, ...]:
    """Returns why indexes cannot be written to the data directory, and why git cannot be asked. Blocking: a few stat() calls."""
    problems = []
    existing = next((directory for directory in (home, *home.parents) if directory.exists()), Path("/"))
    try:
        free = shutil.disk_usage(existing).free
    except OSError:
        free = FULL_DISK_BYTES
    if not os.access(existing, os.W_OK | os.X_OK):
        what = f"{existing} cannot be written, so no index can be made or updated"
        problems.append(f"{what}. {hints.ASK}make it writable, or {OTHER_PLACE}")
    elif free < FULL_DISK_BYTES:
        what = f"the disk of {existing} has only {size(free)} free, so indexes may not be made or updated"
        problems.append(f"{what}. {hints.ASK}free disk space there, or {OTHER_PLACE}")
    if shutil.which("git") is None:
        problems.append(
            f"{GIT_MISSING}, so files that git tracks but a rule ignores are left out, and nothing is known of other refs, of "
            f"changes and of history. {hints.ASK}{INSTALL_GIT}"
        )
    return tuple(problems)


def missing_grammars() -> tuple[str, ...]:
    """Returns the languages whose grammar is not installed, without loading any. Blocking."""
    spec = find_spec(GRAMMAR_PACK)
    places = [] if spec is None else spec.submodule_search_locations or []
    bound = {entry.name.partition(".")[0] for place in places for entry in _bindings(place)}
    if not bound:
        return PARSED_LANGUAGES
    return tuple(language for language in PARSED_LANGUAGES if not _is_there(language, bound))


def _is_there(language: str, bound: Collection[str]) -> bool:
    row = LANGUAGES[language]
    return find_spec(row.grammar_package) is not None if row.grammar_package else (row.grammar or language) in bound


def _bindings(place: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(Path(place) / "bindings") as entries:
            return list(entries)
    except OSError:
        return []
