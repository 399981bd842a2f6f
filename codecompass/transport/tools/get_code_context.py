"""`get_code_context`: the best code for a question, within a number of tokens."""

from collections.abc import Mapping
from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.tool import ROWS, Tool, answer, arguments, ask_index, choice, integer, shown_by_hosts, text

RESULT_LIMIT: Final[Mapping[str, object]] = {"anthropic/maxResultSizeChars": 500_000}
"""The caller sets the size with `max_tokens`; a host must not cut it again."""

TOOL: Final = Tool(
    name="get_code_context",
    title="Gather code",
    description=(
        "Explore a codebase or an unknown topic: the code that best answers a question within max_tokens, as signatures "
        "(breadth) or bodies (depth). For one symbol use locate_symbol."
    ),
    arguments=arguments(
        "get_code_context",
        {"query": text()},
        {
            "max_tokens": integer(1, requests.MAX_MAX_TOKENS, default=requests.DEFAULT_MAX_TOKENS),
            "strategy": choice(*requests.STRATEGIES),
            "detail_level": choice(*requests.CONTEXT_DETAILS),
            "language": text(),
        },
    ),
    output=answer(context_items=ROWS),
    meta={**shown_by_hosts("how does it work"), **RESULT_LIMIT},
    is_read_only=True,
    is_idempotent=True,
    run=ask_index,
)
