"""All tools as people and models see them, the groups of them that a server can list, and how `tools/list` shows them.

Hosts request this list first of all, and some do not wait for it: nothing here imports what only a call needs. `catalog.py` runs
the calls.
"""

from collections.abc import Collection, Mapping
from typing import Final, cast

from codecompass.errors import InvalidInput
from codecompass.protocol.requests import (
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    HealthCheck,
    IndexRepo,
    IndexRepository,
    IndexStatus,
    ListRefs,
    LocateSymbol,
    ReadFile,
    SearchCode,
    SyncRepo,
)
from codecompass.settings import AnswerForm
from codecompass.transport.calls import ToolDescription
from codecompass.transport.tools.tool import (
    INTEGER,
    INTEGER_OR_NULL,
    META_ALWAYS_LOAD,
    META_SEARCH_HINT,
    NUMBER,
    OBJECT,
    OBJECT_OR_NULL,
    ROWS,
    STRING,
    STRING_OR_NULL,
    Tool,
    answer,
    shown_by_hosts,
)

RESULT_LIMIT: Final[Mapping[str, object]] = {"anthropic/maxResultSizeChars": 500_000}
"""The caller sets the size with `max_tokens`; a host must not cut it again."""

TOOLS: Final[tuple[Tool, ...]] = (
    Tool(
        request=SearchCode,
        title="Search code",
        description=(
            "Search code instead of grep: where is X, explore by words, name, path, error, regex; mode files: glob, "
            "type:diff history. Definition: locate_symbol; uses: find_references."
        ),
        output=answer(results=ROWS),
        meta=shown_by_hosts("grep", is_always_shown=True),
    ),
    Tool(
        request=LocateSymbol,
        title="Locate a symbol",
        description=(
            "Locate a symbol, go to definition of a function, class, type or constant: lines, signature, body. Takes a name, "
            "Session.close, a symbol_id or src/x.py:120. For words: search_code."
        ),
        output=answer(results=ROWS),
        meta=shown_by_hosts("jump to definition", is_always_shown=True),
    ),
    Tool(
        request=GetFileOutline,
        title="Outline a file",
        description=(
            "Outline of a file before it is read: imports and symbols as a tree, with signatures and lines. Not for finding "
            "files: search_code with mode files does."
        ),
        output=answer(symbols=ROWS),
        meta=shown_by_hosts("list symbols"),
    ),
    Tool(
        request=ReadFile,
        title="Read a file",
        description=(
            "Read lines of a file as indexed, of the working tree or with ref of another commit, where the file is not on your "
            "disk: src/x.py or src/x.py:120-180. One definition: locate_symbol with detail_level body."
        ),
        output=answer(lines=ROWS, line_start=INTEGER, line_count=INTEGER),
        meta=shown_by_hosts("cat, open, view source"),
    ),
    Tool(
        request=FindReferences,
        title="Find who uses a symbol",
        description=(
            "Find references: uses of a definition, by role; with relation all subtypes, callers of callers, impact of a change "
            "with its tests. Not for text: search_code."
        ),
        output=answer(references=ROWS, counts=OBJECT),
        meta=shown_by_hosts("usages, who calls"),
    ),
    Tool(
        request=GetCallGraph,
        title="Call graph: callers, callees or impact",
        description=(
            "Callers of callers, or what a function calls, as a tree up to 5 calls far; with direction impact what a change "
            "reaches: tests, callers, subtypes, overriding methods, importing files. For the lines of uses: find_references."
        ),
        output=answer(nodes=ROWS, edges=ROWS),
        meta=shown_by_hosts("call hierarchy, impact of a change"),
    ),
    Tool(
        request=GetSymbolHierarchy,
        title="Symbol hierarchy: nesting or inheritance",
        description=(
            "What encloses a symbol, or with direction descendants what it encloses (class members); with relation supertypes or "
            "subtypes what a type inherits from, or what inherits from it. Not for who calls it."
        ),
        output=answer(hierarchy=ROWS),
        meta=shown_by_hosts("class members, subclasses, implementations"),
    ),
    Tool(
        request=FindRelatedSymbols,
        title="Find related symbols",
        description=(
            "Around a symbol: what it uses, what uses it, its tests, then its neighbours in the file or, with a wider scope, in "
            "the directory or package. For every use of it: find_references."
        ),
        output=answer(related=ROWS),
        meta=shown_by_hosts("neighbours of a symbol"),
    ),
    Tool(
        request=GetCodeContext,
        title="Gather code",
        description=(
            "Explore an unknown topic: code context that best answers a question within max_tokens. For one symbol: "
            "locate_symbol; for a text or all places: search_code."
        ),
        output=answer(context_items=ROWS),
        meta={**shown_by_hosts("how does it work"), **RESULT_LIMIT},
    ),
    Tool(
        request=ListRefs,
        title="List refs: branches and tags",
        description=(
            "Branches and tags, newest first, the default branch, what is checked out and what is indexed: names for the ref of "
            "the other tools. Not needed for a name that is known."
        ),
        output=answer(current=OBJECT, indexed=ROWS, refs=ROWS, total_refs=INTEGER),
        meta=shown_by_hosts("git branches, tags"),
    ),
    Tool(
        request=DiffContext,
        title="Review what changed",
        description=(
            "Review the diff of a branch or uncommitted changes: definitions added, removed, changed, moved, lines, who is "
            "affected, which tests. With symbol: both versions. Not for history."
        ),
        output=answer(
            base=OBJECT,
            head=OBJECT,
            totals=OBJECT,
            items=ROWS,
            files=ROWS,
            items_omitted=INTEGER,
            files_omitted=INTEGER,
            estimated_tokens=INTEGER,
        ),
        meta=shown_by_hosts("git diff, code review"),
    ),
    Tool(
        request=IndexStatus,
        title="Index status",
        description=(
            "Index status: whether a repository is indexed, fresh, how far a job is, what was skipped; with path, what became "
            "of a file. Not needed before a search, which waits."
        ),
        output=answer(index_status=STRING),
        meta=shown_by_hosts("index freshness"),
    ),
    Tool(
        request=IndexRepo,
        title="Index a repository",
        description=(
            "Index a repository for the first time, or with force from nothing. Returns at once with a job to follow with "
            "index_status, or waits up to wait_seconds. Searches index by themselves what has changed: no need to call it then."
        ),
        output=answer(job_id=STRING, progress_token=STRING, status=STRING, mode=STRING, file_count=INTEGER_OR_NULL),
        meta=shown_by_hosts("index or reindex a repository"),
        is_read_only=False,
    ),
    Tool(
        request=SyncRepo,
        title="Sync the index",
        description=(
            "Take what has changed in the working tree into the index now, and with wait_seconds wait until it is in. Rarely "
            "needed, as searches do so by themselves: use it after an index_stale error. For a first index use index_repo."
        ),
        output=answer(job_id=STRING, progress_token=STRING, status=STRING, mode=STRING, changed_files=INTEGER_OR_NULL),
        meta=shown_by_hosts("refresh the code index after changes"),
        is_read_only=False,
    ),
    Tool(
        request=HealthCheck,
        title="Health check of the server",
        description=(
            "How this server is: its version, running jobs, which projects it knows and which are failing. Use it when several "
            "calls fail, or to see what is indexed. For one repository's index, index_status says more."
        ),
        output=answer(status=STRING, projects=ROWS, total_projects=INTEGER, active_job=OBJECT_OR_NULL),
        meta=shown_by_hosts("is the code search server well"),
    ),
    Tool(
        request=IndexRepository,
        title="Register and index a repository",
        description=(
            "Index the directory repo_path, under the name project_id if one is given, and wait for the end (at most 50 s, then "
            "the job goes on). Later calls can name it by that project_id. In other cases index_repo does the same."
        ),
        output=answer(
            status=STRING,
            repository_id=INTEGER,
            project_id=STRING_OR_NULL,
            schema_name=STRING,
            files_indexed=INTEGER,
            chunks_created=INTEGER,
            duration_seconds=NUMBER,
        ),
        meta=shown_by_hosts("register a repository under a name"),
        is_read_only=False,
    ),
)
"""In listing order: the tools that agents need most come first."""

FOR_FILES_ELSEWHERE: Final = "read_file"
"""The tool that a group of tools has in addition where the files are not on the client's disk."""

_ONLY_IN_ALL: Final = frozenset({"index_repository", "list_refs", "diff_context", FOR_FILES_ELSEWHERE})
"""Tools for which the default listing has no room in its 12 kB, or no use. They can be called nevertheless."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": tuple(tool.name for tool in TOOLS if tool.name not in _ONLY_IN_ALL),
    "ten": tuple(tool.name for tool in TOOLS if tool.name not in _ONLY_IN_ALL | {"find_references", "get_call_graph"}),
    "core": (
        "search_code",
        "locate_symbol",
        "get_file_outline",
        "find_references",
        "get_code_context",
        "diff_context",
        "index_status",
    ),
    "all": tuple(tool.name for tool in TOOLS),
}
"""The groups that `serve-mcp --tools` accepts besides the names of tools."""

_ABOUT_THE_TREE: Final = frozenset({"list_refs", "index_status", "index_repo", "sync_repo", "health_check", "index_repository"})
"""Tools that are about the working tree, the repository or the server: no listing shows their `ref`."""

_REF_IN_DEFAULT: Final = frozenset({"search_code", "locate_symbol", "get_file_outline", "get_code_context", "read_file"})
"""Tools that show their `ref` in all groups; the others only in `all`, but accept it nevertheless."""

_NOT_IN_DEFAULT: Final = frozenset({"changed_since"})
_NOT_IN_DEFAULT_OF: Final[Mapping[str, frozenset[str]]] = {"find_references": frozenset({"relation", "timeout_ms"})}
"""Arguments that the default listing does not show of one tool: it has tools that do the same, or no room."""

NOT_IN_CORE: Final = _NOT_IN_DEFAULT | frozenset({
    "compact", "confidence", "docs", "freshness_policy", "language", "project_id", "ranking_explain_level", "strategy",
    "timeout_ms", "why_not",
})  # fmt: skip
"""Arguments that `core` does not show, to stay within 5 kB. It shows no titles either, which are for people."""

NOT_IN_CORE_OF: Final[Mapping[str, frozenset[str]]] = {
    "locate_symbol": frozenset({"kind"}),
    "get_file_outline": frozenset({"limit"}),
    "find_references": frozenset({"detail_level"}),
    "get_code_context": frozenset({"detail_level", "path"}),
    "diff_context": frozenset({"ref"}),
    "index_status": frozenset({"ref"}),
}
"""Further arguments that `core` does not show of one tool."""

_UNTYPED: Final[Mapping[str, object]] = {"type": "object"}
"""The schema of answers in `core`: only a client that validates reads it, and a model pays for it."""


def describe(listing: str, answers: AnswerForm = "json") -> tuple[ToolDescription, ...]:
    """Returns the tools of a listing as `tools/list` shows them, without output schemas if answers are text.

    Raises the same errors as `listed_names`.
    """
    names = listed_names(listing)
    groups = {word.strip() for word in listing.split(",")} & GROUPS.keys()
    return tuple(
        _describe(tool, answers, _left_out(tool, groups), set(groups) == {"core"}) for tool in TOOLS if tool.name in names
    )


def _in_core(tool: str, name: str, argument: Mapping[str, object]) -> Mapping[str, object]:
    """Returns what `core` shows of an argument. One tool explains paths, and errors name the kinds."""
    if name == "kind" or (name == "path" and tool != SearchCode.tool):
        return {key: value for key, value in argument.items() if key != "description"}
    return argument


def _left_out(tool: Tool, groups: Collection[str]) -> frozenset[str]:
    """Returns the arguments of a tool that a listing of these groups does not show."""
    if set(groups) == {"core"}:
        return NOT_IN_CORE | NOT_IN_CORE_OF.get(tool.name, frozenset())
    is_short = bool(groups) and "all" not in groups
    has_no_ref = tool.name in _ABOUT_THE_TREE or (is_short and tool.name not in _REF_IN_DEFAULT)
    hidden = _NOT_IN_DEFAULT | _NOT_IN_DEFAULT_OF.get(tool.name, frozenset()) if is_short else frozenset()
    return hidden | ({"ref"} if has_no_ref else frozenset())


def listed_names(listing: str) -> frozenset[str]:
    """Returns the names of the tools in a listing: groups and tools, separated by commas.

    Raises InvalidInput for a name that is neither.
    """
    names: set[str] = set()
    for word in (part.strip() for part in listing.split(",")):
        if word in GROUPS:
            names |= set(GROUPS[word])
        elif word in GROUPS["all"]:
            names.add(word)
        else:
            raise InvalidInput(
                f"--tools: there is no tool {word!r}. Groups: {', '.join(GROUPS)}. Tools: {', '.join(GROUPS['all'])}.",
                field="tools",
                value=word,
                allowed=[*GROUPS, *GROUPS["all"]],
            )
    return frozenset(names)


def with_files_elsewhere(listing: str) -> str:
    """Returns a listing of a server whose clients do not have the files: groups also have the tool that reads them."""
    is_group = any(word.strip() in GROUPS for word in listing.split(","))
    return f"{listing},{FOR_FILES_ELSEWHERE}" if is_group else listing


def _describe(tool: Tool, answers: AnswerForm, left_out: frozenset[str], is_core: bool) -> ToolDescription:
    schema = tool.arguments
    properties = cast("Mapping[str, Mapping[str, object]]", schema["properties"])
    listed = {name: argument for name, argument in properties.items() if name not in left_out}
    meta = tool.meta
    if is_core:
        listed = {name: _in_core(tool.name, name, argument) for name, argument in listed.items()}
        if META_ALWAYS_LOAD in meta:  # nobody has to search for it
            meta = {key: value for key, value in meta.items() if key != META_SEARCH_HINT}
    return ToolDescription(
        name=tool.name,
        title="" if is_core else tool.title,
        description=tool.description,
        input_schema={**schema, "properties": listed},
        output_schema={} if answers == "text" else _UNTYPED if is_core else tool.output,
        is_read_only=tool.is_read_only,
        meta=meta,
        is_short=is_core,
    )
