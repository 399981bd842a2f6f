"""GitLab: `GET /groups/{path}/projects` with subgroups, or `GET /users/{user}/projects`; pages by the header `Link`.

https://docs.gitlab.com/api/groups/; projects that are only shared with a group are left out.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.interface import PAGE, HostKind, HostRepository, linked_pages, of_first_that_exists
from codecompass.remote.rest import RestClient


class _Project(Struct):
    id: int
    path_with_namespace: str
    http_url_to_repo: str
    archived: bool = False
    empty_repo: bool = False
    forked_from_project: object = None
    visibility: str = "private"


class _Member(Struct):
    username: str
    state: str = ""
    access_level: int = 0


_REPORTER: Final = 20
"""The least access level that may read the code of a private project; guests may not."""

_members = msgspec.json.Decoder(list[_Member])
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
                # Internal ones are for whoever has an account at the host, external users apart: only members are sure.
                is_public=each.visibility == "public",
            )


def _readers(client: RestClient, repository: HostRepository) -> Iterator[str]:
    """Members of the project, of its groups, and of groups that it is shared with."""
    for each in linked_pages(client, f"/projects/{quote(repository.host_id)}/members/all?per_page={PAGE}", _members):
        if each.state == "active" and each.access_level >= _REPORTER:
            yield each.username


GITLAB: Final = HostKind(
    name="gitlab",
    title="GitLab",
    hosts=("gitlab.com",),
    api=lambda site, _has_token: f"{site}/api/v4",
    headers=lambda token: {"PRIVATE-TOKEN": token},
    list=_list,
    readers=lambda client, _owner: partial(_readers, client),
)
