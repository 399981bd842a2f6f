"""`locate_symbol`: go to the definition of a name."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import PATHS, arguments, boolean, choice, integer, result, text
from codecompass.transport.tools.toolkit import Tool

TOOL: Final = Tool(
    name="locate_symbol",
    title="Locate a symbol",
    description=(
        "Where a function, class, method, type or constant is defined: lines, signature, body. Takes a name, the end of a "
        "qualified one (Session.close), a symbol_id or src/x.py:120. For words or text: search_code."
    ),
    arguments=arguments(
        {"name": text(is_filled=True)},
        {
            "kind": text("As in search_code"),
            "language": text(),
            "path": text(PATHS),
            "limit": integer(1, requests.MAX_LIMIT, default=10),
            "detail_level": choice(*requests.DETAIL_LEVELS),
            "docs": boolean(),
            "compact": boolean(),
            "freshness_policy": choice(*requests.FRESHNESS_POLICIES),
            "ranking_explain_level": text(),
        },
    ),
    output=result("results", "total_candidates", "suggested_next_actions"),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
