"""What a tool said, as `tools/call` answers it (rule R4): one text on every transport and in every era.

Hosts show a model either the text or the structured content: they say the same, the text with a line for each result. Plain
text goes out alone, because hosts that get both forms show the model the JSON. A failure is text alone, since clients hold
structured content against the output schema even then.
"""

from msgspec import UNSET, Raw

from codecompass.protocol.encode import one_line
from codecompass.transport.calls import ToolAnswer
from codecompass.transport.mcp.surface import ToolResult
from codecompass.transport.mcp.wire import CallToolResult, TextContent


def tool_result(answer: ToolAnswer) -> ToolResult:
    """Returns the answer of one of our tools as a result."""
    content = (TextContent(answer.payload.decode() if answer.text is None else answer.text),)
    if answer.error is not None:
        return ToolResult(content=content, is_error=True)
    # A message ends with its line, so there must be no line break in what is put into it as it is.
    return ToolResult(content=content, structured=None if answer.text is not None else Raw(one_line(answer.payload)))


def rendered(result: ToolResult, *, knows_structured: bool) -> CallToolResult:
    """Returns the result with what the revision knows of it."""
    structured = result.structured if knows_structured and not result.is_error else None
    return CallToolResult(
        content=result.content,
        structured_content=UNSET if structured is None else structured,
        is_error=result.is_error,
        meta=result.meta or UNSET,
    )
