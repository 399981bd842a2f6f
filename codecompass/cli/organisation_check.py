"""What `doctor` says of the organisation's server: whether one is named, reached, and takes the token."""

from typing import TYPE_CHECKING, Final

from codecompass import amounts
from codecompass.cli.finding import Check
from codecompass.cli.invocation import Invocation
from codecompass.cli.organisation import organisation_target_of
from codecompass.errors import CodeCompassError
from codecompass.settings import ORGANISATION_TOKEN_VARIABLE
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.protocol.state_replies import HealthReply
    from codecompass.transport.organisation.target import OrganisationTarget

NAME: Final = "organisation"

DEADLINE_SECONDS: Final = 10 * SECONDS


def check(invocation: Invocation) -> Check:
    """Returns what the server says of itself, which is asked where one is named. Raises InvalidInput for unusable settings."""
    target = organisation_target_of(invocation.settings, invocation.environment)
    if target is None:
        return Check(name=NAME, status="ok", message="none: questions stay on this machine (organisation.url is empty)")
    token = "with a token" if target.token.reveal() else "without a token"
    said = f"questions about several projects, and about repositories unknown here, go to {target.host} too, {token}"
    if target.is_token_set and not target.token.reveal():
        return Check(
            name=NAME,
            status="warn",
            message=f"{said}; what is in {ORGANISATION_TOKEN_VARIABLE} can be none",
            remedy=f"set {ORGANISATION_TOKEN_VARIABLE} to the token alone, without blanks",
        )
    try:
        health = _asked(target)
    except CodeCompassError as error:
        return Check(name=NAME, status="fail", message=f"{said}; {error.message}", remedy="see docs/organisation.md")
    count = amounts.count(health.total_projects, "repository", "repositories")
    return Check(
        name=NAME,
        status="ok" if health.status != "error" else "warn",
        message=f"{said}; it is there (codecompass {health.version}, {health.status}) and shows {count}",
        remedy="" if health.status != "error" else "ask whoever runs that server",
    )


def _asked(target: "OrganisationTarget") -> "HealthReply":
    import trio

    from codecompass.protocol.parts import PartRequest, decode_error, decode_reply
    from codecompass.protocol.requests import HealthCheck
    from codecompass.protocol.state_replies import HealthReply
    from codecompass.transport.organisation.failures import OrganisationUnavailable
    from codecompass.transport.organisation.link import OrganisationLink, Replied

    def read(replied: Replied) -> HealthReply:
        if replied.is_error:
            raise OrganisationUnavailable("refused", decode_error(replied.content).message)
        reply = decode_reply(HealthCheck(), replied.content)
        assert isinstance(reply, HealthReply)
        return reply

    async def ask() -> HealthReply:
        link = OrganisationLink(target)
        try:
            return await link.call(HealthCheck.tool, {}, PartRequest(is_page=True), DEADLINE_SECONDS, read)
        finally:
            await link.close()

    return trio.run(ask)
