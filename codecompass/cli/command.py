"""Turns functions into commands: adds the common options, checks the lengths of values, and turns exceptions into exit codes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Concatenate, Final, ParamSpec

import asyncclick

from codecompass.cli import failure
from codecompass.cli.help import Example, TeachingCommand
from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.cli.tool_options import Decorator, max_length, project_option
from codecompass.errors import CodeCompassError, is_interrupt

P = ParamSpec("P")
CommandFunction = Callable[Concatenate[Invocation, P], int | None]

_EVERYWHERE: Final = ("verbose", "config", "as_json")
_PROJECT: Final = ("workspace", "project_id")
MAX_VALUES: Final = 1_000
"""How often a repeatable option may be given."""

COMMON_PARAMETERS: Final = frozenset({*_EVERYWHERE, *_PROJECT, "help"})


def common_options(*, chooses_project: bool) -> Decorator:
    """Returns a decorator that adds the options accepted before and after a command's name."""
    options: list[Decorator] = [
        asyncclick.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
        asyncclick.option(
            "--config", metavar="FILE", type=asyncclick.Path(dir_okay=False), help="Read this configuration file too."
        ),
        asyncclick.option("-v", "--verbose", count=True, help="Log more to stderr; -vv logs everything."),
    ]
    if chooses_project:
        options = [
            asyncclick.option(
                "--workspace",
                metavar="PATH",
                type=asyncclick.Path(),
                help="Use the project at this directory, not the current one.",
            ),
            project_option(),
            *options,
        ]

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def command(
    name: str, *, text: str, examples: Sequence[Example], chooses_project: bool = True
) -> Callable[[CommandFunction[P]], asyncclick.Command]:
    """Returns a decorator that makes `function(invocation, **parameters)` the command `name` with the help `text`.

    The function returns the exit code; None means 0.
    """

    def make(function: CommandFunction[P]) -> asyncclick.Command:
        def run(context: asyncclick.Context, /, **parameters: Any) -> int:  # noqa: ANN401 - what the options say
            check_lengths(context, parameters)
            given = GlobalOptions(
                verbosity=parameters.pop("verbose"),
                config=parameters.pop("config"),
                as_json=parameters.pop("as_json"),
                workspace=parameters.pop("workspace") if chooses_project else None,
                project_id=parameters.pop("project_id") if chooses_project else None,
            )
            before = context.obj if isinstance(context.obj, GlobalOptions) else GlobalOptions()
            return run_guarded(Invocation(before.merged(given)), lambda i: function(i, **parameters))  # type: ignore[call-arg]

        decorated = asyncclick.pass_context(run)
        decorated.__click_params__ = list(getattr(function, "__click_params__", ()))  # type: ignore[attr-defined]
        decorated = common_options(chooses_project=chooses_project)(decorated)
        make_command = asyncclick.command(
            name, cls=TeachingCommand, help=text, examples=tuple(examples), common=COMMON_PARAMETERS
        )
        made: asyncclick.Command = make_command(decorated)
        return made

    return make


def check_lengths(context: asyncclick.Context, parameters: Mapping[str, object]) -> None:
    """Raises BadParameter for a value that is too long or an option given too often. Called before any value is used."""
    for parameter in context.command.params:
        value = parameters.get(parameter.name or "")
        values = value if isinstance(value, tuple) else (value,)
        bound = max_length(parameter)
        is_one_text = isinstance(value, tuple) and isinstance(parameter, asyncclick.Argument)
        # The words of an argument form one text, joined by spaces.
        longest = sum(len(each) + 1 for each in values if isinstance(each, str)) - 1 if is_one_text else 0
        longest = max([longest, *(len(each) for each in values if isinstance(each, str))])
        if longest > bound:
            raise asyncclick.BadParameter(f"{longest:,} characters, at most {bound:,}. Give a shorter one.", context, parameter)
        if not is_one_text and len(values) > MAX_VALUES:
            raise asyncclick.BadParameter(f"{len(values):,} of them, at most {MAX_VALUES:,}. Give fewer.", context, parameter)


def run_guarded(invocation: Invocation, function: Callable[[Invocation], int | None]) -> int:
    """Runs a command, reports an error that it raises, and returns the exit code. Interrupts and SystemExit propagate."""
    try:
        code = function(invocation) or failure.DONE
        invocation.terminal.out.flush()
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe.
        invocation.terminal.abandon_output()
        return failure.BROKEN_PIPE
    except BaseException as error:
        known = failure.as_known(error)
        if known is None:
            if is_interrupt(error):
                raise KeyboardInterrupt from error
            raise
        return _reported(known, invocation)
    return code


def _reported(error: CodeCompassError, invocation: Invocation) -> int:
    """Reports `error` and returns the exit code. Writes to stderr alone if stdout cannot be written."""
    terminal, options = invocation.terminal, invocation.options
    try:
        code = failure.report(error, terminal, as_json=options.as_json, verbosity=options.verbosity)
        terminal.out.flush()
    except BrokenPipeError:
        terminal.abandon_output()
        return failure.BROKEN_PIPE
    except OSError:
        terminal.abandon_output()
        return failure.report(error, terminal, as_json=False, verbosity=options.verbosity)
    return code
