"""Who may see a repository because they may read it at its code host.

    worker: the host's readers of each repository -> one document for each person and source
    server: a person's documents -> groups of readers -> `access.visible`, like any other groups

A repository of a source with permissions is in the group of its readers at the host, in which nobody can be otherwise. What is
known of a person counts for a bounded time after it was read: if the host or the workers are away for longer, nobody is in these
groups.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import Final

import msgspec
import trio
from msgspec import Struct

from codecompass.cluster.calls import EngineCalls
from codecompass.cluster.engine import Engine
from codecompass.cluster.schema import JsonObject
from codecompass.units import SECONDS

MAX_MEMBERS: Final = 10_000
"""People of one source. More cannot be listed at once, so nobody could say who is gone."""

MAX_SOURCES: Final = 1_000

KNOWN_SECONDS: Final = 30 * SECONDS
"""How long the groups of a person are cached by a server."""

MAX_KNOWN: Final = 10_000

READERS: Final = "host:"
"""How the names of groups of readers begin. No token and no proxy may name such a group."""


class Member(Struct, frozen=True, kw_only=True):
    """What a person may read of one source. `checked_at` is in seconds since 1970."""

    source: str
    login: str
    repositories: tuple[str, ...]
    checked_at: float


def group_of_readers(repo_id: str) -> str:
    """Returns the group of those who may read a repository at its host."""
    return f"{READERS}{repo_id}"


def without_readers(groups: Collection[str]) -> frozenset[str]:
    """Returns groups that somebody has named, without those of readers, which only hosts decide."""
    return frozenset(group for group in groups if not group.startswith(READERS))


class Members:
    """The members of all sources. Thread-safe and blocking; raises EngineUnavailable and EngineRefused."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._index = engine.names.members

    def replace(self, source: str, repositories_of: Mapping[str, Collection[str]]) -> None:
        """Replaces what is known of a source by what each login (in lower case) may read now. Who has gone is removed first."""
        now = time.time()
        self._engine.refresh(self._index)
        query: JsonObject = {"term": {"source": source}}
        wanted = {_key(source, login): login for login in repositories_of}
        there = {each.id: each for each in self._engine.documents(self._index, query, MAX_MEMBERS)}
        for key in there.keys() - wanted.keys():
            self._engine.delete(self._index, key)
        for key, login in wanted.items():
            found = tuple(sorted(repositories_of[login]))
            member = Member(source=source, login=login, repositories=found, checked_at=now)
            self._engine.put(self._index, key, msgspec.json.encode(member), expected=there.get(key))

    def of(self, login: str) -> tuple[Member, ...]:
        """Returns what is known of a person, up to a second old."""
        query: JsonObject = {"term": {"login": login.lower()}}
        found = self._engine.documents(self._index, query, MAX_SOURCES)
        return tuple(msgspec.json.decode(each.source, type=Member) for each in found)


class ReaderGroups:
    """The groups of readers of each person, as a server caches them. For one event loop."""

    def __init__(self, members: Members, calls: EngineCalls, max_age: float) -> None:
        """`max_age` is how long what a worker has read counts, in seconds."""
        self._members = members
        self._calls = calls
        self._max_age = max_age
        self._known: OrderedDict[str, tuple[tuple[Member, ...], float]] = OrderedDict()

    async def of(self, login: str) -> frozenset[str]:
        """Returns the groups of a person by their login at the hosts; none if they are not known there. Raises
        EngineUnavailable."""
        known = self._known.get(login)
        if known is None or trio.current_time() >= known[1]:
            # Cached from the time of the request, because its answer may have taken long.
            until = trio.current_time() + KNOWN_SECONDS
            found = await self._calls.run_shared(f"members {login}", lambda: self._members.of(login))
            known = self._known[login] = (found, until)
        self._known.move_to_end(login)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        # The wall clock: when it was read was written down by another machine.
        oldest = time.time() - self._max_age
        return frozenset(
            group_of_readers(repo_id) for each in known[0] if each.checked_at >= oldest for repo_id in each.repositories
        )


def _key(source: str, login: str) -> str:
    return hashlib.sha256(f"{source}\n{login}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
