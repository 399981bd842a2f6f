"""A workspace as its supervisor holds it: its mailbox, lifecycle, crashes and newest observation."""

import time

import trio
from msgspec.structs import replace

from codecompass.actors.mailbox import Mailbox
from codecompass.actors.observation import Lifecycle, WorkspaceObservation, step
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project


def child_key(project_id: str, commit: NamedCommit | None) -> str:
    """Returns the key of a workspace, or of one of its commits."""
    return project_id if commit is None else f"{project_id}@{commit.commit}"


class Child:
    """One workspace from its first request to the end of its last task. Written by the supervisor alone.

    `commit` is None for the working tree. `predecessor` is an earlier child of the same key that has not closed the index yet.
    `crashes` and `used_at` are times of the event loop's clock.
    """

    def __init__(self, project: Project, predecessor: "Child | None", commit: NamedCommit | None = None) -> None:
        self.project = project
        self.commit = commit
        self.predecessor = predecessor
        self.mailbox = Mailbox()
        self.lifecycle: Lifecycle = "starting"
        self.opened = trio.Event()
        self.terminated = trio.Event()
        self.crashes: list[float] = []
        self.n_restarts = 0
        self.last_error = ""
        self.used_at = trio.current_time()
        self.used_at_wall = time.time()
        self.reason = ""
        self.observation = WorkspaceObservation(
            project_id=project.project_id,
            project_name=project.name,
            root=str(project.root),
            lifecycle="starting",
            indexing_status="not_indexed",
            freshness_status="stale",
            schema_status="not_indexed",
        )

    @property
    def key(self) -> str:
        """What the supervisor knows it by."""
        return child_key(self.project.project_id, self.commit)

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for it and no job runs in it."""
        return not self.mailbox.n_open and self.observation.active_job is None and not self.observation.is_working

    def move(self, following: Lifecycle) -> None:
        """Changes its lifecycle. Raises AssertionError for a step that is not in LEGAL_STEPS."""
        self.lifecycle = step(self.lifecycle, following)

    def observe(self) -> WorkspaceObservation:
        """Returns the newest observation of its actor, completed with what only the supervisor knows."""
        return replace(
            self.observation,
            lifecycle=self.lifecycle,
            restarts=self.n_restarts,
            last_error=self.last_error,
            queued=self.mailbox.n_queued,
            in_flight=self.mailbox.n_open - self.mailbox.n_queued,
            last_used_at=self.used_at_wall,
        )
