import json

import msgspec
import pytest
from msgspec import Raw

from codecompass.errors import ErrorBody
from codecompass.transport.calls import ToolAnswer
from codecompass.transport.mcp.surface import ToolResult
from codecompass.transport.mcp.tool_results import rendered, tool_result
from codecompass.transport.mcp.wire import TextContent


@pytest.mark.parametrize("knows_structured", [True, False])
def test_text_and_structured_content_are_the_same_bytes(knows_structured):
    payload = '{"text":"é \\n \u2028","n":1.50}'.encode()

    frame = msgspec.json.encode(rendered(tool_result(ToolAnswer(payload)), knows_structured=knows_structured))

    assert json.loads(frame)["content"] == [{"type": "text", "text": payload.decode()}]
    assert (payload in frame) == knows_structured


def test_an_error_is_text_alone_even_if_it_has_structure():
    answer = ToolAnswer(b'{"error":{}}', error=ErrorBody("invalid_input", "no", {"field": "x"}))
    structured = ToolResult(content=(TextContent("no"),), structured=Raw(b"{}"), is_error=True)

    for result in (tool_result(answer), structured):
        frame = json.loads(msgspec.json.encode(rendered(result, knows_structured=True)))
        assert frame["isError"]
        assert "structuredContent" not in frame
