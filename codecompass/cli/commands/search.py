"""`codecompass search`: the tool `search_code` for people."""

from typing import Any, Final

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, named_several, several_options, tool_argument, tool_options

HELP = """
    Search by words, by a literal text or by a regular expression.

    QUERY is free text: a question, words, the name of something, a path, an error message. Several words need no
    quotes. Hits come best first, definitions before mentions, your code before tests and dependencies.

    With --mode literal or regex the hits are exactly the lines that match, as grep would find them; with --mode files they
    are the files whose paths fit a glob or have the words. The exit code is 3 where nothing is found.
"""

LITERAL: Final = "literal"


@make_command(
    "search",
    text=HELP,
    examples=(
        Example("codecompass search where are tokens validated", "by words"),
        Example("codecompass search 'connection refused' --mode literal", "exactly this text"),
        Example("codecompass search --mode regex 'except\\s*:' -l python", "a regular expression, in Python files"),
        Example("codecompass search session -k class -p 'src/**'", "classes below src"),
        Example("codecompass search --all 'rate limit'", "in all projects"),
        Example("codecompass search --in api,web 'rate limit'", "in these two; a name can be that of a group"),
        Example("codecompass search --mode files 'packages/*/package.json'", "files by their paths"),
        Example("codecompass search retry policy --why-not src/backoff.py", "where that file stands, or why it is missing"),
        Example("codecompass search retry policy --json -d context -n 3", "three hits with their code, for programs"),
    ),
)
@tool_argument("search_code", "query", nargs=-1, required=True)
@tool_options("search_code")
@several_options()
def command(
    invocation: Invocation,
    query: tuple[str, ...],
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Searches."""
    from codecompass.cli.searching import search

    several = named_several(all_projects=all_projects, in_projects=in_projects)
    return failure.DONE if search(invocation, given({"query": " ".join(query), **arguments}), several) else failure.NOT_FOUND
