"""The commands that find code: `search`, `locate` and `outline`, the tools `search_code`, `locate_symbol`, `get_file_outline`."""

import sys
from pathlib import Path
from typing import Any, Final

import asyncclick
import msgspec

from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.grep_options import GrepOptions, grep_options, joined_languages, line_arguments, split_paths, within
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation, path_in_project
from codecompass.cli.terminal import printable
from codecompass.cli.tool_options import given, named_several, several_options, tool_argument, tool_options
from codecompass.errors import InvalidInput

INTERACTIVE: Final = frozenset({"query", "limit", "mode", "path", "language", "kind", "ref", "freshness_policy", "timeout_ms"})
"""Arguments that -i takes. The others shape a printed answer."""


@command(
    "search",
    text="""
    Search by words, by a literal text or by a regular expression.

    QUERY is free text: a question, words, the name of something, a path, an error message. Several words need no
    quotes. Hits come best first, definitions before mentions, your code before tests and dependencies.

    Filters may stand between the words, as on the page: lang:py, file:src/, -file:test, kind:class, repo:NAME, case:yes,
    sym:NAME for a definition. "a phrase" in quotes of its own, and /a pattern/, find lines that have it, in any case unless
    case:yes says otherwise. Quotes around all of it keep the shell from reading it. A filter replaces the option for the
    same thing; with --mode, QUERY is taken as it stands.

    type:commit searches the messages of commits instead, and type:diff the lines that they added and removed, newest
    first; author:NAME, since:2024-05-01 (or since:2weeks), until: and before: narrow both, as do file: and --path.

    With --mode literal or regex the hits are exactly the lines that match, as grep would find them; with --mode files they
    are the files whose paths fit a glob or have the words. The exit code is 3 where nothing is found.

    What rg and grep call -e -F -i -S -w -A -B -C -g -t is called so here; the first eight list the lines that match, by a
    regular expression unless -F is given. An existing PATH after the query limits the search to it.

    With -i and no query the hits are listed while you type, with the code around the selected one; Enter opens your
    editor there. That needs a terminal, and takes the options that choose what is searched: -m, -p, -g, -l, -t, -k, -n,
    --ref, --freshness-policy, --timeout-ms.
    """,
    examples=(
        Example("codecompass search where are tokens validated", "by words"),
        Example("codecompass search 'connection refused' --mode literal", "exactly this text"),
        Example("codecompass search --mode regex 'except\\s*:' -l python", "a regular expression, in Python files"),
        Example("codecompass search session -k class -p 'src/**'", "classes below src"),
        Example("codecompass search -w -C 2 total src/", "lines with this word, below src, with two lines around each"),
        Example("codecompass search 'session lang:py kind:class -file:test'", "filters between the words"),
        Example("codecompass search type:diff author:ada since:2weeks retry", "lines that somebody changed lately"),
        Example("codecompass search --all 'rate limit'", "in all projects"),
        Example("codecompass search --in api,web 'rate limit'", "in these two; a name can be that of a group"),
        Example("codecompass search --mode files 'packages/*/package.json'", "files by their paths"),
        Example("codecompass search retry policy --why-not src/backoff.py", "where that file stands, or why it is missing"),
        Example("codecompass search -i -l python", "hits while you type, with a preview; Enter opens $EDITOR"),
        Example("codecompass search retry policy --json -d context -n 3", "three hits with their code, for programs"),
    ),
)
@asyncclick.option("--interactive", is_flag=True, help="Search while you type, in this terminal; QUERY may be left out.")
@asyncclick.option("-i", "--ignore-case", is_flag=True, help="Ignore case. Without a QUERY, the same as --interactive.")
@tool_argument("search_code", "query", nargs=-1, metavar="[QUERY]... [PATH]...")
@grep_options()
@tool_options("search_code")
@several_options()
def search(
    invocation: Invocation,
    query: tuple[str, ...],
    *,
    interactive: bool,
    ignore_case: bool,
    grep: GrepOptions,
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Prints the hits; the exit code is 3 if there are none."""
    asked: dict[str, Any] = given(arguments)
    several = named_several(all_projects=all_projects, in_projects=in_projects)
    asked |= joined_languages(asked.get("language"), grep.types)
    if interactive or (ignore_case and not query and not grep.patterns):
        if several:
            raise InvalidInput("-i searches one project. Leave out --all and --in, or leave out -i.")
        if grep.is_about_lines:
            raise InvalidInput("--interactive takes no -e, -F, -S, -w, -A, -B or -C. Leave them out; Ctrl-T changes the mode.")
        asked |= given({"path": within((), (asked.get("path"), *grep.globs))})
        return _interactively(invocation, " ".join(query), asked)
    words: tuple[str, ...] = query
    paths: tuple[str, ...] = ()
    if not several:
        words, paths = split_paths(query, all_paths=bool(grep.patterns), has_words=not (grep.is_about_lines or ignore_case))
    if not words and not grep.patterns:
        raise InvalidInput("Missing argument 'QUERY...'. Say what to search for, or pass -i to search while you type.")
    _require_printed(invocation, grep, several)
    if paths and not grep.patterns and "/" not in paths[-1] and "." not in paths[-1]:
        invocation.terminal.note(f"only in {printable(paths[-1])}, which is a path; as a word, write it before the others", "dim")
    asked |= given({"path": within(paths, (asked.get("path"), *grep.globs))})
    asked |= line_arguments(" ".join(words), grep, ignore_case=ignore_case, mode=asked.get("mode"))
    from codecompass.cli import searching

    shown = " ".join(words) or " ".join(grep.patterns)
    if grep.is_about_lines or ignore_case:
        found = searching.search(invocation, asked, several, as_lines=True, around=grep.around, shown=shown)
    else:
        found = searching.search_text(invocation, " ".join(words), asked, several, shown=shown)
    return failure.DONE if found else failure.NOT_FOUND


def _require_printed(invocation: Invocation, grep: GrepOptions, several: tuple[str, ...]) -> None:
    """Raises InvalidInput for lines around matches where none are printed."""
    if any(grep.around) and (invocation.options.as_json or several):
        option = "--json" if invocation.options.as_json else "--all and --in"
        raise InvalidInput(f"-A, -B and -C show lines of one project to people. Leave them out, or leave out {option}.")


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


@command(
    "locate",
    text="""
    Go to the definition of a name.

    NAME is a name, a qualified name or the end of one, with any language's separators. Exact names come first, then
    other spellings, then names that are only like it. The exit code is 3 where nothing is found.
    """,
    examples=(
        Example("codecompass locate validate_token", "where it is defined"),
        Example("codecompass locate Session.close", "a method of a class; Session::close and Session#close do as well"),
        Example("codecompass locate Config -k struct -l rust", "only a struct, only in Rust"),
        Example("codecompass locate Router --all", "in all projects"),
        Example("vim $(codecompass locate main -n 1 --json | jq -r '.results[0] | .path, \"+\\(.line_start)\"')", "open it"),
    ),
)
@tool_argument("locate_symbol", "name")
@asyncclick.argument("paths", nargs=-1, metavar="[PATH]...", type=asyncclick.Path())
@tool_options("locate_symbol")
@several_options()
def locate(
    invocation: Invocation,
    name: str,
    paths: tuple[str, ...],
    all_projects: bool,
    in_projects: str | None,
    **arguments: Any,  # noqa: ANN401 - passed to decode
) -> int:
    """Prints the definitions; the exit code is 3 if there are none."""
    from codecompass.cli import searching

    several = named_several(all_projects=all_projects, in_projects=in_projects)
    arguments["path"] = within(split_paths(paths, all_paths=True)[1], (arguments.get("path"),))
    return failure.DONE if searching.locate(invocation, given({"name": name, **arguments}), several) else failure.NOT_FOUND


@command(
    "outline",
    text="""
    List what a file defines and imports, as a tree with line numbers.

    FILE is a path from here or from the project's directory.
    """,
    examples=(
        Example("codecompass outline src/auth/jwt.py", "everything that the file defines"),
        Example("codecompass outline src/auth/jwt.py --depth top", "only the top level"),
        Example("codecompass outline main.go --json | jq -r '.symbols[].name'", "for programs"),
    ),
)
@asyncclick.argument("file", type=asyncclick.Path())
@tool_options("get_file_outline")
def outline(invocation: Invocation, file: str, **arguments: Any) -> None:  # noqa: ANN401 - passed to decode
    """Prints the outline."""
    from codecompass.actors.asking import QueryContext
    from codecompass.cli.answering import answer
    from codecompass.cli.render import write_outline
    from codecompass.protocol.replies import FileOutlineReply
    from codecompass.protocol.requests import GetFileOutline
    from codecompass.query.outline import get_file_outline

    def query(request: GetFileOutline, context: QueryContext) -> FileOutlineReply:
        asked = msgspec.structs.replace(request, path=path_in_project(request.path, Path(context.state.workspace)))
        options = context.options
        if not invocation.options.as_json:
            # The limit saves agents' tokens; people get the whole outline.
            options = msgspec.structs.replace(options, max_outline_bytes=sys.maxsize)
        return get_file_outline(context.snapshot, asked, context.state, options)

    found = answer(invocation, GetFileOutline, given({"path": file, **arguments}), query)
    if invocation.options.as_json:
        invocation.print_json(found.reply)
        return
    write_outline(invocation.terminal, found.project.root, found.reply)
    if found.reply.metadata.commit:
        invocation.terminal.note(f"of {found.reply.metadata.ref}, commit {found.reply.metadata.commit}", "dim")
    if not found.reply.symbols and not found.reply.metadata.warnings:
        invocation.terminal.note("it defines nothing that is listed; its text is searchable", "dim")
    for warning in found.reply.metadata.warnings:
        invocation.terminal.warn(warning)
