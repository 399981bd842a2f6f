"""`get_file_outline`: the symbol tree of a file."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.tool import ROWS, Tool, answer, arguments, ask_index, choice, integer, shown_by_hosts, text

TOOL: Final = Tool(
    name="get_file_outline",
    title="Outline a file",
    description=(
        "Outline of a file: its imports and symbols as a tree, with signatures and lines. Use it before reading a large file. "
        "Not for finding files: search_code takes paths."
    ),
    arguments=arguments(
        "get_file_outline",
        {"path": text()},
        {
            "depth": choice(*requests.OUTLINE_DEPTHS),
            "language": text(),
            "limit": integer(1, requests.MAX_OUTLINE_LIMIT),
        },
    ),
    output=answer(symbols=ROWS),
    meta=shown_by_hosts("list symbols, table of contents"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
