"""Opens the search engine of an organisation for a command."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from codecompass.cli.invocation import Invocation
from codecompass.errors import InvalidInput
from codecompass.settings import Settings
from codecompass.units import MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.cluster.engine import Engine
    from codecompass.cluster.repositories import Repositories

PATIENCE_SECONDS: Final = 30 * SECONDS
"""How long requests to an engine that does not answer are repeated: somebody is waiting at a terminal."""

WORKERS_PATIENCE_SECONDS: Final = 10 * MINUTES

NOT_INSTALLED: Final = "the client of OpenSearch is not installed. Install it with: pip install 'codecompass[cluster]'"


def require_client() -> None:
    """Raises InvalidInput if the client of the engine is not installed."""
    if find_spec("opensearchpy") is None:
        raise InvalidInput(NOT_INSTALLED, remediation="pip install 'codecompass[cluster]'")


@contextmanager
def opened_engine(
    invocation: Invocation, url: str | None, prefix: str | None, *, is_patient: bool = False
) -> "Iterator[tuple[Engine, Settings]]":
    """Yields the engine that the options and settings name, and the settings with the options applied.

    Raises InvalidInput if none is named, an address is invalid, or the client is not installed.
    """
    flags: dict[str, object] = {}
    if url is not None:
        flags["cluster__url"] = tuple(each for part in url.split(",") if (each := part.strip()))
    if prefix is not None:
        flags["cluster__prefix"] = prefix
    loaded = invocation.load(None, **flags)
    for warning in loaded.warnings:
        invocation.terminal.warn(warning)
    settings = loaded.settings
    require_client()
    from codecompass.cluster.engine import Engine

    patience = WORKERS_PATIENCE_SECONDS if is_patient else PATIENCE_SECONDS
    engine = Engine(settings.cluster.url, prefix=settings.cluster.prefix, patience=patience)
    try:
        yield engine, settings
    finally:
        engine.close()


@contextmanager
def opened_repositories(
    invocation: Invocation, url: str | None, prefix: str | None, *, makes_indexes: bool = False
) -> "Iterator[Repositories]":
    """Yields the repositories of that engine; `makes_indexes` creates its indexes if there are none."""
    with opened_engine(invocation, url, prefix) as (engine, settings):
        from codecompass.cluster.repositories import Repositories

        if makes_indexes:
            engine.prepare()
        yield Repositories(engine, settings.cluster.protocols)
