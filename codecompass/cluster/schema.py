"""The indexes in the engine: their names, fields and settings.

Texts are sent as tokens separated by spaces, made by the analysers of the embedded store (`store/schema.py`), so that both stores
hold the same words. What is visible of a repository is decided by its document in `repositories` alone; what that refers to never
changes.
"""

from typing import Any, Final

from msgspec import Struct

JsonObject = dict[str, Any]

CLUSTER_VERSION: Final = 4
"""Version of everything below but tokens and the catalog, part of the names of indexes: programs of other versions use other
indexes, which are built beside these."""

K1: Final = 1.2
B: Final = 0.75
"""BM25 parameters of tantivy (bm25.rs). The engine's differ, see DOCUMENTS_PER_HOLDER."""

SCORED: Final = ("body", "parts", "path_words", "name_words", "signature", "doc", "file_words", "pairs")
"""The fields that BM25 ranks by."""

DOCUMENTS_PER_HOLDER: Final = {
    "body": 2.9,
    "parts": 4.2,
    "path_words": 2.9,
    "name_words": 1.7,
    "signature": 1.7,
    "doc": 9.9,
    "file_words": 17.8,
    "pairs": 2.9,
}
"""For each ranked field, the number of all documents per document with the field (medians of 28 repositories, 2026-11-23;
`pairs` is taken to be as frequent as `body`).

tantivy's mean length of a field is over all documents, the engine's over those with the field. With its own `k1` and `b` for each
field, the engine weighs lengths nearly as tantivy does."""


def field_k1(field: str) -> float:
    """Returns the `k1` of a field in the engine: K1 * (1 - B + B * length / mean) is the same as with the larger mean."""
    return K1 * (1.0 - B) + K1 * B * DOCUMENTS_PER_HOLDER[field]


def _similarity(field: str) -> JsonObject:
    k1 = field_k1(field)
    return {"type": "BM25", "k1": round(k1, 4), "b": round(K1 * B * DOCUMENTS_PER_HOLDER[field] / k1, 4)}


TEXT_SHARDS: Final = 6
SMALL_SHARDS: Final = 1
COPIES: Final = 1
"""Replicas of each shard, so that any one machine may be lost."""

MAX_PATTERN: Final = 10_000
"""Characters of a regular expression over tokens. The engine's default of 1,000 is too small for patterns with long names."""

MAX_CANDIDATES: Final = 50_000
"""Chunks that one search may return: as many as an exact scan reads."""


class IndexNames(Struct, frozen=True):
    """The names of the indexes of one organisation, which share the engine with others by their prefix."""

    prefix: str
    version: int = CLUSTER_VERSION

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
    def blocks(self) -> str:
        """Blocks of the files of facts, by repository and content."""
        return self._named("blocks")

    @property
    def text(self) -> str:
        """Chunks, symbols and files of all repositories."""
        return self._named("text")

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
_FILTER: Final = {"type": "keyword", "doc_values": False}
"""A keyword that is only filtered by, never sorted or aggregated."""


def _tokens(field: str, *, is_stored: bool = True) -> JsonObject:
    # No phrase queries are made, and positions of words would be the largest part of an index.
    return {"type": "text", "analyzer": "whitespace", "index_options": "freqs", "similarity": field, "store": is_stored}


_FLAGS: Final = {"type": "text", "analyzer": "whitespace", "index_options": "docs", "norms": False}

TEXT_FIELDS: Final[JsonObject] = {
    "repo_id": _KEYWORD,
    "piece": _KEYWORD,
    "record": _FILTER,
    "file_id": {"type": "integer"},
    "key": {"type": "long"},
    "language": _FILTER,
    # chunks; `text` is the source of the other fields, and only stored
    "text": {"type": "keyword", "index": False, "doc_values": False, "store": True},
    "body": _tokens("body", is_stored=False),
    "names": _FLAGS,
    # of words that are not among the tokens as they are written (`words.ODD_WORD_MARK`)
    "odd_trigrams": _FLAGS,
    "parts": _tokens("parts"),
    "pairs": _tokens("pairs"),
    "path_words": _tokens("path_words"),
    # symbols
    "name": _FILTER,
    "name_words": _tokens("name_words"),
    "signature": _tokens("signature"),
    "doc": _tokens("doc"),
    # files
    "file_words": _tokens("file_words"),
    "path_trigrams": _FLAGS,
    # how many tokens each field has, for the averages of a generation
    **{f"n_{field}": {"type": "integer", "index": False} for field in SCORED},
}


def index_bodies(names: IndexNames) -> dict[str, JsonObject]:
    """Returns the settings and mappings of each index, by its name."""
    text = {
        "number_of_shards": TEXT_SHARDS,
        "max_result_window": MAX_CANDIDATES,
        "max_regex_length": MAX_PATTERN,
        "refresh_interval": "-1",
        "similarity": {field: _similarity(field) for field in SCORED},
    }
    opaque: JsonObject = {"dynamic": "strict", "properties": {"repo_id": _KEYWORD, "data": {"type": "binary"}}}
    manifest: JsonObject = {
        "dynamic": "strict",
        "properties": {
            "repo_id": _KEYWORD,
            "made_at": {"type": "double"},
            "data": {"type": "binary"},
            # for questions about many repositories, which do not read whole manifests
            "pieces": {"type": "object", "enabled": False},
            "n_chunks": {"type": "integer", "index": False},
        },
    }
    access: JsonObject = {"dynamic": False, "properties": {"name": _KEYWORD}}
    repositories: JsonObject = {
        "dynamic": False,
        "properties": {"name": _KEYWORD, "groups": _KEYWORD, "changed_at": {"type": "double"}},
    }
    catalog: JsonObject = {"dynamic": False, "properties": {"is_removed": {"type": "boolean"}}}
    return {
        names.catalog: _index({}, catalog),
        names.repositories: _index({}, repositories),
        names.access: _index({}, access),
        names.members: _index({}, {"dynamic": False, "properties": {"source": _KEYWORD, "login": _KEYWORD}}),
        names.sources: _index({}, {"dynamic": False, "properties": {"kind": _KEYWORD}}),
        names.manifests: _index({}, manifest),
        names.blocks: _index({"refresh_interval": "-1", "codec": "best_compression"}, opaque),
        names.text: _index(text, {"dynamic": "strict", "_source": {"enabled": False}, "properties": TEXT_FIELDS}),
    }


def _index(settings: JsonObject, mappings: JsonObject) -> JsonObject:
    own = {"number_of_shards": SMALL_SHARDS, "number_of_replicas": COPIES, "refresh_interval": "1s", **settings}
    return {"settings": {"index": own}, "mappings": mappings}
