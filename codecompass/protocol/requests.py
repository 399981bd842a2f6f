"""What each tool is asked: one frozen Struct a tool, the same for the command line and every transport.

They are made by `decode.decode`, which checks ranges and lists; code that builds one by hand keeps to the same ranges.
A None says that the caller left the choice to the configuration.
"""

from typing import Annotated, ClassVar, Final, Literal, get_args

from msgspec import Meta, Struct

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

MAX_PATH_LENGTH: Final = 4096
"""Characters of a path, and of globs of paths: PATH_MAX of Linux. realpath is quadratic: 200,000 took 3.5 s (2026-11-22)."""

MAX_QUERY_LENGTH: Final = 16_384
"""Of a question, a pasted message with its stack trace, a literal or a pattern."""

MAX_NAME_LENGTH: Final = MAX_QUERY_LENGTH
"""Of a symbol's name, which may be qualified, a signature, a path with a line behind it, or a pasted stack trace."""

MAX_PROJECT_ID_LENGTH: Final = 50
"""A test holds it equal to what the registry takes as the name of a project."""

MAX_REF_LENGTH: Final = 1000
MAX_WORDS_LENGTH: Final = 1000
"""Of a list of words with commas between: languages, kinds."""

MAX_WORDS: Final = 100
"""Items of such a list."""

MAX_WORD_LENGTH: Final = 100
"""Of one of a few words, such as `freshness_policy`."""

PathText = Annotated[str, Meta(max_length=MAX_PATH_LENGTH)]
QueryText = Annotated[str, Meta(max_length=MAX_QUERY_LENGTH)]
NameText = Annotated[str, Meta(max_length=MAX_NAME_LENGTH)]
RefText = Annotated[str, Meta(max_length=MAX_REF_LENGTH)]
WordsText = Annotated[str, Meta(max_length=MAX_WORDS_LENGTH)]
ProjectIdText = Annotated[str, Meta(max_length=MAX_PROJECT_ID_LENGTH)]
"""Texts with the bound of their length in characters, which decoding enforces before it does anything with them and which the
schemas of the tools state as `maxLength`."""


class Request(Struct, frozen=True, kw_only=True):
    """What every tool takes. `workspace` is a path, `project_id` the hash id or the alias of a registered project."""

    tool: ClassVar[str] = ""

    workspace: PathText | None = None
    project_id: ProjectIdText | None = None
    ref: RefText | None = None


class SearchCode(Request, frozen=True, kw_only=True):
    """Search by words, a literal or a regular expression. `path` is a glob, `kind` one of `KINDS_ON_INPUT`; `why_not` is the
    path of a file whose place among the hits, or absence, is to be explained. `docs` adds the comment above to a body."""

    tool: ClassVar[str] = "search_code"

    query: QueryText
    limit: int | None = None
    language: WordsText | None = None
    path: PathText | None = None
    kind: WordsText | None = None
    mode: SearchMode = "auto"
    detail_level: DetailLevel = "signature"
    docs: bool = False
    compact: bool = False
    freshness_policy: FreshnessPolicy | None = None
    ranking_explain_level: ExplainLevel | None = None
    timeout_ms: int | None = None
    why_not: PathText | None = None


class LocateSymbol(Request, frozen=True, kw_only=True):
    """Find definitions by name, qualified name or a part of it, by `symbol_id`, or by `path:line`. `docs` as in `SearchCode`."""

    tool: ClassVar[str] = "locate_symbol"

    name: NameText
    kind: WordsText | None = None
    language: WordsText | None = None
    path: PathText | None = None
    limit: int | None = None
    detail_level: DetailLevel = "signature"
    docs: bool = False
    compact: bool = False
    freshness_policy: FreshnessPolicy | None = None
    ranking_explain_level: ExplainLevel | None = None


class GetFileOutline(Request, frozen=True, kw_only=True):
    """The symbol tree of one file. `language` is informational; `limit` counts nodes."""

    tool: ClassVar[str] = "get_file_outline"

    path: PathText
    depth: OutlineDepth = "all"
    language: WordsText | None = None
    limit: int | None = None


class GetSymbolHierarchy(Request, frozen=True, kw_only=True):
    """What encloses a symbol, or what it encloses. `path` picks among same-named ones."""

    tool: ClassVar[str] = "get_symbol_hierarchy"

    symbol_name: NameText
    path: PathText | None = None
    direction: Direction = "ancestors"


class FindRelatedSymbols(Request, frozen=True, kw_only=True):
    """What stands near a symbol and what its file imports."""

    tool: ClassVar[str] = "find_related_symbols"

    symbol_name: NameText
    path: PathText | None = None
    scope: Scope = "file"
    limit: int = DEFAULT_RELATED_LIMIT


class GetCodeContext(Request, frozen=True, kw_only=True):
    """The best code for a question within a number of tokens, which the whole answer keeps.

    `strategy` None leaves the choice to whoever answers; `detail_level` None leaves it to the strategy.
    """

    tool: ClassVar[str] = "get_code_context"

    query: QueryText
    max_tokens: int = DEFAULT_MAX_TOKENS
    strategy: Strategy | None = None
    detail_level: ContextDetail | None = None
    language: WordsText | None = None


class IndexStatus(Request, frozen=True, kw_only=True):
    """The state of a project's index; with `path`, what became of that one file."""

    tool: ClassVar[str] = "index_status"

    path: PathText | None = None


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

    repo_path: PathText


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
