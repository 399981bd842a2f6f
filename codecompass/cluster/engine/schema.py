"""The indexes in the engine: their names, fields and settings.

What is visible of a repository is decided by its document in `repositories` alone; what that refers to never
changes.
"""

from typing import Any, Final

from msgspec import Struct

from codecompass.store.schema import SCHEMA_VERSION

JsonObject = dict[str, Any]

CLUSTER_VERSION: Final = 5
"""Version of everything below but the catalog, tokens and sources."""

FORMAT: Final = f"{CLUSTER_VERSION}.{SCHEMA_VERSION}"
"""Part of the names of indexes and of the store's directory, with the version of the published files: programs of another format
use others, which are built beside these."""

SHARDS: Final = 1
"""Of each index: the largest has a few thousand small documents."""

COPIES: Final = 1
"""Replicas of each shard, so that any one machine may be lost."""


class IndexNames(Struct, frozen=True):
    """The names of the indexes of one organisation, which share the engine with others by their prefix."""

    prefix: str
    version: str = FORMAT

    @property
    def catalog(self) -> str:
        """What was asked of each repository, for programs of all versions."""
        return f"{self.prefix}-catalog"

    @property
    def repositories(self) -> str:
        """The documents of repositories: leases and heads."""
        return self._named("repositories")

    @property
    def manifests(self) -> str:
        """The manifests of generations."""
        return self._named("manifests")

    @property
    def access(self) -> str:
        """Access tokens, hashed, with their groups, for programs of all versions."""
        return f"{self.prefix}-access"

    @property
    def sources(self) -> str:
        """Owners at code hosts whose repositories are followed, for programs of all versions."""
        return f"{self.prefix}-sources"

    @property
    def members(self) -> str:
        """Who may read what at the code hosts, for programs of all versions."""
        return f"{self.prefix}-members"

    @property
    def all(self) -> str:
        """Names and a pattern that match all indexes of this version."""
        return f"{self.prefix}-v{self.version}-*,{self.catalog},{self.access},{self.sources}*,{self.members}*"

    def of_any_version(self, what: str) -> str:
        """A pattern that matches the indexes of this name of all versions."""
        return f"{self.prefix}-v*-{what}"

    def _named(self, what: str) -> str:
        return f"{self.prefix}-v{self.version}-{what}"


_KEYWORD: Final = {"type": "keyword"}


def index_bodies(names: IndexNames) -> dict[str, JsonObject]:
    """Returns the settings and mappings of each index, by its name."""
    manifest: JsonObject = {
        "dynamic": "strict",
        "properties": {"repo_id": _KEYWORD, "made_at": {"type": "double"}, "data": {"type": "binary"}},
    }
    access: JsonObject = {"dynamic": False, "properties": {"name": _KEYWORD}}
    repositories: JsonObject = {
        "dynamic": False,
        "properties": {"name": _KEYWORD, "groups": _KEYWORD, "changed_at": {"type": "double"}},
    }
    catalog: JsonObject = {"dynamic": False, "properties": {"is_removed": {"type": "boolean"}}}
    return {
        names.catalog: _index(catalog),
        names.repositories: _index(repositories),
        names.access: _index(access),
        names.members: _index({"dynamic": False, "properties": {"source": _KEYWORD, "login": _KEYWORD}}),
        names.sources: _index({"dynamic": False, "properties": {"kind": _KEYWORD}}),
        names.manifests: _index(manifest),
    }


def _index(mappings: JsonObject) -> JsonObject:
    settings = {"number_of_shards": SHARDS, "number_of_replicas": COPIES, "refresh_interval": "1s"}
    return {"settings": {"index": settings}, "mappings": mappings}
