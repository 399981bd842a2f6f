"""The HTTP client for services that the user names: one request, one answer of bounded size.

Redirects are not followed and proxies of the environment not used, so that what is sent, and its key, reaches the named service
alone; compressed answers are rejected. It sets no deadline: callers do.
"""

import ssl
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal

import trio

from codecompass.units import SECONDS

if TYPE_CHECKING:
    import httpx2

MAX_CONNECTIONS: Final = 8

KEPT_SECONDS: Final = 4 * SECONDS
"""How long an idle connection is kept. Many servers close theirs after 5 s, and a request sent at that moment would fail."""

CLOSE_SECONDS: Final = 1 * SECONDS

FailureKind = Literal["not_installed", "unreachable", "certificate_refused", "not_http", "status", "compressed", "too_large"]


class RequestFailed(Exception):
    """There is no answer with status 200. Contains nothing that the service wrote but its `status`."""

    def __init__(self, kind: FailureKind, status: int = 0) -> None:
        super().__init__(f"{kind} {status}" if status else kind)
        self.kind: Final = kind
        self.status: Final = status


class RemoteClient:
    """A client of one service, for one event loop. Opens no connection before the first request."""

    def __init__(self, url: str, *, heeds_ssl_cert_file: bool = False) -> None:
        """With `heeds_ssl_cert_file` the certificates in the file of that variable are trusted in place of the system's."""
        self._url = url
        self._heeds_ssl_cert_file = heeds_ssl_cert_file
        self._client: httpx2.AsyncClient | None = None
        self._preparing = threading.Lock()

    async def ready(self) -> None:
        """Loads the library, once, which takes 0.2 s and does not block. Raises RequestFailed if it is not installed."""
        if self._client is None:
            await trio.to_thread.run_sync(self._prepare, abandon_on_cancel=True)

    def _prepare(self) -> None:
        with self._preparing:
            if self._client is not None:
                return
            try:
                import httpx2
            except ImportError as error:
                raise RequestFailed("not_installed") from error
            self._client = httpx2.AsyncClient(
                timeout=None,  # callers have a deadline
                trust_env=False,
                follow_redirects=False,
                limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEPT_SECONDS),
                verify=self._certificates(),
            )

    def _certificates(self) -> ssl.SSLContext | bool:
        if not self._url.startswith("https:"):
            # Reading the system's certificates takes most of the time; the bare context trusts no server.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return ssl.create_default_context() if self._heeds_ssl_cert_file else True

    async def post(self, content: bytes, headers: Mapping[str, str], *, key: str, max_bytes: int) -> bytes:
        """Returns the answer to JSON. `key` is sent unless it is empty. Safe to cancel. Raises RequestFailed."""
        await self.ready()
        client = self._client
        assert client is not None, "used after it was closed"
        import httpx2

        sent = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity", **headers}
        if key:
            sent["Authorization"] = f"Bearer {key}"
        body = bytearray()
        try:
            async with client.stream("POST", self._url, content=content, headers=sent) as response:
                if response.status_code != 200:
                    raise RequestFailed("status", response.status_code)
                if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
                    raise RequestFailed("compressed")
                # Cancelled rather than left early: nothing would close the client's unexhausted generators.
                with trio.CancelScope() as reading:
                    async for piece in response.aiter_raw():
                        body += piece
                        if len(body) > max_bytes:
                            reading.cancel()
                            body.clear()
                if reading.cancel_called:
                    raise RequestFailed("too_large")
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            if isinstance(error, httpx2.RemoteProtocolError):
                raise RequestFailed("not_http") from error
            raise RequestFailed("certificate_refused" if _is_certificate_refused(error) else "unreachable") from error
        return bytes(body)

    async def close(self) -> None:
        """Closes all connections, within CLOSE_SECONDS even if cancelled."""
        client, self._client = self._client, None
        if client is not None:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await client.aclose()


def _is_certificate_refused(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
