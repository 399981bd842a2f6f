"""A browser without scripts at the page of an organisation's servers: keeps cookies, follows redirects, also to the identity
provider, and asks the servers in turn, as a balancer that terminates TLS does."""

import http.client
import itertools
import re
from collections.abc import Mapping, Sequence
from html import unescape
from urllib.parse import urlencode, urlsplit

import trio
from msgspec import Struct

ORIGIN = "https://code.example.com"
HOST = "code.example.com"
PATIENCE_SECONDS = 60

COOKIE = "__Host-codecompass-session"
NAVIGATION = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
"""What a browser sends for an address that somebody has typed."""

OWN_FORM = {
    "Origin": ORIGIN,
    "Sec-Fetch-Site": "same-origin",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
    "Content-Type": "application/x-www-form-urlencoded",
}


class PageAnswer(Struct, frozen=True):
    """An answer with all of its headers, whose names are in lower case, in their order."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str

    def header(self, name: str) -> str:
        """Returns the only header of this name."""
        [value] = [value for key, value in self.headers if key == name]
        return value

    @property
    def location(self) -> str:
        """Where a redirect leads."""
        return self.header("location")

    @property
    def set_cookies(self) -> list[str]:
        """The headers that set cookies."""
        return [value for key, value in self.headers if key == "set-cookie"]

    @property
    def links(self) -> list[str]:
        """The addresses of links, in their order."""
        return [unescape(each) for each in re.findall(r' href="([^"]+)"', self.body)]

    def link(self, text: str) -> str:
        """Returns the address of the only link of this text."""
        [found] = re.findall(rf'<a[^>]* href="([^"]+)"[^>]*>{re.escape(text)}</a>', self.body)
        return unescape(found)


class PageBrowser:
    """One browser at servers on these ports."""

    def __init__(self, *ports: int, headers: Mapping[str, str] | None = None) -> None:
        self.ports = ports
        self._turn = itertools.cycle(ports)
        self.cookies: dict[str, str] = {}
        self._always = dict(headers or {})
        self.visited: list[str] = []

    async def get(self, path: str, headers: Mapping[str, str] | None = None, /, **parameters: object) -> PageAnswer:
        """Returns the answer to a GET of a path with these parameters, without following a redirect."""
        whole = path + (("&" if "?" in path else "?") + urlencode(parameters) if parameters else "")
        return await self._send("GET", whole, b"", headers or NAVIGATION)

    async def html(self, path: str, /, **parameters: object) -> PageAnswer:
        """Returns a page that must exist."""
        answer = await self.get(path, **parameters)
        assert answer.status == 200, f"{answer.status} {answer.headers} {answer.body}"
        assert answer.header("content-type") == "text/html; charset=utf-8"
        return answer

    async def post(self, path: str, headers: Mapping[str, str] | None = None, /, **fields: object) -> PageAnswer:
        """Returns the answer to a form of the page itself."""
        return await self._send("POST", path, urlencode(fields).encode(), {**OWN_FORM, **(headers or {})})

    async def follow(self, answer: PageAnswer) -> PageAnswer:
        """Returns where redirects lead in the end, from the provider back to the page too."""
        while answer.status in (302, 303):
            where = answer.location
            self.visited.append(where)
            if where.startswith(("/", ORIGIN)):
                # Whatever comes from the provider is a link of another site.
                site = "cross-site" if where.startswith(ORIGIN) else "same-origin"
                answer = await self._send("GET", where.removeprefix(ORIGIN), b"", {**NAVIGATION, "Sec-Fetch-Site": site})
            else:
                answer = await trio.to_thread.run_sync(_at_provider, where)
        return answer

    async def sign_in(self, to: str = "") -> PageAnswer:
        """Signs in at the provider, and returns the page to which that leads."""
        asked = await self.get("/ui/sign-in", **({"to": to} if to else {}))
        [begin] = [link for link in asked.links if link.startswith("/ui/sign-in/begin")]
        return await self.follow(await self.get(begin, {**NAVIGATION, "Sec-Fetch-Site": "same-origin"}))

    async def _send(self, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> PageAnswer:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {"Host": HOST, **self._always, **headers, **({"Cookie": cookies} if cookies else {})}
        port = next(self._turn)
        answer = await trio.to_thread.run_sync(_exchanged, port, method, path.partition("#")[0], body, sent)
        for each in answer.set_cookies:
            name, _, rest = each.partition("=")
            value, *attributes = rest.split("; ")
            if "Max-Age=0" in attributes:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
        return answer


def _exchanged(port: int, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> PageAnswer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, body or None, dict(headers))
        response = connection.getresponse()
        text = response.read().decode()
    finally:
        connection.close()
    found: Sequence[tuple[str, str]] = [(name.lower(), value) for name, value in response.getheaders()]
    return PageAnswer(response.status, tuple(found), text)


def _at_provider(address: str) -> PageAnswer:
    parts = urlsplit(address)
    return _exchanged(parts.port or 80, "GET", f"{parts.path}?{parts.query}", b"", {"Host": parts.netloc})
