"""The commands that show trees: callers, callees, what a change reaches, subtypes."""

from typing import TYPE_CHECKING, Any

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, tool_argument, tool_options

if TYPE_CHECKING:
    from codecompass.cli.answering import Question
    from codecompass.protocol.replies import CallGraphReply, SymbolHierarchyReply, TypeHierarchyReply
    from codecompass.protocol.requests import GetCallGraph, GetSymbolHierarchy


def graph_command(name: str, direction: str, *, text: str, effect: str) -> asyncclick.Command:
    """Makes the command `name`, which asks `get_call_graph` with a direction. The exit code is 3 where there is nothing."""

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
        from codecompass.cli.answering import answer
        from codecompass.protocol.encode import encode
        from codecompass.protocol.requests import GetCallGraph
        from codecompass.protocol.text import render
        from codecompass.query.call_graph import get_call_graph

        def query(request: "GetCallGraph", question: "Question") -> "CallGraphReply":
            return question.marked(get_call_graph(question.snapshot, request, question.state, question.is_expired))

        asked = given({"symbol_name": symbol_name, "direction": direction, **arguments})
        found = answer(invocation, GetCallGraph, asked, query)
        if invocation.options.as_json:
            invocation.terminal.json(encode(found.reply))
        else:
            invocation.terminal.line(render(found.reply))
        return failure.DONE if len(found.reply.nodes) > 1 else failure.NOT_FOUND

    return command


def types_command() -> asyncclick.Command:
    """Makes the command `subtypes`."""

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
        from codecompass.cli.answering import answer
        from codecompass.protocol.encode import encode
        from codecompass.protocol.replies import TypeHierarchyReply
        from codecompass.protocol.requests import GetSymbolHierarchy
        from codecompass.protocol.text import render
        from codecompass.query.hierarchy import get_symbol_hierarchy

        def query(request: "GetSymbolHierarchy", question: "Question") -> "SymbolHierarchyReply | TypeHierarchyReply":
            return question.marked(get_symbol_hierarchy(question.snapshot, request, question.state, question.is_expired))

        asked = given({"symbol_name": symbol_name, "relation": "subtypes", **arguments})
        found = answer(invocation, GetSymbolHierarchy, asked, query)
        if invocation.options.as_json:
            invocation.terminal.json(encode(found.reply))
        else:
            invocation.terminal.line(render(found.reply))
        return failure.DONE if isinstance(found.reply, TypeHierarchyReply) and found.reply.total else failure.NOT_FOUND

    return command
