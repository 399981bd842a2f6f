"""The way of all questions to an index: route, ask the workspace, tell of the job that it waits for, hand its reply on."""

import trio

from codecompass.actors.jobs import JobView
from codecompass.actors.messages import Query, QueryRequest
from codecompass.actors.ungrouped import ungrouped
from codecompass.transport.calls import Caller
from codecompass.transport.tools.toolkit import Call, Outcome
from codecompass.units import MINUTES

FOLLOWED_SECONDS = 10 * MINUTES
"""A job is followed until the question is answered; this bounds it where nothing else does."""


async def ask_index(call: Call) -> Outcome:
    """Returns what the index of the workspace that is meant says. Raises what routing and the workspace raise."""
    assert isinstance(call.request, QueryRequest)
    workspace = await call.workspace()
    assert call.routed is not None
    awaited = _AwaitedJob()
    query = Query(
        request=call.request,
        warnings=call.warnings,
        hint=call.hint,
        names_project=call.routed.names_project,
        tell_job=awaited.tell,
    )
    with ungrouped():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_follow, awaited, call.caller)
            reply = await workspace.ask(query, request_id=call.caller.request_id)
            nursery.cancel_scope.cancel()
    return Outcome(reply)


class _AwaitedJob:
    """The job that a question waits for, once the workspace has told which."""

    def __init__(self) -> None:
        self.told = trio.Event()
        self.job: JobView | None = None

    def tell(self, job: JobView) -> None:
        self.job = job
        self.told.set()


async def _follow(awaited: _AwaitedJob, caller: Caller) -> None:
    """Shows the client how far the job is while its question waits: a first index can take a while."""
    await awaited.told.wait()
    assert awaited.job is not None
    await caller.follow(awaited.job, FOLLOWED_SECONDS)
