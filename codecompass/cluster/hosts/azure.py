"""Azure DevOps: `GET /{organisation}[/{project}]/_apis/git/repositories`, which has no pages.

https://learn.microsoft.com/en-us/rest/api/azure/devops/git/repositories/list; a disabled repository counts as archived.

Who may read a repository, by its access control lists:

    GET /{organisation}/_apis/accesscontrollists/{Git Repositories}   lists of the repository, its project, and all repositories
    GET /{organisation}/_apis/identities                              who is meant, and the members of groups, at another host

Readers are those whom one of these lists allows to read, as themselves or as a member of a group at any depth, and whom none
denies it. Azure lets what is allowed nearer to the repository win over what is denied further away; here denied always wins. A
group of Microsoft Entra ID has members that Azure DevOps does not know before they sign in: if one is denied, nobody reads.
https://learn.microsoft.com/en-us/azure/devops/organizations/security/namespace-reference, .../rest/api/azure/devops/security/,
.../rest/api/azure/devops/ims/identities
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec import Struct, field

from codecompass.cluster.hosts.interface import HostKind, HostRepository, ReadersOf, decoded
from codecompass.remote.address import Address
from codecompass.remote.rest import RestClient, ServiceFailed

_VERSION: Final = "7.1"

MAX_IDENTITIES: Final = 50_000
"""Of the groups of one organisation."""

_AT_ONCE: Final = 20
"""Identities in one request: their names make a URL of some kilobytes."""

_GIT_REPOSITORIES: Final = "2e9eb7ed-3c0a-47d4-87c1-0ffdd275fd87"
"""The id of this namespace of permissions in every organisation."""

_GENERIC_READ: Final = 2
_ALL: Final = "repov2"

_SITE, _IDENTITIES = "dev.azure.com", "vssps.dev.azure.com"
"""Identities have a host of their own in the cloud; a server has one for all."""

_ENTRA_GROUP: Final = "aadgp."
_PERSON: Final = ("Microsoft.IdentityModel.Claims.ClaimsIdentity;", "System.Security.Principal.WindowsIdentity;")
"""How descriptors of people begin; there are also services and bindings to invited ones."""

_NOBODY: Final = frozenset[str]()


class _Entry(Struct):
    allow: int = 0
    deny: int = 0


class _List(Struct, rename="camel"):
    token: str
    inherit_permissions: bool
    aces_dictionary: dict[str, _Entry] = {}

    def who(self, *, is_denied: bool) -> frozenset[str]:
        """Returns descriptors, in lower case."""
        return frozenset(
            name.lower()
            for name, entry in self.aces_dictionary.items()
            if (entry.deny if is_denied else entry.allow) & _GENERIC_READ
        )


class _Lists(Struct):
    value: list[_List]


class _Text(Struct):
    value: str = field(default="", name="$value")


class _Properties(Struct):
    account: _Text = field(default_factory=_Text, name="Account")


class _Identity(Struct, rename="camel"):
    descriptor: str
    subject_descriptor: str = ""
    is_active: bool = False
    is_container: bool = False
    members: list[str] = []
    properties: _Properties = field(default_factory=_Properties)


class _Identities(Struct):
    value: list[_Identity | None]


_lists = msgspec.json.Decoder(_Lists)
_identities = msgspec.json.Decoder(_Identities)


class _Rights:
    """The lists and identities that were read in one look. `projects` has the id of the project of each repository."""

    def __init__(self, client: RestClient, organisation: str, projects: Mapping[str, str]) -> None:
        self._client = client
        self._place = f"/{quote(organisation)}/_apis"
        self._projects = projects
        self._lists: dict[str, _List] = {}
        self._read: set[str] = set()
        self._known: dict[str, _Identity | None] = {}

    def readers(self, repository: HostRepository) -> frozenset[str]:
        """Returns the accounts of those who may read a repository, as they sign in: `ada@example.com`. Raises ServiceFailed."""
        project = self._projects.get(repository.host_id)
        if project is None:
            return _NOBODY
        self._require_lists(f"repoV2/{project}", with_all_below=True)
        self._require_lists("repoV2", with_all_below=False)
        allowed, denied = set[str](), set[str]()
        for token in (f"{_ALL}/{project}/{repository.host_id}", f"{_ALL}/{project}", _ALL):
            found = self._lists.get(token.lower())
            if found is not None:
                allowed |= found.who(is_denied=False)
                denied |= found.who(is_denied=True)
                if not found.inherit_permissions:
                    break
        self._require_identities(allowed | denied)
        kept_out, is_all_known = self._people(denied)
        return self._people(allowed)[0] - kept_out if is_all_known else _NOBODY

    def _require_lists(self, token: str, *, with_all_below: bool) -> None:
        if token in self._read:
            return
        below = str(with_all_below).lower()
        path = f"/accesscontrollists/{_GIT_REPOSITORIES}?token={quote(token)}&recurse={below}&api-version={_VERSION}"
        for each in decoded(self._client.get(self._place + path).body, _lists).value:
            self._lists[each.token.strip("/").lower()] = each
        self._read.add(token)

    def _people(self, descriptors: Iterable[str]) -> tuple[frozenset[str], bool]:
        """Returns the accounts of these identities and of the members of groups among them, and whether all are known."""
        accounts: set[str] = set()
        is_all_known = True
        seen: set[str] = set()
        left = list(descriptors)
        while left:
            descriptor = left.pop()
            if descriptor in seen:
                continue
            seen.add(descriptor)
            each = self._known.get(descriptor)
            if each is None or each.subject_descriptor.startswith(_ENTRA_GROUP):
                is_all_known = False
            if each is None:
                continue
            if each.is_container:
                left += (member.lower() for member in each.members)
            elif each.is_active and each.descriptor.startswith(_PERSON) and each.properties.account.value:
                accounts.add(each.properties.account.value)
        return frozenset(accounts), is_all_known

    def _require_identities(self, descriptors: Iterable[str]) -> None:
        """Reads these identities and the members of groups among them, at any depth, each once in a look."""
        base = self._client.base
        if base.host == _SITE:
            base = Address(base.scheme, _IDENTITIES, base.port, base.authority.replace(_SITE, _IDENTITIES), base.path)
        with closing(self._client.beside(base)) as client:
            missing = sorted({each for each in descriptors if each not in self._known})
            while missing:
                members: set[str] = set()
                for at in range(0, len(missing), _AT_ONCE):
                    asked = missing[at : at + _AT_ONCE]
                    self._known.update(dict.fromkeys(asked))
                    for found in self._identities(client, asked):
                        self._known[found.descriptor.lower()] = found
                        members.update(member.lower() for member in found.members)
                if len(self._known) > MAX_IDENTITIES:
                    raise ServiceFailed(f"more than {MAX_IDENTITIES:,} people and groups may read its repositories")
                missing = sorted(each for each in members if each not in self._known)

    def _identities(self, client: RestClient, descriptors: list[str]) -> Iterable[_Identity]:
        named = ",".join(quote(each, safe="") for each in descriptors)
        path = f"/identities?descriptors={named}&queryMembership=Direct&api-version={_VERSION}"
        return [each for each in decoded(client.get(self._place + path).body, _identities).value if each is not None]


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


_repositories = msgspec.json.Decoder(_Page)


def _read(client: RestClient, owner: str) -> list[_Repository]:
    return decoded(client.get(f"/{quote(owner)}/_apis/git/repositories?api-version={_VERSION}").body, _repositories).value


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
    return _Rights(client, owner.partition("/")[0], projects).readers


AZURE: Final = HostKind(
    name="azure",
    title="Azure DevOps",
    hosts=("dev.azure.com",),
    api=lambda site, _has_token: site,
    headers=lambda token: {"Authorization": f"Basic {base64.b64encode(f':{token}'.encode()).decode()}"},
    list=_list,
    readers=_readers,
)
