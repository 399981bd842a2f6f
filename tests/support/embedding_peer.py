"""An embeddings server with both supported APIs. Texts are similar if they share words or synonyms.

Each word has a random direction; a text is the sum of its words' directions. `behaviour` selects what is sent besides or instead
of vectors. `python -m tests.support.embedding_peer PORT` serves until its stdin is closed.
"""

import gzip
import hashlib
import json
import random
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 256

SYNONYMS = (
    ("remove", "delete", "erase", "unlink", "drop", "discard"),
    ("user", "account", "customer", "person"),
    ("create", "make", "build", "new", "add"),
    ("sum", "total", "amount", "overall"),
    ("color", "colour", "tint", "style", "ansi"),
    ("ask", "prompt", "question", "query"),
    ("password", "secret", "hidden", "credential"),
    ("check", "validate", "verify", "confirm"),
)
CANONICAL = {word: words[0] for words in SYNONYMS for word in words}
STOP_WORDS = frozenset(
    "the a an of to in is are for and or how where what does do self def return if not it we from with that".split()  # noqa: SIM905
)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")

BEHAVIOURS = (
    "good",
    "silent",
    "wrong_dimensions",
    "html",
    "nan",
    "infinite",
    "zero",
    "wrong_count",
    "unnumbered",
    "server_error",
    "key_refused",
    "rate_limited",
    "not_found",
    "redirect",
    "compressed",
    "huge",
    "cut_off",
    "no_http",
)


@cache
def direction(word: str) -> tuple[float, ...]:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
    numbers = random.Random(seed)
    return tuple(numbers.gauss(0.0, 1.0) for _ in range(DIMENSIONS))


def words_of(text: str) -> set[str]:
    found = {word.lower() for word in WORD.findall(text)} - STOP_WORDS
    found = {word.removesuffix("s") if len(word) > 3 else word for word in found}
    return {CANONICAL.get(word, word) for word in found}


def vector_of(text: str) -> list[float]:
    words = sorted(words_of(text)) or ["nothing"]
    return [round(sum(numbers), 5) for numbers in zip(*map(direction, words), strict=True)]


class EmbeddingPeer:
    """The server, run in threads. `texts` holds all texts received, in order; `requests` the number of texts in each request."""

    def __init__(self, port: int = 0) -> None:
        self.behaviour = "good"
        self.longest: int | None = None
        """Maximum characters of a text; a request with a longer one is refused with 400."""
        self.texts: list[str] = []
        self.requests: list[int] = []
        self.headers: list[dict[str, str]] = []
        self.models: set[str] = set()
        self.connections = 0
        self._released = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Clears the recorded requests."""
        self.texts, self.requests, self.headers = [], [], []

    def stop(self) -> None:
        """Stops the server and closes its port. Waiting requests are ended first."""
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def wait_released(self) -> None:
        """Blocks until the server is stopped, for `silent`."""
        self._released.wait()

    def answer(self, path: str, body: bytes, headers: dict[str, str]) -> bytes:
        """Returns the complete response to a request."""
        asked = json.loads(body)
        texts = asked["input"]
        self.texts += texts
        self.requests.append(len(texts))
        self.headers.append(headers)
        self.models.add(asked["model"])
        how = self.behaviour
        if how == "good" and self.longest is not None and any(len(text) > self.longest for text in texts):
            return response(b'{"error": "too long"}', "400 Bad Request")
        special = {
            "html": response(b"<html><body>It works!</body></html>"),
            "server_error": response(b"{}", "500 Internal Server Error"),
            "key_refused": response(f'{{"error": "wrong key {headers.get("Authorization")}"}}'.encode(), "401 Unauthorized"),
            "rate_limited": response(b"{}", "429 Too Many Requests"),
            "not_found": response(b"{}", "404 Not Found"),
            "redirect": response(b"", "302 Found", f"Location: {self.url}{path}?again\r\n"),
            "no_http": b"SSH-2.0-OpenSSH_9.2\r\n",
        }
        if how in special:
            return special[how]
        vectors: list[object] = [vector_of(text) for text in texts]
        match how:
            case "wrong_dimensions":
                vectors = [[1.0, 0.0, 0.0] for _ in texts]
            case "nan":
                vectors = [[float("nan")] * DIMENSIONS for _ in texts]
            case "infinite":
                vectors = [[1e308] * DIMENSIONS for _ in texts]
            case "zero":
                vectors = [[0] * DIMENSIONS for _ in texts]
            case "wrong_count":
                vectors = [*vectors, vector_of("one too many")]
        if path == "/api/embed":
            answer: dict[str, object] = {"model": asked["model"], "embeddings": vectors}
        else:
            numbers = [7] * len(vectors) if how == "unnumbered" else range(len(vectors))
            items = [{"object": "embedding", "index": at, "embedding": each} for at, each in zip(numbers, vectors, strict=True)]
            answer = {"object": "list", "model": asked["model"], "data": items[::-1]}
        encoded = json.dumps(answer).encode()
        if how == "compressed":
            return response(gzip.compress(encoded), header="Content-Encoding: gzip\r\n")
        if how == "huge":
            return response(encoded + b" " * 64_000_000)
        if how == "cut_off":
            return response(encoded)[:-20]
        return response(encoded)


def response(body: bytes, status: str = "200 OK", header: str = "") -> bytes:
    fields = f"Connection: close\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{header}"
    return f"HTTP/1.1 {status}\r\n{fields}\r\n".encode() + body


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True

    def __init__(self, address: tuple[str, int], handler: type[BaseHTTPRequestHandler], peer: EmbeddingPeer) -> None:
        self.peer = peer
        super().__init__(address, handler)

    def process_request(self, request, client_address) -> None:
        self.peer.connections += 1
        super().process_request(request, client_address)

    def handle_error(self, request, client_address) -> None:
        """Ignores errors: a client that hangs up is not a test failure."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        peer = self.server.peer  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.path.startswith(("/v1/embeddings", "/api/embed")), self.path
        # One request per connection, so that no server thread waits for a next one.
        self.close_connection = True
        if peer.behaviour == "silent":
            peer.texts += json.loads(body)["input"]
            peer.wait_released()
            return
        self.wfile.write(peer.answer(self.path, body, dict(self.headers.items())))

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def embedding_peer() -> Iterator[EmbeddingPeer]:
    """Yields a server on a free port, and stops it."""
    peer = EmbeddingPeer()
    try:
        yield peer
    finally:
        peer.stop()


if __name__ == "__main__":
    served = EmbeddingPeer(int(sys.argv[1]))
    print(served.url, flush=True)
    began = time.monotonic()
    for line in sys.stdin:
        served.behaviour = line.strip() or served.behaviour
        print(f"{served.behaviour}; {len(served.requests)} requests, {len(served.texts)} texts", flush=True)
    served.stop()
