"""Jobs by their id, for clients: what runs, what the log remembers, and how to stop one."""

from typing import TYPE_CHECKING, Protocol

from codecompass.actors.jobs import JobView
from codecompass.actors.messages import CancelJob
from codecompass.errors import CodeCompassError

if TYPE_CHECKING:
    # A session is there before anything of the store is loaded.
    from codecompass.actors.ledger import Ledger
    from codecompass.actors.supervisor import WorkspaceSupervisor
    from codecompass.store.job_log import Job


class JobDirectory(Protocol):
    """All jobs of a server."""

    def find(self, job_id: str) -> JobView | None:
        """Returns the job if it runs or has ended lately. Never waits."""

    async def recorded(self, job_id: str) -> "Job | None":
        """Returns the job as the log has it, of any process and however old."""

    async def cancel(self, job_id: str) -> bool:
        """Stops the job; False where it does not run here."""


class ServerJobs:
    """The JobDirectory of a server."""

    def __init__(self, ledger: "Ledger", supervisor: "WorkspaceSupervisor") -> None:
        self._ledger = ledger
        self._supervisor = supervisor

    def find(self, job_id: str) -> JobView | None:
        """As JobDirectory says."""
        return self._supervisor.find_job(job_id)

    async def recorded(self, job_id: str) -> "Job | None":
        """As JobDirectory says. None, too, while the registry cannot be read."""
        try:
            return await self._ledger.job(job_id)
        except CodeCompassError:
            return None

    async def cancel(self, job_id: str) -> bool:
        """As JobDirectory says."""
        job = self._supervisor.find_job(job_id)
        if job is None or job.state.has_ended:
            return False
        try:
            project = await self._ledger.require(job.state.project_id)
            return await self._supervisor.route(project).ask(CancelJob(job_id=job_id))
        except CodeCompassError:
            return False
