"""`get_symbol_hierarchy`: what encloses a symbol, or what it encloses."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.tool import (
    INTEGER,
    ROWS,
    STRING,
    Tool,
    answer,
    arguments,
    ask_index,
    choice,
    shown_by_hosts,
    text,
)

TOOL: Final = Tool(
    name="get_symbol_hierarchy",
    title="Show what encloses a symbol",
    description=(
        "Members of a class, or what encloses a symbol: the chain of method, class, module, or with direction descendants the "
        "tree below it. About nesting: not for inheritance, and not for who calls it."
    ),
    arguments=arguments(
        "get_symbol_hierarchy",
        {"symbol_name": text()},
        {
            "path": text("Picks among same-named ones"),
            "direction": choice(*requests.DIRECTIONS),
        },
    ),
    output=answer(hierarchy=ROWS, direction=STRING, chain_length=INTEGER),
    meta=shown_by_hosts("class members, methods of a class"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
