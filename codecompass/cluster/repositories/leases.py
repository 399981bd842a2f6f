"""Leases: which worker may change a repository, and when its lease counts as abandoned.

    claim -> renewed every third of LEASE_SECONDS -> released, or abandoned by a worker that died
    a lease may be taken over if its counter has not changed for LEASE_SECONDS, by the clock of the worker that watches it

A worker that was paused and resumes after that finds another token in the document: it can neither publish nor release, so
nothing that it has written becomes visible.
"""

import secrets
import threading
from collections.abc import Collection, Mapping
from typing import Final

from msgspec.structs import replace

from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.repository import Change, Lease, RefHead, Repository, RepositoryFailure
from codecompass.units import SECONDS

LEASE_SECONDS: Final = 30 * SECONDS

RENEWALS: Final = 3
"""Renewals in LEASE_SECONDS, so that two may fail."""

MAX_RETIRED: Final = 500
"""Generations of one repository that await removal. With a grace of minutes, that is more than one push a second."""


class LeaseLost(Exception):
    """Another worker holds the lease now, or the repository was removed."""


class Claim:
    """A lease that this worker holds, or has lost. Thread-safe, because renewals and publications run in different threads."""

    def __init__(self, repositories: Repositories, repository: Repository, token: str) -> None:
        self._repositories = repositories
        self._token = token
        self._lock = threading.Lock()
        self.repository = repository
        """The repository after the last change through this claim."""

    def renew(self) -> None:
        """Counts the lease's `renewals` up: other workers see that this one is alive. Raises LeaseLost, EngineUnavailable."""

        def renewed(old: Repository) -> Repository:
            assert old.lease is not None
            return replace(old, lease=replace(old.lease, renewals=old.lease.renewals + 1))

        self.change(renewed)

    def publish(self, heads: Mapping[str, RefHead], *, default_ref: str, gone: Collection[str] = ()) -> Repository:
        """Sets the heads of refs, removes those of the refs in `gone`, and returns the repository. Readers see all or nothing.

        Raises LeaseLost, also if the repository was removed meanwhile; EngineUnavailable.
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
        """Applies `ending`, releases the lease and returns the repository. Raises LeaseLost, EngineUnavailable."""
        return self.change(lambda old: replace(ending(old), lease=None))

    def change(self, change: Change) -> Repository:
        """Changes the document if this lease still holds, and returns the repository. Raises LeaseLost, EngineUnavailable."""

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
    """Takes the lease of a repository whose document is still `seen`, which has no lease or an abandoned one.

    Returns None if the document has changed: another worker was faster, or the decision to claim it is outdated.
    """
    token = secrets.token_hex(8)

    def claimed(old: Repository) -> Repository:
        if old.lease is not None and old.lease.token == token:
            # Our own change succeeded, and only its answer was lost.
            return old
        if old != seen:
            raise LeaseLost
        left = () if old.lease is None else (_abandoned(old.lease.token),)
        return replace(old, lease=Lease(owner=owner, token=token), retired=_with_retired(old.retired, *left))

    try:
        found = repositories.update(seen.repo_id, claimed)
    except LeaseLost:
        return None
    return None if found is None else Claim(repositories, found, token)


def with_attempt(repository: Repository, generation: str) -> Repository:
    """Returns the repository with a generation that was not published noted in `retired`."""
    return replace(repository, retired=_with_retired(repository.retired, _abandoned(generation)))


def failed(repository: Repository, message: str, now: float) -> Repository:
    """Returns the repository with a failed turn recorded; it stays pending."""
    before = 0 if repository.trouble is None else repository.trouble.failures
    return replace(repository, trouble=RepositoryFailure(message=message, at=now, failures=before + 1))


def _abandoned(attempt: str) -> str:
    """Returns the entry of `retired` for documents that an interrupted worker may have written."""
    return f"abandoned {attempt}"


def _with_retired(retired: tuple[str, ...], *entries: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*retired, *entries)))[-MAX_RETIRED:]
