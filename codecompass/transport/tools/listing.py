"""Which tools there are, which of them a server lists, and how `tools/list` shows them. Imports nothing that answers a call."""

from collections.abc import Mapping
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

_ONLY_IN_ALL: Final = (index_repository.TOOL, diff_context.TOOL)
"""Tools that the default listing has no room for."""

GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": tuple(tool.name for tool in TOOLS if tool not in _ONLY_IN_ALL),
    "ten": tuple(
        tool.name for tool in TOOLS if tool not in (*_ONLY_IN_ALL, find_references.TOOL, get_call_graph.TOOL, list_refs.TOOL)
    ),
    "core": ("search_code", "locate_symbol", "get_file_outline", "find_references", "get_code_context", "index_status"),
    "all": tuple(tool.name for tool in TOOLS),
}
"""What `serve-mcp --tools` takes besides the names of tools."""

NO_REF_LISTED: Final = frozenset({"list_refs", "index_status", "index_repo", "sync_repo", "health_check", "index_repository"})
"""Tools that are about the working tree, the repository or the server. They take `ref` all the same."""

NOT_IN_CORE: Final = frozenset({
    "changed_since", "compact", "confidence", "docs", "freshness_policy", "include_tests", "language", "offset", "project_id",
    "ranking_explain_level", "strategy", "timeout_ms", "why_not",
})  # fmt: skip
"""Those that `core` does not show, for its 5 kB. It has no titles either, which are for people."""


def describe(listing: str, answers: AnswerForm = "json") -> tuple[ToolDescription, ...]:
    """Returns the tools of a listing as `tools/list` shows them: answers as text have no schema.

    Raises InvalidInput as `listed_names` does.
    """
    names = listed_names(listing)
    groups = {word.strip() for word in listing.split(",")} & GROUPS.keys()
    left_out: frozenset[str] = NOT_IN_CORE if groups == {"core"} else frozenset()
    return tuple(_describe(tool, answers, left_out, is_core=groups == {"core"}) for tool in TOOLS if tool.name in names)


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


def _describe(tool: Tool, answers: AnswerForm, left_out: frozenset[str], *, is_core: bool) -> ToolDescription:
    schema = tool.arguments
    properties = cast("Mapping[str, object]", schema["properties"])
    if tool.name in NO_REF_LISTED:
        left_out |= {"ref"}
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
