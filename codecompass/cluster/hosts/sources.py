"""What to discover: one document for each owner at a code host, which also says what was found there last.

    add -> asked != done -> a worker claims it, lists the repositories -> done, or the problem and a pause

Every change is one compare-and-set. Clocks of different machines are never compared: `begun` and `polls` count, and each worker
measures by its own clock how long they have not changed.
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.documents import Documents
from codecompass.cluster.hosts.interface import HostKind, HostRepository
from codecompass.cluster.hosts.kinds import KINDS, kind_of
from codecompass.cluster.hosts.members import Members
from codecompass.cluster.repositories.repository import checked_groups, checked_refs
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.remote.address import Address, parse_address, without_user
from codecompass.remote.rest import is_safe

MAX_SOURCES: Final = 1_000
MAX_PATTERNS: Final = 200
MAX_PATTERN_LENGTH: Final = 300


class FoundRepository(Struct, frozen=True, kw_only=True):
    """A repository that was added because it was found."""

    repo_id: str
    url: str
    was_there: bool = False
    """Whether somebody had added it before: then it is not removed when it is no longer found."""
    is_planned: bool = False
    """Whether it is written down before it is added, so that it is no `was_there` if the worker ends in between."""


class Source(Struct, frozen=True, kw_only=True):
    """One owner at a code host."""

    id: str
    kind: str
    url: str
    """`https://host/owner`, for people and to tell which webhooks concern it."""
    api: str
    owner: str
    include: tuple[str, ...] = ()
    """Patterns of names (`shop/*`); empty for all."""
    exclude: tuple[str, ...] = ()
    archived: bool = False
    forks: bool = False
    groups: tuple[str, ...] = ()
    """Groups that its repositories get when they are added, and whenever they are changed here."""
    refs: tuple[str, ...] = ()
    permissions: bool = False
    """Whether those who may read a repository at the host may see it here (`members.py`)."""
    revision: int = 1
    """Counts changes of the fields above."""
    applied: int = 0
    """The revision that its repositories have."""
    asked: int = 1
    """Counts reasons to look: it was added or changed, or a webhook or a person says that something has changed."""
    begun: int = 0
    """The value of `asked` when a worker last claimed it."""
    done: int = 0
    """The value of `asked` at the start of the last complete look."""
    polls: int = 0
    """Counts claims, and notes of a worker that its look goes on."""
    pause_seconds: float = 0.0
    """How long to wait after the last look, because it failed or the host's rate limit says so."""
    failures: int = 0
    trouble: str = ""
    checked_at: float = 0.0
    """When the last complete look ended, in seconds since 1970; for people."""
    found: dict[str, FoundRepository] = {}
    """By the ids of the host."""

    def wants(self, repository: HostRepository) -> bool:
        """Returns whether a repository that the host lists is to be indexed."""
        if (repository.is_archived and not self.archived) or (repository.is_fork and not self.forks):
            return False
        is_included = not self.include or any(fnmatchcase(repository.name, pattern) for pattern in self.include)
        return is_included and not any(fnmatchcase(repository.name, pattern) for pattern in self.exclude)


class Sources:
    """The sources of an organisation. Thread-safe and blocking; raises EngineUnavailable and EngineRefused."""

    def __init__(self, engine: Engine) -> None:
        self.engine: Final = engine
        self._index = engine.names.sources
        self._sources = Documents(engine, self._index, Source, "source")
        self.members: Final = Members(engine)

    def listed(self, *, is_current: bool = False) -> tuple[Source, ...]:
        """Returns all sources, sorted by address, up to a second old or, with `is_current`, current."""
        if is_current:
            self.engine.refresh(self._index, is_patient=False)
        found = (source for _, source in self._sources.found({"match_all": {}}, MAX_SOURCES))
        return tuple(sorted(found, key=lambda each: each.url))

    def get(self, source_id: str) -> Source | None:
        """Returns the current state of a source, or None."""
        return self._sources.get(source_id)

    def find(self, url: str) -> Source:
        """Returns the source with this address or id. Raises ProjectNotFound."""
        for source_id in (url, source_id_of(url)):
            found = self.get(source_id)
            if found is not None:
                return found
        raise ProjectNotFound(
            f"no source is called {url[:200]!r}. List them with: codecompass cluster source list", source=url[:200]
        )

    def add(self, fresh: Source) -> tuple[Source, bool]:
        """Adds a source, or changes what is asked of the one with its address; returns it and whether it is new."""

        def asked(old: Source | None) -> Source:
            if old is None:
                return fresh
            kept = {name: getattr(old, name) for name in _STATE}
            return replace(fresh, **kept, revision=old.revision + 1, asked=old.asked + 1)

        added = self._sources.put(fresh.id, asked)
        return added, added is fresh

    def remove(self, url: str) -> Source:
        """Deletes a source and returns it; its repositories stay. Raises ProjectNotFound."""
        found = self.find(url)
        self.engine.delete(self._index, found.id)
        # Nobody reads any more who may see them.
        self.members.replace(found.id, {})
        return found

    def ask(self, source_id: str) -> Source | None:
        """Requests a look at a source, and returns it. Writes nothing if one is requested that no worker has begun."""
        return self.update(source_id, lambda old: old if old.asked > old.begun else replace(old, asked=old.asked + 1))

    def claim(self, seen: Source) -> Source | None:
        """Returns the claimed source if nobody has claimed or changed it since `seen` was read."""

        is_mine = False

        def claimed(old: Source) -> Source:
            nonlocal is_mine
            is_mine = (old.polls, old.asked) == (seen.polls, seen.asked)
            return replace(old, polls=old.polls + 1, begun=old.asked) if is_mine else old

        now = self.update(seen.id, claimed)
        return now if is_mine else None

    def update(self, source_id: str, change: Callable[[Source], Source]) -> Source | None:
        """Changes a source by compare-and-set and returns it, or None if there is none."""
        return self._sources.update(source_id, change)


def ended(old: Source, claimed: Source, found: dict[str, FoundRepository]) -> Source:
    """Returns a source after a complete look that began with `claimed`."""
    return replace(
        old,
        done=max(old.done, claimed.begun),
        applied=claimed.revision,
        found=found,
        pause_seconds=0.0,
        failures=0,
        trouble="",
        checked_at=time.time(),
    )


def new_source(
    url: str,
    *,
    kind: str = "",
    api: str = "",
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    archived: bool = False,
    forks: bool = False,
    groups: Sequence[str] = (),
    refs: Sequence[str] = (),
    permissions: bool = False,
) -> Source:
    """Returns a source. `api` is for hosts whose interface is not where those of their kind usually have it.

    Raises InvalidInput for an address that is none, an unknown kind, or invalid patterns, groups or refs.
    """
    address = _address(url)
    owner = address.path.strip("/")
    chosen = _kind(kind, address)
    if not owner and chosen.name != "gerrit":
        raise InvalidInput(
            f"{without_user(url)[:200]}: name an organisation, group or user: https://{address.authority}/OWNER", field="url"
        )
    for pattern in (*include, *exclude):
        if not pattern or len(pattern) > MAX_PATTERN_LENGTH:
            raise InvalidInput(f"a pattern has 1 to {MAX_PATTERN_LENGTH} characters, such as 'shop/*'.", field="include")
    if len(include) + len(exclude) > MAX_PATTERNS:
        raise InvalidInput(f"{len(include) + len(exclude)} patterns, at most {MAX_PATTERNS}.", field="include")
    if api:
        _address(api)
    return Source(
        id=source_id_of(url),
        kind=chosen.name,
        url=address.with_path(address.path),
        api=api.rstrip("/"),
        owner=owner,
        include=tuple(dict.fromkeys(include)),
        exclude=tuple(dict.fromkeys(exclude)),
        archived=archived,
        forks=forks,
        groups=checked_groups(groups) or (),
        refs=checked_refs(refs) or (),
        permissions=permissions,
    )


def source_id_of(url: str) -> str:
    """Returns the id of the source with this address."""
    return hashlib.sha256(url.strip().rstrip("/").lower().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _address(url: str) -> Address:
    address = parse_address(url.strip())
    if address is None or not is_safe(address):
        raise InvalidInput(
            f"{without_user(url)[:200]!r} must be https://HOST/OWNER, without a user, a query or a fragment. Tokens belong in a "
            "file (cluster.host_tokens).",
            field="url",
        )
    return address


def _kind(name: str, address: Address) -> HostKind:
    found = KINDS.get(name) if name else kind_of(address.host)
    if found is None:
        raise InvalidInput(
            f"{address.host}: say which kind of host it is (--kind): {', '.join(KINDS)}.", field="kind", allowed=list(KINDS)
        )
    return found


_STATE: Final = ("applied", "begun", "done", "polls", "found", "checked_at")
"""Fields that a change of what is asked keeps."""
