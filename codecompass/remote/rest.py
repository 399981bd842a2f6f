"""A blocking client of a service with a REST interface, for threads: one answer of bounded size, with its limits heeded.

Redirects are not followed, and links lead nowhere but to the same service, so that its key reaches nobody else. What a service
asks of its clients is obeyed: after `Retry-After`, or with no requests left until a reset, `ServiceBusy` says how long to wait.
"""

import http.client
import math
import ssl
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from msgspec import Struct

from codecompass.remote.address import Address, parse_address
from codecompass.units import MIB, MINUTES, SECONDS

TIMEOUT_SECONDS: Final = 30 * SECONDS
"""For connecting, and for each piece of an answer."""

MAX_BYTES: Final = 32 * MIB
LONGEST_WAIT_SECONDS: Final = 60 * MINUTES
"""The longest wait that a service may ask for; a reset further away is taken for this."""

WAIT_SECONDS: Final = 1 * MINUTES
"""How long to wait if it does not say so."""

_TOO_MANY: Final = (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE)
_RESETS: Final = ("x-ratelimit-reset", "ratelimit-reset")
_LEFT: Final = ("x-ratelimit-remaining", "ratelimit-remaining")
_EPOCH: Final = 1_000_000_000.0
"""Larger numbers in a reset are seconds since 1970, smaller ones seconds from now: both are in use."""


class ServiceFailed(Exception):
    """There is no answer with status 200. `status` is 0 if there was none at all. Contains nothing that the service wrote."""

    def __init__(self, what: str, status: int = 0) -> None:
        super().__init__(what)
        self.what: Final = what
        self.status: Final = status


class ServiceBusy(ServiceFailed):
    """The service wants no requests for `seconds`."""

    def __init__(self, seconds: float, status: int) -> None:
        super().__init__(f"it wants no requests for {math.ceil(seconds)} s (its rate limit)", status)
        self.seconds: Final = seconds


class Answer(Struct, frozen=True):
    """An answer with status 200. Names of headers are in lower case."""

    body: bytes
    headers: Mapping[str, str]

    @property
    def next_link(self) -> str:
        """The URL of the next page in the header `Link` (RFC 8288); empty if there is none."""
        for part in self.headers.get("link", "").split(","):
            url, _, parameters = part.strip().partition(";")
            if 'rel="next"' in parameters.replace(" ", "") and url.startswith("<") and url.endswith(">"):
                return url[1:-1]
        return ""


class RestClient:
    """A client of one service with one connection, for one thread at a time. `headers` are sent with each request.

    Keys are only sent over https, or to this machine: `is_safe` says whether the address is so.
    """

    def __init__(self, base: Address, headers: Mapping[str, str], timeout: float = TIMEOUT_SECONDS) -> None:
        self.base: Final = base
        self._given = headers
        self._headers = {"Accept": "application/json", "User-Agent": "codecompass", "Accept-Encoding": "identity", **headers}
        self._timeout = timeout
        self._connection: http.client.HTTPConnection | None = None

    def beside(self, base: Address) -> "RestClient":
        """Returns a client of another address with the same headers, so the same key: only for an address of the same service
        that is known beforehand, never for one from an answer."""
        return RestClient(base, self._given, self._timeout)

    def get(self, path: str) -> Answer:
        """Returns the answer to a path below that of the base, with its query, or to a URL of the same service.

        Raises ServiceFailed, ServiceBusy.
        """
        status, headers, body = self._exchanged("GET", self._target(path))
        self._require_success(status, headers)
        if len(body) > MAX_BYTES:
            raise ServiceFailed(f"its answer is larger than {MAX_BYTES // MIB} MiB", status)
        return Answer(body, headers)

    def _exchanged(self, method: str, target: str, content: bytes | None = None) -> tuple[int, dict[str, str], bytes]:
        """Returns status, headers and body of an answer, of the last one byte more than allowed if it is too large."""
        try:
            connection = self._connected()
            connection.request(method, target, content, headers=self._headers)
            response = connection.getresponse()
            body = response.read(MAX_BYTES + 1)
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise ServiceFailed("its certificate is not trusted") from error
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise ServiceFailed("it cannot be reached, or does not speak HTTP") from error
        if len(body) <= MAX_BYTES and response.length:
            # Python's client does not report this itself if it was told how much to read.
            self.close()
            raise ServiceFailed("its answer has ended too early")
        if response.will_close or len(body) > MAX_BYTES:
            self.close()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, body

    def post(self, content: bytes) -> tuple[int, bytes]:
        """Returns the status and the body of the answer to a POST to the base itself, with status 200 or one of a refusal that
        its body explains (400, 401, 403). Raises ServiceFailed, ServiceBusy."""
        status, headers, body = self._exchanged("POST", self.base.path or "/", content)
        if status not in (http.client.BAD_REQUEST, http.client.UNAUTHORIZED, http.client.FORBIDDEN):
            self._require_success(status, headers)
        if len(body) > MAX_BYTES:
            raise ServiceFailed(f"its answer is larger than {MAX_BYTES // MIB} MiB", status)
        return status, body

    def close(self) -> None:
        """Closes the connection; the next request opens another one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            host, port = self.base.host, self.base.port
            if self.base.scheme == "https":
                context = ssl.create_default_context()
                self._connection = http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=self._timeout)
        return self._connection

    def _target(self, path: str) -> str:
        if path.startswith("/"):
            return self.base.path + path
        address, _, query = path.partition("?")
        found = parse_address(address)
        if found is None or (found.scheme, found.authority) != (self.base.scheme, self.base.authority):
            raise ServiceFailed("it names another host for the next page")
        return f"{found.path or '/'}?{query}" if query else found.path or "/"

    @staticmethod
    def _require_success(status: int, headers: Mapping[str, str]) -> None:
        if status == http.client.OK:
            return
        is_spent = any(headers.get(name) == "0" for name in _LEFT)
        if status in _TOO_MANY or (status == http.client.FORBIDDEN and (is_spent or "retry-after" in headers)):
            raise ServiceBusy(_wait(headers), status)
        raise ServiceFailed(f"it answers with status {status}", status)


def is_safe(address: Address) -> bool:
    """Returns whether a key may be sent to this address: over TLS, or on this machine."""
    return address.scheme == "https" or address.is_loopback


def _wait(headers: Mapping[str, str]) -> float:
    """Returns how many seconds a service asks to wait, at most LONGEST_WAIT_SECONDS."""
    seconds = _retry_after(headers.get("retry-after", ""))
    if seconds is None:
        reset = next((found for name in _RESETS if (found := _number(headers.get(name, ""))) is not None), None)
        if reset is not None:
            seconds = reset - time.time() if reset > _EPOCH else reset
    return WAIT_SECONDS if seconds is None else min(LONGEST_WAIT_SECONDS, max(1.0, seconds))


def _retry_after(text: str) -> float | None:
    """Returns the seconds in `Retry-After`, which is a number or a date (RFC 9110, 10.2.3)."""
    seconds = _number(text)
    if seconds is not None or not text:
        return seconds
    try:
        return parsedate_to_datetime(text).timestamp() - time.time()
    except ValueError:
        return None


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None
