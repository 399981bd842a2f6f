"""`find_related_symbols`: what a symbol uses, what uses it, and what stands near it."""

from typing import Final

from codecompass.protocol.requests import FindRelatedSymbols
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=FindRelatedSymbols,
    title="Find related symbols",
    description=(
        "Around a symbol: what it uses, what uses it, its tests, then its neighbours in the file or, with a wider scope, in the "
        "directory or package. For every use of it: find_references."
    ),
    output=answer(related=ROWS),
    meta=shown_by_hosts("neighbours of a symbol"),
    run=ask_index,
)
