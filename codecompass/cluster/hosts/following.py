"""Makes the repositories of an organisation agree with what a code host lists of an owner.

    new: added | known id at another address: moved | an address with another id than before: emptied, and indexed anew
    no longer listed or wanted: removed

Nothing is removed if most of what was known is missing: a token that lost its rights makes hosts answer with short lists. What
somebody had added before it was found is never removed.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.hosts.interface import HostRepository
from codecompass.cluster.hosts.members import group_of_readers, without_readers
from codecompass.cluster.hosts.sources import FoundRepository, Source, Sources
from codecompass.cluster.repositories.bulk_adding import WantedRepository, add_several
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.moves import move
from codecompass.cluster.repositories.repository import Repository, checked_groups
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.log import get_logger
from codecompass.scan.git_remotes import RepositoryUrl, parse_url

FEW: Final = 10
"""So many repositories may go at once whatever part of them they are."""

MOST: Final = 0.5
"""The part of the known repositories that may go at once otherwise."""


class Changes(Struct, frozen=True, kw_only=True):
    """What one look has changed."""

    added: int = 0
    moved: int = 0
    removed: int = 0
    refused: int = 0
    """Repositories that could not be added, for example because their address is not allowed."""


def follow(
    sources: Sources, repositories: Repositories, source: Source, listed: Iterable[HostRepository]
) -> tuple[Changes, dict[str, FoundRepository]]:
    """Makes the repositories agree with a complete list, and returns what has changed and what is known of the source now.

    Safe to repeat: what was done before a failure is found as done. Raises InvalidInput if too many would be removed or added.
    """
    wanted = {each.host_id: each for each in listed if source.wants(each)}
    gone = [each for host_id, each in source.found.items() if host_id not in wanted]
    if len(gone) > max(FEW, MOST * len(source.found)) and source.applied == source.revision:
        raise InvalidInput(
            f"{len(gone):,} of {len(source.found):,} repositories are not listed any more, so nothing was removed. If that is "
            f"right, add it again to confirm it (codecompass cluster source add {source.url} ...); if not, check its token."
        )
    addresses, refused = _addresses(repositories, source, wanted)
    taken = _taken(source, addresses)
    found: dict[str, FoundRepository] = {host_id: source.found[host_id] for host_id in refused if host_id in source.found}
    fresh: dict[str, _Fresh] = {}
    moved: set[str] = set()
    for host_id, parsed in addresses.items():
        known = source.found.get(host_id)
        former = _before_move(repositories, known, parsed)
        if known is None or former is None or {known.repo_id, parsed.repo_id} & taken:
            if (
                known is not None
                and known.repo_id == parsed.repo_id
                and not known.is_planned
                and source.applied == source.revision
            ):
                found[host_id] = known
            else:
                fresh[host_id] = _Fresh(wanted[host_id], parsed, former, is_other=parsed.repo_id in taken)
            continue
        try:
            found[host_id] = _moved(repositories, source, known, parsed)
            moved.add(known.repo_id)
        except InvalidInput as error:
            _note_refused(source, wanted[host_id], error.message)
            refused.add(host_id)
            found[host_id] = known
    added = _add(sources, repositories, source, fresh, found)
    refused |= fresh.keys() - found.keys()
    kept = moved.union(each.repo_id for each in found.values())
    removed = 0
    for known in source.found.values():
        if not known.was_there and known.repo_id not in kept:
            removed += _is_removed(repositories, known.repo_id)
    return Changes(added=added, moved=len(moved), removed=removed, refused=len(refused)), found


class _Fresh(Struct, frozen=True):
    """A repository that is added, or asked for otherwise than before."""

    listed: HostRepository
    parsed: RepositoryUrl
    former: Repository | None
    """What it was at another address, which belongs to another one now."""
    is_other: bool
    """Whether another one was at its address before."""


def _addresses(
    repositories: Repositories, source: Source, wanted: Mapping[str, HostRepository]
) -> tuple[dict[str, RepositoryUrl], set[str]]:
    """Returns the addresses by the host's ids, and the ids of those that are not accepted."""
    addresses: dict[str, RepositoryUrl] = {}
    refused: set[str] = set()
    for host_id, each in wanted.items():
        try:
            addresses[host_id] = parse_url(each.url, repositories.protocols)
        except InvalidInput as error:
            _note_refused(source, each, error.message)
            refused.add(host_id)
    return addresses, refused


def _taken(source: Source, addresses: Mapping[str, RepositoryUrl]) -> set[str]:
    """Returns the repositories at whose address the host has another one than before: what is indexed there is not theirs."""
    before: dict[str, set[str]] = defaultdict(set)
    now: dict[str, set[str]] = defaultdict(set)
    for host_id, known in source.found.items():
        if not known.is_planned:
            before[known.repo_id].add(host_id)
    for host_id, parsed in addresses.items():
        now[parsed.repo_id].add(host_id)
    return {repo_id for repo_id, ids in now.items() if repo_id in before and before[repo_id].isdisjoint(ids)}


def _before_move(repositories: Repositories, known: FoundRepository | None, now: RepositoryUrl) -> Repository | None:
    """Returns the repository that has another address now; None if there is none to be moved."""
    if known is None or known.repo_id == now.repo_id:
        return None
    there = repositories.get(known.repo_id)
    return None if there is None or there.is_removed else there


def _moved(repositories: Repositories, source: Source, known: FoundRepository, now: RepositoryUrl) -> FoundRepository:
    moved = move(repositories, known.repo_id, now.url)
    if source.permissions:
        repositories.add(now.url, groups=_of_former(source, now.repo_id, moved.groups))
    return FoundRepository(repo_id=now.repo_id, url=now.url, was_there=known.was_there)


def _add(
    sources: Sources,
    repositories: Repositories,
    source: Source,
    fresh: Mapping[str, _Fresh],
    found: dict[str, FoundRepository],
) -> int:
    """Adds repositories, or changes those that are asked for otherwise, in few requests, and enters those that are not refused in
    `found`. Returns how many were added."""
    if not fresh:
        return 0
    before = repositories.states([each.parsed.repo_id for each in fresh.values()])
    own = {known.repo_id: known.was_there for known in source.found.values()}
    planned: dict[str, FoundRepository] = {}
    lines: dict[str, WantedRepository] = {}
    new: set[str] = set()
    others: set[str] = set()
    for host_id, each in fresh.items():
        repo_id = each.parsed.repo_id
        there = before.get(repo_id)
        is_there = there is not None and not there.is_removed
        known = source.found.get(host_id)
        was_there = own.get(repo_id, is_there if known is None else known.was_there)
        planned[host_id] = FoundRepository(repo_id=repo_id, url=each.listed.url, was_there=was_there, is_planned=True)
        if not is_there:
            new.add(repo_id)
        # What was there keeps its groups and refs, which somebody has chosen. The host may have two ids for one address.
        if (is_there and was_there) or repo_id in lines:
            continue
        if is_there and each.is_other:
            others.add(repo_id)
        former = each.former
        lines[repo_id] = WantedRepository(
            line=len(lines) + 1,
            repo_id=repo_id,
            url=each.parsed.url,
            usual_name=each.parsed.name,
            refs=source.refs or None if former is None else former.wanted_refs,
            groups=checked_groups(_groups(source, repo_id) if former is None else _of_former(source, repo_id, former.groups)),
        )
    # Written down first: if the worker ends now, they would otherwise look as if somebody had added them by hand.
    sources.update(source.id, lambda old: replace(old, found={**old.found, **planned}))
    for repo_id in others:
        # Its readers are others: they must not see what was indexed there.
        _is_removed(repositories, repo_id)
    outcome = add_several(sources.engine, repositories, list(lines.values()))
    ids = {each.line: each.repo_id for each in lines.values()}
    refused = {ids[error.line]: error.message for error in outcome.errors}
    for host_id, plan in planned.items():
        if plan.repo_id not in refused:
            found[host_id] = replace(plan, is_planned=False)
            if (former := fresh[host_id].former) is not None:
                repositories.note_former(plan.repo_id, former)
            continue
        _note_refused(source, fresh[host_id].listed, refused[plan.repo_id])
        if host_id in source.found:
            found[host_id] = source.found[host_id]
    return len(new - refused.keys())


def _note_refused(source: Source, each: HostRepository, cause: str) -> None:
    get_logger(__name__).warning("repository_refused", source=source.url, repository=each.name, cause=cause)


def _groups(source: Source, repo_id: str) -> tuple[str, ...]:
    """Returns the groups of a repository of a source: with permissions, also that of its readers at the host."""
    return (*source.groups, group_of_readers(repo_id)) if source.permissions else source.groups


def _of_former(source: Source, repo_id: str, groups: Iterable[str]) -> tuple[str, ...]:
    """Returns the groups of a repository that was at another address: its own, but the readers of the new address."""
    if not source.permissions:
        return tuple(groups)
    return (*without_readers(tuple(groups)), group_of_readers(repo_id))


def _is_removed(repositories: Repositories, repo_id: str) -> bool:
    try:
        repositories.remove(repo_id)
    except ProjectNotFound:
        return False
    return True
