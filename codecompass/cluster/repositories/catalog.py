"""What was asked of each repository, in documents that programs of all versions read and write.

    catalog          address, names, refs and groups; a removed one is kept as removed      of all versions
    repositories     leases, turns and published generations                                of one version

So a program with another format of indexes begins with all repositories, and builds its own indexes beside those that are there.
Every change is written here first, and `Repositories.reconcile`, which workers repeat, makes the documents of their own version
agree: what was lost between the two writes, and what programs of other versions have changed meanwhile.
"""

import contextlib
import time
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.documents import Documents
from codecompass.cluster.engine.failures import Conflict
from codecompass.cluster.engine.schema import JsonObject
from codecompass.cluster.repositories.repository import Repository

ADOPTED: Final = "-adopted"
"""Id of the document that says that what earlier programs have left was taken over."""

_LIVE: Final[JsonObject] = {"bool": {"must_not": {"term": {"is_removed": True}}}}


class CatalogEntry(Struct, frozen=True, kw_only=True):
    """What was asked of a repository."""

    name: str = ""
    url: str = ""
    wanted_refs: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    is_removed: bool = False
    is_paused: bool = False
    former: tuple[str, ...] = ()


def entry_of(repository: Repository) -> CatalogEntry:
    """Returns what was asked of a repository."""
    return msgspec.convert(repository, CatalogEntry, from_attributes=True)


def as_asked(repository: Repository, entry: CatalogEntry) -> Repository:
    """Returns the repository with what was asked of it."""
    return replace(repository, **asdict(entry))


class Catalog:
    """The entries of an organisation. Thread-safe and blocking; raises EngineUnavailable and EngineRefused."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._entries = Documents(engine, engine.names.catalog, CatalogEntry, "repository")

    def live(self) -> dict[str, CatalogEntry]:
        """Returns the entries that are not removed, by id."""
        self._engine.refresh(self._engine.names.catalog, is_patient=False)
        return dict(self._entries.found(_LIVE))

    def of(self, repo_ids: list[str]) -> dict[str, CatalogEntry]:
        """Returns the current entries of these repositories, removed or not, by id."""
        found = self._engine.get_documents(self._engine.names.catalog, repo_ids)
        return {each.id: self._entries.decoded(each) for each in found}

    def put(self, repo_id: str, entry: CatalogEntry) -> None:
        """Writes an entry, whatever was there. Raises EngineUnavailable after many conflicts."""
        self._entries.put(repo_id, lambda old: old if old == entry else entry)

    def add(self, repo_id: str, entry: CatalogEntry) -> None:
        """Writes an entry if there is none."""
        self._entries.create(repo_id, entry)


def prepare(engine: Engine) -> None:
    """Creates missing indexes, as `Engine.prepare` does, and takes over what earlier programs have left."""
    engine.prepare()
    engine.patiently(partial(_adopt, engine))


def _adopt(engine: Engine) -> None:
    """Takes over the tokens and repositories of programs that kept them in indexes of their version; once for an organisation.

    Safe to repeat and to run at the same time as others: what exists is never overwritten.
    """
    names, catalog = engine.names, Catalog(engine)
    if engine.get(names.catalog, ADOPTED) is not None:
        return
    for _, token in engine.documents_of_any(names.of_any_version("access")):
        with contextlib.suppress(Conflict):
            engine.put(names.access, token.id, token.source, expected=None)
    # The names of versions with fewer digits sort first; a newer one has the newer state.
    found = engine.documents_of_any(names.of_any_version("repositories"))
    newest = {document.id: document for _, document in sorted(found, key=lambda each: (len(each[0]), each[0]))}
    for repo_id, document in newest.items():
        catalog.add(repo_id, msgspec.json.decode(document.source, type=CatalogEntry))
    with contextlib.suppress(Conflict):
        marker = {"is_removed": True, "adopted_at": time.time()}
        engine.put(names.catalog, ADOPTED, msgspec.json.encode(marker), expected=None)
