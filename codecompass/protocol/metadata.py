"""The `metadata` block of every answer, and the state of a workspace that a query cannot know by itself."""

from typing import Final, Literal

from msgspec import Struct

PROTOCOL_VERSION: Final = "1.0"

FreshnessStatus = Literal["fresh", "stale", "syncing"]
IndexingStatus = Literal["not_indexed", "indexing", "ready", "failed"]
SchemaStatus = Literal["compatible", "not_indexed", "reindex_required", "corrupt_manifest"]
Completeness = Literal["complete", "partial", "truncated"]
Verdict = Literal["shown", "below_the_limit", "not_among_the_candidates", "no_match", "filtered_out", "skipped", "not_indexed"]


class AnswerState(Struct, frozen=True, kw_only=True):
    """What is known of the workspace besides the index when a query is answered: it goes into `metadata` as it is.

    `workspace` is the canonical root; `project_id` the form in which answers name the project; `schema_name` is
    reported only to callers who named a project. `warnings` are those of decoding and routing; a query adds its own
    behind them. `ref` is that of the content that answers; `commit` its full id where a ref was asked about. An answer that is
    not `fresh` is never `complete`, and neither is one with `is_partial`.
    """

    workspace: str
    project_id: str
    ref: str
    commit: str = ""
    freshness_status: FreshnessStatus = "fresh"
    indexing_status: IndexingStatus = "ready"
    schema_status: SchemaStatus = "compatible"
    schema_name: str = ""
    is_partial: bool = False
    warnings: tuple[str, ...] = ()
    hint: str = ""


class RankingReason(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a result stands where it stands. `result_index` counts from 0, `final_score` (0..1) sorts the page.

    Factors are 0..1, only `bm25_score` is the engine's own. `related_words` are words of the place that stand for words of the
    query (`cancel for abort`). The `basic` level leaves out those with a default here, but for `near_in_meaning`, the cosine
    between question and text, which is there where search by meaning found the place.
    """

    result_index: int
    exact_match_boost: float
    qualified_name_boost: float | None = None
    path_affinity: float
    definition_boost: float
    kind_match: float | None = None
    bm25_score: float | None = None
    related_words: tuple[str, ...] = ()
    near_in_meaning: float | None = None
    final_score: float


class PathExplanation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one file in a search, and what that rests on.

    `rank` counts from 1 over all `total` places that the search found; `reason` has the factors of the file's best place.
    `missing_words` are those of the query that stand neither in the file's text nor in its path; `skip_reason` says why
    the file was not indexed.
    """

    path: str
    verdict: Verdict
    rank: int | None = None
    total: int = 0
    reason: RankingReason | None = None
    missing_words: tuple[str, ...] = ()
    skip_reason: str = ""


class ProjectPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project whose hits are on a page of several: the name by which they name it, and its root.

    `freshness_status` is `unchecked` where its index was answered from as it was left, and only the files that are shown were
    compared with the tree. `commit` is there where the answer is of one, and not of a working tree.
    """

    name: str
    root: str
    commit: str = ""
    freshness_status: FreshnessStatus | Literal["unchecked"]
    total_candidates: int = 0


class Metadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The block of an answer from an index. The fields without default are always there."""

    codecompass_protocol_version: str
    freshness_status: FreshnessStatus
    indexing_status: IndexingStatus
    result_completeness: Completeness
    ref: str
    commit: str = ""
    schema_status: SchemaStatus
    workspace: str
    project_id: str
    schema_name: str = ""
    generation: int = 0
    symbol_count: int | None = None
    strategy: str = ""
    total_candidates: int | None = None
    returned: int | None = None
    remaining_candidates: int = 0
    suggestion: str = ""
    suppressed_duplicate_count: int = 0
    safety_limit_applied: bool = False
    ranking_reasons: tuple[RankingReason, ...] = ()
    why_not: PathExplanation | None = None
    projects: tuple[ProjectPart, ...] = ()
    n_projects: int = 0
    """How many were asked, where it was not one."""
    warnings: tuple[str, ...] = ()
    hint: str = ""


class BareMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The block of an answer that no index gave: an error before a workspace was found, the state of the server."""

    codecompass_protocol_version: str
    workspace: str = ""
    warnings: tuple[str, ...] = ()
    hint: str = ""


def bare_metadata(workspace: str = "", warnings: tuple[str, ...] = (), hint: str = "") -> BareMetadata:
    """Returns the block with the version filled in."""
    return BareMetadata(codecompass_protocol_version=PROTOCOL_VERSION, workspace=workspace, warnings=warnings, hint=hint)
