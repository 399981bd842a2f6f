"""`codecompass locate`: the tool `locate_symbol` for people."""

from typing import Any

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, named_several, several_options, tool_argument, tool_options

HELP = """
    Go to the definition of a name.

    NAME is a name, a qualified name or the end of one, with any language's separators. Exact names come first, then
    other spellings, then names that are only like it. The exit code is 3 where nothing is found.
"""


@make_command(
    "locate",
    text=HELP,
    examples=(
        Example("codecompass locate validate_token", "where it is defined"),
        Example("codecompass locate Session.close", "a method of a class; Session::close and Session#close do as well"),
        Example("codecompass locate Config -k struct -l rust", "only a struct, only in Rust"),
        Example("codecompass locate Router --all", "in all projects"),
        Example("vim $(codecompass locate main -n 1 --json | jq -r '.results[0] | .path, \"+\\(.line_start)\"')", "open it"),
    ),
)
@tool_argument("locate_symbol", "name")
@tool_options("locate_symbol")
@several_options()
def command(
    invocation: Invocation,
    name: str,
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Prints the definitions; the exit code is 3 if there are none."""
    from codecompass.cli.searching import locate

    several = named_several(all_projects=all_projects, in_projects=in_projects)
    return failure.DONE if locate(invocation, given({"name": name, **arguments}), several) else failure.NOT_FOUND
