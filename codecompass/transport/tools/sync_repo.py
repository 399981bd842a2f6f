"""`sync_repo`: bring an index up to the working tree now."""

from typing import TYPE_CHECKING, Final

from codecompass.errors import IndexInProgress, SyncInProgress
from codecompass.protocol.requests import SyncRepo
from codecompass.transport.tools.tool import INTEGER_OR_NULL, STRING, Tool, answer, shown_by_hosts

if TYPE_CHECKING:
    from codecompass.protocol.state_replies import SyncRepoReply
    from codecompass.transport.calls import Outcome
    from codecompass.transport.tools.ordering import Ordered
    from codecompass.transport.tools.toolkit import Call


async def run(call: "Call") -> "Outcome":
    """Orders the job."""
    from codecompass.transport.tools.ordering import order

    assert isinstance(call.request, SyncRepo)
    try:
        return await order(call, force=call.request.force, wait_seconds=call.request.wait_seconds, render=render)
    except IndexInProgress as error:
        raise SyncInProgress(error.message, **error.data) from error


def render(job: "Ordered") -> "SyncRepoReply":
    """Says how the job stands."""
    from codecompass.protocol.state_replies import SyncRepoReply

    return SyncRepoReply(
        job_id=job.state.job_id,
        progress_token=job.state.progress_token,
        status=job.status,
        mode=job.state.mode,
        changed_files=job.changed_files,
        file_count=job.file_count,
        symbol_count=job.symbol_count,
        source_bytes=job.source_bytes,
        duration_seconds=job.duration_seconds,
        error_code=job.state.error_code,
        error_message=job.state.error,
        metadata=job.metadata,
    )


TOOL: Final = Tool(
    request=SyncRepo,
    title="Update the index",
    description=(
        "Take what has changed in the working tree into the index now, and with wait_seconds wait until it is in. Rarely "
        "needed, as searches do so by themselves: use it after an index_stale error. For a first index use index_repo."
    ),
    output=answer(job_id=STRING, progress_token=STRING, status=STRING, mode=STRING, changed_files=INTEGER_OR_NULL),
    meta=shown_by_hosts("refresh the code index after changes"),
    is_read_only=False,
    run=run,
)
