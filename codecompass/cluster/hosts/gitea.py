"""Gitea and Forgejo: `GET /orgs/{org}/repos`, or `GET /users/{user}/repos`; pages by the header `Link`.

https://docs.gitea.com/api/; the server bounds the size of a page, by default to 50.
"""

import http.client
from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from codecompass.cluster.hosts.interface import HostKind, HostRepository, linked_pages, of_first_that_exists
from codecompass.remote.rest import RestClient, ServiceFailed

_PAGE: Final = 50


class _Owner(Struct):
    visibility: str = ""


class _Repository(Struct):
    id: int
    full_name: str
    clone_url: str
    archived: bool = False
    empty: bool = False
    fork: bool = False
    private: bool = True
    internal: bool = False
    owner: _Owner = field(default_factory=_Owner)


class _User(Struct):
    login: str
    prohibit_login: bool = False
    """Only shown to administrators."""


class _Team(Struct):
    id: int
    units_map: dict[str, str] = {}


_CODE: Final = "repo.code"

_decoder = msgspec.json.Decoder(list[_Repository])
_users = msgspec.json.Decoder(list[_User])
_teams = msgspec.json.Decoder(list[_Team])


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    name = quote(owner, safe="")
    paths = (f"/orgs/{name}/repos?limit={_PAGE}", f"/users/{name}/repos?limit={_PAGE}")
    for each in of_first_that_exists(client, paths, _decoder):
        if not each.empty:
            yield HostRepository(
                host_id=str(each.id),
                name=each.full_name,
                url=each.clone_url,
                is_archived=each.archived,
                is_fork=each.fork,
                # Those of an owner that is itself not public are for people with an account there.
                is_public=not each.private and not each.internal and each.owner.visibility == "public",
            )


def _readers(client: RestClient, repository: HostRepository) -> Iterator[str]:
    """Collaborators, and the members of the teams that may read its code; of a user's repository also that user."""
    place = f"/repos/{quote(repository.name)}"
    yield from _logins(client, f"{place}/collaborators")
    try:
        teams = list(linked_pages(client, f"{place}/teams?limit={_PAGE}", _teams))
    except ServiceFailed as error:
        if error.status not in (http.client.NOT_FOUND, http.client.METHOD_NOT_ALLOWED):
            raise
        # Only organisations have teams.
        yield repository.name.partition("/")[0]
        return
    for team in teams:
        if team.units_map.get(_CODE, "none") != "none":
            yield from _logins(client, f"/teams/{team.id}/members")


def _logins(client: RestClient, path: str) -> Iterator[str]:
    for user in linked_pages(client, f"{path}?limit={_PAGE}", _users):
        if not user.prohibit_login:
            yield user.login


GITEA: Final = HostKind(
    name="gitea",
    title="Gitea or Forgejo",
    hosts=("gitea.com", "codeberg.org"),
    api=lambda site, _has_token: f"{site}/api/v1",
    headers=lambda token: {"Authorization": f"token {token}"},
    list=_list,
    readers=lambda client, _owner: partial(_readers, client),
)
