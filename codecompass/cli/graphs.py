"""The commands that show trees: callers, callees, what a change reaches, subtypes."""

from typing import Any

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, tool_argument, tool_options


def graph_command(name: str, direction: str, *, text: str, effect: str) -> asyncclick.Command:
    """Returns the command `name`, which calls `get_call_graph` with a direction. Its exit code is 3 if nothing is listed."""

    @make_command(
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
    def command(invocation: Invocation, symbol_name: str, **arguments: Any) -> int:  # noqa: ANN401 - passed to decode
        from codecompass.cli.answering import print_answer
        from codecompass.protocol.requests import GetCallGraph
        from codecompass.query.call_graph import get_call_graph

        asked = given({"symbol_name": symbol_name, "direction": direction, **arguments})
        reply = print_answer(invocation, GetCallGraph, asked, get_call_graph)
        return failure.DONE if len(reply.nodes) > 1 else failure.NOT_FOUND

    return command


def types_command() -> asyncclick.Command:
    """Returns the command `subtypes`."""

    @make_command(
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
    def command(invocation: Invocation, symbol_name: str, **arguments: Any) -> int:  # noqa: ANN401 - passed to decode
        from codecompass.cli.answering import print_answer
        from codecompass.protocol.replies import TypeHierarchyReply
        from codecompass.protocol.requests import GetSymbolHierarchy
        from codecompass.query.hierarchy import get_symbol_hierarchy

        asked = given({"symbol_name": symbol_name, "relation": "subtypes", **arguments})
        reply = print_answer(invocation, GetSymbolHierarchy, asked, get_symbol_hierarchy)
        return failure.DONE if isinstance(reply, TypeHierarchyReply) and reply.total else failure.NOT_FOUND

    return command
