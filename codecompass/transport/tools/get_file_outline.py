"""`get_file_outline`: the symbol tree of a file."""

from typing import Final

from codecompass.protocol.requests import GetFileOutline
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=GetFileOutline,
    title="Outline a file",
    description=(
        "Outline of a file before it is read: its imports and symbols as a tree, with their signatures and lines. Not for "
        "finding files: search_code lists those."
    ),
    output=answer(symbols=ROWS),
    meta=shown_by_hosts("list symbols, table of contents"),
    run=ask_index,
)
