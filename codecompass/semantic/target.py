"""The embedding endpoint that the settings name, validated once, with its key from the environment; and the error if it fails.

Nothing is sent unless `semantic.endpoint` is set, and never over plain http to another machine unless that is allowed. The key is
read from the variable that the settings name; it appears in no file, log, status or error.
"""

import re
from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.remote.address import Secret, parse_address, without_user
from codecompass.settings import EmbeddingApi, SemanticSettings

_PATHS: Final[Mapping[EmbeddingApi, str]] = {"openai": "/v1/embeddings", "ollama": "/api/embed"}

_KEPT_ENDS: Final = ("/v1", "/v1/embeddings", "/api", "/api/embed")
"""Ends of URLs that people copy from documentation; the path of the chosen API replaces them."""

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

FailureCode = Literal[
    "timeout",
    "unreachable",
    "key_missing",
    "key_refused",
    "rate_limited",
    "server_error",
    "refused",
    "wrong_dimensions",
    "invalid_answer",
    "busy",
    "no_vectors",
    "not_installed",
    "store",
]
"""`refused`: any other status than success. `busy`: too many questions at a time. `no_vectors`: the texts of the index have not
been sent yet. `store`: the file of vectors cannot be used."""


class SemanticUnavailable(Exception):
    """A vector could not be made, or there are none to compare it with. Never contains a key or text from an endpoint."""

    def __init__(self, code: FailureCode, hint: str = "", *, is_of_text: bool = False) -> None:
        """`is_of_text`: whether the endpoint rejected these texts and may accept others."""
        super().__init__(f"{code}: {hint}" if hint else code)
        self.code: FailureCode = code
        self.hint = hint
        self.is_of_text = is_of_text

    @property
    def warning(self) -> str:
        """The warning for an answer that was found by words alone."""
        return f"semantic: unavailable ({self})"


class SemanticTarget(Struct, frozen=True, kw_only=True):
    """A validated endpoint."""

    settings: SemanticSettings
    url: str
    """URL of requests, including the API's path."""
    host: str
    """Name or address, and port, for messages."""
    is_loopback: bool
    """Whether the endpoint is on this machine."""
    key: Secret
    lacks_key: bool = False
    """Whether the settings name a variable that holds no usable key."""


def semantic_target(settings: SemanticSettings, environment: Mapping[str, str]) -> SemanticTarget | None:
    """Returns the endpoint that the settings name, or None if they name none and search by meaning is off.

    Raises InvalidInput for an invalid URL, if the model or its dimensions are missing, or if text would be sent unencrypted.
    """
    url = settings.endpoint.strip()
    if not url:
        return None
    address = parse_address(url)
    if address is None:
        raise _no_endpoint(url)
    for key, value in (("model", settings.model.strip()), ("dimensions", settings.dimensions)):
        if not value:
            raise InvalidInput(
                f"semantic.endpoint is set and semantic.{key} is not. Set it to what the endpoint's model has, or leave the "
                "endpoint empty.",
                key=f"semantic.{key}",
            )
    if settings.api_key_env and _VARIABLE.fullmatch(settings.api_key_env) is None:
        # The value is not repeated, because it may be the key itself.
        raise InvalidInput(
            "semantic.api_key_env must be the name of an environment variable that holds the key, such as OPENAI_API_KEY. A key "
            "itself belongs into no file: put it into a variable.",
            key="semantic.api_key_env",
        )
    if address.scheme == "http" and not address.is_loopback and not settings.allow_plain_http:
        raise InvalidInput(
            f"semantic.endpoint: text and key would go to {address.authority} over http://, where everybody on the way can "
            "read them. Use https://, or set semantic.allow_plain_http = true for a network that you trust.",
            key="semantic.endpoint",
        )
    key_text = environment.get(settings.api_key_env, "").strip() if settings.api_key_env else ""
    is_usable = bool(key_text) and key_text.isascii() and key_text.isprintable()
    return SemanticTarget(
        settings=settings,
        url=address.with_path(_base_path(address.path) + _PATHS[settings.api]),
        host=address.authority,
        is_loopback=address.is_loopback,
        key=Secret(key_text if is_usable else ""),
        lacks_key=bool(settings.api_key_env) and not is_usable,
    )


def _base_path(path: str) -> str:
    for end in sorted(_KEPT_ENDS, key=len, reverse=True):
        if path.endswith(end):
            return path.removesuffix(end)
    return path


def _no_endpoint(url: str) -> InvalidInput:
    return InvalidInput(
        "semantic.endpoint must be a URL such as http://127.0.0.1:11434, without user, query or fragment, not "
        f"{without_user(url)!r}. "
        "Correct it, or leave it empty. A key belongs into the variable that semantic.api_key_env names.",
        key="semantic.endpoint",
        constraint="http:// or https:// URL",
    )
