"""`codecompass doctor`: everything that can be wrong with an installation, and what to do about it."""

import asyncclick

from codecompass.cli import failure
from codecompass.cli.check_output import summary, write_check
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import Check, DoctorReport


@command(
    "doctor",
    text="""
    Check that everything works here.

    Looks at the installation, the grammars of all languages, the data directory and its file system, the limits of the
    machine, the registry and every project. Each line is ok, warn or fail, with what to do about it. The exit code is 1
    if anything fails.

    Where search by meaning is on, says what is sent where; --semantic asks the endpoint for one vector. Where an
    organisation's server is named, it is asked whether it is there and takes the token.
    """,
    examples=(
        Example("codecompass doctor", "check everything"),
        Example("codecompass doctor --semantic", "and try the endpoint for embeddings"),
        Example("codecompass doctor --json | jq '.checks[] | select(.status != \"ok\")'", "only what needs attention"),
    ),
    chooses_project=False,
)
@asyncclick.option("--semantic", is_flag=True, help="Ask the endpoint of search by meaning for one vector, of a made-up text.")
def doctor(invocation: Invocation, semantic: bool) -> int:
    """Prints the results of all checks; the exit code is 1 if one fails."""
    from codecompass.cli.doctor_checks import run_checks

    terminal = invocation.terminal
    found: list[Check] = []
    for check in run_checks(invocation, asks_endpoint=semantic):
        found.append(check)
        if not invocation.options.as_json:
            write_check(terminal, check)
    n_failed = sum(check.status == "fail" for check in found)
    n_warned = sum(check.status == "warn" for check in found)
    if invocation.options.as_json:
        invocation.print_json(DoctorReport(not n_failed, tuple(found)))
    else:
        terminal.line()
        terminal.line(summary(terminal, n_failed, n_warned))
    return failure.FAILED if n_failed else failure.DONE
