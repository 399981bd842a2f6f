"""GitLab: `GET /groups/{path}/projects` with subgroups, or `GET /users/{user}/projects`; pages by the header `Link`.

https://docs.gitlab.com/api/groups/; projects that are only shared with a group are left out.
"""

from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.interface import PAGE, HostKind, HostRepository, of_first_that_exists
from codecompass.remote.rest import RestClient


class _Project(Struct):
    id: int
    path_with_namespace: str
    http_url_to_repo: str
    archived: bool = False
    empty_repo: bool = False
    forked_from_project: object = None


_decoder = msgspec.json.Decoder(list[_Project])


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    name = quote(owner, safe="")
    shown = f"per_page={PAGE}&order_by=id&sort=asc"
    paths = (f"/groups/{name}/projects?include_subgroups=true&with_shared=false&{shown}", f"/users/{name}/projects?{shown}")
    for each in of_first_that_exists(client, paths, _decoder):
        if not each.empty_repo:
            yield HostRepository(
                host_id=str(each.id),
                name=each.path_with_namespace,
                url=each.http_url_to_repo,
                is_archived=each.archived,
                is_fork=each.forked_from_project is not None,
            )


GITLAB: Final = HostKind(
    name="gitlab",
    title="GitLab",
    hosts=("gitlab.com",),
    api=lambda site, _has_token: f"{site}/api/v4",
    headers=lambda token: {"PRIVATE-TOKEN": token},
    list=_list,
)
