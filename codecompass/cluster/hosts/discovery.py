"""Keeps the repositories of an organisation in step with what its code hosts list.

    the host lists all of an owner, to the end -> repositories are added, moved and removed (`following.py`)
                                               -> who may read each, if the source has permissions (`members.py`)

A look that fails changes nothing that it has not read to the end, and is repeated after a pause.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from codecompass.cluster.hosts.following import Changes, follow
from codecompass.cluster.hosts.interface import MAX_REPOSITORIES, HostKind, HostRepository, ReadersOf
from codecompass.cluster.hosts.kinds import KINDS
from codecompass.cluster.hosts.members import ANYBODY, MAX_MEMBERS
from codecompass.cluster.hosts.sources import FoundRepository, Source, Sources, ended
from codecompass.cluster.repositories.documents import Repositories
from codecompass.errors import InvalidInput
from codecompass.log import get_logger
from codecompass.remote.address import parse_address
from codecompass.remote.rest import RestClient, ServiceBusy, ServiceFailed, is_safe
from codecompass.units import HOURS, MINUTES, SECONDS

FIRST_PAUSE_SECONDS: Final = 1 * MINUTES
LONGEST_PAUSE_SECONDS: Final = 1 * HOURS
"""Between looks that fail; doubled with each."""

WORKING_SECONDS: Final = 10 * SECONDS
"""Between two notes that a look goes on; shorter than the time after which another one may begin (`watch.py`)."""

MAX_TOKEN_BYTES: Final = 10_000


def look(sources: Sources, repositories: Repositories, claimed: Source, tokens: Path | None) -> Changes | None:
    """Reads what a host lists, and makes the repositories agree; returns what has changed, or None if that failed, which is then
    written down with the source. Blocking. `tokens` is the directory with the tokens. Raises EngineUnavailable.
    """
    try:
        kind, client = _client(claimed, tokens)
        with closing(client):
            # A repository that is listed twice is what it is called last: it may be renamed while its owner's pages are read.
            working = _Working(sources, claimed)
            listed = {each.host_id: each for each in _listed(kind, client, claimed, working)}
            changes, found = follow(sources, repositories, claimed, listed.values())
            if claimed.permissions:
                # What was followed stays, if the members cannot be read; they are then too old one day.
                sources.update(claimed.id, lambda old: replace(old, found=found))
                _read_members(sources, kind.readers(client, claimed.owner), claimed, listed.values(), found, working)
    except ServiceFailed as error:
        pause = error.seconds if isinstance(error, ServiceBusy) else None
        _note_failure(sources, claimed, f"{_host(claimed)}: {error.what}. {_advice(error)}", pause)
        return None
    except InvalidInput as error:
        _note_failure(sources, claimed, error.message, None)
        return None
    sources.update(claimed.id, lambda old: ended(old, claimed, found))
    return changes


def _read_members(
    sources: Sources,
    readers: ReadersOf,
    source: Source,
    listed: Iterable[HostRepository],
    found: Mapping[str, FoundRepository],
    working: Callable[[], None],
) -> None:
    """Writes down who may read each of the repositories that were found. Of two logins that differ in case alone nobody could say
    here who is meant, so neither counts."""
    repositories_of: dict[str, set[str]] = defaultdict(set)
    written: dict[str, str] = {}
    doubtful: set[str] = set()
    for each in listed:
        working()
        known = found.get(each.host_id)
        if known is not None and each.is_public:
            repositories_of[ANYBODY].add(known.repo_id)
        elif known is not None:
            for login in _named(readers, each):
                key = login.lower()
                if key == ANYBODY:
                    continue
                if written.setdefault(key, login) != login:
                    doubtful.add(key)
                repositories_of[key].add(known.repo_id)
                if len(repositories_of) > MAX_MEMBERS:
                    raise ServiceFailed(f"more than {MAX_MEMBERS:,} people may read its repositories")
    for key in doubtful:
        del repositories_of[key]
    sources.members.replace(source.id, repositories_of)


def _client(source: Source, tokens: Path | None) -> tuple[HostKind, RestClient]:
    kind = KINDS.get(source.kind)
    if kind is None:
        raise InvalidInput(f"this program knows no kind of host {source.kind!r}. Upgrade the workers.")
    site = parse_address(source.url)
    token = _token(tokens, "" if site is None else site.host)
    api = parse_address(source.api or kind.api(source.url.removesuffix(source.owner).rstrip("/"), bool(token)))
    if api is None or not is_safe(api):
        raise InvalidInput(f"{source.url}: its interface must be reached by https. Add it again with --api https://...")
    return kind, RestClient(api, kind.headers(token) if token else {})


def _named(readers: ReadersOf, repository: HostRepository) -> Iterator[str]:
    """Yields readers; a failure names the repository, which may be the only one for which the token does not suffice."""
    try:
        yield from readers(repository)
    except ServiceBusy:
        raise
    except ServiceFailed as error:
        raise ServiceFailed(f"who may read {repository.name[:200]} cannot be told, because {error.what}", error.status) from error


class _Working:
    """Says from time to time that a look goes on, so that no other worker begins one. Raises EngineUnavailable."""

    def __init__(self, sources: Sources, claimed: Source) -> None:
        self._sources = sources
        self._id = claimed.id
        self._said = time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._said >= WORKING_SECONDS:
            self._sources.update(self._id, lambda old: replace(old, polls=old.polls + 1))
            self._said = time.monotonic()


def _listed(kind: HostKind, client: RestClient, source: Source, working: Callable[[], None]) -> list[HostRepository]:
    listed: list[HostRepository] = []
    for each in kind.list(client, source.owner):
        working()
        listed.append(each)
        if len(listed) > MAX_REPOSITORIES:
            raise ServiceFailed(f"it lists more than {MAX_REPOSITORIES:,} repositories of one owner")
    return listed


def _token(tokens: Path | None, host: str) -> str:
    """Returns the first line of the file of this host; empty if there is none."""
    if tokens is None or not host:
        return ""
    try:
        with (tokens / host).open("rb") as file:
            return file.readline(MAX_TOKEN_BYTES).decode("utf-8", "replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise InvalidInput(f"the token for {host} cannot be read ({type(error).__name__}): {tokens / host}") from error


def _advice(error: ServiceFailed) -> str:
    if isinstance(error, ServiceBusy):
        return "Workers wait so long."
    match error.status:
        case 401 | 403:
            return "Check the token of this host in cluster.host_tokens."
        case 301 | 302 | 307 | 308:
            return "The owner or the host has another name now: add the source anew by that name, and remove this one."
        case 404:
            return "Check the owner; what is private is only listed with a token that may see it."
    return "Workers try again by themselves."


def _note_failure(sources: Sources, claimed: Source, message: str, pause: float | None) -> None:
    def noted(old: Source) -> Source:
        failures = old.failures + 1
        usual = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 20))
        return replace(old, failures=failures, trouble=message, pause_seconds=usual if pause is None else pause)

    sources.update(claimed.id, noted)
    get_logger(__name__).warning("source_failed", source=claimed.url, cause=message)


def _host(source: Source) -> str:
    address = parse_address(source.url)
    return source.url if address is None else address.authority
