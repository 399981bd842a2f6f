"""A small code host on a local port that speaks the REST interfaces of all kinds, in the shapes that their references document.

It pages, checks its token, and answers with a rate limit when told to. Each kind's answers have more fields than are read.
"""

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

PAGE = 2
"""Repositories in a page, so that a few of them need several."""

Reply = tuple[int, object, dict[str, str]]


@dataclass(frozen=True)
class Hosted:
    """A repository at the host. `id` stays after a rename."""

    id: int
    name: str
    archived: bool = False
    fork: bool = False
    url: str = ""
    """Address for git; that of the host itself by default."""
    is_public: bool = False
    readers: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    """Members who may not read its code."""


@dataclass
class CodeHost:
    """The state of the host; tests change it while it serves."""

    kind: str
    port: int = 0
    owner: str = "shop"
    is_user: bool = False
    repositories: list[Hosted] = field(default_factory=list)
    token: str = ""
    refusals: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    """Statuses and headers of the next answers, in place of the real ones."""
    refusals_after: int = 0
    """So many answers are the real ones before."""
    body: bytes | None = None
    """In place of the real answers."""
    asked: list[str] = field(default_factory=list)
    """The paths of all requests."""
    sent: list[dict[str, str]] = field(default_factory=list)
    """The headers of all requests, in lower case."""

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def rename(self, id_: int, name: str) -> None:
        self.repositories = [replace(each, name=name) if each.id == id_ else each for each in self.repositories]

    def url_of(self, each: Hosted, ending: str = "") -> str:
        return each.url or f"{self.site}/{self.owner}/{each.name}{ending}"

    # answers

    def reply(self, path: str, query: dict[str, str]) -> Reply:
        if (answer := self._readers(path, query)) is not None:
            return answer
        answer: Callable[[str, dict[str, str]], Reply] = getattr(self, "_" + self.kind.replace("-", "_"))
        return answer(path, query)

    def _readers(self, path: str, query: dict[str, str]) -> Reply | None:
        """The answer about those who may read a repository; None if the path is not about that."""
        for each in self.repositories:
            people = [(login, True) for login in each.readers] + [(login, False) for login in each.others]
            name = f"{self.owner}/{each.name}"
            if path == f"/api/v3/repos/{name}/collaborators" and query["affiliation"] == "all":
                made = [{"login": who, "id": 7, "permissions": {"pull": may, "push": False}} for who, may in people]
                return self._paged(path, query, dict, made)
            if path == f"/api/v4/projects/{each.id}/members/all":
                made = [{"username": who, "state": "active", "access_level": 20 if may else 10} for who, may in people]
                made.append({"username": "blocked", "state": "blocked", "access_level": 50})
                return self._paged(path, query, dict, made)
            if path == f"/api/v1/repos/{name}/collaborators":
                return self._paged(path, query, dict, [{"id": 7, "login": who} for who, may in people[:1] if may])
            if path == f"/api/v1/repos/{name}/teams":
                if self.is_user:
                    return 405, {"message": "repo is not owned by an organization"}, {}
                teams = [(each.id * 10, "read"), (each.id * 10 + 1, "none")]
                return self._paged(path, query, dict, [{"id": id_, "units_map": {"repo.code": may}} for id_, may in teams])
            for id_, is_reading in ((each.id * 10, True), (each.id * 10 + 1, False)):
                if path == f"/api/v1/teams/{id_}/members":
                    made = [{"id": 7, "login": who} for who, may in people if may is is_reading]
                    return self._paged(path, query, dict, made)
        return None

    def _paged(
        self, path: str, query: dict[str, str], make: Callable[[Any], dict[str, Any]], items: Sequence[object] | None = None
    ) -> Reply:
        """A page as a list, by default of the repositories, with the next one in the header Link."""
        items = self.repositories if items is None else items
        number = int(query.get("page", "1"))
        shown = items[(number - 1) * PAGE : number * PAGE]
        headers = {}
        if number * PAGE < len(items):
            more = "&".join(f"{key}={value}" for key, value in {**query, "page": str(number + 1)}.items())
            headers["Link"] = f'<{self.site}{path}?{more}>; rel="next", <{self.site}{path}?page=9>; rel="last"'
        return 200, [make(each) for each in shown], headers

    def _github(self, path: str, query: dict[str, str]) -> Reply:
        kind = "users" if self.is_user else "orgs"
        if path != f"/api/v3/{kind}/{self.owner}/repos":
            return 404, {"message": "Not Found", "status": "404"}, {}
        return self._paged(
            path,
            query,
            lambda each: {
                "id": each.id,
                "node_id": "MDEwOlJlcG9zaXRvcnk=",
                "name": each.name,
                "full_name": f"{self.owner}/{each.name}",
                "private": not each.is_public,
                "fork": each.fork,
                "archived": each.archived,
                "disabled": False,
                "clone_url": self.url_of(each, ".git"),
                "default_branch": "main",
            },
        )

    def _gitlab(self, path: str, query: dict[str, str]) -> Reply:
        kind = "users" if self.is_user else "groups"
        if path != f"/api/v4/{kind}/{self.owner}/projects":
            return 404, {"message": "404 Group Not Found"}, {}
        return self._paged(
            path,
            query,
            lambda each: {
                "id": each.id,
                "path_with_namespace": f"{self.owner}/{each.name}",
                "http_url_to_repo": self.url_of(each, ".git"),
                "archived": each.archived,
                "empty_repo": False,
                "visibility": "public" if each.is_public else "internal",
                **({"forked_from_project": {"id": 1}} if each.fork else {}),
            },
        )

    def _gitea(self, path: str, query: dict[str, str]) -> Reply:
        kind = "users" if self.is_user else "orgs"
        if path != f"/api/v1/{kind}/{self.owner}/repos":
            return 404, {"message": "The target couldn't be found.", "errors": []}, {}
        return self._paged(
            path,
            query,
            lambda each: {
                "id": each.id,
                "full_name": f"{self.owner}/{each.name}",
                "clone_url": self.url_of(each, ".git"),
                "archived": each.archived,
                "empty": False,
                "fork": each.fork,
                "internal": False,
                "private": not each.is_public,
            },
        )

    def _bitbucket(self, path: str, query: dict[str, str]) -> Reply:
        if path != f"/2.0/repositories/{self.owner}":
            return 404, {"type": "error", "error": {"message": "No workspace with identifier"}}, {}
        number = int(query.get("page", "1"))
        values = [
            {
                "uuid": f"{{{each.id}}}",
                "full_name": f"{self.owner}/{each.name}",
                "is_private": True,
                **({"parent": {"full_name": "other/it"}} if each.fork else {}),
                "links": {
                    "clone": [
                        {"name": "ssh", "href": f"git@bitbucket.org:{self.owner}/{each.name}.git"},
                        {"name": "https", "href": self.url_of(each, ".git").replace("http://", "http://ada@")},
                    ]
                },
            }
            for each in self.repositories[(number - 1) * PAGE : number * PAGE]
        ]
        page: dict[str, object] = {"pagelen": PAGE, "page": number, "size": len(self.repositories), "values": values}
        if number * PAGE < len(self.repositories):
            page["next"] = f"{self.site}{path}?page={number + 1}"
        return 200, page, {}

    def _bitbucket_data_center(self, path: str, query: dict[str, str]) -> Reply:
        if path != f"/rest/api/1.0/projects/{self.owner}/repos":
            return 404, {"errors": [{"exceptionName": "com.atlassian.bitbucket.project.NoSuchProjectException"}]}, {}
        start = int(query["start"])
        values = [
            {
                "id": each.id,
                "slug": each.name,
                "project": {"key": self.owner, "type": "NORMAL"},
                "archived": each.archived,
                **({"origin": {"id": 1, "slug": "it"}} if each.fork else {}),
                "links": {
                    "clone": [{"href": self.url_of(each, ".git"), "name": "http"}, {"href": "ssh://git@it:7999/x", "name": "ssh"}]
                },
            }
            for each in self.repositories[start : start + PAGE]
        ]
        is_last = start + PAGE >= len(self.repositories)
        return 200, {"values": values, "isLastPage": is_last, "nextPageStart": None if is_last else start + PAGE}, {}

    def _gerrit(self, path: str, query: dict[str, str]) -> Reply:
        if path != ("/a/projects/" if self.token else "/projects/"):
            return 404, {}, {}
        named = [("All-Projects", False), *((f"{self.owner}/{each.name}", each.archived) for each in self.repositories)]
        named = [each for each in named if each[0].startswith(query.get("p", ""))]
        start = int(query["S"])
        shown = named[start : start + PAGE]
        page: dict[str, Any] = {
            name: {"id": name.replace("/", "%2F"), "state": "READ_ONLY" if is_old else "ACTIVE"} for name, is_old in shown
        }
        if start + PAGE < len(named):
            page[shown[-1][0]]["_more_projects"] = True
        return 200, b")]}'\n" + json.dumps(page).encode(), {}

    def _azure(self, path: str, query: dict[str, str]) -> Reply:
        if path != f"/{self.owner}/_apis/git/repositories" or query.get("api-version") != "7.1":
            return 404, {"$id": "1", "message": "TF200016"}, {}
        value = [
            {
                "id": f"0000-{each.id}",
                "name": each.name,
                "project": {"id": "p", "name": self.owner, "state": "wellFormed"},
                "defaultBranch": "refs/heads/main",
                "remoteUrl": self.url_of(each).replace("http://", "http://org@"),
                "isDisabled": each.archived,
                "isFork": each.fork,
            }
            for each in self.repositories
        ]
        return 200, {"value": value, "count": len(value)}, {}

    def authorization(self) -> tuple[str, str]:
        """The header with the token, as this kind of host wants it."""
        basic = "Basic " + base64.b64encode(self.token.encode()).decode()
        match self.kind:
            case "gitlab":
                return "private-token", self.token
            case "gitea":
                return "authorization", f"token {self.token}"
            case "gerrit":
                return "authorization", basic
            case "azure":
                return "authorization", "Basic " + base64.b64encode(f":{self.token}".encode()).decode()
            case "bitbucket" | "bitbucket-data-center" if ":" in self.token:
                return "authorization", basic
        return "authorization", f"Bearer {self.token}"


@contextmanager
def code_host(kind: str, repositories: Sequence[Hosted] = (), **fields: Any) -> Iterator[CodeHost]:
    """Serves a host for the duration of the block."""
    host = CodeHost(kind, repositories=list(repositories), **fields)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            host.asked.append(self.path)
            sent = {name.lower(): value for name, value in self.headers.items()}
            host.sent.append(sent)
            query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
            status, answer, headers = host.reply(unquote(parts.path), query)
            name, value = host.authorization()
            if host.token and sent.get(name) != value:
                status, answer, headers = 401, {"message": "Bad credentials"}, {}
            if host.body is not None:
                status, headers = 200, {}
            if host.refusals and host.refusals_after:
                host.refusals_after -= 1
            elif host.refusals:
                (status, headers), answer = host.refusals.pop(0), {"message": "refused"}
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            body = body if host.body is None else host.body
            self.send_response(status)
            for key, each in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
                self.send_header(key, each)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    host.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield host
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
