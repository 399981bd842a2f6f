"""The command line application: its entry point, the list of commands, and the options before a command's name.

A command's module is imported only when the command runs or shows its help, so that `codecompass --help` stays fast. asyncclick
parses in a coroutine that never waits, so it is run here without an event loop. A command that needs one starts one itself.
"""

import os
import sys
from collections.abc import Coroutine, Sequence
from typing import Any, Final

import asyncclick

from codecompass import __version__
from codecompass.cli import failure
from codecompass.cli.command import check_lengths, common_options
from codecompass.cli.help import MAX_WIDTH, CommandEntry, Example, LazyGroup
from codecompass.cli.invocation import GlobalOptions
from codecompass.cli.terminal import Terminal
from codecompass.settings import read_environment, wants_color

PROGRAM = "codecompass"

FIND = "Find code"
INDEX = "Keep the index"
SERVE = "Serve editors and agents"
MANAGE = "Look after the rest"


def _entry(section: str, module: str, name: str, summary: str) -> CommandEntry:
    return CommandEntry(name, section, summary, f"codecompass.cli.commands.{module}")


ENTRIES = (
    _entry(FIND, "search", "search", "Search by words, literal text or regular expression."),
    _entry(FIND, "search", "locate", "Go to the definition of a name."),
    _entry(FIND, "search", "outline", "List what a file defines."),
    _entry(FIND, "relations", "refs", "List where a definition is used."),
    _entry(FIND, "relations", "callers", "List who calls a function, and who calls them."),
    _entry(FIND, "relations", "callees", "List what a function calls, and what that calls."),
    _entry(FIND, "relations", "subtypes", "List what inherits from a type."),
    _entry(FIND, "relations", "impact", "List what a change of a definition reaches."),
    _entry(FIND, "ui", "ui", "Look at code, projects and jobs in a browser."),
    _entry(FIND, "commits", "branches", "List branches and tags, and which are indexed."),
    _entry(FIND, "commits", "diff", "Show what differs from another commit, by definitions."),
    _entry(INDEX, "index", "init", "Make a project known and give it a name."),
    _entry(INDEX, "index", "index", "Index a project, from nothing where needed."),
    _entry(INDEX, "index", "sync", "Bring the index up to what has changed."),
    _entry(INDEX, "stop", "stop", "End the running index job of a project, of any process."),
    _entry(INDEX, "status", "status", "Show what is indexed, how fresh it is, and what was left out."),
    _entry(SERVE, "serve_mcp", "serve-mcp", "Serve the tools over the Model Context Protocol."),
    _entry(SERVE, "setup", "setup", "Tell an editor or an agent to start our server."),
    _entry(SERVE, "cluster", "cluster", "Index an organisation's repositories, on many machines."),
    _entry(MANAGE, "projects", "projects", "List, rename and remove projects; clean up."),
    _entry(MANAGE, "config", "config", "Show the settings and where each comes from."),
    _entry(MANAGE, "doctor", "doctor", "Check that everything works here."),
    _entry(MANAGE, "languages", "languages", "Show which languages are supported, and how far."),
    _entry(MANAGE, "installation", "completion", "Print the completion script for a shell."),
    _entry(MANAGE, "installation", "uninstall", "Remove all data."),
)

MEANT: Final = {
    **dict.fromkeys(("find", "fd"), "codecompass search QUERY, or for files: codecompass search --mode files GLOB"),
    **dict.fromkeys(("grep", "rg", "ag", "ack"), "codecompass search -e REGEX, or for a literal: codecompass search -F TEXT"),
    **dict.fromkeys(("def", "definition", "goto", "symbol", "where"), "codecompass locate NAME"),
    **dict.fromkeys(("references", "usages", "uses", "xref"), "codecompass refs NAME"),
    **dict.fromkeys(("symbols", "tags"), "codecompass outline FILE"),
    **dict.fromkeys(("ls", "list"), "codecompass projects list"),
    **dict.fromkeys(("rm", "remove"), "codecompass projects remove PROJECT"),
    **dict.fromkeys(("cancel", "kill"), "codecompass stop [PROJECT]"),
    **dict.fromkeys(("update", "refresh", "reindex"), "codecompass sync"),
    **dict.fromkeys(("serve", "server", "mcp"), "codecompass serve-mcp"),
    **dict.fromkeys(("web", "browse"), "codecompass ui"),
}
"""What other programs call such commands."""

EXAMPLES = (
    Example("codecompass search 'where are tokens validated'", "by words; indexes the project first if need be"),
    Example("codecompass locate Session.close", "the definition, by any part of its qualified name"),
    Example("codecompass outline src/auth/jwt.py", "what a file defines, as a tree"),
    Example("codecompass search --mode regex 'TODO\\(\\w+\\)' --path 'src/**'", "exact text, with matching lines"),
    Example("codecompass locate main --json | jq .results", "the same answer, for programs"),
)

HELP = """
    Find code: by name, by words, by what a file defines.

    CodeCompass keeps an index of your working tree on your own disk and answers from it in milliseconds. Commands
    work on the project that the current directory belongs to, and index it when they first meet it. Nothing leaves
    this machine.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 not found or not indexed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    environment = read_environment()
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Paths and lines of code may contain characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    color = None if wants_color(environment) else False
    try:
        code = _run_without_loop(build_app().main(given, prog_name=PROGRAM, standalone_mode=False, color=color))
        sys.stdout.flush()
    except asyncclick.exceptions.NoArgsIsHelpError as error:
        error.show()
        return failure.WRONG_USAGE
    except asyncclick.ClickException as error:
        as_json = "--json" in given[: given.index("--") if "--" in given else None]
        return failure.report_wrong_usage(error.format_message(), _hint(error), Terminal(environment), as_json=as_json)
    except (asyncclick.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):
            return failure.FAILED
        return failure.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # asyncclick writes the help itself, and exits if the reader has closed the pipe.
        Terminal(environment).abandon_output()
        return failure.BROKEN_PIPE
    except OSError as error:
        # Writing the help failed, which `run_guarded` does not cover.
        known = failure.as_known(error)
        if known is None:
            raise
        terminal = Terminal(environment)
        terminal.abandon_output()
        return failure.report(known, terminal, as_json=False)
    return code if isinstance(code, int) else failure.DONE


def build_app() -> LazyGroup:
    """Returns the application. Imports no command's module."""

    @asyncclick.pass_context
    def remember(
        context: asyncclick.Context,
        verbose: int,
        config: str | None,
        as_json: bool,
        workspace: str | None,
        project_id: str | None,
    ) -> None:
        check_lengths(context, {"config": config, "workspace": workspace, "project_id": project_id})
        context.obj = GlobalOptions(verbosity=verbose, config=config, as_json=as_json, workspace=workspace, project_id=project_id)

    decorated = common_options(chooses_project=True)(remember)
    decorated = asyncclick.version_option(__version__, "--version", message="codecompass %(version)s")(decorated)
    app: LazyGroup = asyncclick.command(
        "codecompass",
        cls=LazyGroup,
        help=HELP,
        entries=ENTRIES,
        meant=MEANT,
        examples=EXAMPLES,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH},
        epilog="Run codecompass COMMAND --help for examples of one command.",
    )(decorated)
    return app


def _open_missing_streams() -> None:
    """Opens the standard streams that the process was started without, before other files can get their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends


def _run_without_loop(coroutine: Coroutine[Any, Any, Any]) -> object:
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: object = stop.value
        return result
    coroutine.close()
    raise RuntimeError("the command line waited for something while no event loop was running")


def _hint(error: asyncclick.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f"Try: {context.command_path} --help"
