"""The client of an embedding endpoint: sends one request for some texts and validates the answer.

    openai    POST /v1/embeddings  {"model", "input": [..], "encoding_format": "float"}  ->  {"data": [{"index", "embedding"}]}
    ollama    POST /api/embed      {"model", "input": [..]}                               ->  {"embeddings": [[..]]}

No answer is read beyond the size that its vectors can have. It sets no deadline: callers do.
"""

import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.remote.client import RemoteClient, RequestFailed
from codecompass.semantic.target import SemanticTarget, SemanticUnavailable
from codecompass.units import KIB

MAX_NUMBER_BYTES: Final = 32
"""A number of a vector in JSON, with separators."""

ENVELOPE_BYTES: Final = 64 * KIB
"""Size of an answer without its numbers."""

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
        self._client = RemoteClient(target.url)

    async def ready(self) -> None:
        """Loads the HTTP client, once, which takes 0.2 s. Raises SemanticUnavailable."""
        try:
            await self._client.ready()
        except RequestFailed as error:
            raise not_installed() from error

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
        await self._client.close()

    def _request(self, texts: Sequence[str]) -> Mapping[str, object]:
        settings = self._target.settings
        request: dict[str, object] = {"model": settings.model.strip(), "input": list(texts)}
        if settings.api == "openai":
            request["encoding_format"] = "float"
        if settings.request_dimensions:
            request["dimensions"] = settings.dimensions
        return request

    async def _post(self, content: bytes, n_texts: int) -> bytes:
        most = n_texts * self._target.settings.dimensions * MAX_NUMBER_BYTES + ENVELOPE_BYTES
        try:
            return await self._client.post(content, {}, key=self._target.key.reveal(), max_bytes=most)
        except RequestFailed as error:
            raise self._unavailable(error, most) from error

    def _unavailable(self, error: RequestFailed, most: int) -> SemanticUnavailable:
        match error.kind:
            case "not_installed":
                return not_installed()
            case "status":
                return self._refused(error.status)
            case "compressed":
                return SemanticUnavailable("invalid_answer", "it is compressed, which was not asked for")
            case "too_large":
                return SemanticUnavailable("invalid_answer", f"larger than {most:,} bytes")
            case "not_http":
                return SemanticUnavailable("invalid_answer", self._target.host)
            case "unreachable" | "certificate_refused":
                return SemanticUnavailable("unreachable", self._target.host)

    def _refused(self, status: int) -> SemanticUnavailable:
        if status in (401, 403):
            name = self._target.settings.api_key_env
            check = f"check the key in the variable {name}" if name else "it wants a key: set semantic.api_key_env"
            return SemanticUnavailable("key_refused", f"status {status}, {check}")
        if status == 429:
            return SemanticUnavailable("rate_limited", "lower semantic.requests_per_second")
        if status >= 500:
            return SemanticUnavailable("server_error", f"status {status}")
        if status == 404:
            return SemanticUnavailable("refused", "status 404, check semantic.endpoint, semantic.api and semantic.model")
        return SemanticUnavailable("refused", f"status {status}", is_of_text=status in (400, 413, 422))

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
