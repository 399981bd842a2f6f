"""`codecompass refs`: the tool `find_references` for people."""

from typing import Any

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, named_several, several_options, tool_argument, tool_options

HELP = """
    List where a definition is used: calls, types, supertypes, imports, reads and writes.

    NAME is a name, a qualified name or the end of one. Uses are resolved by scope, imports and the types that are written
    down; ~ marks lines that are likely, ? those that fit several definitions. Tests come last. The exit code is 3 where
    nothing uses it.
"""


@make_command(
    "refs",
    text=HELP,
    examples=(
        Example("codecompass refs validate_token", "where it is used"),
        Example("codecompass refs Session.close --role call", "who calls it"),
        Example("codecompass refs Config -p src/config.py", "which of several, by its file"),
        Example("codecompass refs close --confidence possible", "also what fits several definitions"),
        Example("codecompass refs Session --in auth --all", "what auth defines, wherever its package is imported"),
        Example("codecompass refs main --json | jq -r '.references[] | \"\\(.path):\\(.line_start)\"'", "for programs"),
    ),
)
@tool_argument("find_references", "symbol_name", metavar="NAME")
@tool_options("find_references")
@several_options()
def command(
    invocation: Invocation,
    symbol_name: str,
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Prints the uses; the exit code is 3 if there are none."""
    from codecompass.cli.answering import print_answer, print_reply
    from codecompass.protocol.replies import FindReferencesReply
    from codecompass.protocol.requests import FindReferences
    from codecompass.query.references import find_references

    asked = given({"symbol_name": symbol_name, **arguments})
    several = named_several(all_projects=all_projects, in_projects=in_projects)
    if several:
        from codecompass.cli.several import answer_several

        found = answer_several(invocation, FindReferences.tool, asked, several)
        assert isinstance(found, FindReferencesReply)
        print_reply(invocation, found)
        return failure.DONE if found.references else failure.NOT_FOUND
    reply = print_answer(invocation, FindReferences, asked, find_references)
    return failure.DONE if reply.references else failure.NOT_FOUND
