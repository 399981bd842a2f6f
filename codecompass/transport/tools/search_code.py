"""`search_code`: find code by words, a literal or a regular expression."""

from typing import Final

from codecompass.protocol.requests import SearchCode
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_projects, shown_by_hosts

TOOL: Final = Tool(
    request=SearchCode,
    title="Search code",
    description=(
        "Search code instead of grep: where is X, explore by words, identifier, path, pasted error, literal, regex; mode files "
        "lists by glob or words. Symbols: locate_symbol is exact; uses: find_references."
    ),
    output=answer(results=ROWS),
    meta=shown_by_hosts("grep", is_always_shown=True),
    run=ask_projects,
)
