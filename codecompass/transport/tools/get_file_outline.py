"""`get_file_outline`: the symbol tree of a file."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import arguments, choice, integer, result, text
from codecompass.transport.tools.toolkit import Tool

TOOL: Final = Tool(
    name="get_file_outline",
    title="Outline a file",
    description=(
        "The imports and symbols of a file as a tree, with signatures and lines. Use it before reading a large file. "
        "Not for finding files: search_code does that."
    ),
    arguments=arguments(
        {"path": text(is_filled=True)},
        {
            "depth": choice(*requests.OUTLINE_DEPTHS),
            "language": text(),
            "limit": integer(1, requests.MAX_OUTLINE_LIMIT),
        },
    ),
    output=result("file_path", "language", "symbols"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
