"""`get_code_context`: the best code for a question, within a number of tokens."""

from collections.abc import Mapping
from typing import Final

from codecompass.protocol.requests import GetCodeContext
from codecompass.transport.tools.tool import ROWS, Tool, answer, ask_index, shown_by_hosts

RESULT_LIMIT: Final[Mapping[str, object]] = {"anthropic/maxResultSizeChars": 500_000}
"""The caller sets the size with `max_tokens`; a host must not cut it again."""

TOOL: Final = Tool(
    request=GetCodeContext,
    title="Gather code",
    description=(
        "Explore an unknown topic: the code that best answers a question within max_tokens, as signatures "
        "(breadth) or bodies (depth). For one symbol: locate_symbol."
    ),
    output=answer(context_items=ROWS),
    meta={**shown_by_hosts("how does it work"), **RESULT_LIMIT},
    run=ask_index,
)
