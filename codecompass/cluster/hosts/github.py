"""GitHub and GitHub Enterprise Server: `GET /orgs/{org}/repos`, or `GET /users/{user}/repos`; pages by the header `Link`.

https://docs.github.com/en/rest/repos/repos; a user's private repositories are not listed to others by this interface.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.interface import PAGE, HostKind, HostRepository, linked_pages, of_first_that_exists
from codecompass.remote.rest import RestClient

_VERSION: Final = {"X-GitHub-Api-Version": "2022-11-28", "Accept": "application/vnd.github+json"}


class _Repository(Struct):
    id: int
    full_name: str
    clone_url: str
    archived: bool = False
    disabled: bool = False
    fork: bool = False
    private: bool = True


class _Permissions(Struct, frozen=True):
    pull: bool = False


class _Collaborator(Struct):
    login: str
    permissions: _Permissions = _Permissions()


_decoder = msgspec.json.Decoder(list[_Repository])
_collaborators = msgspec.json.Decoder(list[_Collaborator])


def _api(site: str, _has_token: bool) -> str:
    return "https://api.github.com" if site == "https://github.com" else f"{site}/api/v3"


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    name = quote(owner, safe="")
    paths = (f"/orgs/{name}/repos?per_page={PAGE}&type=all", f"/users/{name}/repos?per_page={PAGE}&type=owner")
    for each in of_first_that_exists(client, paths, _decoder):
        if not each.disabled:
            yield HostRepository(
                host_id=str(each.id),
                name=each.full_name,
                url=each.clone_url,
                is_archived=each.archived,
                is_fork=each.fork,
                is_public=not each.private,
            )


def _readers(client: RestClient, repository: HostRepository) -> Iterator[str]:
    """Everybody with access for whatever reason: as an owner of the organisation, by a team, or as an outside collaborator."""
    path = f"/repos/{quote(repository.name)}/collaborators?affiliation=all&per_page={PAGE}"
    for each in linked_pages(client, path, _collaborators):
        if each.permissions.pull:
            yield each.login


GITHUB: Final = HostKind(
    name="github",
    title="GitHub",
    hosts=("github.com",),
    api=_api,
    headers=lambda token: {**_VERSION, "Authorization": f"Bearer {token}"},
    list=_list,
    readers=lambda client, _owner: partial(_readers, client),
)
