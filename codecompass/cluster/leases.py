"""Who works on a repository: leases in its document, and when one is abandoned.

    claim -> renewed every third of LEASE_SECONDS -> released, or left by a worker that died
    a lease whose counter has stood still for LEASE_SECONDS, by the clock of whoever has watched it so long, may be taken over

A worker that was stopped and goes on after that finds another token in the document. Whatever it has written meanwhile is named
by nothing: it can neither publish nor release.
"""

import secrets
import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.repositories import Change, Head, Lease, Repositories, Repository, Trouble
from codecompass.units import SECONDS

LEASE_SECONDS: Final = 30 * SECONDS
RENEWALS: Final = 3
"""In LEASE_SECONDS: two may be late."""

MAX_RETIRED: Final = 500
"""Generations of one repository that wait for their removal. With a grace of minutes, more than one push a second."""


class LeaseLost(Exception):
    """Another worker has the repository now, or it was removed."""


class Claim:
    """A lease that this worker holds, or held. Threads may share it: renewals and publications do."""

    def __init__(self, repositories: Repositories, repository: Repository, token: str) -> None:
        self._repositories = repositories
        self._token = token
        self._lock = threading.Lock()
        self.repository = repository
        """As it was at the last change through this claim."""

    def renew(self) -> None:
        """Shows the others that this worker lives. Raises LeaseLost, EngineUnavailable."""

        def renewed(old: Repository) -> Repository:
            assert old.lease is not None
            return replace(old, lease=replace(old.lease, renewals=old.lease.renewals + 1))

        self.change(renewed)

    def publish(self, heads: Mapping[str, Head], *, default_ref: str, gone: Collection[str] = ()) -> Repository:
        """Makes `heads` what answers for their refs, and no more what answered for those in `gone`. One step for readers.

        Raises LeaseLost, also where the repository was removed meanwhile; EngineUnavailable.
        """

        def published(old: Repository) -> Repository:
            if old.is_removed:
                raise LeaseLost
            left = {ref: head for ref, head in old.heads.items() if ref not in gone} | dict(heads)
            kept = {head.generation for head in left.values()}
            replaced = (head.generation for head in old.heads.values() if head.generation not in kept)
            return replace(
                old,
                heads=left,
                default_ref=default_ref if default_ref in left else "",
                retired=_with_retired(old.retired, *replaced),
            )

        return self.change(published)

    def release(self, ending: Change = lambda repository: repository) -> Repository:
        """Gives the repository back, with what `ending` makes of it. Raises LeaseLost, EngineUnavailable."""
        return self.change(lambda old: replace(ending(old), lease=None))

    def change(self, change: Change) -> Repository:
        """Changes the document as long as the lease is this one's. Raises LeaseLost, EngineUnavailable."""

        def changed(old: Repository) -> Repository:
            if old.lease is None or old.lease.token != self._token:
                raise LeaseLost
            return change(old)

        with self._lock:
            found = self._repositories.update(self.repository.repo_id, changed)
            if found is None:
                raise LeaseLost
            self.repository = found
        return found


def claim(repositories: Repositories, seen: Repository, owner: str) -> Claim | None:
    """Takes the repository, where it still is as `seen`, whose lease is none or was found abandoned.

    None where it is not: another worker was faster, or what was decided upon is outdated.
    """
    token = secrets.token_hex(8)

    def claimed(old: Repository) -> Repository:
        if old.lease is not None and old.lease.token == token:
            # The answer to our own change was lost.
            return old
        if old != seen:
            raise LeaseLost
        left = () if old.lease is None else (abandoned(old.lease.token),)
        return replace(old, lease=Lease(owner=owner, token=token), retired=_with_retired(old.retired, *left))

    try:
        found = repositories.update(seen.repo_id, claimed)
    except LeaseLost:
        return None
    return None if found is None else Claim(repositories, found, token)


def abandoned(token: str) -> str:
    """Returns the entry in `retired` for what a worker may have left half-written."""
    return f"abandoned {token}"


def with_attempt(repository: Repository, entry: str) -> Repository:
    """Returns the repository with a note that something half-written was left behind."""
    return replace(repository, retired=_with_retired(repository.retired, entry))


def failed(repository: Repository, message: str, now: float) -> Repository:
    """Returns the repository after a turn that failed; it stays pending."""
    before = 0 if repository.trouble is None else repository.trouble.failures
    return replace(repository, trouble=Trouble(message=message, at=now, failures=before + 1))


def _with_retired(retired: tuple[str, ...], *entries: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*retired, *entries)))[-MAX_RETIRED:]


class _Seen(Struct):
    value: Hashable
    since: float
    last: float


class Watch:
    """For how long values have stood still, by this process's own clock, however its time relates to anybody else's.

    A value counts only while it is looked at: after a pause of more than `max_gap` seconds it counts anew, because then it was
    perhaps nobody who could have changed it (the engine was away, this machine slept).
    """

    def __init__(self, clock: Callable[[], float], max_gap: float = float("inf")) -> None:
        self._clock = clock
        self._max_gap = max_gap
        self._seen: dict[Hashable, _Seen] = {}

    def unchanged(self, key: Hashable, value: Hashable) -> float:
        """Looks at a value, and returns the seconds since it was first seen so; 0.0 where it is new."""
        now = self._clock()
        seen = self._seen.get(key)
        if seen is None or seen.value != value or now - seen.last > self._max_gap:
            self._seen[key] = _Seen(value, now, now)
            return 0.0
        seen.last = now
        return now - seen.since

    def forget_all_but(self, keys: Collection[Hashable]) -> None:
        """Forgets what is not among `keys`."""
        for key in self._seen.keys() - set(keys):
            del self._seen[key]
