"""The `metadata` block of every answer, and the state of the workspace that a query gets as input for it."""

from typing import Final, Literal

from msgspec import Struct

PROTOCOL_VERSION: Final = "1.0"

FreshnessStatus = Literal["fresh", "stale", "syncing"]
IndexingStatus = Literal["not_indexed", "indexing", "ready", "failed"]
SchemaStatus = Literal["compatible", "not_indexed", "reindex_required", "corrupt_manifest"]
Completeness = Literal["complete", "partial", "truncated"]
Verdict = Literal["shown", "below_the_limit", "not_among_the_candidates", "no_match", "filtered_out", "skipped", "not_indexed"]


class AnswerState(Struct, frozen=True, kw_only=True):
    """The state of the workspace, besides the index, when a query is answered. It is copied into `metadata`.

    An answer that is not `fresh` is never `complete`, and neither is one with `is_partial`.
    """

    workspace: str
    """The canonical root."""
    project_id: str
    """The name of the project in answers."""
    ref: str
    """The ref of the indexed content."""
    commit: str = ""
    """The full id of the commit if the request has a `ref`."""
    freshness_status: FreshnessStatus = "fresh"
    indexing_status: IndexingStatus = "ready"
    schema_status: SchemaStatus = "compatible"
    schema_name: str = ""
    """Set only for callers who named a project."""
    is_partial: bool = False
    warnings: tuple[str, ...] = ()
    """Those of decoding and routing; a query appends its own."""
    hint: str = ""


class RankingReason(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a result has its rank. All factors are 0..1 except `bm25_score`.

    The level `basic` omits the fields with a default, except `near_in_meaning`.
    """

    result_index: int
    """The index of the result, from 0."""
    exact_match_boost: float
    qualified_name_boost: float | None = None
    path_affinity: float
    definition_boost: float
    kind_match: float | None = None
    bm25_score: float | None = None
    """The unbounded score of the text index."""
    related_words: tuple[str, ...] = ()
    """Words of the place that match words of the query by meaning (`cancel for abort`)."""
    near_in_meaning: float | None = None
    """The cosine between question and text, if search by meaning found the place."""
    final_score: float
    """0..1; the results are sorted by it."""


class PathExplanation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether a search found one file, and why or why not."""

    path: str
    verdict: Verdict
    rank: int | None = None
    """The rank of the file's best place, from 1, among all `total` places that the search found."""
    total: int = 0
    reason: RankingReason | None = None
    """The factors of the file's best place."""
    missing_words: tuple[str, ...] = ()
    """Words of the query that are neither in the file's text nor in its path."""
    skip_reason: str = ""
    """Why the file was not indexed."""


class ProjectPart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project with hits in an answer about several projects."""

    name: str
    """The label of its hits."""
    root: str
    commit: str = ""
    """Set if the answer is about a commit and not the working tree."""
    freshness_status: FreshnessStatus | Literal["unchecked"]
    """`unchecked` if only the files that are shown, and not the whole tree, were compared with the index."""
    total_candidates: int = 0
    """Absent where lines were not counted to the end."""


class Metadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The block of an answer from an index. The fields without a default are always present."""

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
    """How many projects the question was about, if it was about several."""
    warnings: tuple[str, ...] = ()
    hint: str = ""


class BareMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The block of an answer that is not from an index: an error before a workspace was found, the state of the server."""

    codecompass_protocol_version: str
    workspace: str = ""
    warnings: tuple[str, ...] = ()
    hint: str = ""


def bare_metadata(workspace: str = "", warnings: tuple[str, ...] = (), hint: str = "") -> BareMetadata:
    """Returns the block with the protocol version."""
    return BareMetadata(codecompass_protocol_version=PROTOCOL_VERSION, workspace=workspace, warnings=warnings, hint=hint)
