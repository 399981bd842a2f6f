"""The client of the organisation's server: one tool call, one answer of bounded size.

Uses the modern revision of the protocol, so no session: any server behind the address may answer the next call. Does not follow
redirects or use proxies of the environment, so that questions and token reach the named server alone.
"""

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec
import structlog
import trio
from msgspec import UNSET, Raw, Struct, UnsetType, field

from codecompass import __version__
from codecompass.protocol.parts import PartRequest, WrongReply
from codecompass.settings import ORGANISATION_TOKEN_VARIABLE
from codecompass.transport.mcp.protocol import (
    META_CAPABILITIES,
    META_CLIENT,
    META_PART,
    META_REVISION,
    MODERN_REVISION,
    TOOLS_CALL,
)
from codecompass.transport.organisation.failures import Breaker, OrganisationUnavailable
from codecompass.transport.organisation.target import OrganisationTarget
from codecompass.units import MIB, SECONDS

if TYPE_CHECKING:
    import httpx2

MAX_ANSWER_BYTES: Final = 8 * MIB
"""Maximum size of one answer: the parts of six repositories have at most 0.4 MB, unless the server's settings allow more."""

MAX_CONNECTIONS: Final = 8

KEPT_SECONDS: Final = 4 * SECONDS
"""How long an idle connection is kept. Servers and load balancers close theirs too, and a question sent at that moment fails."""

CLOSE_SECONDS: Final = 1 * SECONDS

ReadT = TypeVar("ReadT")


class Replied(Struct, frozen=True):
    """The answer of a tool. `content` is its JSON; `knows_parts` says that the server has understood the PartRequest."""

    content: bytes
    is_error: bool
    knows_parts: bool


class _Meta(Struct, frozen=True):
    knows_parts: bool = field(name=META_PART, default=False)


class _Result(Struct, frozen=True, rename="camel"):
    structured_content: Raw | UnsetType = UNSET
    is_error: bool = False
    meta: _Meta = field(name="_meta", default=_Meta())


class _Response(Struct, frozen=True):
    result: _Result


class OrganisationLink:
    """A client of one server, for one event loop. Connects with the first call."""

    def __init__(self, target: OrganisationTarget) -> None:
        self.target: Final = target
        self._breaker = Breaker(target.usual_seconds)
        self._client: httpx2.AsyncClient | None = None
        self._preparing = threading.Lock()
        self._log = structlog.get_logger(__name__)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        part: PartRequest,
        seconds: float,
        read: Callable[[Replied], ReadT],
    ) -> ReadT:
        """Returns the answer of a tool, decoded by `read`, which may raise WrongReply. Safe to cancel.

        Raises OrganisationUnavailable, also if there is no answer within `seconds`.
        """
        try:
            with self._breaker.asking(seconds):
                replied = await self._call(tool, arguments, part, seconds)
                try:
                    return read(replied)
                except WrongReply as error:
                    raise _not_understood(str(error)) from error
        except OrganisationUnavailable as error:
            # The caller gets it in the answer; the log is for the operator of the machine.
            log = self._log.info if error.was_asked else self._log.debug
            log("organisation_unavailable", host=self.target.host, tool=tool, reason=error.reason)
            raise

    async def close(self) -> None:
        """Closes its connections."""
        client, self._client = self._client, None
        if client is not None:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await client.aclose()

    def prepare(self) -> "httpx2.AsyncClient":
        """Returns the HTTP client. The first call takes 0.2 s, so it is made in a thread. Raises OrganisationUnavailable."""
        with self._preparing:
            if self._client is None:
                try:
                    import httpx2
                except ImportError as error:
                    raise OrganisationUnavailable(
                        "not_installed",
                        "the library that asks it is not installed; whoever runs this program installs it: "
                        "pip install 'codecompass[organisation]'",
                    ) from error
                import ssl

                self._client = httpx2.AsyncClient(
                    timeout=None,  # each question has a deadline
                    trust_env=False,
                    follow_redirects=False,
                    limits=httpx2.Limits(max_connections=MAX_CONNECTIONS, keepalive_expiry=KEPT_SECONDS),
                    # The system's certificates, or those in SSL_CERT_FILE: organisations often have their own.
                    verify=ssl.create_default_context()
                    if self.target.url.startswith("https:")
                    else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
                )
            return self._client

    async def _call(self, tool: str, arguments: Mapping[str, object], part: PartRequest, seconds: float) -> Replied:
        with trio.move_on_after(seconds):
            client = self._client
            if client is None:
                client = await trio.to_thread.run_sync(self.prepare, abandon_on_cancel=True)
            return _read(await self._post(client, tool, _request(tool, arguments, part)))
        raise OrganisationUnavailable(
            "timeout",
            f"it did not answer within {seconds:.1f} s; call again, or pass a larger timeout_ms. The setting "
            "organisation.timeout_ms says how long it is waited for",
        )

    async def _post(self, client: "httpx2.AsyncClient", tool: str, content: bytes) -> bytes:
        import httpx2

        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "MCP-Protocol-Version": MODERN_REVISION,
            "Mcp-Method": TOOLS_CALL,
            "Mcp-Name": tool,
            "User-Agent": f"codecompass/{__version__}",
        }
        if token := self.target.token.reveal():
            headers["Authorization"] = f"Bearer {token}"
        body = bytearray()
        try:
            async with client.stream("POST", self.target.url, content=content, headers=headers) as response:
                self._require_success(response.status_code)
                if response.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
                    raise _not_understood("it is compressed, which was not asked for")
                # Cancelled rather than left early: nothing would close the client's unexhausted generators.
                with trio.CancelScope() as reading:
                    async for piece in response.aiter_raw():
                        body += piece
                        if len(body) > MAX_ANSWER_BYTES:
                            reading.cancel()
                            body.clear()
                if reading.cancel_called:
                    raise OrganisationUnavailable(
                        "too_large", f"its answer is larger than {MAX_ANSWER_BYTES // MIB} MiB; ask for less: a smaller limit"
                    )
        except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL, OSError) as error:
            if isinstance(error, httpx2.RemoteProtocolError):
                raise _not_understood("it ends early, or is not HTTP") from error
            if _is_certificate_refused(error):
                raise OrganisationUnavailable(
                    "certificate_refused",
                    "its certificate is not trusted here; whoever runs this program sets SSL_CERT_FILE to the organisation's "
                    "certificates, or adds them to the system's",
                ) from error
            # The text of the error is not shown: it could contain what the server wrote.
            raise OrganisationUnavailable(
                "unreachable",
                "it cannot be reached; whoever runs this program checks organisation.url and the network (codecompass doctor)",
            ) from error
        return bytes(body)

    def _require_success(self, status: int) -> None:
        if status == 200:
            return
        match status:
            case 401:
                variable = ORGANISATION_TOKEN_VARIABLE
                cause = "it does not know the token" if self.target.token.reveal() else "it wants a token"
                remedy = (
                    f"whoever runs this program sets {variable} to a valid one and starts it again"
                    if self.target.token.reveal() or not self.target.is_token_set
                    else f"what is in {variable} can be none"
                )
                raise OrganisationUnavailable("token_refused", f"{cause}; {remedy}")
            case 403:
                raise OrganisationUnavailable("forbidden", "it refuses this machine (status 403); ask whoever runs that server")
            case 404 | 405:
                raise OrganisationUnavailable(
                    "not_found", f"there is no such server at organisation.url (status {status}); correct the setting"
                )
            case 429 | 503:
                raise OrganisationUnavailable("busy", f"it is busy or about to end (status {status}); call again later")
            case _ if status >= 500:
                raise OrganisationUnavailable("server_error", f"it failed (status {status}); call again later")
            case _:
                raise OrganisationUnavailable(
                    "refused", f"it answered with status {status}; organisation.url must be its own address: none is followed"
                )


def _request(tool: str, arguments: Mapping[str, object], part: PartRequest) -> bytes:
    meta = {
        META_REVISION: MODERN_REVISION,
        META_CAPABILITIES: {},
        META_CLIENT: {"name": "codecompass", "version": __version__},
        META_PART: part,
    }
    params = {"name": tool, "arguments": arguments, "_meta": meta}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": TOOLS_CALL, "params": params})


def _read(body: bytes) -> Replied:
    try:
        result = msgspec.json.decode(body, type=_Response).result
    except (ValueError, RecursionError) as error:
        raise _not_understood("it does not follow the protocol") from error
    if result.structured_content is UNSET:
        raise _not_understood("it answers without structured content")
    return Replied(bytes(result.structured_content), result.is_error, result.meta.knows_parts)


def _is_certificate_refused(error: BaseException | None) -> bool:
    import ssl

    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _not_understood(cause: str) -> OrganisationUnavailable:
    return OrganisationUnavailable(
        "invalid_answer",
        f"its answer was not understood ({cause}); whoever runs this program checks organisation.url, and that both are of about "
        "the same version",
    )
