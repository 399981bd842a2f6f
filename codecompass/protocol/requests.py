"""The request of each tool: one frozen Struct per tool, the same for the command line and every transport.

A field is the only definition of its argument: its type, bounds and default, its meaning (`Meta.description`, which docs/tools.md
shows), and in `Meta.extra` how it is read and listed (keys: see `arguments.Argument`). `decode` checks values against it, and the
schemas of `tools/list` are made from it. Arguments are listed in the order of the fields.

Texts are well-formed Unicode (but for paths of the machine), so nothing below cleans them again. None leaves the choice to the
configuration. Code that builds a request directly must keep the bounds, which are only checked by
`decode`.
"""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal, get_args

from msgspec import Meta, Struct

from codecompass.errors import InvalidMaxTokens, InvalidStrategy
from codecompass.protocol.kinds import KINDS_ON_INPUT, LISTED_KINDS, SYMBOL_KINDS
from codecompass.settings import MAX_LIMIT as MAX_LIMIT
from codecompass.settings import MAX_TIMEOUT_MS, QuerySettings
from codecompass.settings import ExplainLevel as ExplainLevel
from codecompass.settings import FreshnessPolicy as FreshnessPolicy

DetailLevel = Literal["location", "signature", "context", "body"]
ContextDetail = Literal["signature", "body"]
SearchMode = Literal["auto", "literal", "regex", "files"]
OutlineDepth = Literal["top", "all"]
Direction = Literal["ancestors", "descendants"]
Scope = Literal["file", "module", "package"]
ReferenceRole = Literal["call", "construct", "type", "inherit", "import", "decorate", "read", "write"]
Confidence = Literal["exact", "likely", "possible"]
GraphDirection = Literal["callers", "callees", "impact"]
Relation = Literal["nesting", "supertypes", "subtypes"]
ReferenceRelation = Literal["uses", "subtypes", "supertypes", "callers", "callees", "impact"]
ReferenceDetail = Literal["location", "line"]
Strategy = Literal["breadth", "depth"]

SEARCH_MODES: Final = get_args(SearchMode)

MAX_REFERENCES: Final = 1_000
MAX_OFFSET: Final = 1_000_000

MAX_LINE_NUMBER: Final = 100_000_000
MAX_LINES_READ: Final = 5_000
"""Lines of a file in one answer."""

DEFAULT_LINES_READ: Final = 500
"""The same without a `limit`: 20 to 25 kB of source, what hosts show a model whole."""

MAX_WAIT_SECONDS: Final = 50
"""Clients time out after 60 seconds by default."""

MAX_PATH_LENGTH: Final = 4096
"""Characters of a path, and of path globs: Linux's PATH_MAX. realpath is quadratic: 200,000 took 3.5 s (2026-11-22)."""

MAX_QUERY_LENGTH: Final = 16_384
"""Characters of a question, a pasted message with a stack trace, a literal or a pattern; and of a number written as text."""

MAX_NAME_LENGTH: Final = MAX_QUERY_LENGTH
"""Characters of a symbol's name, which may be qualified, a signature, `path:line`, or a pasted stack trace."""

MAX_PROJECT_ID_LENGTH: Final = 50
PROJECT_ID_PATTERN: Final = r"^[a-z0-9]+(-[a-z0-9]+)*$"
"""In JSON Schema's form. Decoding matches the full text, because `$` alone would accept a final line break."""

MAX_REF_LENGTH: Final = 255
MAX_WORDS_LENGTH: Final = 1000
"""Characters of a comma-separated list of words: languages, kinds."""

MAX_WORDS: Final = 100
"""Items of such a list."""

MAX_WORD_LENGTH: Final = 100
"""Characters of a choice, such as `freshness_policy`."""

MachinePath = Annotated[str, Meta(max_length=MAX_PATH_LENGTH, extra={"form": "machine_path"})]
FilePath = Annotated[str, Meta(max_length=MAX_PATH_LENGTH, extra={"form": "filled", "placeholder": "FILE"})]
Globs = Annotated[
    str,
    Meta(
        max_length=MAX_PATH_LENGTH,
        description="globs, with commas between, those after `!` left out: `src/**/*.py`, `a/**,b/**`, `!test/**`, "
        "`{a,b/{c,d}}/**`",
        extra={
            "form": "words",
            "listed": "src/**,!test/**",
            "placeholder": "GLOB",
            "help": "Only files whose path fits: 'src/**,!**/test/**', lib/.",
        },
    ),
]
QueryText = Annotated[str, Meta(max_length=MAX_QUERY_LENGTH, extra={"form": "filled"})]
NameText = Annotated[str, Meta(max_length=MAX_NAME_LENGTH, extra={"form": "filled"})]
Languages = Annotated[
    str,
    Meta(
        max_length=MAX_WORDS_LENGTH,
        description="`python`, `rust`, ..., or several: `py,ts`",
        extra={"form": "words", "placeholder": "NAME", "help": "Only files of these languages: python,go."},
    ),
]
Kinds = Annotated[
    str,
    Meta(
        max_length=MAX_WORDS_LENGTH,
        description=f"`{' '.join(SYMBOL_KINDS)}`; also `function`, `constant` and the like; or several: `class,function`. "
        '`test` is a test with a title and a block (`it("adds", ...)`, `test "adds" do`); `section` and the kinds after it are '
        "those of documents, configuration, styles and builds ([what is indexed](indexing.md#languages))",
        extra={"form": "words", "values": KINDS_ON_INPUT, "help": "Only definitions of these kinds: fn,class."},
    ),
]
SymbolName = Annotated[
    NameText, Meta(description="a name, a qualified name, a `symbol_id` or `path:line` ([places and ids](#places-and-ids))")
]
ReturnedPaths = Annotated[
    Globs,
    Meta(
        description="returns only what is in these files: globs as for `search_code`. Where several files define the name, "
        "the file of the one that is meant",
        extra={"listed": "", "help": "Only what is in these files; or the file of the one that is meant, of several."},
    ),
]
HitLimit = Annotated[
    int,
    Meta(
        ge=1,
        le=MAX_LIMIT,
        extra={
            "default": QuerySettings().default_limit,
            "unit": "hits",
            "help": f"Show so many hits at most, 1 to {MAX_LIMIT} [{QuerySettings().default_limit}].",
        },
    ),
]
HitOffset = Annotated[
    int,
    Meta(
        ge=0,
        le=MAX_OFFSET,
        description="leaves out the first ones, for the next page: an answer that has one says with which `offset`",
        extra={"unit": "hits", "lists_default": False, "help": "Leave out so many first."},
    ),
]
HitDetail = Annotated[
    DetailLevel,
    Meta(
        description="`location` is the place alone, `context` adds a preview of the body, the parent and what is near; `body` is "
        "the whole definition ([bodies](#bodies))",
        extra={"help": "How much to show of each hit: location, signature, context or body."},
    ),
]
WithDocs = Annotated[
    bool,
    Meta(
        description="with `body`: the comment above the definition as well",
        extra={"help": "With -d body, the comment above a definition as well."},
    ),
]
Compact = Annotated[
    bool,
    Meta(
        description="leaves out what is long, at any level",
        extra={"help": "Leave out everything but what a program needs."},
    ),
]
Freshness = Annotated[
    FreshnessPolicy,
    Meta(
        description="when files have changed: `strict` refuses, `balanced` takes changes in first where that is quick, "
        "`best_effort` answers",
        extra={
            "default": QuerySettings().freshness_policy,
            "is_listed_as_text": True,
            "help": "When files have changed: balanced takes them in first, strict refuses, best_effort answers from what is "
            "indexed.",
        },
    ),
]
Revision = Annotated[str, Meta(max_length=MAX_REF_LENGTH, extra={"form": "optional", "placeholder": "REF"})]
ChangedSince = Annotated[
    Revision,
    Meta(
        description="a branch, tag or commit: only what differs from it, uncommitted and new files included "
        "([changed since](search.md#what-has-changed-since-a-commit))",
        extra={"listed": "Git ref", "help": "Only what differs from this branch, tag or commit."},
    ),
]
Explanation = Annotated[
    ExplainLevel,
    Meta(
        description="`basic` or `full`: explain each hit's rank",
        extra={
            "default": QuerySettings().ranking_explain_level,
            "is_listed_as_text": True,
            "help": "Explain each hit's rank: off, basic or full.",
        },
    ),
]
SearchTime = Annotated[
    int,
    Meta(
        ge=1,
        le=MAX_TIMEOUT_MS,
        description="a search that takes longer gives what it has",
        extra={
            "unit": "ms",
            "default": QuerySettings().timeout_ms,
            "lists_default": False,
            "help": "End a long search after this, with what it has.",
        },
    ),
]
WaitSeconds = Annotated[int, Meta(ge=0, le=MAX_WAIT_SECONDS, description="wait so long for the end", extra={"unit": "s"})]

ALL_PROJECTS: Final = "*"

Workspaces = Annotated[
    str,
    Meta(
        max_length=MAX_PATH_LENGTH,
        description="A path, as all tools take it; or `*` for all registered projects; or several of them, in a list or with "
        "commas between: names, ids, names of directories, absolute paths, names of groups ([all projects](#all-projects))",
        extra={"form": "workspaces"},
    ),
]


class Request(Struct, frozen=True, kw_only=True):
    """The arguments that every tool takes."""

    tool: ClassVar[str] = ""

    workspace: (
        Annotated[
            MachinePath,
            Meta(
                description="A path: the repository, or anything inside it. Absolute is best; a relative one is taken from where "
                "the server was started, `~` is the home directory of the user who started it. An empty string counts as absent"
            ),
        ]
        | None
    ) = None
    project_id: (
        Annotated[
            str,
            Meta(
                max_length=MAX_PROJECT_ID_LENGTH,
                description="A registered project by its id or by its name: lower-case letters and digits with single hyphens "
                "between them, 1 to 50 characters. Together with `workspace` both must mean the same project",
                extra={"form": "project_id", "placeholder": "NAME", "help": "Use the project of this name or id."},
            ),
        ]
        | None
    ) = None
    ref: (
        Annotated[
            str,
            Meta(
                max_length=MAX_REF_LENGTH,
                description="A branch, a tag, a commit or a name like `HEAD~3`: the answer is about that commit, which need not "
                "be checked out ([refs](#refs)). Without it, it is about the working tree. Tools that index always use "
                "the working tree: there it must be the branch that is checked out",
                extra={
                    "form": "optional",
                    "help": "Ask about this branch, tag or commit, not the working tree.",
                },
            ),
        ]
        | None
    ) = None


class SearchCode(Request, frozen=True, kw_only=True):
    """Search by words, a literal or a regular expression."""

    tool: ClassVar[str] = "search_code"

    workspace: Annotated[Workspaces, Meta(extra={"listed": "*: all"})] | None = None
    query: Annotated[QueryText, Meta(description="what to look for")]
    limit: HitLimit | None = None
    offset: HitOffset = 0
    mode: Annotated[
        SearchMode,
        Meta(
            description="`literal` takes the query as it is written, `regex` as an RE2 expression; both give `matched_lines`. "
            "`files` lists files ([below](#files))",
            extra={"help": "How to read the query: auto, literal, regex or files."},
        ),
    ] = "auto"
    path: Globs | None = None
    language: Languages | None = None
    kind: Annotated[Kinds, Meta(extra={"listed": f"{' '.join(LISTED_KINDS)}; or fn,class"})] | None = None
    detail_level: HitDetail = "signature"
    docs: WithDocs = False
    compact: Compact = False
    changed_since: ChangedSince | None = None
    freshness_policy: Freshness | None = None
    ranking_explain_level: Explanation | None = None
    timeout_ms: SearchTime | None = None
    why_not: (
        Annotated[
            FilePath,
            Meta(
                description="a path, or the end of one: `metadata.why_not` says its rank over all places and why, or why it is "
                "not there ([verdicts](search.md#why-and-why-not))",
                extra={
                    "listed": "Path",
                    "help": "Explain why this file is or is not a hit.",
                },
            ),
        ]
        | None
    ) = None


class LocateSymbol(Request, frozen=True, kw_only=True):
    """Find definitions by name, qualified name or a part of it, by `symbol_id`, or by `path:line`."""

    tool: ClassVar[str] = "locate_symbol"

    workspace: Workspaces | None = None
    name: Annotated[
        NameText,
        Meta(
            description="a name, or a qualified one with the separators of any language; a `symbol_id`, or `path:line` "
            "([places and ids](#places-and-ids))"
        ),
    ]
    kind: Kinds | None = None
    language: Languages | None = None
    path: Globs | None = None
    limit: HitLimit | None = None
    offset: HitOffset = 0
    detail_level: HitDetail = "signature"
    docs: WithDocs = False
    compact: Compact = False
    changed_since: ChangedSince | None = None
    freshness_policy: Freshness | None = None
    ranking_explain_level: Explanation | None = None


class GetFileOutline(Request, frozen=True, kw_only=True):
    """The symbol tree of one file."""

    tool: ClassVar[str] = "get_file_outline"

    path: Annotated[FilePath, Meta(description="relative to the workspace")]
    depth: Annotated[
        OutlineDepth,
        Meta(
            description="`top` gives the outermost ones only",
            extra={"help": "top, or all that is nested too [all]."},
        ),
    ] = "all"
    language: (
        Annotated[
            str,
            Meta(
                max_length=MAX_WORDS_LENGTH,
                description="for the record; the file's own language is used",
                extra={"placeholder": "NAME", "help": "Taken for compatibility; the file's language is known."},
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=10_000, extra={"unit": "nodes", "help": "Show so many definitions at most."})] | None = (
        None
    )


class ReadFile(Request, frozen=True, kw_only=True):
    """Lines of a file as they are indexed. For clients whose files lie elsewhere, and for the page for people."""

    tool: ClassVar[str] = "read_file"

    path: Annotated[
        FilePath,
        Meta(
            description="relative to the workspace; lines may stand behind it, then the others are left out: `src/x.py:120-180`",
            extra={"listed": "src/x.py, src/x.py:120-180"},
        ),
    ]
    line_start: Annotated[
        int,
        Meta(
            ge=1,
            le=MAX_LINE_NUMBER,
            description="the first line. An answer that is not the rest of the file says where to go on",
            extra={"unit": "lines", "lists_default": False},
        ),
    ] = 1
    line_end: Annotated[int, Meta(ge=1, le=MAX_LINE_NUMBER, description="the last line", extra={"unit": "lines"})] | None = None
    limit: Annotated[int, Meta(ge=1, le=MAX_LINES_READ, extra={"unit": "lines"})] = DEFAULT_LINES_READ


class GetSymbolHierarchy(Request, frozen=True, kw_only=True):
    """What encloses a symbol or what it encloses, or its supertypes or subtypes."""

    tool: ClassVar[str] = "get_symbol_hierarchy"

    symbol_name: SymbolName
    path: ReturnedPaths | None = None
    direction: Annotated[Direction, Meta(description="or `descendants`")] = "ancestors"
    relation: Annotated[
        Relation,
        Meta(description="`nesting`, or types that it inherits from (`supertypes`) or that inherit from it (`subtypes`)"),
    ] = "nesting"


class FindReferences(Request, frozen=True, kw_only=True):
    """Where a definition is used: calls, types, supertypes, imports, reads and writes."""

    tool: ClassVar[str] = "find_references"

    workspace: Workspaces | None = None
    symbol_name: SymbolName
    relation: Annotated[
        ReferenceRelation,
        Meta(
            description="`uses`, or what `get_symbol_hierarchy` answers with this relation (`subtypes`, `supertypes`: all of "
            "them), or `get_call_graph` with this direction (`callers`, `callees`, `impact`)"
        ),
    ] = "uses"
    path: ReturnedPaths | None = None
    role: (
        Annotated[
            ReferenceRole,
            Meta(
                description="only these: `call construct type inherit import decorate read write`",
                extra={
                    "is_listed_as_text": True,
                    "help": "Only calls, or only: construct type inherit import decorate read write.",
                },
            ),
        ]
        | None
    ) = None
    confidence: Annotated[
        Confidence,
        Meta(
            description="the least that is listed: `exact` (bound by scope, import or a written type), `likely` (one definition "
            "fits), `possible` (several fit). All are counted",
            extra={"help": "List what is at least so sure: exact, likely or possible [likely]."},
        ),
    ] = "likely"
    include_tests: Annotated[
        bool, Meta(description="uses in tests too, behind all others", extra={"help": "Uses in tests too, as by default."})
    ] = True
    limit: Annotated[
        int,
        Meta(ge=1, le=MAX_REFERENCES, extra={"unit": "uses", "help": f"Show so many uses at most, 1 to {MAX_REFERENCES} [50]."}),
    ] = 50
    offset: Annotated[
        int,
        Meta(
            ge=0,
            le=MAX_OFFSET,
            description="leaves out the first ones, for the rest of a page that was cut",
            extra={"unit": "uses", "lists_default": False, "help": "Leave out so many first."},
        ),
    ] = 0
    detail_level: Annotated[
        ReferenceDetail,
        Meta(
            description="`line` shows the line of code, `location` only its number",
            extra={"help": "location leaves out the lines of code."},
        ),
    ] = "line"
    timeout_ms: SearchTime | None = None


class GetCallGraph(Request, frozen=True, kw_only=True):
    """Who calls a definition, what it calls, or what a change of it reaches."""

    tool: ClassVar[str] = "get_call_graph"

    symbol_name: SymbolName
    path: ReturnedPaths | None = None
    direction: Annotated[
        GraphDirection,
        Meta(
            description="`impact`: callers, and what inherits, overrides, imports and tests it",
            extra={"help": "callers, callees or impact."},
        ),
    ] = "callers"
    depth: Annotated[int, Meta(ge=1, le=5, extra={"unit": "calls", "help": "How many calls far, 1 to 5 [2]."})] = 2
    include_tests: Annotated[
        bool, Meta(description="callers in tests too", extra={"help": "Callers in tests too, as by default."})
    ] = True
    limit: Annotated[
        int, Meta(ge=1, le=500, extra={"unit": "symbols", "help": "Show so many symbols at most, 1 to 500 [50]."})
    ] = 50


class FindRelatedSymbols(Request, frozen=True, kw_only=True):
    """What a symbol uses, what uses it, its tests, and its neighbours."""

    tool: ClassVar[str] = "find_related_symbols"

    symbol_name: SymbolName
    path: ReturnedPaths | None = None
    scope: Annotated[Scope, Meta(description="of neighbours: or `module` (directory), `package`")] = "file"
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT, extra={"unit": "symbols"})] = 20


class GetCodeContext(Request, frozen=True, kw_only=True):
    """The best code for a question; the whole answer stays within a number of tokens.

    `strategy` None means depth if the server answers with text; `detail_level` None leaves it to the strategy.
    """

    tool: ClassVar[str] = "get_code_context"

    query: Annotated[QueryText, Meta(description="the question")]
    max_tokens: Annotated[
        int,
        Meta(ge=1, le=200_000, description="for the whole answer", extra={"unit": "tokens", "error_below": InvalidMaxTokens}),
    ] = 4000
    strategy: (
        Annotated[
            Strategy,
            Meta(
                description="signatures of many symbols; `depth` gives bodies of few",
                extra={"default": "breadth", "error": InvalidStrategy},
            ),
        ]
        | None
    ) = None
    detail_level: Annotated[ContextDetail, Meta(description="`signature` or `body`, whatever the strategy")] | None = None
    language: Annotated[Languages, Meta(description="only code in it")] | None = None
    path: Globs | None = None


class DiffContext(Request, frozen=True, kw_only=True):
    """What differs between two commits, or a commit and the working tree, by definition, with their users.

    `base` None is the commit at which the head left the default branch, `head` None the working tree.
    """

    tool: ClassVar[str] = "diff_context"

    base: (
        Annotated[
            Revision,
            Meta(
                description="a branch, tag or commit to compare with; where the head left the default branch if left out",
                extra={"listed": "Default: fork point"},
            ),
        ]
        | None
    ) = None
    head: (
        Annotated[
            Revision,
            Meta(
                description="a branch, tag or commit; the working tree if left out, uncommitted and new files included",
                extra={"listed": "Default: working tree", "help": "Compare this commit, not the working tree."},
            ),
        ]
        | None
    ) = None
    path: Globs | None = None
    symbol: (
        Annotated[
            NameText,
            Meta(
                description="a name, a qualified name, a `symbol_id` or `path:line`: both versions of each definition, whole; if "
                "some differ, of those",
                extra={"help": "Show both versions of this definition."},
            ),
        ]
        | None
    ) = None
    max_tokens: Annotated[
        int,
        Meta(
            ge=1,
            le=200_000,
            description="for the whole answer",
            extra={"unit": "tokens", "error_below": InvalidMaxTokens, "help": "Show as much as fits into so many tokens [8000]."},
        ),
    ] = 8000
    freshness_policy: Freshness | None = None


class IndexStatus(Request, frozen=True, kw_only=True):
    """The state of a project's index; with `path`, whether and why that file is indexed or not."""

    tool: ClassVar[str] = "index_status"

    path: (
        Annotated[
            FilePath,
            Meta(
                description="also says what became of this file, and why",
                extra={"listed": "A file", "help": "Explain one file."},
            ),
        ]
        | None
    ) = None


class IndexRepo(Request, frozen=True, kw_only=True):
    """Start an index job, from nothing with `force`; wait up to `wait_seconds` for its end."""

    tool: ClassVar[str] = "index_repo"

    force: Annotated[
        bool,
        Meta(
            description="build the index from nothing; the old one answers until the new one is there",
            extra={"listed": "Rebuild from nothing"},
        ),
    ] = False
    wait_seconds: WaitSeconds = 0


class SyncRepo(Request, frozen=True, kw_only=True):
    """Start an incremental job; wait up to `wait_seconds` for its end."""

    tool: ClassVar[str] = "sync_repo"

    force: Annotated[bool, Meta(description="build the index from nothing", extra={"listed": "Rebuild from nothing"})] = False
    wait_seconds: WaitSeconds = 0


class IndexRepository(Request, frozen=True, kw_only=True):
    """Register a directory, index it and wait for the end. `repo_path` has the meaning of `workspace` in other tools."""

    tool: ClassVar[str] = "index_repository"

    repo_path: Annotated[
        MachinePath,
        Meta(
            description="an absolute path; `workspace`, if it is given too, must mean the same", extra={"listed": "Absolute path"}
        ),
    ]
    project_id: (
        Annotated[
            str,
            Meta(
                max_length=MAX_PROJECT_ID_LENGTH,
                pattern=PROJECT_ID_PATTERN,
                description="the name of the project from now on. One name for one project, for good",
                extra={"form": "project_id"},
            ),
        ]
        | None
    ) = None


class ListRefs(Request, frozen=True, kw_only=True):
    """The branches, tags and commits that `ref` accepts, and which of them are indexed."""

    tool: ClassVar[str] = "list_refs"

    filter: (
        Annotated[
            str,
            Meta(
                max_length=MAX_REF_LENGTH,
                description="only names that contain this, in any case",
                extra={"form": "optional", "placeholder": "TEXT", "help": "Only names that contain this."},
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Meta(ge=1, le=500, extra={"unit": "refs", "help": "Show so many names at most, 1 to 500 [20]."})] = 20


class HealthCheck(Request, frozen=True, kw_only=True):
    """The state of the server and its projects."""

    tool: ClassVar[str] = "health_check"


class CountUses(Request, frozen=True, kw_only=True):
    """How often the definitions that begin in some lines of a file are used, for the page for people. Not a tool."""

    tool: ClassVar[str] = "count_uses"

    path: FilePath
    line_start: Annotated[int, Meta(ge=1, le=MAX_LINE_NUMBER)] = 1
    line_end: Annotated[int, Meta(ge=1, le=MAX_LINE_NUMBER)] = MAX_LINE_NUMBER
    timeout_ms: Annotated[int, Meta(ge=1, le=MAX_TIMEOUT_MS)] = 1_000


class ListDirectory(Request, frozen=True, kw_only=True):
    """What a directory of the index has in it, for the page for people. Not a tool. An empty path is the root."""

    tool: ClassVar[str] = "list_directory"

    path: Annotated[str, Meta(max_length=MAX_PATH_LENGTH)] = ""


PageRequest = ReadFile | ListDirectory | CountUses
"""Requests that the page for people makes as such. But for the first they are no tools."""

AnyRequest = (
    SearchCode
    | LocateSymbol
    | GetFileOutline
    | ReadFile
    | GetSymbolHierarchy
    | FindReferences
    | GetCallGraph
    | FindRelatedSymbols
    | GetCodeContext
    | DiffContext
    | IndexStatus
    | IndexRepo
    | SyncRepo
    | IndexRepository
    | HealthCheck
    | ListRefs
)

REQUESTS: Final[Mapping[str, type[AnyRequest]]] = {request.tool: request for request in get_args(AnyRequest)}
"""The request of each tool, by the name of the tool."""
