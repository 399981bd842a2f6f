"""Almost valid input: valid messages and requests with a little damage. The same seed gives the same bytes."""

import json
import random

from codecompass.transport.mcp.protocol import MODERN_REVISION
from tests.support.wire import modern, opening

TOKENS = [
    b"\r\n", b"\r\n\r\n", b"\n", b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"{", b"}", b"[", b"]", b'"', b"\\", b"\\ud800", b":", b",",
    b"null", b"true", b"-0", b"1e999", b"99999999999999999999999", b"0.1", b'{"a":' * 200, b"[" * 600, b"HTTP/1.1", b"HTTP/2.0",
    b"Transfer-Encoding: chunked\r\n", b"Content-Length: 0\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n",
    b"Expect: 100-continue\r\n", b"Upgrade: websocket\r\n", b"Upgrade: h2c\r\n", b"Connection: close\r\n",
    b"PRI * HTTP/2.0\r\n\r\n",
    b"ffffffffffffffff\r\n", b"0\r\n\r\n", b"Host: evil.example\r\n", b"%00", b"%ff", b"?project_path=/", b"/../", b"x" * 20000,
]  # fmt: skip

CALLS = [
    ("search_code", {"query": "total price"}),
    ("search_code", {"query": "a.*b", "mode": "regex", "limit": 3, "detail_level": "context"}),
    ("locate_symbol", {"name": "Order", "kind": "class"}),
    ("get_file_outline", {"path": "src/shop/orders.py"}),
    ("read_file", {"path": "src/shop/orders.py:3-9", "line_start": 2, "limit": 4}),
    ("get_symbol_hierarchy", {"symbol_name": "validate", "direction": "both"}),
    ("find_related_symbols", {"symbol_name": "OrderError", "scope": "module"}),
    ("get_code_context", {"query": "price", "max_tokens": 500}),
    ("index_status", {}),
    ("health_check", {}),
    ("sync_repo", {"wait_seconds": 0}),
]

OTHERS = [
    ("initialize", opening(roots={})),
    ("ping", {}),
    ("tools/list", {"cursor": "x"}),
    ("resources/list", {}),
    ("resources/read", {"uri": "codecompass://outline/src/auth.rs"}),
    ("resources/templates/list", {}),
    ("prompts/get", {"name": "explain_symbol", "arguments": {"symbol": "Order"}}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "explain_symbol"}, "argument": {"name": "symbol", "value": "O"}},
    ),
    ("server/discover", {}),
    ("tasks/get", {"taskId": "x"}),
    ("notifications/cancelled", {"requestId": 1}),
    ("notifications/roots/list_changed", {}),
]

LINES = [
    "POST / HTTP/1.1", "POST /mcp HTTP/1.1", "GET /health HTTP/1.1", "GET /mcp HTTP/1.1", "DELETE /mcp HTTP/1.1",
    "GET /metrics HTTP/1.1", "OPTIONS / HTTP/1.1", "PUT /mcp?project_path=/tmp HTTP/1.0", "POST /?project_path=%2Fnone HTTP/1.1",
    "GET /ws HTTP/1.1", "HEAD /health HTTP/1.1", "GET /nothing HTTP/1.1", "POST /mcp?sessionId=x HTTP/1.1",
]  # fmt: skip

HEADERS = [
    "content-type: application/json", "accept: application/json, text/event-stream", "accept: text/event-stream",
    f"mcp-protocol-version: {MODERN_REVISION}", "mcp-protocol-version: 2025-11-25", "mcp-method: tools/call",
    "mcp-name: search_code", "mcp-session-id: x", "origin: http://localhost", "connection: keep-alive", "connection: upgrade",
    "upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    "sec-websocket-protocol: mcp", "content-encoding: gzip", "last-event-id: 1",
]  # fmt: skip


def frame(rng: random.Random) -> bytes:
    """Returns a valid message of either era."""
    if rng.random() < 0.6:
        name, arguments = rng.choice(CALLS)
        method, params = "tools/call", {"name": name, "arguments": arguments}
    else:
        method, params = rng.choice(OTHERS)
    if rng.random() < 0.4:
        params = modern(params)
    message = {"jsonrpc": "2.0", "id": rng.choice([1, 2, "a", 2**53]), "method": method, "params": params}
    if method.startswith("notifications/"):
        del message["id"]
    return json.dumps(message).encode()


def http_request(rng: random.Random) -> bytes:
    """Returns a request in valid HTTP, which the server may refuse."""
    body = frame(rng) if rng.random() < 0.8 else b""
    if rng.random() < 0.3:
        body = damaged(rng, body)
    headers = [rng.choice(LINES), "host: 127.0.0.1", *rng.sample(HEADERS, rng.randrange(6))]
    if rng.random() < 0.2:
        headers.append("transfer-encoding: chunked")
        cut = rng.randrange(len(body) + 1)
        body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:cut], body[cut:]) if piece) + b"0\r\n\r\n"
    else:
        headers.append(f"content-length: {len(body)}")
    return "\r\n".join(headers).encode() + b"\r\n\r\n" + body


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Returns `data` with one to four changes of some bytes each."""
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([1, 1, 2, 8, 50]))
        match rng.randrange(7):
            case 0:
                data = data[:at] + data[end:]
            case 1:
                data = data[:at] + rng.choice(TOKENS) + data[at:]
            case 2:
                data = data[:at] + rng.choice(TOKENS) + data[end:]
            case 3:
                data = data[:end] + data[at:end] * rng.randrange(1, 40) + data[end:]
            case 4:
                data = data[:at] + rng.randbytes(rng.randrange(1, 6)) + data[end:]
            case 5 if data:
                place = rng.randrange(len(data))
                data = data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]
            case _:
                data = data[:at] if rng.random() < 0.3 else data
    return data
