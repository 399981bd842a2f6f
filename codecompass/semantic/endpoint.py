"""The client of an embedding endpoint: sends one request for some texts and validates the answer.

    openai    POST /v1/embeddings  {"model", "input": [..], "encoding_format": "float"}  ->  {"data": [{"index", "embedding"}]}
    ollama    POST /api/embed      {"model", "input": [..]}                               ->  {"embeddings": [[..]]}

Redirects are not followed, proxies of the environment not used, compressed answers rejected, and no answer is read beyond the
size that its vectors can have. It sets no deadline: callers do.
"""

import math
import ssl
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import msgspec
import trio
from msgspec import Struct

from codecompass.semantic.target import SemanticTarget, SemanticUnavailable
from codecompass.units import KIB, SECONDS

if TYPE_CHECKING:
    import httpx2

MAX_NUMBER_BYTES: Final = 32
"""A number of a vector in JSON, with separators."""

ENVELOPE_BYTES: Final = 64 * KIB
"""Size of an answer without its numbers."""

MAX_CONNECTIONS: Final = 8

KEPT_SECONDS: Final = 4 * SECONDS
"""How long an idle connection is kept. Many servers close theirs after 5 s, and a request sent at that moment would fail."""

Vector = bytes
"""32-bit floats in the byte order of SQLite's extension, which is little-endian, of length 1 as a vector."""


class _OpenAIItem(Struct, frozen=True):
    index: int
    embedding: list[float]


class _OpenAIAnswer(Struct, frozen=True):
    data: list[_OpenAIItem]


class _OllamaAnswer(Struct, frozen=True):
    embeddings: list[list[float]]


class EmbeddingEndpoint:
    """A client of one endpoint, for one event loop. Opens no connection before the first request."""

    def __init__(self, target: SemanticTarget) -> None:
        self._target = target
        self._client: httpx2.AsyncClient | None = None

    def prepare(self) -> None:
        """Creates the HTTP client if there is none. Takes 0.2 s; may be called in a thread. Raises SemanticUnavailable."""
        if self._client is not None:
            return
        try:
            import httpx2
        except ImportError as error:
            raise not_installed() from error
        is_encrypted = self._target.url.startswith("https:")
        self._client = httpx2.AsyncClient(
            timeout=None,  # callers have a deadline
            trust_env=False,
            follow_redirects=False,
            limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEPT_SECONDS),
            # Reading the system's certificates takes most of the time; the bare context trusts no server.
            verify=True if is_encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        )

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Returns the vectors of `texts`, in their order. Safe to cancel. Raises SemanticUnavailable."""
        if self._target.lacks_key:
            raise SemanticUnavailable("key_missing", f"set the variable {self._target.settings.api_key_env}")
        body = await self._post(msgspec.json.encode(self._request(texts)), len(texts))
        try:
            vectors = self._decoded(body)
        except (ValueError, RecursionError) as error:
            raise SemanticUnavailable("invalid_answer", "it does not follow the interface; check semantic.api") from error
        if len(vectors) != len(texts):
            raise SemanticUnavailable("invalid_answer", f"{len(vectors)} vectors for {len(texts)} texts")
        return [self._checked(vector) for vector in vectors]

    async def close(self) -> None:
        """Closes all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _request(self, texts: Sequence[str]) -> Mapping[str, object]:
        settings = self._target.settings
        request: dict[str, object] = {"model": settings.model.strip(), "input": list(texts)}
        if settings.api == "openai":
            request["encoding_format"] = "float"
        if settings.request_dimensions:
            request["dimensions"] = settings.dimensions
        return request

    async def _post(self, content: bytes, n_texts: int) -> bytes:
        self.prepare()
        assert self._client is not None
        import httpx2

        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key := self._target.key.reveal():
            headers["Authorization"] = f"Bearer {key}"
        most = n_texts * self._target.settings.dimensions * MAX_NUMBER_BYTES + ENVELOPE_BYTES
        body = bytearray()
        try:
            async with self._client.stream("POST", self._target.url, content=content, headers=headers) as response:
                self._require_success(response.status_code)
                if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
                    raise SemanticUnavailable("invalid_answer", "it is compressed, which was not asked for")
                # Cancelled instead of left by `break`: nobody would close the client's unexhausted generators.
                with trio.CancelScope() as reading:
                    async for part in response.aiter_raw():
                        body += part
                        if len(body) > most:
                            reading.cancel()
                            body.clear()
                if reading.cancel_called:
                    raise SemanticUnavailable("invalid_answer", f"larger than {most:,} bytes")
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            is_protocol = isinstance(error, httpx2.RemoteProtocolError)
            # The text of the error could repeat what the endpoint wrote.
            raise SemanticUnavailable("invalid_answer" if is_protocol else "unreachable", self._target.host) from error
        return bytes(body)

    def _require_success(self, status: int) -> None:
        if status == 200:
            return
        if status in (401, 403):
            name = self._target.settings.api_key_env
            check = f"check the key in the variable {name}" if name else "it wants a key: set semantic.api_key_env"
            raise SemanticUnavailable("key_refused", f"status {status}, {check}")
        if status == 429:
            raise SemanticUnavailable("rate_limited", "lower semantic.requests_per_second")
        if status >= 500:
            raise SemanticUnavailable("server_error", f"status {status}")
        if status == 404:
            raise SemanticUnavailable("refused", "status 404, check semantic.endpoint, semantic.api and semantic.model")
        raise SemanticUnavailable("refused", f"status {status}", is_of_text=status in (400, 413, 422))

    def _decoded(self, body: bytes) -> list[list[float]]:
        if self._target.settings.api == "ollama":
            return msgspec.json.decode(body, type=_OllamaAnswer).embeddings
        items = sorted(msgspec.json.decode(body, type=_OpenAIAnswer).data, key=lambda item: item.index)
        if [item.index for item in items] != list(range(len(items))):
            raise ValueError("the vectors are not numbered from 0")
        return [item.embedding for item in items]

    def _checked(self, numbers: list[float]) -> Vector:
        wanted = self._target.settings.dimensions
        if len(numbers) != wanted:
            raise SemanticUnavailable("wrong_dimensions", f"{len(numbers)}, not semantic.dimensions = {wanted}")
        length = math.sqrt(math.fsum(number * number for number in numbers))
        if not math.isfinite(length) or length <= 0.0:
            raise SemanticUnavailable("invalid_answer", "a vector without direction")
        vector = array("f", (number / length for number in numbers))
        if sys.byteorder == "big":
            vector.byteswap()
        return vector.tobytes()


def not_installed() -> SemanticUnavailable:
    """Returns the failure for missing libraries."""
    return SemanticUnavailable("not_installed", "pip install 'codecompass[semantic]'")
