"""`index_status`: the state of a project's index, and of its job."""

from typing import Final

from codecompass.transport.tools.tool import STRING, Tool, answer, arguments, ask_index, shown_by_hosts, text

TOOL: Final = Tool(
    name="index_status",
    title="Index status",
    description=(
        "Whether a repository is indexed and up to date, how far a job is, what was skipped and why; with path, what became of "
        "that file. For answers that look incomplete, not before a search."
    ),
    arguments=arguments("index_status", {}, {"path": text("A file")}),
    output=answer(index_status=STRING),
    meta=shown_by_hosts("is the code index fresh"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
