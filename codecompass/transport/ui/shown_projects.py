"""The projects that the page shows: those that the server answers for, with their health."""

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from codecompass.jobs import Job
from codecompass.projects.selection import labels
from codecompass.protocol.job_views import JobView, whole_job
from codecompass.protocol.metadata import bare_metadata
from codecompass.transport.health import Moment, health

if TYPE_CHECKING:
    from codecompass.transport.server import Server


class ShownProject(Struct, frozen=True, kw_only=True):
    """A project as the page shows it. `source_bytes` is 0 if unknown, `last_indexed_at` is ISO 8601 in UTC or empty."""

    project_id: str
    name: str
    label: str
    """The name of the project on the page, and in answers about several."""
    root: str
    state: str
    freshness: str
    residency: str
    ref: str
    file_count: int
    symbol_count: int
    source_bytes: int
    last_indexed_at: str
    last_error: str
    last_used_at: float
    is_home: bool
    job: JobView | None
    """Its running or queued job. This server can cancel one that names its workspace."""

    @property
    def can_cancel(self) -> bool:
        """Whether this server can cancel the job."""
        return self.job is not None and bool(self.job.workspace)


def shown_projects(server: "Server") -> tuple[ShownProject, ...]:
    """Returns the projects by label. Never waits."""
    moment = server.moment()
    entries = {str(entry.project.root): entry for entry in moment.known.projects}
    named = labels(entry.project for entry in entries.values())
    shown = []
    for state in health(moment, metadata=bare_metadata()).projects:
        entry = entries.get(state.repo_root)
        if entry is None or entry.project.project_id not in named:
            continue
        project = entry.project
        shown.append(
            ShownProject(
                project_id=project.project_id,
                name=project.name,
                label=named[project.project_id],
                root=state.repo_root,
                state=state.index_status,
                freshness=state.freshness_status,
                residency=state.residency,
                ref=state.ref,
                file_count=state.file_count,
                symbol_count=state.symbol_count,
                source_bytes=0 if entry.meta is None else entry.meta.source_bytes,
                last_indexed_at=state.last_indexed_at,
                last_error=state.last_error,
                last_used_at=project.last_used_at,
                is_home=project.project_id == moment.home,
                job=_job(moment, project.project_id, entry.active_job),
            )
        )
    return tuple(sorted(shown, key=lambda each: (each.label.lower(), each.root)))


def chosen(projects: tuple[ShownProject, ...], asked: str) -> ShownProject | None:
    """Returns the project with this id or name, else with this label, None if there is none; for an empty one the home project,
    else the last used."""
    if asked:
        named = next((each for each in projects if asked in (each.project_id, each.name)), None)
        return named or next((each for each in projects if asked == each.label), None)
    home = next((each for each in projects if each.is_home), None)
    return home or max(projects, key=lambda each: each.last_used_at, default=None)


def _job(moment: Moment, project_id: str, recorded: Job | None) -> JobView | None:
    """Returns the job of a project: of this server, which can cancel it, else of another process."""
    live = next((each.active_job for each in moment.live if each.project_id == project_id), None)
    if live is not None:
        return whole_job(live, workspace=live.root, percentage=live.progress.percentage)
    if recorded is None or any(each.project_id == project_id for each in moment.live):
        # The job that the last survey found may have ended since; the workspace has the newer state.
        return None
    return replace(whole_job(recorded, percentage=recorded.progress.percentage), message="another process indexes it")
