"""`find_related_symbols`: what stands near a symbol, and what its file imports."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import arguments, choice, integer, result, text
from codecompass.transport.tools.toolkit import Tool

TOOL: Final = Tool(
    name="find_related_symbols",
    title="Find related symbols",
    description=(
        "The neighbours of a symbol: others in its file, and with a wider scope those of its directory or package and what its "
        "file imports. Use it to learn the surroundings of code that you have found. Not a list of callers or references."
    ),
    arguments=arguments(
        {"symbol_name": text(is_filled=True)},
        {
            "path": text("Picks among same-named ones"),
            "scope": choice(*requests.SCOPES),
            "limit": integer(1, requests.MAX_LIMIT, default=requests.DEFAULT_RELATED_LIMIT),
        },
    ),
    output=result("anchor", "related", "scope_used", "total_found"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
