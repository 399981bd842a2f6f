"""A complete server with the page, in this process, and a client that reads it as a browser without scripts does."""

from contextlib import asynccontextmanager
from html.parser import HTMLParser
from urllib.parse import urlencode

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.projects.detection import RoutingRules
from codecompass.settings import ServerSettings
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.server import open_sockets
from codecompass.transport.http.service import serve_http
from tests.support.serving import SETTINGS, open_serving
from tests.support.waiting import until
from tests.transport.http.client import Answer, ask

PAGE_SETTINGS = replace(SETTINGS, server=ServerSettings(transport="http", prewarm=False, max_memory=SETTINGS.server.max_memory))


class Browser(Struct, frozen=True):
    """Sends requests to one server as a browser does."""

    serving: object
    port: int

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def get(self, page: str, headers=None, /, **parameters) -> Answer:
        """Returns the answer to a GET with these query parameters."""
        query = f"?{urlencode(parameters, errors='surrogatepass')}" if parameters else ""
        return await ask(self.port, "GET", page + query, **(headers or {}))

    async def html(self, page: str, /, **parameters) -> str:
        """Returns a page that must exist."""
        answer = await self.get(page, **parameters)
        assert answer.status == 200, answer.body.decode()
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        return answer.body.decode()

    async def post(self, page: str, /, *, headers=None, **fields) -> Answer:
        """Returns the answer to a form sent by the page itself, except for the given headers."""
        own = {
            "content_type": "application/x-www-form-urlencoded",
            "origin": self.origin,
            "sec_fetch_site": "same-origin",
            **(headers or {}),
        }
        return await ask(self.port, "POST", page, urlencode(fields).encode(), **own)

    async def wait_known(self, n_projects: int) -> None:
        """Returns once the server knows this number of projects."""
        await until(lambda: len(self.serving.server.moment().known.projects) >= n_projects)

    async def index(self, root) -> str:
        """Registers and indexes a directory; returns the id of its project."""
        from tests.support.routing import Client

        made = await self.serving.call("index_repo", Client(transport="stdio"), workspace=root, wait_seconds=50)
        assert made["status"] == "published"

        def known():
            projects = self.serving.server.moment().known.projects
            return next((each.project.project_id for each in projects if str(each.project.root) == str(root) and each.meta), None)

        return await until(known)


@asynccontextmanager
async def page_server(home, *, allowed_roots=(), settings=PAGE_SETTINGS, bind="127.0.0.1"):
    """Yields a Browser for a server over an empty store."""
    rules = RoutingRules(allowed_roots=tuple(allowed_roots))
    async with open_serving(home, settings=settings, rules=rules) as serving, trio.open_nursery() as nursery:
        sockets = open_sockets(bind, 0)
        port = sockets[0].getsockname()[1]
        await nursery.start(
            lambda task_status: serve_http(serving.server, sockets, limits=HttpLimits(stop=1), task_status=task_status)
        )
        try:
            yield Browser(serving, port)
        finally:
            serving.server.core.stop()


class _Parsed(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def parsed(html: str) -> _Parsed:
    """Returns the elements of a page and its text."""
    found = _Parsed()
    found.feed(html)
    found.close()
    return found


def links(html: str) -> list[str]:
    """Returns the targets of a page's links."""
    return [attributes["href"] or "" for tag, attributes in parsed(html).elements if tag == "a" and "href" in attributes]
