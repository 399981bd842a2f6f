"""`find_related_symbols`: what stands near a symbol, and what its file imports."""

from typing import Final

from codecompass.protocol.requests import FindRelatedSymbols
from codecompass.transport.tools.tool import INTEGER, OBJECT, ROWS, STRING, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=FindRelatedSymbols,
    title="Find related symbols",
    description=(
        "Explore around a symbol: others in its file, and with a wider scope those of its directory or package and what its file "
        "imports. Use it to learn the surroundings of code that you have found. Not a list of callers or references."
    ),
    output=answer(anchor=OBJECT, related=ROWS, scope_used=STRING, total_found=INTEGER),
    meta=shown_by_hosts("neighbours of a symbol, what a file imports"),
    run=ask_index,
)
