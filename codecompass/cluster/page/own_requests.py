"""Which requests the page of an organisation's server takes: those of its own address, from its own pages, or links to it.

    Host is that of access.page_url -> Origin is it too, or none -> no other site, except for a link that somebody follows

Links from other sites are followed, because permalinks stand in chats and issues; the cookie is `SameSite=Lax`, so that a browser
sends it with these alone. Nothing else of another site is answered, and only a POST of the page itself changes anything.
"""

import re
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.remote.address import parse_address
from codecompass.remote.rest import is_safe
from codecompass.settings import AccessSettings
from codecompass.transport.http.request import FORBIDDEN, MISDIRECTED, HttpRefusal, HttpRequest
from codecompass.transport.ui.access_checks import PAGE_PATH

MAX_COOKIES_LENGTH: Final = 8_000
MAX_FETCH_LENGTH: Final = 100
MAX_TARGET_LENGTH: Final = 2_000

_OWN_SITES: Final = (None, "same-origin", "none")
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_COOKIE_ENDS: Final = re.compile("[;,]")
_LINES: Final = re.compile(r"[?&]line=([1-9][0-9]{0,8})(?=&|$)")
_LAST: Final = re.compile(r"[?&]last=([1-9][0-9]{0,8})(?=&|$)")


class PageAddress(Struct, frozen=True):
    """Where people open the page. `origin` and `host` as browsers write them, in lower case and without a default port."""

    origin: str
    host: str
    is_secure: bool


def page_address(settings: AccessSettings) -> PageAddress | None:
    """Returns the address of the page; None if there is none. Raises InvalidInput for an invalid one."""
    url = settings.page_url.strip()
    if not url:
        return None
    found = parse_address(url.rstrip("/"))
    if found is None or found.path or not is_safe(found):
        raise InvalidInput(
            "access.page_url must be the address at which people open the page, such as https://code.example.com: https (or http "
            "on this machine), without a path. Leave it empty for no page.",
            field="access.page_url",
        )
    authority = found.authority.lower()
    if found.port == _DEFAULT_PORTS[found.scheme]:
        authority = authority.rpartition(":")[0]
    return PageAddress(f"{found.scheme}://{authority}", authority, found.scheme == "https")


def require_own(request: HttpRequest, address: PageAddress) -> None:
    """Raises HttpRefusal unless the request is one that the page takes."""
    host, origin = (request.header("host") or "").lower(), request.header("origin")
    default = f":{_DEFAULT_PORTS['https' if address.is_secure else 'http']}"
    if host.removesuffix(default) != address.host:
        raise HttpRefusal(MISDIRECTED, f"the page has another address. Open {address.origin}{PAGE_PATH}.")
    if request.header("sec-fetch-site") not in _OWN_SITES and not _is_followed_link(request):
        raise HttpRefusal(FORBIDDEN, "another site has asked for this. Follow a link to the page, or type its address.")
    if origin is not None and origin.lower() != address.origin:
        raise HttpRefusal(FORBIDDEN, "a page of another origin has asked for this. Use the page of this server.")
    if request.method == "POST" and origin is None:
        raise HttpRefusal(FORBIDDEN, "a POST to the page needs the header Origin. Use the buttons of the page.")


def require_from_page(request: HttpRequest) -> None:
    """Raises HttpRefusal if another site leads here."""
    if request.header("sec-fetch-site") not in _OWN_SITES:
        raise HttpRefusal(FORBIDDEN, f"another site has led here. Open {PAGE_PATH}/sign-in and begin there.")


def is_for_a_person(request: HttpRequest) -> bool:
    """Returns whether the browser shows the answer as a page, and does not hand it to a script."""
    return request.header("sec-fetch-dest", MAX_FETCH_LENGTH) in (None, "document")


def _is_followed_link(request: HttpRequest) -> bool:
    return (
        request.method == "GET"
        and request.header("sec-fetch-mode", MAX_FETCH_LENGTH) == "navigate"
        and request.header("sec-fetch-dest", MAX_FETCH_LENGTH) == "document"
    )


def cookie_of(request: HttpRequest, name: str) -> str:
    """Returns the value of a cookie; empty if there is none, or more than one. Raises HttpRefusal if there are too many."""
    header = request.header("cookie", MAX_COOKIES_LENGTH) or ""
    pairs = (part.partition("=") for part in _COOKIE_ENDS.split(header))
    found = [value.strip() for key, _, value in pairs if key.strip() == name]
    return found[0] if len(found) == 1 else ""


def with_lines(target: str) -> str:
    """Returns an address within the page that leads to the lines which it names: the provider has lost what followed a `#`."""
    found = _LINES.search(target) if target.startswith(f"{PAGE_PATH}/file?") else None
    last = _LAST.search(target)
    if found is None:
        return target
    return f"{target}#L{found[1]}-L{last[1]}" if last is not None and int(last[1]) > int(found[1]) else f"{target}#L{found[1]}"


def safe_target(text: str) -> str:
    """Returns the address within the page that `text` is; that of the search if it is any other address.

    A browser takes `//host`, `/\\host` and addresses with control characters for other sites.
    """
    path, _, _ = text.partition("?")
    is_within = path == PAGE_PATH or path.startswith(f"{PAGE_PATH}/")
    is_plain = text.isascii() and text.isprintable() and not set(text) & set("\\ #")
    is_signing = path.startswith((f"{PAGE_PATH}/sign-in", f"{PAGE_PATH}/sign-out"))
    has_dots = "/." in path
    if not is_within or not is_plain or is_signing or has_dots or "//" in path or len(text) > MAX_TARGET_LENGTH:
        return PAGE_PATH
    return text
