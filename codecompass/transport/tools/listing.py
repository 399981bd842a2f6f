"""Which tools there are, which of them a server lists, and how `tools/list` shows them. Imports nothing that answers a call."""

from collections.abc import Collection, Mapping
from typing import Final, cast

from codecompass.errors import InvalidInput
from codecompass.settings import AnswerForm
from codecompass.transport.calls import ToolDescription
from codecompass.transport.tools import (
    diff_context,
    find_references,
    find_related_symbols,
    get_call_graph,
    get_code_context,
    get_file_outline,
    get_symbol_hierarchy,
    health_check,
    index_repo,
    index_repository,
    index_status,
    list_refs,
    locate_symbol,
    search_code,
    sync_repo,
)
from codecompass.transport.tools.tool import Tool

TOOLS: Final[tuple[Tool, ...]] = (
    search_code.TOOL,
    locate_symbol.TOOL,
    get_file_outline.TOOL,
    find_references.TOOL,
    get_call_graph.TOOL,
    get_symbol_hierarchy.TOOL,
    find_related_symbols.TOOL,
    get_code_context.TOOL,
    list_refs.TOOL,
    diff_context.TOOL,
    index_status.TOOL,
    index_repo.TOOL,
    sync_repo.TOOL,
    health_check.TOOL,
    index_repository.TOOL,
)
"""In the order in which they are listed: what agents need most comes first."""

_ONLY_IN_ALL: Final = (index_repository.TOOL, list_refs.TOOL, diff_context.TOOL)
"""Tools that the default listing has no room for in its 12 kB. They can be called all the same."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": tuple(tool.name for tool in TOOLS if tool not in _ONLY_IN_ALL),
    "ten": tuple(tool.name for tool in TOOLS if tool not in (*_ONLY_IN_ALL, find_references.TOOL, get_call_graph.TOOL)),
    "core": ("search_code", "locate_symbol", "get_file_outline", "find_references", "get_code_context", "index_status"),
    "all": tuple(tool.name for tool in TOOLS),
}
"""What `serve-mcp --tools` takes besides the names of tools."""

_ABOUT_THE_TREE: Final = frozenset({"list_refs", "index_status", "index_repo", "sync_repo", "health_check", "index_repository"})
"""Tools that are about the working tree, the repository or the server: no listing shows their `ref`."""

_REF_IN_DEFAULT: Final = frozenset({"search_code", "locate_symbol", "get_file_outline", "get_code_context"})
"""Tools whose `ref` has room in the groups but `all`. The others take it all the same."""

_NOT_IN_DEFAULT: Final = frozenset({"changed_since"})
NOT_IN_CORE: Final = _NOT_IN_DEFAULT | frozenset({
    "compact", "confidence", "docs", "freshness_policy", "include_tests", "language", "offset", "project_id",
    "ranking_explain_level", "ref", "strategy", "timeout_ms", "why_not",
})  # fmt: skip
"""Those that `core` does not show, for its 5 kB. It has no titles either, which are for people."""


def describe(listing: str, answers: AnswerForm = "json") -> tuple[ToolDescription, ...]:
    """Returns the tools of a listing as `tools/list` shows them: answers as text have no schema.

    Raises InvalidInput as `listed_names` does.
    """
    names = listed_names(listing)
    groups = {word.strip() for word in listing.split(",")} & GROUPS.keys()
    return tuple(
        _describe(tool, answers, _left_out(tool, groups), set(groups) == {"core"}) for tool in TOOLS if tool.name in names
    )


def _left_out(tool: Tool, groups: Collection[str]) -> frozenset[str]:
    """Returns the arguments of a tool that a listing of these groups does not show."""
    if set(groups) == {"core"}:
        return NOT_IN_CORE
    is_short = bool(groups) and "all" not in groups
    has_no_ref = tool.name in _ABOUT_THE_TREE or (is_short and tool.name not in _REF_IN_DEFAULT)
    return (_NOT_IN_DEFAULT if is_short else frozenset()) | ({"ref"} if has_no_ref else frozenset())


def listed_names(listing: str) -> frozenset[str]:
    """Returns the tools that a listing means: a group, or names with commas, which may be groups too.

    Raises InvalidInput for what is neither.
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


def _describe(tool: Tool, answers: AnswerForm, left_out: frozenset[str], is_core: bool) -> ToolDescription:
    schema = tool.arguments
    properties = cast("Mapping[str, object]", schema["properties"])
    listed = {name: argument for name, argument in properties.items() if name not in left_out}
    return ToolDescription(
        name=tool.name,
        title="" if is_core else tool.title,
        description=tool.description,
        input_schema={**schema, "properties": listed},
        output_schema=tool.output if answers == "json" else {},
        is_read_only=tool.is_read_only,
        meta=tool.meta,
    )
