"""The organisation's server: as the settings name it, checked once, with the token from the environment.

Nothing is sent unless `organisation.url` is set, and never over plain http to another machine. The token is only in one
environment variable; no file, log, answer or error contains it.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.remote.address import Secret, parse_address, without_user
from codecompass.settings import ORGANISATION_TOKEN_VARIABLE, OrganisationSettings
from codecompass.units import MILLISECONDS

ON_THE_WAY: Final = 0.1
"""The share of a question's time that is reserved for transmission and merging."""

_ENDPOINT: Final = "/mcp"


class OrganisationTarget(Struct, frozen=True, kw_only=True):
    """A server that may be queried. `url` is the address of requests, `host` its name and port for messages."""

    url: str
    host: str
    timeout_ms: int
    token: Secret
    is_token_set: bool
    """Whether the variable is set; `token` is empty nevertheless if its value cannot be a token."""

    @property
    def usual_seconds(self) -> float:
        """How long a question about several projects waits for this server, unless its own time limit is shorter; the rest of
        `timeout_ms` is for transmission and merging."""
        return (1.0 - ON_THE_WAY) * self.timeout_ms * MILLISECONDS


def organisation_target(settings: OrganisationSettings, environment: Mapping[str, str]) -> OrganisationTarget | None:
    """Returns the server that the settings name; None if they name none, and nothing is sent anywhere.

    Raises InvalidInput for an invalid URL, and for one that would get the token unencrypted.
    """
    url = settings.url.strip()
    if not url:
        return None
    address = parse_address(url)
    if address is None:
        raise _no_server(url)
    if address.scheme == "http" and not address.is_loopback:
        raise InvalidInput(
            f"organisation.url: questions and your token would go to {address.authority} over http://, where everybody on the "
            "way can read them. Use https://.",
            key="organisation.url",
        )
    written = environment.get(ORGANISATION_TOKEN_VARIABLE, "").strip()
    is_usable = written.isascii() and written.isprintable() and " " not in written
    return OrganisationTarget(
        url=address.with_path(address.path.removesuffix(_ENDPOINT) + _ENDPOINT),
        host=address.authority,
        timeout_ms=settings.timeout_ms,
        token=Secret(written if is_usable else ""),
        is_token_set=bool(written),
    )


def _no_server(url: str) -> InvalidInput:
    return InvalidInput(
        f"organisation.url must be the URL of a server such as https://code.example.com, without user, query or fragment, not "
        f"{without_user(url)[:200]!r}. Correct it, or leave it empty. A token belongs into the variable "
        f"{ORGANISATION_TOKEN_VARIABLE}.",
        key="organisation.url",
        constraint="https:// URL",
    )
