"""`get_symbol_hierarchy`: what encloses a symbol, or what it encloses."""

from typing import Final

from codecompass.protocol.requests import GetSymbolHierarchy
from codecompass.transport.tools.tool import INTEGER, ROWS, STRING, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=GetSymbolHierarchy,
    title="Show what encloses a symbol",
    description=(
        "Members of a class, or what encloses a symbol: the chain of method, class, module, or with direction descendants the "
        "tree below it. About nesting: not for inheritance, and not for who calls it."
    ),
    output=answer(hierarchy=ROWS, direction=STRING, chain_length=INTEGER),
    meta=shown_by_hosts("class members, methods of a class"),
    run=ask_index,
)
