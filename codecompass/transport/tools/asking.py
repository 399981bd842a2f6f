"""The way of all questions to an index: route, ask the workspace, hand its reply on."""

from codecompass.actors.messages import Query, QueryRequest
from codecompass.transport.tools.toolkit import Call, Outcome


async def ask_index(call: Call) -> Outcome:
    """Returns what the index of the workspace that is meant says. Raises what routing and the workspace raise."""
    assert isinstance(call.request, QueryRequest)
    workspace = await call.workspace()
    assert call.routed is not None
    query = Query(request=call.request, warnings=call.warnings, hint=call.hint, names_project=call.routed.names_project)
    return Outcome(await workspace.ask(query, request_id=call.caller.request_id))
