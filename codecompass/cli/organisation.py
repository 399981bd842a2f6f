"""The organisation's server that the settings name, and the check of it for `doctor`.

Imports are inside of the functions: nothing of it is loaded if no server is named.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from codecompass import formatting
from codecompass.cli.invocation import Invocation
from codecompass.errors import CodeCompassError
from codecompass.settings import ORGANISATION_TOKEN_VARIABLE, Settings
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.cli.json_output import Check
    from codecompass.protocol.state_replies import HealthReply
    from codecompass.transport.organisation.target import OrganisationTarget

DEADLINE_SECONDS: Final = 10 * SECONDS
"""How long `doctor` waits for the server."""


def organisation_target_of(settings: Settings, environment: Mapping[str, str]) -> "OrganisationTarget | None":
    """Returns the configured server, None if there is none. Raises InvalidInput for an unusable one."""
    if not settings.organisation.url.strip():
        return None
    from codecompass.transport.organisation.target import organisation_target

    return organisation_target(settings.organisation, environment)


def organisation_check(invocation: Invocation) -> "Check":
    """Returns the health of the organisation's server, if one is configured. Raises InvalidInput for unusable settings."""
    from codecompass.cli.json_output import Check

    target = organisation_target_of(invocation.settings, invocation.environment)
    if target is None:
        return Check("organisation", "ok", "none: questions stay on this machine (organisation.url is empty)")
    token = "with a token" if target.token.reveal() else "without a token"
    said = f"questions about several projects, and about repositories unknown here, go to {target.host} too, {token}"
    if target.is_token_set and not target.token.reveal():
        return Check(
            "organisation",
            "warn",
            f"{said}; what is in {ORGANISATION_TOKEN_VARIABLE} can be none",
            f"set {ORGANISATION_TOKEN_VARIABLE} to the token alone, without blanks",
        )
    try:
        health = _health(target)
    except CodeCompassError as error:
        return Check("organisation", "fail", f"{said}; {error.message}", "see docs/organisation.md")
    count = formatting.count(health.total_projects, "repository", "repositories")
    return Check(
        "organisation",
        "ok" if health.status != "error" else "warn",
        f"{said}; it is there (codecompass {health.version}, {health.status}) and shows {count}",
        "" if health.status != "error" else "ask whoever runs that server",
    )


def _health(target: "OrganisationTarget") -> "HealthReply":
    import trio

    from codecompass.protocol.parts import PartRequest, decode_error, decode_reply
    from codecompass.protocol.requests import HealthCheck
    from codecompass.protocol.state_replies import HealthReply
    from codecompass.transport.organisation.failures import OrganisationUnavailable
    from codecompass.transport.organisation.link import OrganisationLink, Replied

    def read(replied: Replied) -> HealthReply:
        if replied.is_error:
            raise OrganisationUnavailable(decode_error(replied.content).message, reason="refused")
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
