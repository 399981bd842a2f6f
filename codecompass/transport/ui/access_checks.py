"""Protects the page `/ui`: checks who may use it, sets the headers of every answer, and loads the page with the first request
that passes.

    Host, Origin (as everywhere) -> Host is an address or a name of ours -> no other site -> capacity -> the page

A browser sends requests of other sites here from the user's network, without the user's consent. So requests that another site
made are always refused; only a POST from a page of this origin can change anything; and no other origin may read, frame or open
an answer. Nothing that renders a page is imported here.
"""

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from codecompass.transport.http.guards import LOOPBACK_NAMES, Guard, host_name
from codecompass.transport.http.request import (
    FORBIDDEN,
    MISDIRECTED,
    UNAVAILABLE,
    Header,
    HttpRefusal,
    HttpRequest,
    require_method,
)

if TYPE_CHECKING:
    from codecompass.transport.server import Server
    from codecompass.transport.ui.site import Site

PAGE_PATH: Final = "/ui"

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
"""No content from other sites and no inline scripts or styles: the contents of a repository can never run."""

HEADERS: Final[tuple[Header, ...]] = (
    ("content-security-policy", POLICY),
    ("x-content-type-options", "nosniff"),
    # Not `no-referrer`: browsers would then send `Origin: null` with the page's own forms.
    ("referrer-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
    ("x-frame-options", "DENY"),
)

MAX_REQUESTS: Final = 32
"""Requests to the page at a time, not counting streams: a person who is typing makes two or three."""

_SITE_MODULE: Final = "codecompass.transport.ui.site"
_OWN_SITES: Final = ("same-origin", "none")
"""Values of `Sec-Fetch-Site` for the page's own requests, and for an address that the user has typed or opened from a program."""


class PageCapacity:
    """Bounds the requests to a page that are under way."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._n_requests = 0

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Counts the block as a request that is under way. Raises HttpRefusal if there are too many."""
        if self._n_requests >= self._most:
            raise HttpRefusal(
                UNAVAILABLE,
                "too many requests to the page are under way. Wait, then load it again.",
                headers=(("retry-after", "1"),),
                is_retryable=True,
            )
        self._n_requests += 1
        try:
            yield
        finally:
            self._n_requests -= 1


class PageDoor:
    """Handles the requests at and below `/ui`."""

    def __init__(self, server: "Server", guard: Guard) -> None:
        self._server = server
        self._guard = guard
        self._loading = trio.Lock()
        self._site: Site | None = None
        self._capacity = PageCapacity(MAX_REQUESTS)

    async def handle(self, request: HttpRequest) -> None:
        """Answers one request. Raises HttpRefusal, ClientGone."""
        request.common_headers = HEADERS
        self._check(request)
        require_method(request, "GET", "POST")
        site = await self._loaded()
        if site.is_stream(request):
            await site.stream(request)
            return
        with self._capacity.taken():
            await site.handle(request)

    def _check(self, request: HttpRequest) -> None:
        host, origin = request.header("host") or "", request.header("origin")
        if not self._is_own_host(host):
            # DNS rebinding: a site can make its own name resolve to this machine, and be of the same origin then.
            raise HttpRefusal(
                MISDIRECTED, "the page is not served under this name. Use the address of the server, or allow it: --allowed-host."
            )
        if request.header("sec-fetch-site") not in (None, *_OWN_SITES):
            raise HttpRefusal(FORBIDDEN, "another site has asked for this. Type the address of the page into the browser.")
        if origin is not None and origin.lower().partition("://")[2] != host.lower():
            raise HttpRefusal(FORBIDDEN, "a page of another origin has asked for this. Use the page of this server.")
        if request.method == "POST" and origin is None:
            raise HttpRefusal(FORBIDDEN, "a POST to the page needs the header Origin. Use the buttons of the page.")

    def _is_own_host(self, host: str) -> bool:
        name = host_name(host)
        if name is None:
            return False
        if name in LOOPBACK_NAMES or name in self._guard.bound or name in self._guard.hosts or host.lower() in self._guard.hosts:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    async def _loaded(self) -> "Site":
        """Returns the page; loads it for the first request."""
        if self._site is None:
            async with self._loading:
                if self._site is None:
                    # In threads, so that the server continues to answer.
                    module = await trio.to_thread.run_sync(import_module, _SITE_MODULE)
                    rendering = await trio.to_thread.run_sync(module.Rendering)
                    site: Site = module.Site(self._server, rendering)
                    self._site = site
        return self._site
