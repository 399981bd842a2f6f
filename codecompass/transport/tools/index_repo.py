"""`index_repo`: index a repository, or join the job that does."""

from typing import TYPE_CHECKING, Final

from codecompass.protocol.requests import IndexRepo
from codecompass.transport.tools.tool import INTEGER_OR_NULL, STRING, Tool, answer, shown_by_hosts

if TYPE_CHECKING:
    from codecompass.protocol.state_replies import IndexRepoReply
    from codecompass.transport.calls import Outcome
    from codecompass.transport.tools.ordering import Ordered
    from codecompass.transport.tools.toolkit import Call


async def run(call: "Call") -> "Outcome":
    """Orders the job."""
    from codecompass.transport.tools.ordering import order

    assert isinstance(call.request, IndexRepo)
    return await order(call, force=call.request.force, wait_seconds=call.request.wait_seconds, render=render)


def render(job: "Ordered") -> "IndexRepoReply":
    """Says how the job stands."""
    from codecompass.protocol.state_replies import IndexRepoReply

    return IndexRepoReply(
        job_id=job.state.job_id,
        progress_token=job.state.progress_token,
        status=job.status,
        mode=job.state.mode,
        file_count=job.file_count,
        changed_files=job.changed_files,
        symbol_count=job.symbol_count,
        source_bytes=job.source_bytes,
        duration_seconds=job.duration_seconds,
        error_code=job.state.error_code,
        error_message=job.state.error,
        metadata=job.metadata,
    )


TOOL: Final = Tool(
    request=IndexRepo,
    title="Index a repository",
    description=(
        "Index a repository for the first time, or with force from nothing. Returns at once with a job to follow with "
        "index_status, or waits up to wait_seconds. Searches index by themselves what has changed: no need to call it then."
    ),
    output=answer(job_id=STRING, progress_token=STRING, status=STRING, mode=STRING, file_count=INTEGER_OR_NULL),
    meta=shown_by_hosts("index or reindex a repository"),
    is_read_only=False,
    run=run,
)
