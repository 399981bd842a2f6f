"""Bitbucket Cloud, `GET /repositories/{workspace}`, and Bitbucket Data Center, `GET /projects/{key}/repos`.

Both chain pages in the body: Cloud by the URL `next`, Data Center by `nextPageStart`. Cloud knows no archived repositories. Both
evaluate permissions themselves, with groups (nested ones, too), projects and defaults: one request for each repository.
https://developer.atlassian.com/cloud/bitbucket/rest/, https://developer.atlassian.com/server/bitbucket/rest/
"""

import base64
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from codecompass.cluster.hosts.interface import MAX_PAGES, PAGE, HostKind, HostRepository, decoded
from codecompass.remote.rest import RestClient, ServiceFailed

ItemT = TypeVar("ItemT")


class _Link(Struct):
    name: str
    href: str


class _Links(Struct):
    clone: list[_Link] = []


class _CloudRepository(Struct):
    uuid: str
    full_name: str
    is_private: bool = True
    links: _Links = field(default_factory=_Links)
    parent: object = None


class _CloudPage(Struct, Generic[ItemT]):
    values: list[ItemT]
    next: str = ""


class _CloudUser(Struct):
    account_id: str = ""


class _CloudPermission(Struct):
    user: _CloudUser
    permission: str = ""


class _Project(Struct):
    key: str
    public: bool = False


class _Repository(Struct):
    id: int
    slug: str
    project: _Project
    links: _Links = field(default_factory=_Links)
    archived: bool = False
    public: bool = False
    origin: object = None


class _Page(Struct, Generic[ItemT], rename="camel"):
    values: list[ItemT]
    is_last_page: bool
    next_page_start: int | None = None


class _User(Struct):
    name: str
    active: bool = False


_READING: Final = ("read", "write", "admin")

_cloud_repositories = msgspec.json.Decoder(_CloudPage[_CloudRepository])
_cloud_permissions = msgspec.json.Decoder(_CloudPage[_CloudPermission])
_repositories = msgspec.json.Decoder(_Page[_Repository])
_users = msgspec.json.Decoder(_Page[_User])


def _list_cloud(client: RestClient, owner: str) -> Iterator[HostRepository]:
    for each in _cloud_pages(client, f"/repositories/{quote(owner, safe='')}?pagelen={PAGE}", _cloud_repositories):
        url = _address(each.links)
        if url:
            yield HostRepository(
                host_id=each.uuid,
                name=each.full_name,
                url=url,
                is_fork=each.parent is not None,
                is_public=not each.is_private,
            )


def _cloud_readers(client: RestClient, repository: HostRepository) -> Iterator[str]:
    """The ids of Atlassian accounts: there are no login names, and nicknames are chosen freely."""
    workspace = repository.name.partition("/")[0]
    path = f"/workspaces/{quote(workspace, safe='')}/permissions/repositories/{quote(repository.host_id, safe='')}?pagelen={PAGE}"
    for each in _cloud_pages(client, path, _cloud_permissions):
        if each.permission in _READING and each.user.account_id:
            yield each.user.account_id


def _cloud_pages(client: RestClient, path: str, decoder: "msgspec.json.Decoder[_CloudPage[ItemT]]") -> Iterator[ItemT]:
    for _ in range(MAX_PAGES):
        page = decoded(client.get(path).body, decoder)
        yield from page.values
        path = page.next
        if not path:
            return
    raise ServiceFailed(f"it has more than {MAX_PAGES:,} pages")


def _list_data_center(client: RestClient, owner: str) -> Iterator[HostRepository]:
    for each in _pages(client, f"/projects/{quote(owner, safe='~')}/repos?limit={PAGE}", _repositories):
        url = _address(each.links)
        if url:
            yield HostRepository(
                host_id=str(each.id),
                name=f"{each.project.key}/{each.slug}",
                url=url,
                is_archived=each.archived,
                is_fork=each.origin is not None,
                is_public=each.public or each.project.public,
            )


def _readers(client: RestClient, repository: HostRepository) -> Iterator[str]:
    """Licensed users with the permission to read, from wherever they have it; the host takes both filters together."""
    filters = f"permission=LICENSED_USER&permission.1=REPO_READ&permission.1.repositoryId={quote(repository.host_id)}"
    for each in _pages(client, f"/users?{filters}&limit={PAGE}", _users):
        if each.active:
            yield each.name


def _pages(client: RestClient, path: str, decoder: "msgspec.json.Decoder[_Page[ItemT]]") -> Iterator[ItemT]:
    start = 0
    for _ in range(MAX_PAGES):
        page = decoded(client.get(f"{path}&start={start}").body, decoder)
        yield from page.values
        if page.is_last_page:
            return
        if page.next_page_start is None or page.next_page_start <= start:
            raise ServiceFailed("its pages do not end")
        start = page.next_page_start
    raise ServiceFailed(f"it has more than {MAX_PAGES:,} pages")


def _address(links: _Links) -> str:
    return next((each.href for each in links.clone if each.name in ("https", "http")), "")


def _headers(token: str) -> Mapping[str, str]:
    """`user:password` is for HTTP's basic authentication (an app password), anything else is a bearer token."""
    if ":" in token:
        return {"Authorization": f"Basic {base64.b64encode(token.encode()).decode()}"}
    return {"Authorization": f"Bearer {token}"}


BITBUCKET: Final = HostKind(
    name="bitbucket",
    title="Bitbucket Cloud",
    hosts=("bitbucket.org",),
    api=lambda site, _has_token: "https://api.bitbucket.org/2.0" if site == "https://bitbucket.org" else f"{site}/2.0",
    headers=_headers,
    list=_list_cloud,
    readers=lambda client, _owner: partial(_cloud_readers, client),
)

BITBUCKET_DATA_CENTER: Final = HostKind(
    name="bitbucket-data-center",
    title="Bitbucket Data Center",
    hosts=(),
    api=lambda site, _has_token: f"{site}/rest/api/1.0",
    headers=_headers,
    list=_list_data_center,
    readers=lambda client, _owner: partial(_readers, client),
)
