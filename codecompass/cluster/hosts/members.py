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

from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.client import Document, Engine
from codecompass.cluster.engine.schema import JsonObject
from codecompass.units import SECONDS

MAX_MEMBERS: Final = 10_000
"""People of one source. More cannot be listed at once, so nobody could say who is gone."""

IN_BULK: Final = 500
"""Documents of one request."""

MAX_SOURCES: Final = 1_000

KNOWN_SECONDS: Final = 30 * SECONDS
"""How long the groups of a person are cached by a server."""

MAX_KNOWN: Final = 10_000

ANYBODY: Final = "*"
"""In place of a login: what every viewer may see, because it is public at the host."""

READERS: Final = "host:"
"""How the names of groups of readers begin. No token and no proxy may name such a group."""


class Member(Struct, frozen=True, kw_only=True):
    """What a person may read of one source. `checked_at` is in seconds since 1970."""

    source: str
    login: str
    """In lower case, or ANYBODY."""
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
        actions = [_action("delete", key) for key in there.keys() - wanted.keys()]
        for key, login in wanted.items():
            found = tuple(sorted(repositories_of[login]))
            member = msgspec.json.encode(Member(source=source, login=login, repositories=found, checked_at=now))
            # If another worker has written this person meanwhile, that stays.
            known = there.get(key)
            action = _action("create", key) if known is None else _action("index", key, known)
            actions.append(action + member + b"\n")
        for at in range(0, len(actions), IN_BULK):
            self._engine.write(self._index, actions[at : at + IN_BULK])

    def of(self, login: str) -> tuple[Member, ...]:
        """Returns what is known of a person, and of what anybody may read, up to a second old."""
        query: JsonObject = {"terms": {"login": [login.lower(), ANYBODY]}}
        found = self._engine.documents(self._index, query, 2 * MAX_SOURCES)
        return tuple(msgspec.json.decode(each.source, type=Member) for each in found)


class _Known(Struct, frozen=True):
    """The groups of a person by when they were read at the host, and until when this is cached."""

    groups: tuple[tuple[float, frozenset[str]], ...]
    until: float


class ReaderGroups:
    """The groups of readers of each person, as a server caches them. For one event loop."""

    def __init__(self, members: Members, calls: EngineCalls, max_age: float) -> None:
        """`max_age` is how long what a worker has read counts, in seconds."""
        self._members = members
        self._calls = calls
        self._max_age = max_age
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def of(self, login: str) -> frozenset[str]:
        """Returns the groups of a person by their login at the hosts; those of what is public if they are not known there, or
        for an empty login. Raises EngineUnavailable."""
        known = self._known.get(login)
        if known is None or trio.current_time() >= known.until:
            # Cached from the time of the request, because its answer may have taken long.
            until = trio.current_time() + KNOWN_SECONDS
            found = await self._calls.run_shared(f"members {login}", lambda: self._members.of(login))
            groups = tuple((each.checked_at, frozenset(map(group_of_readers, each.repositories))) for each in found)
            known = self._known[login] = _Known(groups, until)
        self._known.move_to_end(login)
        if len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        # The wall clock: when it was read was written down by another machine.
        oldest = time.time() - self._max_age
        return frozenset[str]().union(*(groups for checked_at, groups in known.groups if checked_at >= oldest))


def _action(name: str, key: str, expected: Document | None = None) -> bytes:
    version = {} if expected is None else {"if_seq_no": expected.seq_no, "if_primary_term": expected.primary_term}
    return msgspec.json.encode({name: {"_id": key, **version}}) + b"\n"


def _key(source: str, login: str) -> str:
    return hashlib.sha256(f"{source}\n{login}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
