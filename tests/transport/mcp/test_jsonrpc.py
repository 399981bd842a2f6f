import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecompass.transport.mcp.jsonrpc import (
    Fault,
    Malformed,
    Notification,
    Response,
    RpcRequest,
    decode_params,
    encode_fault,
    encode_notification,
    encode_request,
    encode_result,
    oversized,
    parse,
)
from codecompass.transport.mcp.unusual_json import MAX_DEPTH
from codecompass.units import MIB

LIMIT = 10_000


def parsed(frame):
    return parse(frame if isinstance(frame, bytes) else json.dumps(frame).encode(), max_bytes=LIMIT)


def test_a_request_keeps_its_id_method_and_params():
    message = parsed({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": [1]}})

    assert isinstance(message, RpcRequest)
    assert (message.id, message.method, json.loads(bytes(message.params))) == ("a", "ping", {"x": [1]})


def test_a_message_without_id_is_a_notification():
    message = parsed({"jsonrpc": "2.0", "method": "notifications/initialized"})

    assert isinstance(message, Notification)
    assert bytes(message.params) == b"{}"


def test_a_response_carries_one_of_result_and_error():
    result = parsed({"jsonrpc": "2.0", "id": "srv-1", "result": {"a": 1}})
    error = parsed({"jsonrpc": "2.0", "id": "srv-1", "error": {"code": 1}})

    assert isinstance(result, Response)
    assert bytes(result.result or b"") == b'{"a": 1}'
    assert isinstance(error, Response)
    assert error.result is None


@pytest.mark.parametrize(
    ("frame", "code", "id_"),
    [
        (b"", -32700, None),
        (b"hello", -32700, None),
        (b"{", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x"} trailing', -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}', -32700, None),
        (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"x"}', -32700, None),
        (b"[" * 5_000, -32600, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"[" * 4_000 + b"]" * 4_000 + b"}}", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"[" * 99 + b"]" * 99 + b"}}", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x","ignored":' + b'{"a":' * 100 + b"1" + b"}" * 100 + b"}", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":' + b"[" * 5_000, -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"x"}]', -32600, None),
        (b"null", -32600, None),
        (b"5", -32600, None),
        (b'"text"', -32600, None),
        (b"{}", -32600, None),
        (b'{"id":7,"method":"x"}', -32600, 7),
        (b'{"jsonrpc":"1.0","id":7,"method":"x"}', -32600, 7),
        (b'{"jsonrpc":2.0,"id":7,"method":"x"}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":"' + b"i" * 5_000 + b'","method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","result":{}}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":[1]}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":"a"}', -32602, 7),
        (b" " * (LIMIT + 1), -32600, None),
    ],
)
def test_what_is_no_message_is_answered_with_the_right_code(frame, code, id_):
    message = parsed(frame)

    assert isinstance(message, Malformed)
    assert (message.fault.code, message.id, message.is_answerable) == (code, id_, True)
    assert message.fault.data["code"] == "invalid_input"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (rb"\ud83d", "\ufffd"),
        (rb"\uD83D!", "\ufffd!"),
        (rb"\ude00", "\ufffd"),
        (rb"\ude00\ud83d", "\ufffd\ufffd"),
        (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
        (rb"\ud83d\u0041", "\ufffdA"),
        (rb"\ud83d\n", "\ufffd\n"),
        (rb"\\ud83d", "\\ud83d"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\"\ud83d\"", '"\ufffd"'),
        (rb"\ud83d\ude00", "\U0001f600"),
        (rb"\ufffd", "\ufffd"),
        (b"\xed\xa0\xbd", "\ufffd"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\ufffd\ufffd"),
        ("\ud7ff퟿힣".encode(), "\ud7ff퟿힣"),
    ],
)
def test_half_of_a_surrogate_pair_is_a_replacement_character(written, read):
    """A client that cut a text inside an emoji waited until its timeout, because the error had no id."""
    message = parsed(
        b'{"jsonrpc":"2.0","id":"'
        + written
        + b'","method":"'
        + written
        + b'","params":{"'
        + written
        + b'":["'
        + written
        + b'"]}}'
    )

    assert isinstance(message, RpcRequest)
    assert (message.id, message.method, json.loads(bytes(message.params))) == (read, read, {read: [read]})


@pytest.mark.parametrize("unit", [rb"\ud83d", rb"\\ud83d", rb"\ud8", rb"\ud83d\ude00", b"\\", rb"\ud83d ", b"\xed\xa0\xbd"])
def test_surrogates_are_read_in_time_that_grows_with_the_message(unit):
    """In quadratic time, 4 MiB would take hours and the test would be killed."""
    message = parse(b'{"jsonrpc":"2.0","id":1,"method":"' + unit * (4 * MIB // len(unit) - 20) + rb'\ud83d"}', max_bytes=4 * MIB)

    assert isinstance(message, RpcRequest | Malformed)


@given(
    text=st.text(alphabet=st.sampled_from(["\\", "u", "d", "8", "3", "c", "D", '"', "n", "\ud83d", "\ude00", "é"]), max_size=30)
)
def test_whatever_text_json_can_write_is_read(text):
    written = json.dumps({"jsonrpc": "2.0", "id": 1, "method": text}).encode()

    message = parse(written, max_bytes=LIMIT)

    assert isinstance(message, RpcRequest)
    assert message.method == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        b'{"jsonrpc":"2.0","id":null,"error":{}}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/x","params":[]}',
    ],
)
def test_broken_responses_and_notifications_are_not_answered(frame):
    message = parsed(frame)

    assert isinstance(message, Malformed)
    assert not message.is_answerable


def test_a_message_as_deep_as_allowed_is_read():
    message = parsed(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + b"[" * 98 + b"]" * 98 + b"}}")

    assert isinstance(message, RpcRequest)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_no_decoder_sees_a_message_that_nests_without_end(opening):
    """Decoders recurse 10,000 levels in Python 3.13, which crashed the process if its stack had 1 MiB."""
    frame = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":' + opening * (MIB // 2)

    message = parse(frame, max_bytes=4 * MIB)

    assert isinstance(message, Malformed)
    assert message.fault.message == f"the message is nested deeper than {MAX_DEPTH} levels. Send it flatter."


def test_the_last_of_equal_members_counts():
    message = parsed(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b"}')

    assert isinstance(message, RpcRequest)
    assert (message.id, message.method) == (2, "b")


def test_params_of_null_are_none():
    message = parsed(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}')

    assert isinstance(message, RpcRequest)
    assert bytes(message.params) == b"{}"


def test_white_space_around_a_message_does_not_matter():
    assert isinstance(parsed(b' \t{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n'), RpcRequest)


@pytest.mark.parametrize("params", [b'{"a":1e999}', b'{"a":"\\ud800"}', b'{"a":"text"}', b"{" + b'"a":[' * 900])
def test_params_that_do_not_decode_are_invalid_params(params):
    decoder = msgspec.json.Decoder(dict[str, int])

    with pytest.raises(Fault) as caught:
        decode_params(decoder, msgspec.Raw(params))

    assert caught.value.code == -32602


def test_an_oversized_frame_names_the_limit():
    assert oversized(4096).fault.data["limit"] == 4096


def test_frames_say_what_they_are():
    fault = Fault(-32602, "no", field="x")

    assert json.loads(encode_result(1, {"a": 1})) == {"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}
    assert json.loads(encode_request("srv-1", "roots/list")) == {"jsonrpc": "2.0", "id": "srv-1", "method": "roots/list"}
    assert json.loads(encode_notification("n", {"a": 1})) == {"jsonrpc": "2.0", "method": "n", "params": {"a": 1}}
    assert json.loads(encode_fault("q", fault)) == {
        "jsonrpc": "2.0",
        "id": "q",
        "error": {"code": -32602, "message": "no", "data": {"code": "invalid_input", "field": "x"}},
    }
    assert "id" not in json.loads(encode_fault(None, fault))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=10,
)
MEMBERS = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "other"])


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes_are_one_message(frame):
    assert isinstance(parsed(frame), RpcRequest | Notification | Response | Malformed)


@given(st.dictionaries(MEMBERS, JSON_VALUES, max_size=6), st.booleans())
@settings(max_examples=300)
def test_any_object_is_one_message_and_a_good_id_is_not_lost(members, is_versioned):
    message = parsed({**members, "jsonrpc": "2.0"} if is_versioned else members)

    id_ = members.get("id")
    if isinstance(members.get("method"), str) and isinstance(id_, str | int) and not isinstance(id_, bool):
        assert isinstance(message, RpcRequest | Malformed)
        assert message.id == id_
