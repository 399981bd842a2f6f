"""What each tool is asked: one frozen Struct a tool, the same for the command line and every transport.

They are made by `decode.decode`, which checks ranges and lists; code that builds one by hand keeps to the same ranges.
A None says that the caller left the choice to the configuration.
"""

from typing import ClassVar, Final, Literal, get_args

from msgspec import Struct

DetailLevel = Literal["location", "signature", "context", "body"]
ContextDetail = Literal["signature", "body"]
FreshnessPolicy = Literal["strict", "balanced", "best_effort"]
ExplainLevel = Literal["off", "basic", "full"]
SearchMode = Literal["auto", "literal", "regex", "files"]
OutlineDepth = Literal["top", "all"]
Direction = Literal["ancestors", "descendants"]
Scope = Literal["file", "module", "package"]
Strategy = Literal["breadth", "depth"]

DETAIL_LEVELS: Final = get_args(DetailLevel)
CONTEXT_DETAILS: Final = get_args(ContextDetail)
FRESHNESS_POLICIES: Final = get_args(FreshnessPolicy)
EXPLAIN_LEVELS: Final = get_args(ExplainLevel)
SEARCH_MODES: Final = get_args(SearchMode)
OUTLINE_DEPTHS: Final = get_args(OutlineDepth)
DIRECTIONS: Final = get_args(Direction)
SCOPES: Final = get_args(Scope)
STRATEGIES: Final = get_args(Strategy)

MAX_LIMIT: Final = 100
"""Hits of one answer."""

MAX_OUTLINE_LIMIT: Final = 10_000
"""Nodes of one outline; its size in bytes is limited besides."""

DEFAULT_RELATED_LIMIT: Final = 20
DEFAULT_MAX_TOKENS: Final = 4000
MAX_MAX_TOKENS: Final = 200_000
MAX_TIMEOUT_MS: Final = 60_000
MAX_WAIT_SECONDS: Final = 50
"""Clients give up after 60 seconds by default."""


class Request(Struct, frozen=True, kw_only=True):
    """What every tool takes. `workspace` is a path, `project_id` the hash id or the alias of a registered project."""

    tool: ClassVar[str] = ""

    workspace: str | None = None
    project_id: str | None = None
    ref: str | None = None


class SearchCode(Request, frozen=True, kw_only=True):
    """Search by words, a literal or a regular expression. `path` is a glob, `kind` one of `KINDS_ON_INPUT`; `why_not` is the
    path of a file whose place among the hits, or absence, is to be explained. `docs` adds the comment above to a body."""

    tool: ClassVar[str] = "search_code"

    query: str
    limit: int | None = None
    language: str | None = None
    path: str | None = None
    kind: str | None = None
    mode: SearchMode = "auto"
    detail_level: DetailLevel = "signature"
    docs: bool = False
    compact: bool = False
    freshness_policy: FreshnessPolicy | None = None
    ranking_explain_level: ExplainLevel | None = None
    timeout_ms: int | None = None
    why_not: str | None = None


class LocateSymbol(Request, frozen=True, kw_only=True):
    """Find definitions by name, qualified name or a part of it, by `symbol_id`, or by `path:line`. `docs` as in `SearchCode`."""

    tool: ClassVar[str] = "locate_symbol"

    name: str
    kind: str | None = None
    language: str | None = None
    path: str | None = None
    limit: int | None = None
    detail_level: DetailLevel = "signature"
    docs: bool = False
    compact: bool = False
    freshness_policy: FreshnessPolicy | None = None
    ranking_explain_level: ExplainLevel | None = None


class GetFileOutline(Request, frozen=True, kw_only=True):
    """The symbol tree of one file. `language` is informational; `limit` counts nodes."""

    tool: ClassVar[str] = "get_file_outline"

    path: str
    depth: OutlineDepth = "all"
    language: str | None = None
    limit: int | None = None


class GetSymbolHierarchy(Request, frozen=True, kw_only=True):
    """What encloses a symbol, or what it encloses. `path` picks among same-named ones."""

    tool: ClassVar[str] = "get_symbol_hierarchy"

    symbol_name: str
    path: str | None = None
    direction: Direction = "ancestors"


class FindRelatedSymbols(Request, frozen=True, kw_only=True):
    """What stands near a symbol and what its file imports."""

    tool: ClassVar[str] = "find_related_symbols"

    symbol_name: str
    path: str | None = None
    scope: Scope = "file"
    limit: int = DEFAULT_RELATED_LIMIT


class GetCodeContext(Request, frozen=True, kw_only=True):
    """The best code for a question within a number of tokens, which the whole answer keeps.

    `strategy` None leaves the choice to whoever answers; `detail_level` None leaves it to the strategy.
    """

    tool: ClassVar[str] = "get_code_context"

    query: str
    max_tokens: int = DEFAULT_MAX_TOKENS
    strategy: Strategy | None = None
    detail_level: ContextDetail | None = None
    language: str | None = None


class IndexStatus(Request, frozen=True, kw_only=True):
    """The state of a project's index; with `path`, what became of that one file."""

    tool: ClassVar[str] = "index_status"

    path: str | None = None


class IndexRepo(Request, frozen=True, kw_only=True):
    """Start an index job, from nothing with `force`; wait for its end up to `wait_seconds`."""

    tool: ClassVar[str] = "index_repo"

    force: bool = False
    wait_seconds: int = 0


class SyncRepo(Request, frozen=True, kw_only=True):
    """Start an incremental job; wait for its end up to `wait_seconds`."""

    tool: ClassVar[str] = "sync_repo"

    force: bool = False
    wait_seconds: int = 0


class IndexRepository(Request, frozen=True, kw_only=True):
    """Register a directory, index it and wait for the end. `repo_path` is what `workspace` is elsewhere."""

    tool: ClassVar[str] = "index_repository"

    repo_path: str


class HealthCheck(Request, frozen=True, kw_only=True):
    """The state of the server and its projects."""

    tool: ClassVar[str] = "health_check"


AnyRequest = (
    SearchCode
    | LocateSymbol
    | GetFileOutline
    | GetSymbolHierarchy
    | FindRelatedSymbols
    | GetCodeContext
    | IndexStatus
    | IndexRepo
    | SyncRepo
    | IndexRepository
    | HealthCheck
)
