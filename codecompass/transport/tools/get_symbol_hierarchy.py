"""`get_symbol_hierarchy`: what encloses a symbol, or what it encloses."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import arguments, choice, result, text
from codecompass.transport.tools.toolkit import Tool

TOOL: Final = Tool(
    name="get_symbol_hierarchy",
    title="Show what encloses a symbol",
    description=(
        "The chain of what encloses a symbol (method, class, module), or with direction descendants the tree of its members. "
        "Use it to see a class with all its methods. It is about nesting: not for inheritance, and not for who calls it."
    ),
    arguments=arguments(
        {"symbol_name": text(is_filled=True)},
        {
            "path": text("Picks among same-named ones"),
            "direction": choice(*requests.DIRECTIONS),
        },
    ),
    output=result("hierarchy", "direction", "chain_length"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
