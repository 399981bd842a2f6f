"""`find_related_symbols`: what stands near a symbol, and what its file imports."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.tool import (
    INTEGER,
    OBJECT,
    ROWS,
    STRING,
    Tool,
    answer,
    arguments,
    ask_index,
    choice,
    integer,
    shown_by_hosts,
    text,
)

TOOL: Final = Tool(
    name="find_related_symbols",
    title="Find related symbols",
    description=(
        "Explore around a symbol: others in its file, and with a wider scope those of its directory or package and what its file "
        "imports. Use it to learn the surroundings of code that you have found. Not a list of callers or references."
    ),
    arguments=arguments(
        "find_related_symbols",
        {"symbol_name": text()},
        {
            "path": text("Picks among same-named ones"),
            "scope": choice(*requests.SCOPES),
            "limit": integer(1, requests.MAX_LIMIT, default=requests.DEFAULT_RELATED_LIMIT),
        },
    ),
    output=answer(anchor=OBJECT, related=ROWS, scope_used=STRING, total_found=INTEGER),
    meta=shown_by_hosts("neighbours of a symbol, what a file imports"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
