"""A node that answers what a test wants."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Node:
    """Answers every request with the same status and body, over TLS with a `context`."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.status = 200
        self.body: object = {}
        self.authorization = ""
        """The header of the last request."""
        node = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                node.authorization = self.headers.get("Authorization", "")
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                said = json.dumps(node.body).encode()
                self.send_response(node.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if context is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def says(self, status: int, body: object) -> None:
        self.status, self.body = status, body

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
