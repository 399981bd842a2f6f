"""`search_code`: find code by words, a literal or a regular expression."""

from typing import Final

from codecompass.protocol.requests import SearchCode
from codecompass.transport.tools.tool import INTEGER, ROWS, Tool, answer, ask_index, shown_by_hosts

TOOL: Final = Tool(
    request=SearchCode,
    title="Search code",
    description=(
        "Search code instead of grep: where is X, find references or usages, explore by words, identifier, path, pasted error, "
        "literal or regex; mode files lists files by glob or words. For a known symbol name locate_symbol is exact."
    ),
    output=answer(results=ROWS, total_candidates=INTEGER),
    meta=shown_by_hosts("grep, find references", is_always_shown=True),
    run=ask_index,
)
