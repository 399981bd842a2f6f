"""`locate_symbol`: go to the definition of a name."""

from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.tool import (
    INTEGER,
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
    name="locate_symbol",
    title="Locate a symbol",
    description=(
        "Go to definition: where a function, class, method, type or constant is defined: lines, signature, body. Takes a name, "
        "the end of a qualified one (Session.close), a symbol_id or src/x.py:120. For words or text: search_code."
    ),
    arguments=arguments(
        "locate_symbol",
        {"name": text()},
        {
            "kind": text(),
            "language": text(),
            "path": text(PATHS),
            "limit": integer(1, requests.MAX_LIMIT, default=10),
            "detail_level": choice(*requests.DETAIL_LEVELS),
            "docs": boolean(),
            "compact": boolean(),
            "freshness_policy": text(),
            "ranking_explain_level": text(),
        },
    ),
    output=answer(results=ROWS, total_candidates=INTEGER),
    meta=shown_by_hosts("jump to definition", is_always_shown=True),
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
