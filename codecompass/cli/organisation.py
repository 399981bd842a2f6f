"""The organisation's server on the command line: what the settings name. Nothing of it is loaded where they name none."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from codecompass.settings import Settings

if TYPE_CHECKING:
    from codecompass.transport.organisation.target import OrganisationTarget


def organisation_target_of(settings: Settings, environment: Mapping[str, str]) -> "OrganisationTarget | None":
    """Returns the server that the settings name, None where they name none. Raises InvalidInput for one that is unusable."""
    if not settings.organisation.url.strip():
        return None
    from codecompass.transport.organisation.target import organisation_target

    return organisation_target(settings.organisation, environment)
