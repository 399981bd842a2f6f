"""The tools that a server lists, and how `tools/list` shows them. Imports nothing that answers a call."""

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
"""In listing order: the tools that agents need most come first."""

_ONLY_IN_ALL: Final = (index_repository.TOOL, list_refs.TOOL, diff_context.TOOL)
"""Tools for which the default listing has no room in its 12 kB. They can be called nevertheless."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": tuple(tool.name for tool in TOOLS if tool not in _ONLY_IN_ALL),
    "ten": tuple(tool.name for tool in TOOLS if tool not in (*_ONLY_IN_ALL, find_references.TOOL, get_call_graph.TOOL)),
    "core": ("search_code", "locate_symbol", "get_file_outline", "find_references", "get_code_context", "index_status"),
    "all": tuple(tool.name for tool in TOOLS),
}
"""The groups that `serve-mcp --tools` accepts besides the names of tools."""

_ABOUT_THE_TREE: Final = frozenset({"list_refs", "index_status", "index_repo", "sync_repo", "health_check", "index_repository"})
"""Tools that are about the working tree, the repository or the server: no listing shows their `ref`."""

_REF_IN_DEFAULT: Final = frozenset({"search_code", "locate_symbol", "get_file_outline", "get_code_context"})
"""Tools that show their `ref` in all groups; the others only in `all`, but accept it nevertheless."""

_NOT_IN_DEFAULT: Final = frozenset({"changed_since"})
NOT_IN_CORE: Final = _NOT_IN_DEFAULT | frozenset({
    "compact", "confidence", "docs", "freshness_policy", "include_tests", "language", "offset", "project_id",
    "ranking_explain_level", "ref", "strategy", "timeout_ms", "why_not",
})  # fmt: skip
"""Arguments that `core` does not show, to stay within 5 kB. It shows no titles either, which are for people."""


def describe(listing: str, answers: AnswerForm = "json") -> tuple[ToolDescription, ...]:
    """Returns the tools of a listing as `tools/list` shows them, without output schemas if answers are text.

    Raises the same errors as `listed_names`.
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
