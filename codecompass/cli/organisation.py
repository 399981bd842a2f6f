"""The organisation's server that the settings name. Nothing of it is loaded if they name none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from codecompass.settings import Settings

if TYPE_CHECKING:
    from codecompass.transport.organisation.target import OrganisationTarget


def organisation_target_of(settings: Settings, environment: Mapping[str, str]) -> "OrganisationTarget | None":
    """Returns the configured server, None if there is none. Raises InvalidInput for an unusable one."""
    if not settings.organisation.url.strip():
        return None
    from codecompass.transport.organisation.target import organisation_target

    return organisation_target(settings.organisation, environment)
