"""Azure DevOps: `GET /{organisation}[/{project}]/_apis/git/repositories`, which has no pages.

https://learn.microsoft.com/en-us/rest/api/azure/devops/git/repositories/list; a disabled repository counts as archived.
"""

import base64
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.interface import HostKind, HostRepository, decoded
from codecompass.remote.rest import RestClient

_VERSION: Final = "7.1"


class _Project(Struct):
    name: str


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


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    page = decoded(client.get(f"/{quote(owner)}/_apis/git/repositories?api-version={_VERSION}").body, _decoder)
    for each in page.value:
        if each.remote_url:
            yield HostRepository(
                host_id=each.id,
                name=f"{each.project.name}/{each.name}",
                url=each.remote_url,
                is_archived=each.is_disabled,
                is_fork=each.is_fork,
            )


AZURE: Final = HostKind(
    name="azure",
    title="Azure DevOps",
    hosts=("dev.azure.com",),
    api=lambda site, _has_token: site,
    headers=lambda token: {"Authorization": f"Basic {base64.b64encode(f':{token}'.encode()).decode()}"},
    list=_list,
)
