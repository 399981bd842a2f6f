"""Signing in to the page and out of it.

    GET  /ui/sign-in?to=...     the ways to sign in: at the identity provider, or with a token if there is none
    GET  /ui/sign-in/begin      -> the provider, with state, nonce and PKCE challenge; the attempt is in a cookie
    GET  /ui/sign-in/done       <- the provider, with a code: checked against the cookie, then a session, then `to`
    POST /ui/sign-in            a pasted token: a session with it, then `to`
    POST /ui/sign-out           ends the session

Every answer is the same whatever `to` names: nothing here reads a repository.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Generic, TypeVar

from codecompass.cluster.access.authentication import Authenticator
from codecompass.cluster.access.sign_in import LONGEST_CODE, ProviderUnavailable, SignIn, SignInRefused
from codecompass.cluster.access.tokens import token_id
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.page.own_requests import PageAddress, cookie_of, require_from_page, safe_target, with_lines
from codecompass.cluster.page.sessions import (
    ATTEMPT_COOKIE,
    ATTEMPT_SECONDS,
    SESSION_COOKIE,
    Cookies,
    Sessions,
    attempt_of,
    new_attempt,
)
from codecompass.errors import CodeCompassError
from codecompass.transport.http.request import (
    FORBIDDEN,
    OK,
    SEE_OTHER,
    UNAUTHORIZED,
    UNAVAILABLE,
    Header,
    HttpRequest,
    require_method,
)
from codecompass.transport.ui.access_checks import PAGE_PATH
from codecompass.transport.ui.fields import Fields, read_form
from codecompass.transport.ui.rendering import NOT_STORED, Rendering, address
from codecompass.units import SECONDS

SIGN_IN: Final = f"{PAGE_PATH}/sign-in"
SIGN_OUT: Final = f"{PAGE_PATH}/sign-out"

SIGN_INS: Final = 4
"""Sign-ins at a time. Anybody may begin one, so they must not take threads from questions."""

SIGN_IN_SECONDS: Final = 30 * SECONDS
"""Deadline of one: two requests to the provider, each with a shorter deadline, and some to the engine."""

_MAX_STATE_LENGTH: Final = 200
_MAX_ISSUER_LENGTH: Final = 2_000
_MAX_ERROR_LENGTH: Final = 200

T = TypeVar("T")


class _Done(Generic[T]):
    """A value, which may be None."""

    def __init__(self, value: T) -> None:
        self.value: Final = value


class SigningIn:
    """Answers the requests about signing in. Each method raises HttpRefusal, ClientGone."""

    def __init__(
        self,
        address_of_page: PageAddress,
        sessions: Sessions,
        provider: SignIn | None,
        authenticator: Authenticator,
        rendering: Rendering,
    ) -> None:
        self._cookies = Cookies(address_of_page)
        self._redirect_uri = f"{address_of_page.origin}{SIGN_IN}/done"
        self._sessions = sessions
        self._provider = provider
        self._authenticator = authenticator
        self._rendering = rendering
        self._calls = EngineCalls(SIGN_INS, "identity provider or search engine")
        self.pages: Final[Mapping[str, Callable[[HttpRequest], Awaitable[None]]]] = {
            SIGN_IN: self._sign_in,
            f"{SIGN_IN}/begin": self._begin,
            f"{SIGN_IN}/done": self._done,
            SIGN_OUT: self._sign_out,
        }

    def session(self, request: HttpRequest) -> str:
        """Returns the text of the session that a request belongs to; empty if there is none."""
        return cookie_of(request, self._cookies.name(SESSION_COOKIE))

    async def ask_to_sign_in(self, request: HttpRequest) -> None:
        """Answers a request of nobody: with the page to sign in on, which leads back here."""
        query = request.query
        to = safe_target(f"{request.path}?{query}" if query else request.path)
        await self._redirect(request, address("sign-in", to="" if to == PAGE_PATH else to))

    async def _sign_in(self, request: HttpRequest) -> None:
        require_method(request, "GET", "POST")
        if request.method == "GET":
            await self._show(request, Fields(request).text("to"))
            return
        form = await read_form(request)
        to, token = safe_target(form.get("to", "")), form.get("token", "").strip()
        if self._provider is not None:
            await self._show(request, to, "Sign in at the identity provider: tokens are for programs.", FORBIDDEN)
            return
        begun = await self._tried(request, to, lambda: self._sessions.begin_with(token) if token else None)
        if begun is None:
            return
        if not begun.value:
            message = "This token is unknown here: it is mistyped, was revoked, has expired, or is not for questions."
            await self._show(request, to, message, UNAUTHORIZED)
            return
        await self._enter(request, begun.value, to)

    async def _begin(self, request: HttpRequest) -> None:
        require_method(request, "GET")
        require_from_page(request)
        attempt, provider = new_attempt(Fields(request).text("to")), self._provider
        if provider is None:
            await self._show(request, attempt.to)
            return
        sent_to = await self._tried(request, attempt.to, lambda: provider.address_to_sign_in(attempt.request(self._redirect_uri)))
        if sent_to is not None:
            cookie = self._cookies.header(ATTEMPT_COOKIE, attempt.cookie, ATTEMPT_SECONDS)
            await self._redirect(request, sent_to.value, cookie)

    async def _done(self, request: HttpRequest) -> None:
        require_method(request, "GET")
        attempt, provider = attempt_of(cookie_of(request, self._cookies.name(ATTEMPT_COOKIE))), self._provider
        state = request.parameter("state", _MAX_STATE_LENGTH) or ""
        if provider is None or attempt is None or not attempt.is_answered_by(state):
            message = "This sign-in was not begun in this browser, was replaced by another one, or took too long. Sign in again."
            await self._show(request, "" if attempt is None else attempt.to, message, FORBIDDEN)
            return
        if request.parameter("error", _MAX_ERROR_LENGTH) is not None:
            await self._show(request, attempt.to, "The identity provider has not let you in. Sign in again.", FORBIDDEN)
            return
        code = request.parameter("code", LONGEST_CODE) or ""
        issuer = request.parameter("iss", _MAX_ISSUER_LENGTH) or ""

        def begun() -> str:
            return self._sessions.begin(provider.signed_in(code, attempt.request(self._redirect_uri), issuer))

        session = await self._tried(request, attempt.to, begun)
        if session is not None:
            await self._enter(request, session.value, attempt.to)

    async def _sign_out(self, request: HttpRequest) -> None:
        require_method(request, "POST")
        await request.body()
        session = self.session(request)
        if session:
            ended = await self._tried(request, "", lambda: self._sessions.end(session))
            if ended is None:
                return
            self._authenticator.forget(token_id(session))
        await self._redirect(request, SIGN_IN, self._cookies.removed(SESSION_COOKIE))

    async def _enter(self, request: HttpRequest, session: str, to: str) -> None:
        """Gives the browser its new session, in place of any that it had."""
        cookie = self._cookies.header(SESSION_COOKIE, session, self._sessions.seconds)
        await self._redirect(request, with_lines(to), cookie, self._cookies.removed(ATTEMPT_COOKIE))

    async def _tried(self, request: HttpRequest, to: str, work: Callable[[], T]) -> _Done[T] | None:
        """Returns what `work` returns in a thread; None if it failed, and the request is answered."""
        try:
            return _Done(await self._calls.run(work, SIGN_IN_SECONDS))
        except SignInRefused as error:
            await self._show(request, to, _sentence(error), FORBIDDEN)
        except (ProviderUnavailable, EngineUnavailable) as error:
            await self._show(request, to, _sentence(error), UNAVAILABLE)
        return None

    async def _show(self, request: HttpRequest, to: str, message: str = "", status: int = OK) -> None:
        """Answers with the page to sign in on."""
        target = safe_target(to)
        values = {
            "message": message,
            "to": "" if target == PAGE_PATH else target,
            "provider": "" if self._provider is None else self._provider.host,
            "here": "",
            "viewer": None,
        }
        await self._rendering.page(request, "sign_in.html", values, status=status)

    @staticmethod
    async def _redirect(request: HttpRequest, to: str, *headers: Header) -> None:
        await request.answer(SEE_OTHER, headers=(("location", to), *NOT_STORED, *headers))


def _sentence(error: CodeCompassError) -> str:
    return error.message[:1].upper() + error.message[1:]
