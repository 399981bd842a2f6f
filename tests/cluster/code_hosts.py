"""A small code host on a local port that speaks the REST interfaces of all kinds, in the shapes that their references document.

It pages, checks its token, and answers with a rate limit when told to. Each kind's answers have more fields than are read.
"""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from tests.support.http_in_thread import serving_in_thread

PAGE = 2
"""Repositories in a page, so that a few of them need several."""

PROJECT = "p-1"
"""The id of the only project of Azure DevOps."""

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
    cut: int = 0
    """So many bytes are missing at the end of the next answers."""
    cut_after: int = 0
    """So many answers are whole before."""
    body: bytes | None = None
    """In place of the real answers."""
    page: int = PAGE
    rules: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of Gerrit, the sections of projects by their full names; of Azure DevOps, access control lists by their tokens. In place of
    those that let the readers read."""
    parents: dict[str, str] = field(default_factory=dict)
    """Of Gerrit, what projects inherit from, if not from All-Projects."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Members of groups by their ids: people, and groups that are in this dictionary."""
    owner_visibility: str = "public"
    """Of Gitea: `limited` for people with an account."""
    is_hiding_rules: bool = False
    """Whether Gerrit does not show rules to the token."""
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
            uuid = f"{{{each.id}}}"
            if path == f"/2.0/workspaces/{self.owner}/permissions/repositories/{uuid}":
                made = [
                    {
                        "type": "repository_permission",
                        "user": {"type": "user", "nickname": "anything", "uuid": "{u}", "account_id": who},
                        "permission": "read" if may else "none",
                    }
                    for who, may in people
                ]
                return self._chained(path, query, made)
            filters = {"permission": "LICENSED_USER", "permission.1": "REPO_READ", "permission.1.repositoryId": str(each.id)}
            if path == "/rest/api/1.0/users" and filters.items() <= query.items():
                made = [{"name": who, "slug": who, "active": True, "type": "NORMAL"} for who, may in people if may]
                return self._counted(query, [*made, {"name": "blocked", "slug": "blocked", "active": False}])
        if self.kind == "gerrit":
            return self._gerrit_rights(path, query)
        if self.kind == "azure":
            return self._azure_rights(path, query)
        return None

    def people_in(self, group: str, seen: frozenset[str] = frozenset()) -> list[str]:
        """The people of a group of Gerrit and of the groups in it."""
        groups = self.gerrit_groups
        found = []
        for member in groups[group]:
            if member not in groups:
                found.append(member)
            elif member not in seen:
                found += self.people_in(member, seen | {group})
        return found

    @property
    def gerrit_groups(self) -> dict[str, list[str]]:
        made = {}
        for each in self.repositories:
            made |= {f"readers-{each.id}": list(each.readers), f"others-{each.id}": list(each.others)}
        return {**made, **self.groups}

    def _gerrit_rights(self, path: str, query: dict[str, str]) -> Reply | None:
        path = path.removeprefix("/a") if path.startswith("/a/") else path
        usual = {
            f"{self.owner}/{each.name}": {"refs/*": rules(f"readers-{each.id}"), "refs/meta/config": rules(f"others-{each.id}")}
            for each in self.repositories
        }
        for name, local in {"All-Projects": {}, **usual, **self.rules}.items():
            if path == f"/projects/{name}/access":
                parent = {} if name == "All-Projects" else {"inherits_from": {"name": self.parents.get(name, "All-Projects")}}
                shown = {} if self.is_hiding_rules else {"config_visible": True}
                said = {"revision": "61157ed63e14d261b6dca40650472a9b0bd88474", "local": local, **parent, **shown}
                return 200, b")]}'\n" + json.dumps(said).encode(), {}
        for group in self.gerrit_groups:
            if path == f"/groups/{group}/members/" and "recursive" in query:
                people = self.people_in(group) if not group.startswith("ldap:") else None
                if people is None:
                    return 405, b"", {}
                made = [{"_account_id": 7, "name": who.title(), "username": who} for who in people]
                return (
                    200,
                    b")]}'\n" + json.dumps([*made, {"_account_id": 8, "username": "blocked", "inactive": True}]).encode(),
                    {},
                )
        if path == "/accounts/" and query.get("q") == "is:active":
            start = int(query["S"])
            everybody = self.groups["everybody"]
            made = [{"_account_id": 7, "username": who} for who in everybody[start : start + self.page]]
            if start + self.page < len(everybody):
                made[-1]["_more_accounts"] = True
            return 200, b")]}'\n" + json.dumps(made).encode(), {}
        return None

    def _azure_rights(self, path: str, query: dict[str, str]) -> Reply | None:
        usual: dict[str, Any] = {}
        for each in self.repositories:
            usual[f"repoV2/{PROJECT}/0000-{each.id}"] = acl(allow=each.readers)
        lists = {"repoV2": acl(), f"repoV2/{PROJECT}": acl(), **usual, **self.rules}
        if path == f"/{self.owner}/_apis/accesscontrollists/2e9eb7ed-3c0a-47d4-87c1-0ffdd275fd87":
            token, is_below = query["token"], query["recurse"] == "true"
            found = [
                {**each, "token": name, "includeExtendedInfo": False}
                for name, each in lists.items()
                if name == token or (is_below and name.startswith(f"{token}/"))
            ]
            return 200, {"count": len(found), "value": found}, {}
        if path == f"/{self.owner}/_apis/identities" and query["queryMembership"] == "Direct":
            made = [self._identity(name) for name in query["descriptors"].split(",")]
            return 200, {"count": len(made), "value": made}, {}
        return None

    def _identity(self, descriptor: str) -> dict[str, Any] | None:
        name = descriptor.rpartition("\\")[2]
        group = next((each for each in self.groups if each.lower() == name), None)
        if group is not None:
            return {
                "id": "g",
                "descriptor": group_descriptor(group),
                "subjectDescriptor": "aadgp.x" if group.startswith("entra") else "vssgp.x",
                "providerDisplayName": group,
                "isActive": True,
                "isContainer": True,
                "members": [
                    group_descriptor(each) if each in self.groups else person_descriptor(each) for each in self.groups[group]
                ],
                "properties": {},
            }
        everybody = {who for each in self.repositories for who in (*each.readers, *each.others)}.union(*self.groups.values())
        who = next((each for each in everybody if each.lower() == name), None)
        if who is None:
            return None
        return {
            "id": "u",
            "descriptor": person_descriptor(who),
            "subjectDescriptor": "aad.x",
            "isActive": who != "blocked",
            "isContainer": False,
            "members": [],
            "properties": {"Account": {"$type": "System.String", "$value": who}},
        }

    def _chained(self, path: str, query: dict[str, str], items: Sequence[object]) -> Reply:
        """A page of Bitbucket Cloud."""
        number = int(query.get("page", "1"))
        shown = items[(number - 1) * self.page : number * self.page]
        page: dict[str, object] = {"pagelen": self.page, "page": number, "size": len(items), "values": shown}
        if number * self.page < len(items):
            page["next"] = f"{self.site}{quote(path)}?page={number + 1}"
        return 200, page, {}

    def _counted(self, query: dict[str, str], items: Sequence[object]) -> Reply:
        """A page of Bitbucket Data Center."""
        start = int(query["start"])
        is_last = start + self.page >= len(items)
        shown = items[start : start + self.page]
        return 200, {"values": shown, "isLastPage": is_last, "nextPageStart": None if is_last else start + self.page}, {}

    def _paged(
        self, path: str, query: dict[str, str], make: Callable[[Any], dict[str, Any]], items: Sequence[object] | None = None
    ) -> Reply:
        """A page as a list, by default of the repositories, with the next one in the header Link."""
        items = self.repositories if items is None else items
        number = int(query.get("page", "1"))
        shown = items[(number - 1) * self.page : number * self.page]
        headers = {}
        if number * self.page < len(items):
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
                "owner": {"id": 3, "login": self.owner, "visibility": self.owner_visibility},
            },
        )

    def _bitbucket(self, path: str, query: dict[str, str]) -> Reply:
        if path != f"/2.0/repositories/{self.owner}":
            return 404, {"type": "error", "error": {"message": "No workspace with identifier"}}, {}
        values = [
            {
                "uuid": f"{{{each.id}}}",
                "full_name": f"{self.owner}/{each.name}",
                "is_private": not each.is_public,
                **({"parent": {"full_name": "other/it"}} if each.fork else {}),
                "links": {
                    "clone": [
                        {"name": "ssh", "href": f"git@bitbucket.org:{self.owner}/{each.name}.git"},
                        {"name": "https", "href": self.url_of(each, ".git").replace("http://", "http://ada@")},
                    ]
                },
            }
            for each in self.repositories
        ]
        return self._chained(path, query, values)

    def _bitbucket_data_center(self, path: str, query: dict[str, str]) -> Reply:
        if path != f"/rest/api/1.0/projects/{self.owner}/repos":
            return 404, {"errors": [{"exceptionName": "com.atlassian.bitbucket.project.NoSuchProjectException"}]}, {}
        values = [
            {
                "id": each.id,
                "slug": each.name,
                "project": {"key": self.owner, "type": "NORMAL", "public": False},
                "public": each.is_public,
                "archived": each.archived,
                **({"origin": {"id": 1, "slug": "it"}} if each.fork else {}),
                "links": {
                    "clone": [{"href": self.url_of(each, ".git"), "name": "http"}, {"href": "ssh://git@it:7999/x", "name": "ssh"}]
                },
            }
            for each in self.repositories
        ]
        return self._counted(query, values)

    def _gerrit(self, path: str, query: dict[str, str]) -> Reply:
        if path != ("/a/projects/" if self.token else "/projects/"):
            return 404, {}, {}
        named = [("All-Projects", False), *((f"{self.owner}/{each.name}", each.archived) for each in self.repositories)]
        named = [each for each in named if each[0].startswith(query.get("p", ""))]
        start = int(query["S"])
        shown = named[start : start + self.page]
        page: dict[str, Any] = {
            name: {"id": name.replace("/", "%2F"), "state": "READ_ONLY" if is_old else "ACTIVE"} for name, is_old in shown
        }
        if start + self.page < len(named):
            page[shown[-1][0]]["_more_projects"] = True
        return 200, b")]}'\n" + json.dumps(page).encode(), {}

    def _azure(self, path: str, query: dict[str, str]) -> Reply:
        if path != f"/{self.owner}/_apis/git/repositories" or query.get("api-version") != "7.1":
            return 404, {"$id": "1", "message": "TF200016"}, {}
        value = [
            {
                "id": f"0000-{each.id}",
                "name": each.name,
                "project": {
                    "id": PROJECT,
                    "name": self.owner,
                    "state": "wellFormed",
                    "visibility": "public" if each.is_public else "private",
                },
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


def rules(*allowed: str | None, **actions: str) -> dict[str, Any]:
    """A section of Gerrit: these groups may read, others as given; with `exclusive` nobody else."""
    exclusive = {"exclusive": True} if actions.pop("exclusive", "") else {}
    made = {group: {"action": "ALLOW", "force": False} for group in allowed if group}
    made.update({group: {"action": action, "force": False} for group, action in actions.items()})
    return {"permissions": {"read": {**exclusive, "rules": made}, "push": {"rules": {"pushers": {"action": "ALLOW"}}}}}


def acl(allow: Sequence[str] = (), deny: Sequence[str] = (), *, inherits: bool = True) -> dict[str, Any]:
    """An access control list of Azure DevOps for people, and for groups, whose names begin with `Group` or `entra`."""
    entries: dict[str, Any] = {}
    for names, kind in ((allow, "allow"), (deny, "deny")):
        for name in names:
            descriptor = group_descriptor(name) if name.startswith(("Group", "entra")) else person_descriptor(name)
            entries.setdefault(descriptor, {"descriptor": descriptor, "allow": 0, "deny": 0})[kind] = 2 + 4
    # Somebody who may only change permissions.
    entries[person_descriptor("manager")] = {"descriptor": "", "allow": 8192, "deny": 0}
    return {"inheritPermissions": inherits, "acesDictionary": entries}


def person_descriptor(name: str) -> str:
    return f"Microsoft.IdentityModel.Claims.ClaimsIdentity;tenant\\{name}"


def group_descriptor(name: str) -> str:
    return f"Microsoft.TeamFoundation.Identity;S-1-9-1551374245\\{name}"


@contextmanager
def code_host(kind: str, repositories: Sequence[Hosted] = (), **fields: Any) -> Iterator[CodeHost]:
    """Serves a host for the duration of the block."""
    host = CodeHost(kind, repositories=list(repositories), **fields)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet: otherwise the second one waits for the acknowledgement of the first.
        wbufsize = -1

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
            if host.cut and not host.cut_after:
                body = body[: -host.cut]
                self.close_connection = True
            host.cut_after = max(0, host.cut_after - 1)
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with serving_in_thread(Handler) as port:
        host.port = port
        yield host
