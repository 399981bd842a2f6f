"""Who may see which repositories: the one decision, and the tokens that name viewers.

    bearer token | headers of a trusted proxy -> Identity -> Viewer -> visible(viewer, repositories)

A repository is in groups, and so is a viewer; who shares one with it may see it. Everything that reads code goes through
`library.py`, which is made for one viewer and asks `visible`. A token is kept as its SHA-256 alone: whoever reads the engine
cannot use it.
"""

import hashlib
import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from codecompass.cluster.engine import Engine
from codecompass.cluster.repositories import checked_groups
from codecompass.errors import CodeCompassError, InvalidInput

EVERYONE: Final = "everyone"
"""The group whose repositories every viewer may see. Nobody need be in it."""

MAX_GROUPS: Final = 256
"""Of one viewer: as many as are taken from a proxy's header."""

MAX_NAME_LENGTH: Final = 200
MAX_DAYS: Final = 3_650
MAX_TOKENS: Final = 10_000
SHOWN_ID_LENGTH: Final = 12
"""Characters of a token's id that tell it from others; the id is no secret."""

_PREFIX: Final = "cct_"
"""So that scanners for leaked secrets know what they have found."""

_TOKEN_BYTES: Final = 32
_DAY_SECONDS: Final = 86_400


class Unauthorized(CodeCompassError):
    """Nobody knows who asks: no token, one that is unknown, revoked or expired."""

    code = "unauthorized"


class Viewer(Struct, frozen=True):
    """Who asks, and for which groups. An administrator may see everything."""

    name: str
    groups: frozenset[str]
    is_admin: bool = False


class Grouped(Protocol):
    """What the decision needs of a repository."""

    @property
    def groups(self) -> Collection[str]:
        """The groups that may see it. In none, only administrators may."""


GroupedT = TypeVar("GroupedT", bound=Grouped)


def visible(viewer: Viewer, repositories: Iterable[GroupedT]) -> tuple[GroupedT, ...]:
    """Returns the repositories that `viewer` may see, in their order. The only place that decides this."""
    return tuple(
        each
        for each in repositories
        if viewer.is_admin or EVERYONE in each.groups or any(group in viewer.groups for group in each.groups)
    )


class Token(Struct, frozen=True, kw_only=True):
    """What is kept of a token. Times are seconds since 1970; `expires_at` is 0 for one that does not expire."""

    name: str
    groups: tuple[str, ...] = ()
    created_at: float = 0.0
    expires_at: float = 0.0
    is_admin: bool = False

    def viewer(self, now: float) -> Viewer | None:
        """Returns who asks with this token; None once it has expired."""
        if self.expires_at and now >= self.expires_at:
            return None
        return Viewer(self.name, frozenset(self.groups), self.is_admin)


class KnownToken(Struct, frozen=True):
    """A token as it is listed: its id, which is the SHA-256 of its text, and what is kept of it."""

    id: str
    token: Token


def token_id(text: str) -> str:
    """Returns the id under which a token is kept."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Tokens:
    """The tokens of an organisation. Blocking; raises EngineUnavailable and EngineRefused."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._index = engine.names.access

    def add(self, name: str, groups: Sequence[str], *, days: int | None = None, is_admin: bool = False) -> str:
        """Returns a new token, which is not kept and cannot be shown again; valid for `days`, or until it is revoked.

        Raises InvalidInput for a name or a group that is none, and for a token that could see nothing.
        """
        name = name.strip()
        if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise InvalidInput(f"name whom the token is for, in at most {MAX_NAME_LENGTH} characters.", field="name")
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise InvalidInput(f"--days: from 1 to {MAX_DAYS:,}, or leave it out for a token that does not expire.", field="days")
        if not groups and not is_admin:
            raise InvalidInput(
                f"name a group whose repositories the token may see (--group; {EVERYONE} for those that all may see), or pass "
                "--admin for all of them.",
                field="group",
            )
        text = _PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
        now = time.time()
        token = Token(
            name=name,
            groups=checked_groups(groups) or (),
            created_at=now,
            expires_at=0.0 if days is None else now + days * _DAY_SECONDS,
            is_admin=is_admin,
        )
        self._engine.put(self._index, token_id(text), msgspec.json.encode(token), expected=None)
        return text

    def find(self, id_: str) -> Token | None:
        """Returns the token with this id as it is now, expired or not; None where there is none."""
        found = self._engine.get(self._index, id_)
        return None if found is None else msgspec.json.decode(found.source, type=Token)

    def listed(self) -> tuple[KnownToken, ...]:
        """Returns all tokens by name, the oldest of a name first."""
        self._engine.refresh(self._index)
        found = self._engine.documents(self._index, {"match_all": {}}, MAX_TOKENS)
        known = (KnownToken(each.id, msgspec.json.decode(each.source, type=Token)) for each in found)
        return tuple(sorted(known, key=lambda each: (each.token.name, each.token.created_at, each.id)))

    def revoke(self, which: str) -> tuple[KnownToken, ...]:
        """Removes the tokens of this name, or the one whose id begins so (8 characters or more), and returns them.

        Servers may take them for as long as `doorkeeper.KNOWN_SECONDS`. Raises InvalidInput where there are none.
        """
        known = self.listed()
        named = tuple(each for each in known if each.token.name == which)
        found = named or tuple(each for each in known if len(which) >= 8 and each.id.startswith(which.lower()))
        if not found or (not named and len(found) > 1):
            raise InvalidInput(
                f"no token is called {which[:80]!r}, and no single id begins so. codecompass cluster token list shows names and "
                "ids.",
                field="token",
            )
        for each in found:
            self._engine.delete(self._index, each.id)
        return found
