"""The client of the organisation's server: one tool call, one answer of bounded size.

Uses the modern revision of the protocol, so no session: any server behind the address may answer the next call.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

import msgspec
import structlog
import trio
from msgspec import UNSET, Raw, Struct, UnsetType, field

from codecompass import __version__
from codecompass.protocol.parts import PartRequest, WrongReply
from codecompass.remote.client import RemoteClient, RequestFailed
from codecompass.settings import ORGANISATION_TOKEN_VARIABLE
from codecompass.transport.mcp.protocol import (
    META_CAPABILITIES,
    META_CLIENT,
    META_PART,
    META_REVISION,
    MODERN_REVISION,
    TOOLS_CALL,
)
from codecompass.transport.organisation.failures import OrganisationUnavailable, QuestionBreaker
from codecompass.transport.organisation.target import OrganisationTarget
from codecompass.units import MIB

MAX_ANSWER_BYTES: Final = 8 * MIB
"""Maximum size of one answer: the parts of six repositories have at most 0.4 MB, unless the server's settings allow more."""

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
        self._breaker = QuestionBreaker(target.usual_seconds)
        # Organisations often have certificates of their own.
        self._client = RemoteClient(target.url, heeds_ssl_cert_file=True)
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
        await self._client.close()

    async def _call(self, tool: str, arguments: Mapping[str, object], part: PartRequest, seconds: float) -> Replied:
        headers = {
            "MCP-Protocol-Version": MODERN_REVISION,
            "Mcp-Method": TOOLS_CALL,
            "Mcp-Name": tool,
            "User-Agent": f"codecompass/{__version__}",
        }
        content, key = _request(tool, arguments, part), self.target.token.reveal()
        with trio.move_on_after(seconds):
            try:
                return _read(await self._client.post(content, headers, key=key, max_bytes=MAX_ANSWER_BYTES))
            except RequestFailed as error:
                raise self._unavailable(error) from error
        raise OrganisationUnavailable(
            f"it did not answer within {seconds:.1f} s; call again, or pass a larger timeout_ms. The setting "
            "organisation.timeout_ms says how long it is waited for",
            reason="timeout",
        )

    def _unavailable(self, error: RequestFailed) -> OrganisationUnavailable:
        match error.kind:
            case "not_installed":
                return OrganisationUnavailable(
                    "the library that asks it is not installed; whoever runs this program installs it: "
                    "pip install 'codecompass[organisation]'",
                    reason="not_installed",
                )
            case "status":
                return self._refused(error.status)
            case "compressed":
                return _not_understood("it is compressed, which was not asked for")
            case "too_large":
                return OrganisationUnavailable(
                    f"its answer is larger than {MAX_ANSWER_BYTES // MIB} MiB; ask for less: a smaller limit", reason="too_large"
                )
            case "not_http":
                return _not_understood("it ends early, or is not HTTP")
            case "certificate_refused":
                return OrganisationUnavailable(
                    "its certificate is not trusted here; whoever runs this program sets SSL_CERT_FILE to the organisation's "
                    "certificates, or adds them to the system's",
                    reason="certificate_refused",
                )
            case "unreachable":
                return OrganisationUnavailable(
                    "it cannot be reached; whoever runs this program checks organisation.url and the network "
                    "(codecompass doctor)",
                    reason="unreachable",
                )

    def _refused(self, status: int) -> OrganisationUnavailable:
        match status:
            case 401:
                variable = ORGANISATION_TOKEN_VARIABLE
                cause = "it does not know the token" if self.target.token.reveal() else "it wants a token"
                remedy = (
                    f"whoever runs this program sets {variable} to a valid one and starts it again"
                    if self.target.token.reveal() or not self.target.is_token_set
                    else f"what is in {variable} can be none"
                )
                return OrganisationUnavailable(f"{cause}; {remedy}", reason="token_refused")
            case 403:
                return OrganisationUnavailable(
                    "it refuses this machine (status 403); ask whoever runs that server", reason="forbidden"
                )
            case 404 | 405:
                return OrganisationUnavailable(
                    f"there is no such server at organisation.url (status {status}); correct the setting", reason="not_found"
                )
            case 429 | 503:
                return OrganisationUnavailable(f"it is busy or about to end (status {status}); call again later", reason="busy")
            case _ if status >= 500:
                return OrganisationUnavailable(f"it failed (status {status}); call again later", reason="server_error")
            case _:
                return OrganisationUnavailable(
                    f"it answered with status {status}; organisation.url must be its own address: none is followed",
                    reason="refused",
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


def _not_understood(cause: str) -> OrganisationUnavailable:
    return OrganisationUnavailable(
        f"its answer was not understood ({cause}); whoever runs this program checks organisation.url, and that both are of about "
        "the same version",
        reason="invalid_answer",
    )
