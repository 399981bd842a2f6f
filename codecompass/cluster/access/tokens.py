"""The tokens that identify viewers, and the sessions of the page, which are tokens too.

Only the SHA-256 of a token is stored, so somebody who can read the engine cannot use its tokens.
"""

import hashlib
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.access.visibility import EVERYONE, Viewer
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.documents import Documents
from codecompass.cluster.hosts.members import without_readers
from codecompass.cluster.repositories.repository import checked_groups
from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.units import DAYS, HOURS

MAX_GROUPS: Final = 256
"""Groups of one viewer; further ones in a proxy's header are ignored."""

MAX_NAME_LENGTH: Final = 200
MAX_DAYS: Final = 3_650
DEFAULT_DAYS: Final = 90
"""How long a token is valid unless somebody decides otherwise: one that nobody remembers ends by itself."""

GRACE_HOURS: Final = 24
MAX_GRACE_HOURS: Final = 24 * 30
"""How long the predecessor of a rotated token stays valid, so that clients can be given the new one without a gap."""

MAX_TOKENS: Final = 10_000
SHOWN_ID_LENGTH: Final = 12
"""Characters of a token's id that are shown to identify it; the id is no secret."""

_PREFIX: Final = "cct_"
"""Lets scanners for leaked secrets recognise our tokens."""

_SESSION_PREFIX: Final = "ccs_"

_TOKEN_BYTES: Final = 32
USED_SECONDS: Final = 1 * HOURS
"""The last use of a token is written down at most this often, as each is a write to the engine."""

Scope = Literal["questions", "metrics"]
"""What a token is for: questions of all kinds, or `GET /metrics`."""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)

Use = Scope | Literal["page"]
"""What is checked against a token's scope. Sessions of the page have `page` alone: neither is taken for the other."""

SESSION_SCOPE: Final[tuple[Use, ...]] = ("page",)
MAX_SESSIONS: Final = 20
"""Sessions of the page of one name at a time, on as many browsers; the oldest ends when another one begins."""


class Unauthorized(CodeCompassError):
    """The caller is not identified: the token is missing, unknown, revoked or expired."""

    code = "unauthorized"


class OutOfScope(CodeCompassError):
    """The token is valid, but not for this."""

    code = "out_of_scope"


class AccessToken(Struct, frozen=True, kw_only=True):
    """A token as it is stored. Times are seconds since 1970; `expires_at` is 0 if it does not expire."""

    name: str
    groups: tuple[str, ...] = ()
    created_at: float = 0.0
    expires_at: float = 0.0
    is_admin: bool = False
    scope: tuple[str, ...] = SCOPES
    """What it may be used for. Not a closed list: a newer program may know more."""
    login: str = ""
    """Who has signed in for it at the identity provider, which is also their login at the code hosts; empty if nobody has."""
    used_at: float = 0.0
    """Its last use, up to USED_SECONDS late; 0 if it was never used, or only with programs that do not write that down."""
    session_of: str = ""
    """Id of the token with which somebody has begun this session of the page: its groups count, and the session ends with it."""

    @property
    def is_session(self) -> bool:
        """Whether it is a session of the page."""
        return self.scope == SESSION_SCOPE

    def viewer(self, now: float) -> Viewer | None:
        """Returns the viewer that this token identifies, or None if it has expired."""
        if self.expires_at and now >= self.expires_at:
            return None
        return Viewer(self.name, without_readers(self.groups), self.is_admin)


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
        self._tokens = Documents(engine, self._index, AccessToken, "token")

    def add(
        self,
        name: str,
        groups: Sequence[str],
        *,
        days: int | None = DEFAULT_DAYS,
        is_admin: bool = False,
        scope: Sequence[Scope] = SCOPES,
    ) -> str:
        """Returns the text of a new token, which is not stored and cannot be shown again. Valid for `days`; None: until revoked.

        Raises InvalidInput for an invalid name, group, scope or number of days, and for a token that could see nothing.
        """
        name = name.strip()
        if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise InvalidInput(f"give a name for the token's user, of at most {MAX_NAME_LENGTH} characters.", field="name")
        if not scope or not set(scope) <= set(SCOPES):
            raise InvalidInput(f"a scope is one of {', '.join(SCOPES)}. Name at least one.", field="scope", allowed=list(SCOPES))
        if not groups and not is_admin and "questions" in scope:
            raise InvalidInput(
                f"name a group whose repositories the token may see (--group; {EVERYONE} for those that all may see), or pass "
                "--admin for all of them.",
                field="group",
            )
        token = AccessToken(name=name, groups=checked_groups(groups) or (), is_admin=is_admin, scope=tuple(dict.fromkeys(scope)))
        return self._put_new(token, days)[0]

    def issue(self, name: str, groups: Sequence[str], *, days: int, is_admin: bool, login: str) -> tuple[str, KnownToken]:
        """Returns the text of a new token for somebody who has signed in, and the token. `groups` must be valid."""
        return self._put_new(
            AccessToken(name=name, groups=tuple(groups), is_admin=is_admin, scope=("questions",), login=login), days
        )

    def rotate(self, which: str, *, days: int | None = None, grace_hours: int = GRACE_HOURS) -> tuple[str, KnownToken]:
        """Replaces a token by a new one with the same user, groups and scope, and returns its text and the old token.

        `which` is a name or the beginning of an id, as for `revoke`, but means one token. The new one is valid for `days`, or for
        as long as the old one was meant to be; the old one for `grace_hours` more at most. Raises InvalidInput.
        """
        if not 0 <= grace_hours <= MAX_GRACE_HOURS:
            raise InvalidInput(f"--grace-hours: from 0 to {MAX_GRACE_HOURS}.", field="grace_hours")
        found = tuple(each for each in self._meant(which) if not each.token.is_session)
        if not found:
            raise InvalidInput(f"{which[:80]!r} has sessions of the page alone, which end by themselves.", field="token")
        if len(found) > 1:
            ids = ", ".join(each.id[:SHOWN_ID_LENGTH] for each in found)
            raise InvalidInput(f"{len(found)} tokens are called {which[:80]!r}. Name one by its id: {ids}.", field="token")
        old = found[0]
        if days is None and old.token.expires_at:
            days = max(1, round((old.token.expires_at - old.token.created_at) / DAYS))
        text, _ = self._put_new(replace(old.token, used_at=0.0), days)
        until = time.time() + grace_hours * HOURS

        def ending(token: AccessToken) -> AccessToken:
            return token if token.expires_at and token.expires_at <= until else replace(token, expires_at=until)

        # Only now: if this fails, both are valid, and nobody is shut out.
        self._tokens.update(old.id, ending)
        return text, old

    def _put_new(self, token: AccessToken, days: int | None) -> tuple[str, KnownToken]:
        if days is not None and not 1 <= days <= MAX_DAYS:
            raise InvalidInput(
                f"--days: from 1 to {MAX_DAYS:,}, or --no-expiry for a token that is valid until it is revoked.", field="days"
            )
        return self._store(_PREFIX, token, None if days is None else days * DAYS)

    def _store(self, prefix: str, token: AccessToken, seconds: float | None) -> tuple[str, KnownToken]:
        text = prefix + secrets.token_urlsafe(_TOKEN_BYTES)
        now = time.time()
        made = replace(token, created_at=now, expires_at=0.0 if seconds is None else now + seconds)
        self._tokens.create(token_id(text), made)
        return text, KnownToken(token_id(text), made)

    def begin_session(self, session: AccessToken, seconds: float) -> tuple[str, KnownToken]:
        """Returns the text of a new session of the page and what is stored of it, valid for `seconds`.

        Ends those of the same name that have expired, and the oldest beyond MAX_SESSIONS.
        """
        self._engine.refresh(self._index)
        found = self._tokens.found({"term": {"name": session.name}}, MAX_TOKENS)
        sessions = (KnownToken(id_, token) for id_, token in found if token.is_session)
        mine = sorted(sessions, key=lambda each: -each.token.created_at)
        now = time.time()
        kept = [each for each in mine if each.token.viewer(now) is not None][: MAX_SESSIONS - 1]
        for each in mine:
            if each not in kept:
                self._engine.delete(self._index, each.id)
        return self._store(_SESSION_PREFIX, replace(session, scope=SESSION_SCOPE), seconds)

    def end_session(self, id_: str) -> None:
        """Ends the session of the page with this id, if there is one. Other servers may still accept it for
        `authentication.KNOWN_SECONDS`."""
        found = self.find(id_)
        if found is not None and found.is_session:
            self._engine.delete(self._index, id_)

    def find_for_use(self, id_: str) -> AccessToken | None:
        """Returns a token as `find` does, and writes down that it was used, at most once in USED_SECONDS.

        An engine that takes no writes does not keep anybody from asking.
        """
        found, now = self.find(id_), time.time()
        if found is not None and now - found.used_at >= USED_SECONDS and found.viewer(now) is not None:
            with suppress(CodeCompassError):
                self._tokens.update(id_, lambda token: replace(token, used_at=now), attempts=1)
        return found

    def find(self, id_: str) -> AccessToken | None:
        """Returns the current state of the token with this id, expired or not, or None if there is none."""
        return self._tokens.get(id_)

    def listed(self) -> tuple[KnownToken, ...]:
        """Returns all tokens, sorted by name and then by age, the oldest first."""
        self._engine.refresh(self._index)
        known = (KnownToken(id_, token) for id_, token in self._tokens.found({"match_all": {}}, MAX_TOKENS))
        return tuple(sorted(known, key=lambda each: (each.token.name, each.token.created_at, each.id)))

    def revoke(self, which: str) -> tuple[KnownToken, ...]:
        """Deletes all tokens with this name, or the one whose id starts with it (8 characters or more), and returns them.

        Servers may still accept them for `authentication.KNOWN_SECONDS`. Raises InvalidInput if no single token is meant.
        """
        found = self._meant(which)
        for each in found:
            self._engine.delete(self._index, each.id)
        return found

    def _meant(self, which: str) -> tuple[KnownToken, ...]:
        """Returns all tokens with this name, or the one whose id starts with it. Raises InvalidInput if there is none."""
        known = self.listed()
        named = tuple(each for each in known if each.token.name == which)
        found = named or tuple(each for each in known if len(which) >= 8 and each.id.startswith(which.lower()))
        if not found or (not named and len(found) > 1):
            raise InvalidInput(
                f"no token is called {which[:80]!r}, and no single id begins with it. codecompass cluster token list shows "
                "names and ids.",
                field="token",
            )
        return found
