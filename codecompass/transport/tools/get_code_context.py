"""`get_code_context`: the best code for a question, within a number of tokens."""

from collections.abc import Mapping
from typing import Final

from codecompass.protocol import requests
from codecompass.transport.tools.asking import ask_index
from codecompass.transport.tools.schemas import arguments, choice, integer, result, text
from codecompass.transport.tools.toolkit import Tool

RESULT_LIMIT: Final[Mapping[str, object]] = {"anthropic/maxResultSizeChars": 500_000}
"""The caller sets the size with `max_tokens`; a host must not cut it again."""

TOOL: Final = Tool(
    name="get_code_context",
    title="Gather code",
    description=(
        "The code that best answers a question, packed into max_tokens: signatures of many symbols (breadth) or bodies of few "
        "(depth). To start on an unknown topic; for one symbol, locate_symbol."
    ),
    arguments=arguments(
        {"query": text(is_filled=True)},
        {
            "max_tokens": integer(1, requests.MAX_MAX_TOKENS, default=requests.DEFAULT_MAX_TOKENS),
            "strategy": choice(*requests.STRATEGIES),
            "detail_level": choice(*requests.CONTEXT_DETAILS),
            "language": text(),
        },
    ),
    output=result("context_items", "estimated_tokens", "truncated"),
    is_read_only=True,
    is_idempotent=True,
    meta=RESULT_LIMIT,
    run=ask_index,
)
