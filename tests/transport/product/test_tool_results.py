"""Tools' replies as results of `tools/call`."""

import json

import msgspec
import pytest

from codecompass.errors import ErrorBody
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import bare_metadata
from codecompass.protocol.replies import ErrorReply
from codecompass.transport.product.tools import result_of
from tests.transport.sample_tools import said


@pytest.mark.parametrize("knows_structured", [True, False])
def test_text_and_structured_content_are_the_same_bytes(knows_structured):
    reply = said(text="é \n \u2028", n=1.5).reply
    payload = encode(reply)

    frame = msgspec.json.encode(result_of(reply, "json", knows_structured=knows_structured))

    assert json.loads(frame)["content"] == [{"type": "text", "text": payload.decode()}]
    assert (payload in frame) == knows_structured


@pytest.mark.parametrize("answers", ["json", "text"])
def test_an_error_is_text_alone(answers):
    reply = ErrorReply(error=ErrorBody("invalid_input", "no", {"field": "x"}), metadata=bare_metadata())

    frame = json.loads(msgspec.json.encode(result_of(reply, answers, knows_structured=True)))

    assert frame["isError"]
    assert "structuredContent" not in frame
