"""`get_file_outline`: the symbol tree of a file."""

from typing import Final

from codecompass.protocol.requests import GetFileOutline
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=GetFileOutline,
    title="Outline a file",
    description=(
        "Outline of a file: its imports and symbols as a tree, with signatures and lines. Use it before reading a large file. "
        "Not for finding files: search_code takes paths."
    ),
    output=answer(symbols=ROWS),
    meta=shown_by_hosts("list symbols, table of contents"),
    run=ask_index,
)
