"""A server that names an active project, run in a separate process. The path of its base URL selects its answer.

When run as a module, prints its port, and exits when its stdin is closed.
"""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ENDPOINT = "/api/v1/projects/active"
ROOT = Path(__file__).parents[2]


def answer(body: bytes, status: str = "200 OK", header: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{header}\r\n".encode() + body


ANSWERS = {
    "/null": answer(b'{"project_id": null}'),
    "/more": answer(b'{"project_id": "shop", "name": ["Shop"]}'),
    "/chunked": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"projec\r\nE\r\nt_id": "shop"}\r\n0\r\n\r\n',
    "/until-closed": b'HTTP/1.0 200 OK\r\n\r\n{"project_id": "shop"}',
    "/hints-first": b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(b'{"project_id": "shop"}'),
    "/redirect": answer(b"", "302 Found", f"Location: /is/shop{ENDPOINT}\r\n"),
    "/not-found": answer(b'{"project_id": "shop"}', "404 Not Found"),
    "/broken": answer(b'{"project_id": "shop"}', "500 Internal Server Error"),
    "/no-json": answer(b"<html>"),
    "/no-text": answer(b'{"project_id": "\xff"}'),
    "/no-object": answer(b'["shop"]'),
    "/no-field": answer(b"{}"),
    "/no-string": answer(b'{"project_id": 7}'),
    "/no-id": answer(b'{"project_id": "../../etc"}'),
    "/newline": answer(b'{"project_id": "shop\\n"}'),
    "/long-id": answer(b'{"project_id": "' + b"a" * 51 + b'"}'),
    "/deep": answer(b'{"x": ' + b"[" * 60_000),
    "/large": answer(b'{"project_id": "shop", "x": "' + b"a" * 65_536 + b'"}'),
    "/large-header": b"HTTP/1.1 200 OK\r\nX: " + b"a" * 65_536 + b"\r\n\r\n",
    "/no-http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "/cut-off": b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{",
    "/nothing": b"",
}
"""The bytes sent before the connection is closed. The handler adds `/is/ID`, `/counting` (`p-1`, `p-2`, ...), `/broken-first`,
`/silent` and `/unfinished` (half an answer, then silence)."""


asked: Counter[str] = Counter()
"""Number of requests to this process by base."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        base = self.path.removesuffix(ENDPOINT)
        asked[base] += 1
        self.close_connection = True
        if base in ("/silent", "/unfinished"):
            self.wfile.write(answer(b"{}")[:-1] if base == "/unfinished" else b"")
            threading.Event().wait()
        elif base.startswith("/counting"):
            self.wfile.write(answer(f'{{"project_id": "p-{asked[base]}"}}'.encode()))
        elif base == "/broken-first" and asked[base] == 1:
            self.wfile.write(ANSWERS["/broken"])
        elif base == "/broken-first" or base.startswith("/is/"):
            self.wfile.write(answer(f'{{"project_id": "{base.rpartition("/")[2].removesuffix("-first")}"}}'.encode()))
        else:
            self.wfile.write(ANSWERS[base])

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running_peer() -> Iterator[str]:
    """Starts the process, yields its URL, and kills it."""
    command = [sys.executable, "-m", "tests.support.active_peer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)
