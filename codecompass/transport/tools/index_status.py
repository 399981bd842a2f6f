"""`index_status`: the state of a project's index, and of its job."""

from typing import Final

from codecompass.protocol.requests import IndexStatus
from codecompass.transport.tools.tool import STRING, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=IndexStatus,
    title="Index status",
    description=(
        "Whether a repository is indexed and fresh, how far a job is, what was skipped; with path, what became of that file. For "
        "answers that look incomplete, not before a search."
    ),
    output=answer(index_status=STRING),
    meta=shown_by_hosts("is the code index fresh"),
    run=ask_index,
)
