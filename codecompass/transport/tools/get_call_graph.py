"""`get_call_graph`: who calls a definition and what it calls."""

from typing import Final

from codecompass.protocol.requests import GetCallGraph
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=GetCallGraph,
    title="Show callers, callees or impact",
    description=(
        "Callers of callers, or what a function calls, as a tree up to 5 calls far; with direction impact what a change reaches: "
        "tests, callers, subtypes, overriding methods, importing files. For the lines of uses: find_references."
    ),
    output=answer(nodes=ROWS, edges=ROWS),
    meta=shown_by_hosts("call hierarchy, impact of a change"),
    run=ask_index,
)
