"""Gerrit: `GET /projects/`, of which the owner is a prefix of the names; pages by `S`, until one has no `_more_projects`.

Projects have no id but their name, so a rename is a removal and an addition.
https://gerrit-review.googlesource.com/Documentation/rest-api-projects.html
"""

import base64
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from codecompass.cluster.hosts.gerrit_rights import ALL_PROJECTS, read, readers
from codecompass.cluster.hosts.interface import MAX_PAGES, PAGE, HostKind, HostRepository
from codecompass.remote.rest import RestClient, ServiceFailed

_NO_CODE: Final = (ALL_PROJECTS, "All-Users")
"""Projects with Gerrit's own settings."""


class _Project(Struct):
    state: str = "ACTIVE"
    more_projects: bool = msgspec.field(default=False, name="_more_projects")


_decoder = msgspec.json.Decoder(dict[str, _Project])


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    prefix = f"{owner}/" if owner else ""
    # The interface of identified users is below /a, at which their git remotes are, too.
    site = client.base.with_path(client.base.path.removesuffix("/a"))
    n_seen = 0
    for _ in range(MAX_PAGES):
        page = read(client, f"/projects/?d&n={PAGE}&S={n_seen}&p={quote(prefix, safe='')}", _decoder)
        for name, project in page.items():
            if name not in _NO_CODE and project.state != "HIDDEN":
                yield HostRepository(
                    host_id=name, name=name, url=f"{site}/{quote(name)}", is_archived=project.state == "READ_ONLY"
                )
        n_seen += len(page)
        if not page or not any(project.more_projects for project in page.values()):
            return
    raise ServiceFailed(f"it has more than {MAX_PAGES:,} pages")


GERRIT: Final = HostKind(
    name="gerrit",
    title="Gerrit",
    hosts=("gerrit.googlesource.com",),
    api=lambda site, has_token: f"{site}/a" if has_token else site,
    headers=lambda token: {"Authorization": f"Basic {base64.b64encode(token.encode()).decode()}"},
    list=_list,
    readers=readers,
)
