"""The commands that list how definitions relate: `refs`, `callers`, `callees`, `impact`, `subtypes`.

Each prints the answer of a tool, as agents get it. The exit code is 3 if there is nothing to list.
"""

from typing import Any

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.grep_options import split_paths, within
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, named_several, several_options, tool_argument, tool_options


@command(
    "refs",
    text="""
    List where a definition is used: calls, types, supertypes, imports, reads and writes.

    NAME is a name, a qualified name or the end of one. Uses are resolved by scope, imports and the types that are written
    down; ~ marks lines that are likely, ? those that fit several definitions. Tests come last. The exit code is 3 where
    nothing uses it.
    """,
    examples=(
        Example("codecompass refs validate_token", "where it is used"),
        Example("codecompass refs Session.close --role call", "who calls it"),
        Example("codecompass refs src/config.py:12", "which of several, by its place"),
        Example("codecompass refs Config -p 'src/**'", "uses below src alone"),
        Example("codecompass refs close --confidence possible", "also what fits several definitions"),
        Example("codecompass refs Session --in auth --all", "what auth defines, wherever its package is imported"),
        Example("codecompass refs main --json | jq -r '.references[] | \"\\(.path):\\(.line_start)\"'", "for programs"),
    ),
)
@tool_argument("find_references", "symbol_name", metavar="NAME")
@asyncclick.argument("paths", nargs=-1, metavar="[PATH]...", type=asyncclick.Path())
@tool_options("find_references", "relation")
@several_options()
def refs(
    invocation: Invocation,
    symbol_name: str,
    paths: tuple[str, ...],
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Prints the uses; the exit code is 3 if there are none."""
    from codecompass.cli.answering import answer_several, print_answer
    from codecompass.protocol.replies import FindReferencesReply
    from codecompass.protocol.requests import FindReferences
    from codecompass.query.references import find_references

    arguments["path"] = within(split_paths(paths, all_paths=True)[1], (arguments.get("path"),))
    asked = given({"symbol_name": symbol_name, **arguments})
    several = named_several(all_projects=all_projects, in_projects=in_projects)
    if several:
        found = answer_several(invocation, FindReferences.tool, asked, several)
        assert isinstance(found, FindReferencesReply)
        invocation.print_reply(found)
        return failure.DONE if found.references else failure.NOT_FOUND
    reply = print_answer(invocation, FindReferences, asked, find_references)
    return failure.DONE if reply.references else failure.NOT_FOUND


def _graph_command(name: str, text: str, effect: str) -> asyncclick.Command:
    """Returns the command `name`, which calls `get_call_graph` with the direction of that name."""

    @command(
        name,
        text=f"""
    {text}

    NAME is a name, a qualified name or the end of one. ~ marks what is likely but not certain. The exit code is 3 where
    there is nothing to list.
""",
        examples=(
            Example(f"codecompass {name} Session.close", effect),
            Example(f"codecompass {name} main --depth 1 --json", "for programs"),
        ),
    )
    @tool_argument("get_call_graph", "symbol_name", metavar="NAME")
    @tool_options("get_call_graph", "direction")
    def listing(invocation: Invocation, symbol_name: str, **arguments: Any) -> int:  # noqa: ANN401 - passed to decode
        from codecompass.cli.answering import print_answer
        from codecompass.protocol.requests import GetCallGraph
        from codecompass.query.call_graph import get_call_graph

        asked = given({"symbol_name": symbol_name, "direction": name, **arguments})
        reply = print_answer(invocation, GetCallGraph, asked, get_call_graph)
        return failure.DONE if any(node.distance for node in reply.nodes) else failure.NOT_FOUND

    return listing


callers = _graph_command("callers", "List who calls a function, and who calls them.", "who calls it, two calls far")
callees = _graph_command("callees", "List what a function calls, and what that calls.", "what it calls, two calls far")
impact = _graph_command(
    "impact",
    "List what a change of a definition reaches: tests first, callers, subtypes, importing files.",
    "what has to be looked at when it changes",
)


@command(
    "subtypes",
    text="""
    List the types that inherit from a type or implement it, and those that inherit from them.

    NAME is a name, a qualified name or the end of one. The exit code is 3 where there are none.
""",
    examples=(
        Example("codecompass subtypes BaseHandler", "what inherits from it"),
        Example("codecompass subtypes Reader --json", "for programs"),
    ),
)
@tool_argument("get_symbol_hierarchy", "symbol_name", metavar="NAME")
@tool_options("get_symbol_hierarchy", "direction", "relation")
def subtypes(invocation: Invocation, symbol_name: str, **arguments: Any) -> int:  # noqa: ANN401 - passed to decode
    """Prints the subtypes; the exit code is 3 if there are none."""
    from codecompass.cli.answering import print_answer
    from codecompass.protocol.replies import TypeHierarchyReply
    from codecompass.protocol.requests import GetSymbolHierarchy
    from codecompass.query.hierarchy import get_symbol_hierarchy

    asked = given({"symbol_name": symbol_name, "relation": "subtypes", **arguments})
    reply = print_answer(invocation, GetSymbolHierarchy, asked, get_symbol_hierarchy)
    return failure.DONE if isinstance(reply, TypeHierarchyReply) and reply.total else failure.NOT_FOUND
