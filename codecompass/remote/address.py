"""The address of a service, as a setting or an argument gives it, and the key for it."""

from collections.abc import Collection
from urllib.parse import urlsplit

from msgspec import Struct

HTTP_SCHEMES = ("http", "https")


class Address(Struct, frozen=True):
    """A URL without user, query and fragment."""

    scheme: str
    host: str
    """Name or address, in lower case and without brackets."""
    port: int | None
    authority: str
    """Host and port as written, for headers and messages."""
    path: str
    """Without slashes at its end."""

    @property
    def is_loopback(self) -> bool:
        """Whether the service is on this machine."""
        return is_loopback(self.host)

    def with_path(self, path: str) -> str:
        """Returns the URL of `path` at this service."""
        return f"{self.scheme}://{self.authority}{path}"


def parse_address(url: str, schemes: Collection[str] = HTTP_SCHEMES, *, is_ascii: bool = True) -> Address | None:
    """Returns the address in `url`; None if it is none of these schemes, or has a user, a query, a fragment, or characters that
    no header may contain. With `is_ascii` names of hosts in other scripts are none either."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        # Some host names are valid in a URL, but would make the resolver raise this error.
        host.encode("idna")
    except ValueError:
        return None
    is_plain = url.isprintable() and not set(url) & set(" ?#") and (url.isascii() or not is_ascii)
    if parts.scheme not in schemes or not host or port == 0 or not is_plain or "@" in parts.netloc:
        return None
    return Address(parts.scheme, host, port, parts.netloc, parts.path.rstrip("/"))


def without_user(url: str) -> str:
    """Returns a refused URL for a message: its user part may contain a password."""
    return url.rpartition("@")[2]


def with_hidden_user(url: str) -> str:
    """Returns a URL for people: its user part, which may contain a password, is `***`."""
    scheme, found, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    return f"{scheme}{found}***@{host}{slash}{path}" if found and at and user else url


def is_loopback(host: str) -> bool:
    """Returns whether a name in lower case, or an address, is a loopback one."""
    import ipaddress

    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Secret:
    """A key that is not shown by logs and errors."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def reveal(self) -> str:
        """Returns the key, empty if there is none. Only for the header of a request."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)" if self._value else "Secret()"
