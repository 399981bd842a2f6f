"""A server at the organisation's address that is missing, broken or slow; or a proxy that counts requests."""

import gzip
import json
import socket
import ssl
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

BEHAVIOURS = {
    "silent": "timeout",
    "drips": "timeout",
    "token_refused": "token_refused",
    "forbidden": "forbidden",
    "not_found": "not_found",
    "busy": "busy",
    "server_error": "server_error",
    "redirect": "refused",
    "html": "invalid_answer",
    "no_result": "invalid_answer",
    "fault": "invalid_answer",
    "wrong_parts": "invalid_answer",
    "wrong_evidence": "invalid_answer",
    "deep": "invalid_answer",
    "compressed": "invalid_answer",
    "cut_off": "invalid_answer",
    "no_http": "invalid_answer",
    "endless": "too_large",
    "hangs_up": "invalid_answer",
}
"""Each behaviour, and the reason that is reported for it."""

METADATA = {
    "codecompass_protocol_version": "1.0",
    "freshness_status": "fresh",
    "indexing_status": "ready",
    "result_completeness": "complete",
    "ref": "live",
    "schema_status": "compatible",
    "workspace": "*",
    "project_id": "",
}


def result(content: object, *, knows_parts: bool = True) -> bytes:
    meta = {"dev.codecompass/part": True} if knows_parts else {}
    body = {"resultType": "complete", "content": [], "structuredContent": content, "isError": False, "_meta": meta}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": body}).encode()


def part(**evidence: object) -> bytes:
    hit = {"path": "a.py", "line_start": 1, "line_end": 1}
    reply = {
        "results": [hit],
        "query_intent": "natural_language",
        "total_candidates": 1,
        "metadata": METADATA,
        "evidence": {"n_texts": 10, "words": [], "hits": [{"score": 1.0, "has": []}], **evidence},
    }
    one = {"project_id": "p", "name": "strange", "root": "/strange", "is_checked": True, "reply": reply}
    return result({"parts": [one], "metadata": {**METADATA, "n_projects": 1}})


class StrangePeer:
    """Runs in threads. `requests` holds the bodies received, `headers` their headers, `connections` how many were opened."""

    def __init__(self, certificate: ssl.SSLContext | None = None) -> None:
        self._scheme = "http" if certificate is None else "https"
        self.behaviour = "silent"
        self.forward_to = ""
        self.drops_meta = False
        self.requests: list[dict] = []
        self.headers: list[dict[str, str]] = []
        self.connections = 0
        self._released = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler, self)
        if certificate is not None:
            self._server.socket = certificate.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self.requests.append(json.loads(body))
        self.headers.append(dict(handler.headers.items()))
        out = handler.wfile
        good = part()
        match self.behaviour:
            case "good":
                out.write(response(good))
            case "page":
                page = {
                    "results": [{"project": f"old{n}", "path": f"{n}.py", "line_start": n, "line_end": n} for n in (1, 2)],
                    "query_intent": "natural_language",
                    "total_candidates": 2,
                    "metadata": {**METADATA, "n_projects": 2},
                }
                out.write(response(result(page, knows_parts=False)))
            case "forward":
                out.write(response(self._forwarded(body)))
            case "silent":
                self._released.wait()
            case "drips":
                out.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
                while not self._released.wait(0.05):
                    out.write(b" ")
            case "token_refused":
                out.write(response(f'{{"error": "{handler.headers["Authorization"]}"}}'.encode(), "401 Unauthorized"))
            case "forbidden":
                out.write(response(b"{}", "403 Forbidden"))
            case "not_found":
                out.write(response(b"{}", "404 Not Found"))
            case "busy":
                out.write(response(b"{}", "503 Service Unavailable"))
            case "server_error":
                out.write(response(b"{}", "500 Internal Server Error"))
            case "redirect":
                out.write(response(b"", "307 Temporary Redirect", f"Location: {self.url}/elsewhere\r\n"))
            case "html":
                out.write(response(b"<html><body>Log in!</body></html>"))
            case "no_result":
                out.write(response(b'{"jsonrpc": "2.0", "id": 1, "result": {"content": []}}'))
            case "fault":
                out.write(response(b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no"}}'))
            case "wrong_parts":
                out.write(response(result({"parts": [{"name": 7}], "metadata": METADATA})))
            case "wrong_evidence":
                out.write(response(part(words=[{"text": "retry", "weight": 1.0, "frequency": 11}])))
            case "deep":
                out.write(response(b'{"result": {"structuredContent": ' + b"[" * 500_000 + b"]" * 500_000 + b"}}"))
            case "compressed":
                out.write(response(gzip.compress(good), header="Content-Encoding: gzip\r\n"))
            case "cut_off":
                out.write(response(good)[:-20])
            case "no_http":
                out.write(b"SSH-2.0-OpenSSH_9.2\r\n")
            case "endless":
                out.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
                while not self._released.is_set():
                    out.write(b" " * 65_536)
            case "hangs_up":
                handler.connection.shutdown(socket.SHUT_RDWR)

    def _forwarded(self, body: bytes) -> bytes:
        asked = json.loads(body)
        if self.drops_meta:
            del asked["params"]["_meta"]["dev.codecompass/part"]
        headers = {
            name: value for name, value in self.headers[-1].items() if name.lower().startswith(("mcp", "accept", "content-type"))
        }
        request = urllib.request.Request(f"{self.forward_to}/mcp", json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()


def response(body: bytes, status: str = "200 OK", header: str = "") -> bytes:
    fields = f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{header}"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + body


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], peer: StrangePeer) -> None:
        self.peer = peer
        super().__init__(address, handler)

    def process_request(self, request, client_address) -> None:
        self.peer.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, request, client_address) -> None:
        """Ignored: a client that disconnects does not fail the test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        peer = self.server.peer  # type: ignore[attr-defined]
        assert self.path == "/mcp", "a redirect was followed"
        body = self.rfile.read(int(self.headers["Content-Length"]))
        # One request per connection, so that no thread of the server waits for another.
        self.close_connection = True
        peer.answer(self, body)

    def log_message(self, *_: object) -> None:
        pass
