"""Azure DevOps: `GET /{organisation}[/{project}]/_apis/git/repositories`, which has no pages.

https://learn.microsoft.com/en-us/rest/api/azure/devops/git/repositories/list; a disabled repository counts as archived.
"""

import base64
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.azure_rights import VERSION, Rights
from codecompass.cluster.hosts.interface import HostKind, HostRepository, ReadersOf, decoded
from codecompass.remote.rest import RestClient


class _Project(Struct):
    id: str
    name: str
    visibility: str = "private"


class _Repository(Struct, rename="camel"):
    id: str
    name: str
    project: _Project
    remote_url: str = ""
    is_disabled: bool = False
    is_fork: bool = False


class _Page(Struct):
    value: list[_Repository]


_decoder = msgspec.json.Decoder(_Page)


def _read(client: RestClient, owner: str) -> list[_Repository]:
    return decoded(client.get(f"/{quote(owner)}/_apis/git/repositories?api-version={VERSION}").body, _decoder).value


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    for each in _read(client, owner):
        if each.remote_url:
            yield HostRepository(
                host_id=each.id,
                name=f"{each.project.name}/{each.name}",
                url=each.remote_url,
                is_archived=each.is_disabled,
                is_fork=each.is_fork,
                # All repositories of a public project are public. Those for the whole organisation are left to its rules.
                is_public=each.project.visibility == "public",
            )


def _readers(client: RestClient, owner: str) -> ReadersOf:
    projects = {each.id: each.project.id for each in _read(client, owner)}
    return Rights(client, owner.partition("/")[0], projects).readers


AZURE: Final = HostKind(
    name="azure",
    title="Azure DevOps",
    hosts=("dev.azure.com",),
    api=lambda site, _has_token: site,
    headers=lambda token: {"Authorization": f"Basic {base64.b64encode(f':{token}'.encode()).decode()}"},
    list=_list,
    readers=_readers,
)
