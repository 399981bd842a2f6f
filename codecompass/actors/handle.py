"""What others hold of a workspace: ask it, watch it. Nobody but the supervisor gets the actor itself."""

from typing import Protocol, overload

from codecompass.actors.messages import CancelJob, JobTicket, Query, StartJob
from codecompass.actors.observation import WorkspaceObservation
from codecompass.protocol.replies import Reply
from codecompass.store.registry import Project


class WorkspaceHandle(Protocol):
    """One workspace, for as long as the caller's request lasts: route again for the next one.

    `ask` raises the CodeCompassError that the workspace answers, WorkspaceBusy at once where its mailbox is full, and
    WorkspaceFailed where its actor has given up. Cancelling it cancels the work.
    """

    @property
    def project(self) -> Project:
        """The project as it was when the workspace was started."""

    @property
    def observation(self) -> WorkspaceObservation:
        """The newest one."""

    async def wait_open(self) -> None:
        """Returns once the workspace has opened its index, or found that it cannot."""

    @overload
    async def ask(self, message: Query, *, request_id: str = "") -> Reply: ...
    @overload
    async def ask(self, message: StartJob, *, request_id: str = "") -> JobTicket: ...
    @overload
    async def ask(self, message: CancelJob, *, request_id: str = "") -> bool: ...
