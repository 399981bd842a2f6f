"""Access control: which viewer may see which repositories, and the tokens that identify viewers.

    bearer token | headers of a trusted proxy -> Identity -> Viewer -> visible(viewer, repositories)

A viewer may see the repositories that share a group with them. All code is read through `library.py`, which serves one viewer
and calls `visible`. Only the SHA-256 of a token is stored, so somebody who can read the engine cannot use its tokens.
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
"""The group whose repositories every viewer may see, a member of it or not."""

MAX_GROUPS: Final = 256
"""Groups of one viewer; further ones in a proxy's header are ignored."""

MAX_NAME_LENGTH: Final = 200
MAX_DAYS: Final = 3_650
MAX_TOKENS: Final = 10_000
SHOWN_ID_LENGTH: Final = 12
"""Characters of a token's id that are shown to identify it; the id is no secret."""

_PREFIX: Final = "cct_"
"""Lets scanners for leaked secrets recognise our tokens."""

_TOKEN_BYTES: Final = 32
_DAY_SECONDS: Final = 86_400


class Unauthorized(CodeCompassError):
    """The caller is not identified: the token is missing, unknown, revoked or expired."""

    code = "unauthorized"


class Viewer(Struct, frozen=True):
    """An identified caller and the groups they belong to. An administrator may see everything."""

    name: str
    groups: frozenset[str]
    is_admin: bool = False


class Grouped(Protocol):
    """The part of a repository that `visible` needs."""

    @property
    def groups(self) -> Collection[str]:
        """The groups that may see it. Without any, only administrators may."""


GroupedT = TypeVar("GroupedT", bound=Grouped)


def visible(viewer: Viewer, repositories: Iterable[GroupedT]) -> tuple[GroupedT, ...]:
    """Returns the repositories that `viewer` may see, in their order. The only place that decides this."""
    return tuple(
        each
        for each in repositories
        if viewer.is_admin or EVERYONE in each.groups or any(group in viewer.groups for group in each.groups)
    )


class AccessToken(Struct, frozen=True, kw_only=True):
    """A token as it is stored. Times are seconds since 1970; `expires_at` is 0 if it does not expire."""

    name: str
    groups: tuple[str, ...] = ()
    created_at: float = 0.0
    expires_at: float = 0.0
    is_admin: bool = False

    def viewer(self, now: float) -> Viewer | None:
        """Returns the viewer that this token identifies, or None if it has expired."""
        if self.expires_at and now >= self.expires_at:
            return None
        return Viewer(self.name, frozenset(self.groups), self.is_admin)


class KnownToken(Struct, frozen=True):
    """A token as it is listed: its id, which is the SHA-256 of its text, and the stored token."""

    id: str
    token: AccessToken


def token_id(text: str) -> str:
    """Returns the id under which a token is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Tokens:
    """The tokens of an organisation. Blocking; raises EngineUnavailable and EngineRefused."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._index = engine.names.access

    def add(self, name: str, groups: Sequence[str], *, days: int | None = None, is_admin: bool = False) -> str:
        """Returns the text of a new token, which is not stored and cannot be shown again. Valid for `days`, or until revoked.

        Raises InvalidInput for an invalid name, group or number of days, and for a token that could see nothing.
        """
        name = name.strip()
        if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise InvalidInput(f"give a name for the token's user, of at most {MAX_NAME_LENGTH} characters.", field="name")
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
        token = AccessToken(
            name=name,
            groups=checked_groups(groups) or (),
            created_at=now,
            expires_at=0.0 if days is None else now + days * _DAY_SECONDS,
            is_admin=is_admin,
        )
        self._engine.put(self._index, token_id(text), msgspec.json.encode(token), expected=None)
        return text

    def find(self, id_: str) -> AccessToken | None:
        """Returns the current state of the token with this id, expired or not, or None if there is none."""
        found = self._engine.get(self._index, id_)
        return None if found is None else msgspec.json.decode(found.source, type=AccessToken)

    def listed(self) -> tuple[KnownToken, ...]:
        """Returns all tokens, sorted by name and then by age, the oldest first."""
        self._engine.refresh(self._index)
        found = self._engine.documents(self._index, {"match_all": {}}, MAX_TOKENS)
        known = (KnownToken(each.id, msgspec.json.decode(each.source, type=AccessToken)) for each in found)
        return tuple(sorted(known, key=lambda each: (each.token.name, each.token.created_at, each.id)))

    def revoke(self, which: str) -> tuple[KnownToken, ...]:
        """Deletes all tokens with this name, or the one whose id starts with it (8 characters or more), and returns them.

        Servers may still accept them for `authentication.KNOWN_SECONDS`. Raises InvalidInput if no single token is meant.
        """
        known = self.listed()
        named = tuple(each for each in known if each.token.name == which)
        found = named or tuple(each for each in known if len(which) >= 8 and each.id.startswith(which.lower()))
        if not found or (not named and len(found) > 1):
            raise InvalidInput(
                f"no token is called {which[:80]!r}, and no single id begins with it. codecompass cluster token list shows "
                "names and ids.",
                field="token",
            )
        for each in found:
            self._engine.delete(self._index, each.id)
        return found
