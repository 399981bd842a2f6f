"""A service that answers requests of S3 with what a test wants: bytes, or nothing at all."""

import socket
import ssl
import threading
from collections.abc import Sequence

END_OF_HEAD = b"\r\n\r\n"


def answer(status: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """Returns an answer; with `length` its head promises that many bytes."""
    lines = (
        f"HTTP/1.1 {status}",
        f"Content-Length: {len(body) if length is None else length}",
        "Connection: close",
        "Last-Modified: Sat, 28 Nov 2026 15:00:00 GMT",
        'ETag: "e"',
        *headers,
    )
    return "\r\n".join(lines).encode() + END_OF_HEAD + body


def refusal(status: str, code: str) -> bytes:
    """Returns an error as S3 answers it, with tokens in it that nobody may see."""
    said = f"<Code>{code}</Code><Message>m</Message><Token-0>HIDDEN-TOKEN</Token-0><StringToSign>HIDDEN</StringToSign>"
    return answer(status, f"<Error>{said}</Error>".encode())


class StrangeStore:
    """Gives each request the next of the answers, and all further ones the last; None: none, until it is stopped."""

    def __init__(
        self, answers: Sequence[bytes | None], context: ssl.SSLContext | None = None, *, hangs_after: bool = False
    ) -> None:
        """With `hangs_after` a connection stays open after its answer."""
        self._answers = answers
        self._context = context
        self._hangs_after = hangs_after
        self._is_stopped = threading.Event()
        self._lock = threading.Lock()
        self.heads: list[bytes] = []
        """Of the requests that came."""
        self.is_asked = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"{'https' if context else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def stop(self) -> None:
        self._is_stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for each in self._threads:
            each.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        with connection:
            try:
                if self._context is not None:
                    connection = self._context.wrap_socket(connection, server_side=True)
                received = b""
                while END_OF_HEAD not in received:
                    if not (piece := connection.recv(65536)):
                        return
                    received += piece
                head, _, body = received.partition(END_OF_HEAD)
                left = _length(head) - len(body)
                while left > 0 and (piece := connection.recv(65536)):
                    left -= len(piece)
                with self._lock:
                    said = self._answers[min(len(self.heads), len(self._answers) - 1)]
                    self.heads.append(head)
                self.is_asked.set()
                connection.sendall(said or b"")
                if said is None or self._hangs_after:
                    self._is_stopped.wait()
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)
            except OSError:
                return


def _length(head: bytes) -> int:
    lines = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in lines if name.lower() == b"content-length"), 0)
