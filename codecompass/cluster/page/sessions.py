"""Sessions of the page: a cookie whose text, hashed, is the id of a document among the tokens. So any server can answer the next
request, an administrator sees and ends sessions as tokens, and what a session may see is looked up with every question.

    OpenID Connect  -> name and groups as of signing in               ends after access.page_session_hours
    a pasted token  -> the groups of that token, now                  ends with it, after the same time at the latest
"""

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from typing import Final

from msgspec import Struct

from codecompass.cluster.access.sign_in import CodeRequest, Person
from codecompass.cluster.access.tokens import SHOWN_ID_LENGTH, AccessToken, Tokens, token_id
from codecompass.cluster.page.own_requests import PageAddress, safe_target
from codecompass.log import get_logger
from codecompass.transport.http.request import Header
from codecompass.units import HOURS, MINUTES

SESSION_COOKIE: Final = "codecompass-session"
ATTEMPT_COOKIE: Final = "codecompass-sign-in"

ATTEMPT_SECONDS: Final = 10 * MINUTES
"""How long somebody may take at the identity provider."""

_SECURE_PREFIX: Final = "__Host-"
"""Browsers take such a cookie only over TLS, for exactly this host: no other host of the domain can set it."""

_SECRET_BYTES: Final = 32


class Cookies(Struct, frozen=True):
    """Makes the cookies of a page at one address."""

    address: PageAddress

    def name(self, name: str) -> str:
        """Returns the name of a cookie at this address."""
        return f"{_SECURE_PREFIX}{name}" if self.address.is_secure else name

    def header(self, name: str, value: str, seconds: float) -> Header:
        """Returns the header that sets a cookie for `seconds`."""
        secure = "; Secure" if self.address.is_secure else ""
        return ("set-cookie", f"{self.name(name)}={value}; Path=/; Max-Age={int(seconds)}; HttpOnly; SameSite=Lax{secure}")

    def removed(self, name: str) -> Header:
        """Returns the header that removes a cookie."""
        return self.header(name, "", 0)


class Attempt(Struct, frozen=True):
    """One attempt to sign in at the identity provider. All of it is in a cookie, so any server can finish it.

    Everything that the provider and the browser exchange is derived from `secret`, which neither the provider nor an address has.
    """

    secret: str
    to: str
    """Where the browser goes then, within the page."""

    @property
    def cookie(self) -> str:
        """The attempt as the value of a cookie."""
        return f"{self.secret}.{base64.urlsafe_b64encode(self.to.encode()).decode()}"

    def request(self, redirect_uri: str) -> CodeRequest:
        """Returns what the provider is asked."""
        return CodeRequest(
            redirect_uri=redirect_uri, state=self._of("state"), nonce=self._of("nonce"), verifier=self._of("verifier")
        )

    def is_answered_by(self, state: str) -> bool:
        """Returns whether the provider answers this attempt."""
        return hmac.compare_digest(state.encode("utf-8", "replace"), self._of("state").encode())

    def _of(self, what: str) -> str:
        digest = hmac.digest(self.secret.encode(), what.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def new_attempt(to: str) -> Attempt:
    """Returns an attempt after which the browser goes to this address within the page."""
    return Attempt(secrets.token_urlsafe(_SECRET_BYTES), safe_target(to))


def attempt_of(cookie: str) -> Attempt | None:
    """Returns the attempt in a cookie; None if there is none."""
    secret, _, encoded = cookie.partition(".")
    try:
        to = base64.urlsafe_b64decode(encoded.encode("ascii")).decode("ascii")
    except (ValueError, binascii.Error):
        return None
    return Attempt(secret, safe_target(to)) if len(secret) >= _SECRET_BYTES else None


class Sessions:
    """The sessions of an organisation. Blocking; raises EngineUnavailable and EngineRefused."""

    def __init__(self, tokens: Tokens, hours: int) -> None:
        self._tokens = tokens
        self.seconds: Final = hours * HOURS

    def begin(self, person: Person) -> str:
        """Returns the text of a session of somebody who has signed in at the identity provider."""
        name = person.name
        return self._begun(AccessToken(name=name, groups=person.groups, is_admin=person.is_admin, login=name))

    def begin_with(self, text: str) -> str | None:
        """Returns the text of a session with a token; None if the token is unknown, has expired or is not for questions."""
        id_ = token_id(text)
        token = self._tokens.find_for_use(id_)
        if token is None or "questions" not in token.scope or token.viewer(time.time()) is None:
            return None
        return self._begun(AccessToken(name=token.name, session_of=id_))

    def end(self, text: str) -> None:
        """Ends a session."""
        self._tokens.end_session(token_id(text))
        get_logger(__name__).info("page_session_ended", session=token_id(text)[:SHOWN_ID_LENGTH])

    def _begun(self, session: AccessToken) -> str:
        text, made = self._tokens.begin_session(session, self.seconds)
        get_logger(__name__).info("page_session_begun", viewer=session.name, session=made.id[:SHOWN_ID_LENGTH])
        return text
