"""Keeps the repositories of an organisation in step with what its code hosts list.

    the host lists all of an owner  ->  new: added | known id at another address: moved | no longer listed or wanted: removed

Nothing is removed unless the list was read to its end, and not if most of what was known is missing: a token that lost its rights
makes hosts answer with short lists. What somebody had added before it was found is never removed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.access import EVERYONE
from codecompass.cluster.hosts.interface import MAX_REPOSITORIES, HostKind, HostRepository
from codecompass.cluster.hosts.kinds import KINDS
from codecompass.cluster.hosts.members import MAX_MEMBERS, group_of_readers
from codecompass.cluster.hosts.sources import FoundRepository, Source, Sources, ended
from codecompass.cluster.moves import move
from codecompass.cluster.repositories import Repositories
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.log import get_logger
from codecompass.remote.address import parse_address
from codecompass.remote.rest import RestClient, ServiceBusy, ServiceFailed, is_safe
from codecompass.scan.git_remotes import parse_url
from codecompass.units import HOURS, MINUTES

FEW: Final = 10
"""So many repositories may go at once whatever part of them they are."""

MOST: Final = 0.5
"""The part of the known repositories that may go at once otherwise."""

FIRST_PAUSE_SECONDS: Final = 1 * MINUTES
LONGEST_PAUSE_SECONDS: Final = 1 * HOURS
"""Between looks that fail; doubled with each."""

MAX_TOKEN_BYTES: Final = 10_000


class Changes(Struct, frozen=True, kw_only=True):
    """What one look has changed."""

    added: int = 0
    moved: int = 0
    removed: int = 0
    refused: int = 0
    """Repositories that could not be added, for example because their address is not allowed."""


def look(sources: Sources, repositories: Repositories, claimed: Source, tokens: Path | None) -> Changes | None:
    """Reads what a host lists, and makes the repositories agree; returns what has changed, or None if that failed, which is then
    written down with the source. Blocking. `tokens` is the directory with the tokens. Raises EngineUnavailable.
    """
    try:
        kind, client = _client(claimed, tokens)
        with closing(client):
            listed = _listed(kind, client, claimed)
            changes, found = follow(repositories, claimed, listed)
            if claimed.permissions:
                # What was followed stays, if the members cannot be read; they are then too old one day.
                sources.update(claimed.id, lambda old: replace(old, found=found))
                _read_members(sources, kind, client, claimed, listed, found)
    except ServiceFailed as error:
        pause = error.seconds if isinstance(error, ServiceBusy) else None
        _note_failure(sources, claimed, f"{_host(claimed)}: {error.what}. {_advice(error)}", pause)
        return None
    except InvalidInput as error:
        _note_failure(sources, claimed, error.message, None)
        return None
    sources.update(claimed.id, lambda old: ended(old, claimed, found))
    return changes


def follow(
    repositories: Repositories, source: Source, listed: Iterable[HostRepository]
) -> tuple[Changes, dict[str, FoundRepository]]:
    """Makes the repositories agree with a complete list, and returns what has changed and what is known of the source now.

    Safe to repeat: what was done before a failure is found as done. Raises InvalidInput if too many would be removed.
    """
    wanted = {each.host_id: each for each in listed if source.wants(each)}
    gone = [each for host_id, each in source.found.items() if host_id not in wanted]
    if len(gone) > max(FEW, MOST * len(source.found)) and source.applied == source.revision:
        raise InvalidInput(
            f"{len(gone):,} of {len(source.found):,} repositories are not listed any more, so nothing was removed. If that is "
            f"right, add it again to confirm it (codecompass cluster source add {source.url} ...); if not, check its token."
        )
    found: dict[str, FoundRepository] = {}
    added = moved = refused = 0
    for host_id, each in wanted.items():
        try:
            known, is_new, is_moved = _followed(repositories, source, each)
        except InvalidInput as error:
            get_logger(__name__).warning("repository_refused", source=source.url, repository=each.name, cause=error.message)
            refused += 1
            if host_id in source.found:
                found[host_id] = source.found[host_id]
            continue
        found[host_id] = known
        added += is_new
        moved += is_moved
    kept = {each.repo_id for each in found.values()}
    removed = 0
    for known in gone:
        if not known.was_there and known.repo_id not in kept:
            removed += _is_removed(repositories, known.repo_id)
    return Changes(added=added, moved=moved, removed=removed, refused=refused), found


def _followed(repositories: Repositories, source: Source, each: HostRepository) -> tuple[FoundRepository, bool, bool]:
    """Makes one repository agree. Returns what is known of it, and whether it was added or moved."""
    known = source.found.get(each.host_id)
    repo_id = parse_url(each.url, repositories.protocols).repo_id
    if known is not None and known.repo_id != repo_id:
        there = repositories.get(known.repo_id)
        if there is not None and not there.is_removed:
            move(repositories, known.repo_id, each.url)
            if source.permissions:
                repositories.add(each.url, groups=_groups(source, repo_id, is_public=each.is_public))
            moved = FoundRepository(repo_id=repo_id, url=each.url, was_there=known.was_there, is_public=each.is_public)
            return moved, False, True
    elif known is not None and source.applied == source.revision and known.is_public == each.is_public:
        return known, False, False
    before = repositories.get(repo_id)
    is_there = before is not None and not before.is_removed
    was_there = known.was_there if known is not None else is_there
    # A repository that was there keeps its groups and refs, which somebody has chosen.
    if not is_there or not was_there:
        groups = _groups(source, repo_id, is_public=each.is_public)
        repositories.add(each.url, refs=source.refs or None, groups=groups)
    now = FoundRepository(repo_id=repo_id, url=each.url, was_there=was_there, is_public=each.is_public)
    return now, not is_there, False


def _groups(source: Source, repo_id: str, *, is_public: bool) -> tuple[str, ...]:
    """Returns the groups of a repository of a source: with permissions, also that of its readers at the host."""
    if not source.permissions:
        return source.groups
    return (*source.groups, group_of_readers(repo_id), *((EVERYONE,) if is_public else ()))


def _is_removed(repositories: Repositories, repo_id: str) -> bool:
    try:
        repositories.remove(repo_id)
    except ProjectNotFound:
        return False
    return True


def _read_members(
    sources: Sources,
    kind: HostKind,
    client: RestClient,
    source: Source,
    listed: Iterable[HostRepository],
    found: Mapping[str, FoundRepository],
) -> None:
    """Writes down who may read each of the repositories that were found."""
    repositories_of: dict[str, set[str]] = defaultdict(set)
    for each in listed:
        known = found.get(each.host_id)
        if known is not None and kind.readers is not None and not each.is_public:
            for login in kind.readers(client, each):
                repositories_of[login.lower()].add(known.repo_id)
                if len(repositories_of) > MAX_MEMBERS:
                    raise ServiceFailed(f"more than {MAX_MEMBERS:,} people may read its repositories")
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


def _listed(kind: HostKind, client: RestClient, source: Source) -> list[HostRepository]:
    listed: list[HostRepository] = []
    for each in kind.list(client, source.owner):
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
