"""Any bytes in any order: never an exception, one answer per request, no task left over."""

import json

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecompass.transport.mcp.connection import Input, serve_connection
from codecompass.transport.mcp.jsonrpc import RpcRequest, parse
from tests.transport.harness import modern
from tests.transport.sample_tools import sample_core

N_CONVERSATIONS = 150
"""Number of conversations in CI, of up to 8 messages each."""

METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "tools/call",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "prompts/get",
        "completion/complete",
        "subscriptions/listen",
        "tasks/get",
        "notifications/cancelled",
        "notifications/roots/list_changed",
        "nope",
    ]
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=10)
    | st.sampled_from(["echo", "fail", "crash", "where", "index", "2025-11-25", "codecompass://jobs/abc123", "ref/prompt"])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "name",
        "arguments",
        "uri",
        "cursor",
        "_meta",
        "protocolVersion",
        "capabilities",
        "clientInfo",
        "requestId",
        "ref",
        "argument",
        "notifications",
        "taskId",
        "inputResponses",
        "requestState",
    ]
)
PARAMS = st.dictionaries(KEYS, VALUES, max_size=5)
IDS = st.integers(-3, 3) | st.sampled_from(["a", "srv-1"]) | st.none() | st.floats(allow_nan=False)


@st.composite
def messages(draw):
    """A nearly valid message of either era, sometimes with damaged bytes."""
    params = draw(PARAMS)
    if draw(st.booleans()):
        params = {**modern(), **params}
    message = {"jsonrpc": "2.0", "method": draw(METHODS), "params": params}
    if draw(st.integers(0, 4)):
        message["id"] = draw(IDS)
    if not draw(st.integers(0, 9)):
        message["result"] = draw(VALUES)
    frame = json.dumps(message).encode()
    if not draw(st.integers(0, 4)):
        cut = draw(st.integers(0, len(frame)))
        frame = frame[:cut] + draw(st.binary(max_size=3)) + frame[cut + draw(st.integers(0, 3)) :]
    return frame


async def converse(frames):
    """Sends the frames and returns the server's, once the connection has ended."""
    core, tools = sample_core()
    tools.released.set()
    out = []
    waiting = iter(frames)

    async def receive():
        await trio.lowlevel.checkpoint()
        return next((Input(frame) for frame in waiting), None)

    async def write(body):
        await trio.lowlevel.checkpoint()
        out.append(body)

    before = trio.lowlevel.current_statistics().tasks_living
    with trio.fail_after(60):
        assert await serve_connection(core, "stdio", receive=receive, write=write) == "end_of_input"
    assert trio.lowlevel.current_statistics().tasks_living == before
    return [json.loads(body) for body in out]


def check(frames):
    answers = trio.run(converse, frames, clock=trio.testing.MockClock(autojump_threshold=0))
    asked = {}
    cancelled = set()
    for frame in frames:
        message = parse(frame, max_bytes=1 << 20)
        if isinstance(message, RpcRequest):
            key = (type(message.id), message.id)
            asked[key] = asked.get(key, 0) + 1
            if message.method == "subscriptions/listen":
                cancelled.add(key)  # gets no result; ends with the connection
        elif getattr(message, "method", "") == "notifications/cancelled":
            cancelled.update(asked)
    answered = {}
    for answer in answers:
        if "method" not in answer and "id" in answer:
            key = (type(answer["id"]), answer["id"])
            answered[key] = answered.get(key, 0) + 1
    for key, n in asked.items():
        if key not in cancelled:
            # Malformed messages with a readable id are also answered, so there may be more answers than requests.
            assert answered.get(key, 0) >= n, (key, frames, answers)
    n_answerable = sum(1 for frame in frames if getattr(parse(frame, max_bytes=1 << 20), "is_answerable", False))
    assert sum(answered.values()) <= sum(asked.values()) + n_answerable


@pytest.mark.soak
def test_any_conversation_is_survived_and_each_request_is_answered_once(soak_scale):
    conversations = st.lists(messages() | st.binary(max_size=100), max_size=8)
    bounds = settings(max_examples=N_CONVERSATIONS * soak_scale, deadline=None, suppress_health_check=[HealthCheck.too_slow])

    bounds(given(conversations)(check))()
