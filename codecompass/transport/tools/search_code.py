"""`search_code`: find code by words, a literal or a regular expression."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import KINDS, PATHS, arguments, boolean, choice, integer, result, text
from codecompass.transport.tools.toolkit import Tool

TOOL: Final = Tool(
    name="search_code",
    title="Search code",
    description=(
        "Ranked search over a repository: words, an identifier, a path, an error text, a literal or a regex; mode files lists "
        "files by glob or words. Use it instead of grep and find. For a known name, locate_symbol is exact."
    ),
    arguments=arguments(
        {"query": text(is_filled=True)},
        {
            "limit": integer(1, requests.MAX_LIMIT, default=10),
            "mode": choice(*requests.SEARCH_MODES),
            "path": text(PATHS),
            "language": text(),
            "kind": text(KINDS),
            "detail_level": choice(*requests.DETAIL_LEVELS),
            "docs": boolean(),
            "compact": boolean(),
            "freshness_policy": choice(*requests.FRESHNESS_POLICIES),
            "ranking_explain_level": text(),
            "timeout_ms": integer(1, requests.MAX_TIMEOUT_MS),
            "why_not": text("Path to explain"),
        },
    ),
    output=result("results", "query_intent", "total_candidates", "suggested_next_actions"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
