"""`list_refs`: the branches, tags and commits that `ref` takes, and which of them are indexed."""

from typing import TYPE_CHECKING, Final

from codecompass.protocol.requests import ListRefs
from codecompass.transport.tools.tool import INTEGER, OBJECT, ROWS, Tool, answer, shown_by_hosts

if TYPE_CHECKING:
    from codecompass.transport.calls import Outcome
    from codecompass.transport.tools.toolkit import Call


async def run(call: "Call") -> "Outcome":
    """Answers from git and the store; the workspace need be neither live nor indexed."""
    from codecompass.protocol.metadata import bare_metadata
    from codecompass.transport.calls import Outcome

    assert isinstance(call.request, ListRefs)
    routed = await call.route()
    metadata = bare_metadata(str(routed.project.root), call.warnings, call.hint)
    return Outcome(await call.services.commits.list_refs(call.request, routed.project, metadata))


TOOL: Final = Tool(
    request=ListRefs,
    title="List branches and tags",
    description=(
        "Branches and tags, newest first, the default branch, what is checked out and what is indexed: names for the ref of "
        "the other tools. Not needed for a name that is known."
    ),
    output=answer(current=OBJECT, indexed=ROWS, refs=ROWS, total_refs=INTEGER),
    meta=shown_by_hosts("git branches, tags"),
    run=run,
)
