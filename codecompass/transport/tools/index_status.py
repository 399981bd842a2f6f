"""`index_status`: the state of a project's index, and of its job."""

from typing import Final

from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import arguments, result, text
from codecompass.transport.tools.toolkit import Tool

TOOL: Final = Tool(
    name="index_status",
    title="State of the index",
    description=(
        "Whether a repository is indexed and up to date, how far a job is, what was skipped and why; with path, what became of "
        "that file. For answers that look incomplete, not before a search."
    ),
    arguments=arguments({}, {"path": text("A file to explain")}),
    output=result("project_id", "repo_root", "index_status", "file_count", "active_job"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
