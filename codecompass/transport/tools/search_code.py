"""`search_code`: find code by words, a literal or a regular expression."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.tool import (
    INTEGER,
    KINDS,
    PATHS,
    ROWS,
    Tool,
    answer,
    arguments,
    ask_index,
    boolean,
    choice,
    integer,
    shown_by_hosts,
    text,
)

TOOL: Final = Tool(
    name="search_code",
    title="Search code",
    description=(
        "Search code instead of grep: where is X, find references or usages, explore by words, identifier, path, pasted error, "
        "literal or regex; mode files lists files by glob or words. For a known symbol name locate_symbol is exact."
    ),
    arguments=arguments(
        "search_code",
        {"query": text()},
        {
            "limit": integer(1, requests.MAX_LIMIT, default=10),
            "mode": choice(*requests.SEARCH_MODES),
            "path": text(PATHS),
            "language": text(),
            "kind": text(KINDS),
            "detail_level": choice(*requests.DETAIL_LEVELS),
            "docs": boolean(),
            "compact": boolean(),
            "freshness_policy": text(),
            "ranking_explain_level": text(),
            "timeout_ms": integer(1, requests.MAX_TIMEOUT_MS),
            "why_not": text("Path"),
        },
    ),
    output=answer(results=ROWS, total_candidates=INTEGER),
    meta=shown_by_hosts("grep, find references", is_always_shown=True),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
