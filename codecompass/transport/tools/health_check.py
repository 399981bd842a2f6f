"""`health_check`: the state of the server and its projects."""

from typing import TYPE_CHECKING, Final

from codecompass.protocol.requests import HealthCheck
from codecompass.transport.tools.tool import INTEGER, OBJECT_OR_NULL, ROWS, STRING, Tool, answer, shown_by_hosts

if TYPE_CHECKING:
    from codecompass.transport.calls import Outcome
    from codecompass.transport.tools.toolkit import Call


async def run(call: "Call") -> "Outcome":
    """Answers from the published state. Only calls that name a project are routed: all others are about the server."""
    from codecompass.protocol.metadata import bare_metadata
    from codecompass.transport.calls import Outcome
    from codecompass.transport.health import MAX_PROJECTS

    assert isinstance(call.request, HealthCheck)
    project = None
    if call.request.workspace is not None or call.request.project_id is not None:
        await call.require_ref()
        project = (await call.route()).project
    metadata = bare_metadata("" if project is None else str(project.root), call.warnings, call.hint)
    return Outcome(await call.services.state.health(about=project, limit=MAX_PROJECTS, metadata=metadata))


TOOL: Final = Tool(
    request=HealthCheck,
    title="Health of the server",
    description=(
        "How this server is: its version, running jobs, which projects it knows and which are failing. Use it when several "
        "calls fail, or to see what is indexed. For one repository's index, index_status says more."
    ),
    output=answer(status=STRING, projects=ROWS, total_projects=INTEGER, active_job=OBJECT_OR_NULL),
    meta=shown_by_hosts("is the code search server well"),
    run=run,
)
