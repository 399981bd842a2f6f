"""`codecompass search`: the tool `search_code` for people."""

import sys
from typing import Any, Final

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, named_several, several_options, tool_argument, tool_options
from codecompass.errors import InvalidInput

HELP = """
    Search by words, by a literal text or by a regular expression.

    QUERY is free text: a question, words, the name of something, a path, an error message. Several words need no
    quotes. Hits come best first, definitions before mentions, your code before tests and dependencies.

    With --mode literal or regex the hits are exactly the lines that match, as grep would find them; with --mode files they
    are the files whose paths fit a glob or have the words. The exit code is 3 where nothing is found.

    With -i the hits are listed while you type, with the code around the selected one; Enter opens your editor there. That
    needs a terminal, and takes the options that choose what is searched: -m, -p, -l, -k, -n, --ref, --freshness-policy,
    --timeout-ms.
"""

LITERAL: Final = "literal"

INTERACTIVE: Final = frozenset({"query", "limit", "mode", "path", "language", "kind", "ref", "freshness_policy", "timeout_ms"})
"""Arguments that -i takes. The others shape a printed answer."""


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
        Example("codecompass search -i -l python", "hits while you type, with a preview; Enter opens $EDITOR"),
        Example("codecompass search retry policy --json -d context -n 3", "three hits with their code, for programs"),
    ),
)
@asyncclick.option("-i", "--interactive", is_flag=True, help="Search while you type, in this terminal; QUERY may be left out.")
@tool_argument("search_code", "query", nargs=-1)
@tool_options("search_code")
@several_options()
def command(
    invocation: Invocation,
    query: tuple[str, ...],
    *,
    interactive: bool,
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Prints the hits; the exit code is 3 if there are none."""
    asked = given(arguments)
    several = named_several(all_projects=all_projects, in_projects=in_projects)
    if interactive:
        if several:
            raise InvalidInput("-i searches one project. Leave out --all and --in, or leave out -i.")
        return _interactively(invocation, " ".join(query), asked)
    if not query:
        raise InvalidInput("Missing argument 'QUERY...'. Say what to search for, or pass -i to search while you type.")
    from codecompass.cli.searching import search

    return failure.DONE if search(invocation, {"query": " ".join(query), **asked}, several) else failure.NOT_FOUND


def _interactively(invocation: Invocation, query: str, arguments: dict[str, object]) -> int:
    others = ["--" + name.replace("_", "-") for name in sorted(arguments.keys() - INTERACTIVE)]
    others += ["--json"] if invocation.options.as_json else []
    if others:
        raise InvalidInput(
            f"-i does not take {', '.join(others)}, which shape a printed answer. Leave them out, or leave out -i."
        )
    if not sys.stdin.isatty() or not sys.stdout.isatty() or invocation.environment.get("TERM", "dumb") in ("", "dumb"):
        raise InvalidInput(
            "-i needs a terminal that can be drawn on, for input and for output. Run it in one, or leave out -i and give the "
            "query: codecompass search QUERY"
        )
    from codecompass.cli.interactive.command import search_interactively

    return search_interactively(invocation, query, arguments)
