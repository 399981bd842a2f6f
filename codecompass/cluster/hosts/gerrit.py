"""Gerrit: `GET /projects/`, of which the owner is a prefix of the names; pages by `S`, until one has no `_more_projects`.

Projects have no id but their name, so a rename is a removal and an addition.
https://gerrit-review.googlesource.com/Documentation/rest-api-projects.html

Who may read a project, by its rules and by those of the projects that it inherits from:

    GET /projects/{name}/access, up to All-Projects -> groups by rule -> GET /groups/{id}/members/?recursive -> user names

An index has all branches, so its readers are those whom the rules clearly let read every branch and tag. Gerrit decides by the
most specific rule of each ref; here everything that could take a right away does so: a rule that blocks or denies on some refs
takes out its group, and an exclusive rule leaves only its own groups. Where rules or members cannot be seen, nobody reads.
https://gerrit-review.googlesource.com/Documentation/access-control.html, rest-api-projects.html, rest-api-groups.html
"""

import base64
import http.client
from collections.abc import Iterator
from typing import Final, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from codecompass.cluster.hosts.interface import MAX_PAGES, PAGE, HostKind, HostRepository, decoded
from codecompass.remote.rest import RestClient, ServiceFailed

_ALL_PROJECTS: Final = "All-Projects"
"""The project that all others inherit from."""

MAX_PARENTS: Final = 50

_GUARD: Final = b")]}'"
"""How answers begin, so that browsers do not run them."""

_EVERYBODY: Final = ("global:Anonymous-Users", "global:Registered-Users")
_OWNERS: Final = "global:Project-Owners"
_ALL_BRANCHES: Final = ("refs/*", "refs/heads/*")
_INDEXED: Final = ("refs/heads/", "refs/tags/", "^")
"""How patterns begin that may match a branch or tag; `^` begins a regular expression."""

_NOBODY: Final = frozenset[str]()


class _Rule(Struct):
    action: str


class _Permission(Struct):
    exclusive: bool = False
    rules: dict[str, _Rule] = {}

    def groups(self, *actions: str) -> frozenset[str]:
        return frozenset(group for group, rule in self.rules.items() if rule.action in actions)


class _Section(Struct):
    permissions: dict[str, _Permission] = {}


class _Parent(Struct):
    name: str


class _Access(Struct):
    local: dict[str, _Section] = {}
    inherits_from: _Parent | None = None
    config_visible: bool = False
    is_owner: bool = False

    def permission(self, pattern: str, name: str) -> _Permission:
        section = self.local.get(pattern)
        return _Permission() if section is None else section.permissions.get(name, _Permission())


class _Account(Struct):
    username: str = ""
    inactive: bool = False
    more_accounts: bool = field(default=False, name="_more_accounts")


AnswerT = TypeVar("AnswerT")

_accesses = msgspec.json.Decoder(_Access)
_accounts = msgspec.json.Decoder(list[_Account])


def _get(client: RestClient, path: str, decoder: "msgspec.json.Decoder[AnswerT]") -> AnswerT:
    return decoded(client.get(path).body.removeprefix(_GUARD), decoder)


def _is_narrow(pattern: str) -> bool:
    """Whether a pattern may match some branches or tags, but not all branches."""
    return pattern not in _ALL_BRANCHES and pattern.startswith(_INDEXED)


class _Rights:
    """The rules and groups that were read in one look."""

    def __init__(self, client: RestClient) -> None:
        self._client = client
        self._access: dict[str, _Access] = {}
        self._members: dict[str, frozenset[str] | None] = {}

    def readers(self, repository: HostRepository) -> frozenset[str]:
        chain = self._chain(repository.name)
        allowed: set[str] = set()
        denied: set[str] = set()
        taken_out: set[str] = set()
        exclusive: list[frozenset[str]] = []
        # From the project to its parents: a rule that denies hides what the same group would inherit.
        for access in chain:
            broad = [access.permission(pattern, "read") for pattern in _ALL_BRANCHES]
            denied.update(*(rules.groups("DENY") for rules in broad))
            allowed.update(*(rules.groups("ALLOW") - denied for rules in broad))
            narrow = [access.permission(pattern, "read") for pattern in access.local if _is_narrow(pattern)]
            taken_out.update(*(rules.groups("BLOCK") for rules in broad), *(rules.groups("BLOCK", "DENY") for rules in narrow))
            exclusive += [rules.groups("ALLOW") for rules in (*broad, *narrow) if rules.exclusive]
        found = self._of_any(allowed, chain)
        for groups in exclusive:
            found &= self._of_any(groups, chain)
        for group in taken_out:
            members = self._of(group, chain)
            if members is None:
                # Somebody is kept out, and nobody here knows whom.
                return _NOBODY
            found -= members
        return found

    def _chain(self, project: str) -> list[_Access]:
        """Returns the rules of a project and of those that it inherits from, nearest first."""
        found: list[_Access] = []
        name = project
        for _ in range(MAX_PARENTS):
            access = self._access.get(name)
            if access is None:
                access = self._access[name] = _get(self._client, f"/projects/{quote(name, safe='')}/access", _accesses)
            if not access.config_visible and not access.is_owner:
                raise ServiceFailed(f"it does not show the rules of {name} to this token: let it read refs/meta/config there")
            found.append(access)
            if name == _ALL_PROJECTS:
                return found
            if access.inherits_from is None:
                raise ServiceFailed(f"it does not show what {name} inherits from to this token: let it read {_ALL_PROJECTS}")
            name = access.inherits_from.name
        raise ServiceFailed(f"{project} has more than {MAX_PARENTS} parents")

    def _of_any(self, groups: set[str] | frozenset[str], chain: list[_Access]) -> frozenset[str]:
        return _NOBODY.union(*(self._of(group, chain) or _NOBODY for group in groups))

    def _of(self, group: str, chain: list[_Access]) -> frozenset[str] | None:
        """Returns the members of a group and of the groups in it; None if Gerrit does not tell, as for those of LDAP."""
        if group == _OWNERS:
            owning = frozenset[str]().union(*(access.permission("refs/*", "owner").groups("ALLOW") for access in chain))
            return self._of_any(owning - {_OWNERS}, chain)
        if group not in self._members:
            self._members[group] = frozenset(self._everybody()) if group in _EVERYBODY else self._read(group)
        return self._members[group]

    def _read(self, group: str) -> frozenset[str] | None:
        try:
            found = _get(self._client, f"/groups/{quote(group, safe='')}/members/?recursive", _accounts)
        except ServiceFailed as error:
            if error.status in (http.client.NOT_FOUND, http.client.METHOD_NOT_ALLOWED):
                return None
            raise
        return frozenset(each.username for each in found if each.username and not each.inactive)

    def _everybody(self) -> Iterator[str]:
        """Yields all who have an account."""
        n_seen = 0
        for _ in range(MAX_PAGES):
            page = _get(self._client, f"/accounts/?q=is:active&o=DETAILS&n={PAGE}&S={n_seen}", _accounts)
            yield from (each.username for each in page if each.username and not each.inactive)
            n_seen += len(page)
            if not page or not page[-1].more_accounts:
                return
        raise ServiceFailed(f"it has more than {MAX_PAGES:,} pages of accounts")


_NO_CODE: Final = (_ALL_PROJECTS, "All-Users")
"""Projects with Gerrit's own settings."""


class _Project(Struct):
    state: str = "ACTIVE"
    more_projects: bool = msgspec.field(default=False, name="_more_projects")


_projects = msgspec.json.Decoder(dict[str, _Project])


def _list(client: RestClient, owner: str) -> Iterator[HostRepository]:
    prefix = f"{owner}/" if owner else ""
    # The interface of identified users is below /a, at which their git remotes are, too.
    site = client.base.with_path(client.base.path.removesuffix("/a"))
    n_seen = 0
    for _ in range(MAX_PAGES):
        page = _get(client, f"/projects/?d&n={PAGE}&S={n_seen}&p={quote(prefix, safe='')}", _projects)
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
    readers=lambda client, _owner: _Rights(client).readers,
)
