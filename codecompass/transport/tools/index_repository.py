"""`index_repository`: register a directory under a name, index it, wait for the end. For clients of the older contract."""

from typing import TYPE_CHECKING, Final

from codecompass.errors import error_of
from codecompass.protocol.requests import MAX_WAIT_SECONDS, IndexRepository
from codecompass.transport.tools.tool import INTEGER, NUMBER, STRING, STRING_OR_NULL, Tool, answer, shown_by_hosts

if TYPE_CHECKING:
    from codecompass.protocol.state_replies import IndexRepositoryReply
    from codecompass.transport.calls import Outcome
    from codecompass.transport.tools.ordering import Ordered
    from codecompass.transport.tools.toolkit import Call

_NUMBER_DIGITS: Final = 12
"""Hexadecimal digits of a project's id that make its number: 48 bits, which every JSON reader takes as a whole number."""


async def run(call: "Call") -> "Outcome":
    """Orders the job and waits as long as clients do."""
    from codecompass.transport.tools.ordering import order

    assert isinstance(call.request, IndexRepository)
    named = call.request.project_id
    return await order(call, force=False, wait_seconds=MAX_WAIT_SECONDS, render=lambda job: render(job, named))


def render(job: "Ordered", named: str | None) -> "IndexRepositoryReply":
    """Says how the job stands. Raises what it failed of where it has ended without success."""
    from codecompass.protocol.state_replies import IndexRepositoryReply

    state = job.state
    if state.has_ended and state.status != "published":
        reason = f": {state.error}" if state.error else ". Call again."
        raise error_of(state.error_code, f"indexing {job.project.root} ended as {state.status}{reason}", job_id=state.job_id)
    return IndexRepositoryReply(
        status="running" if state.report is None else "success",
        repository_id=int(job.project.project_id[:_NUMBER_DIGITS], 16),
        project_id=named,
        schema_name=job.project.schema_name,
        files_indexed=job.file_count,
        chunks_created=None if state.report is None else state.report.counts.documents_written,
        duration_seconds=job.duration_seconds,
        job_id=state.job_id,
        progress_token=state.progress_token,
        metadata=job.metadata,
    )


TOOL: Final = Tool(
    request=IndexRepository,
    title="Register and index a repository",
    description=(
        "Index the directory repo_path, under the name project_id if one is given, and wait for the end (at most 50 s, then "
        "the job goes on). Later calls can name it by that project_id. In other cases index_repo does the same."
    ),
    output=answer(
        status=STRING,
        repository_id=INTEGER,
        project_id=STRING_OR_NULL,
        schema_name=STRING,
        files_indexed=INTEGER,
        chunks_created=INTEGER,
        duration_seconds=NUMBER,
    ),
    meta=shown_by_hosts("register a repository under a name"),
    is_read_only=False,
    run=run,
)
