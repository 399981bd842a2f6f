"""The page of a server over an organisation's code, at and below `/ui`: which requests are taken, who sends them, who answers.

    our own address -> static file | signing in | signed in? -> the page        421, 403 | 401, or to the page to sign in on | 503

A request of nobody is answered before anything that it names is looked at. Nothing that renders a page is imported here.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from codecompass.actors.worker_pool import WorkerPool
from codecompass.cluster.access.tokens import OutOfScope, Unauthorized
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.page.own_requests import PageAddress, is_for_a_person, require_own
from codecompass.transport.http.request import HttpRefusal, HttpRequest, require_method
from codecompass.transport.ui.access_checks import HEADERS, PAGE_PATH, PageCapacity

if TYPE_CHECKING:
    from codecompass.cluster.page.site import LoadedPage
    from codecompass.cluster.serving.server import LibraryServer

MAX_REQUESTS: Final = 128
"""Requests of people who are signed in, at a time; most wait for the few threads that read indexes."""

_SITE_MODULE: Final = "codecompass.cluster.page.site"
_STATIC_PATH: Final = f"{PAGE_PATH}/static/"
_NOT_STORED: Final = ("cache-control", "no-store")


class OrganisationPage:
    """Handles the requests at and below `/ui`."""

    def __init__(self, server: "LibraryServer", address: PageAddress, workers: WorkerPool) -> None:
        self._server = server
        self._address = address
        self._workers = workers
        self._loading = trio.Lock()
        self._loaded: LoadedPage | None = None
        self._capacity = PageCapacity(MAX_REQUESTS)

    async def handle(self, request: HttpRequest) -> None:
        """Answers one request. Raises HttpRefusal, ClientGone."""
        request.common_headers = HEADERS
        try:
            await self._answer(request)
        except HttpRefusal as refusal:
            refusal.headers = (*refusal.headers, _NOT_STORED)
            raise

    async def _answer(self, request: HttpRequest) -> None:
        require_own(request, self._address)
        require_method(request, "GET", "POST")
        loaded = await self._load()
        if request.path.startswith(_STATIC_PATH):
            require_method(request, "GET")
            await loaded.rendering.file(request)
            return
        signing = loaded.signing_in.pages.get(request.path)
        if signing is not None:
            await signing(request)
            return
        require_method(request, "GET")
        try:
            identity = await self._server.authenticator.of_page(request, loaded.signing_in.session(request))
            if identity is None:
                await self._answer_nobody(request, loaded)
                return
            with self._capacity.taken():
                await loaded.site.handle(request, identity)
        except (Unauthorized, OutOfScope):
            # The session has ended since.
            await self._answer_nobody(request, loaded)
        except EngineUnavailable as error:
            await loaded.site.say_away(request, error)

    @staticmethod
    async def _answer_nobody(request: HttpRequest, loaded: "LoadedPage") -> None:
        if is_for_a_person(request):
            await loaded.signing_in.ask_to_sign_in(request)
        else:
            await loaded.site.say_signed_out(request)

    async def _load(self) -> "LoadedPage":
        """Returns the page; loads it for the first request."""
        if self._loaded is None:
            async with self._loading:
                if self._loaded is None:
                    # In threads, so that the server continues to answer.
                    module = await trio.to_thread.run_sync(import_module, _SITE_MODULE)
                    load = partial(module.load_page, self._server, self._address, self._workers)
                    loaded: LoadedPage = await trio.to_thread.run_sync(load)
                    self._loaded = loaded
        return self._loaded
