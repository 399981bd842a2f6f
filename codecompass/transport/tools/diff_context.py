"""`diff_context`: what differs between two commits, or a commit and the working tree."""

from typing import Final

from codecompass.protocol.requests import DiffContext
from codecompass.transport.tools.tool import INTEGER, OBJECT, ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=DiffContext,
    title="Review what changed",
    description=(
        "Review a branch or uncommitted changes: definitions added, removed, changed, renamed or moved since a git ref, with the "
        "lines that differ, callers outside of the diff and tests. With symbol: both versions of it. Not for history."
    ),
    output=answer(
        base=OBJECT,
        head=OBJECT,
        totals=OBJECT,
        items=ROWS,
        files=ROWS,
        items_omitted=INTEGER,
        files_omitted=INTEGER,
        estimated_tokens=INTEGER,
    ),
    meta=shown_by_hosts("git diff, review a branch, compare commits, what changed"),
    run=ask_index,
)
