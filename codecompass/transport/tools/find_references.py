"""`find_references`: where a definition is used."""

from typing import Final

from codecompass.protocol.requests import FindReferences
from codecompass.transport.tools.tool import OBJECT, ROWS, Tool, answer, ask_projects, shown_by_hosts

TOOL: Final = Tool(
    request=FindReferences,
    title="Find who uses a symbol",
    description=(
        "Find references: who calls, constructs, inherits, imports, reads or writes a definition, with the functions around, "
        "resolved by scope, imports and types. Not for a text: search_code."
    ),
    output=answer(references=ROWS, counts=OBJECT),
    meta=shown_by_hosts("usages, who calls"),
    run=ask_projects,
)
