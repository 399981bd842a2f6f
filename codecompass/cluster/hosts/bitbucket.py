"""Bitbucket Cloud, `GET /repositories/{workspace}`, and Bitbucket Data Center, `GET /projects/{key}/repos`.

Both chain pages in the body: Cloud by the URL `next`, Data Center by `nextPageStart`. Cloud knows no archived repositories.
https://developer.atlassian.com/cloud/bitbucket/rest/, https://developer.atlassian.com/server/bitbucket/rest/
"""

import base64
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from codecompass.cluster.hosts.interface import MAX_PAGES, PAGE, HostKind, HostRepository, decoded
from codecompass.remote.rest import RestClient, ServiceFailed


class _Link(Struct):
    name: str
    href: str


class _Links(Struct):
    clone: list[_Link] = []


class _CloudRepository(Struct):
    uuid: str
    full_name: str
    links: _Links = field(default_factory=_Links)
    parent: object = None


class _CloudPage(Struct):
    values: list[_CloudRepository]
    next: str = ""


class _Project(Struct):
    key: str


class _Repository(Struct):
    id: int
    slug: str
    project: _Project
    links: _Links = field(default_factory=_Links)
    archived: bool = False
    origin: object = None


class _Page(Struct, rename="camel"):
    values: list[_Repository]
    is_last_page: bool = True
    next_page_start: int | None = None


_cloud_decoder = msgspec.json.Decoder(_CloudPage)
_decoder = msgspec.json.Decoder(_Page)


def _list_cloud(client: RestClient, owner: str) -> Iterator[HostRepository]:
    path = f"/repositories/{quote(owner, safe='')}?pagelen={PAGE}"
    for _ in range(MAX_PAGES):
        page = decoded(client.get(path).body, _cloud_decoder)
        for each in page.values:
            url = _address(each.links)
            if url:
                yield HostRepository(host_id=each.uuid, name=each.full_name, url=url, is_fork=each.parent is not None)
        path = page.next
        if not path:
            return
    raise ServiceFailed(f"it has more than {MAX_PAGES:,} pages")


def _list_data_center(client: RestClient, owner: str) -> Iterator[HostRepository]:
    start: int | None = 0
    for _ in range(MAX_PAGES):
        page = decoded(client.get(f"/projects/{quote(owner, safe='~')}/repos?limit={PAGE}&start={start}").body, _decoder)
        for each in page.values:
            url = _address(each.links)
            if url:
                yield HostRepository(
                    host_id=str(each.id),
                    name=f"{each.project.key}/{each.slug}",
                    url=url,
                    is_archived=each.archived,
                    is_fork=each.origin is not None,
                )
        start = page.next_page_start
        if page.is_last_page or start is None:
            return
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
)

BITBUCKET_DATA_CENTER: Final = HostKind(
    name="bitbucket-data-center",
    title="Bitbucket Data Center",
    hosts=(),
    api=lambda site, _has_token: f"{site}/rest/api/1.0",
    headers=_headers,
    list=_list_data_center,
)
