"""Gitea and Forgejo: `GET /orgs/{org}/repos`, or `GET /users/{user}/repos`; pages by the header `Link`.

https://docs.gitea.com/api/; the server bounds the size of a page, by default to 50.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.interface import HostKind, HostRepository, of_first_that_exists
from codecompass.remote.rest import RestClient

_PAGE: Final = 50


class _Repository(Struct):
    id: int
    full_name: str
    clone_url: str
    archived: bool = False
    empty: bool = False
    fork: bool = False


_decoder = msgspec.json.Decoder(list[_Repository])


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    name = quote(owner, safe="")
    paths = (f"/orgs/{name}/repos?limit={_PAGE}", f"/users/{name}/repos?limit={_PAGE}")
    for each in of_first_that_exists(client, paths, _decoder):
        if not each.empty:
            yield HostRepository(
                host_id=str(each.id), name=each.full_name, url=each.clone_url, is_archived=each.archived, is_fork=each.fork
            )


GITEA: Final = HostKind(
    name="gitea",
    title="Gitea or Forgejo",
    hosts=("gitea.com", "codeberg.org"),
    api=lambda site, _has_token: f"{site}/api/v1",
    headers=lambda token: {"Authorization": f"token {token}"},
    list=_list,
)
