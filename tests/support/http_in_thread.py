"""An HTTP server in a thread of this process, for peers that tests play."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serving_in_thread(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Yields the port on 127.0.0.1 at which `handler` answers; ends the server after the block."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
