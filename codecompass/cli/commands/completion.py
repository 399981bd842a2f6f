"""`codecompass completion`: the script that makes a shell complete our command lines."""

import asyncclick
from asyncclick.shell_completion import get_completion_class

from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation

PROGRAM = "codecompass"
VARIABLE = "_CODECOMPASS_COMPLETE"

HELP = """
    Print the completion script for a shell.

    Once the shell has read it, TAB completes commands, options and their values. The script asks this program, so it
    stays right after an upgrade. SHELL is bash, zsh or fish.
"""


@make_command(
    "completion",
    text=HELP,
    examples=(
        Example('eval "$(codecompass completion bash)"', "for this bash; put the line into ~/.bashrc to keep it"),
        Example('eval "$(codecompass completion zsh)"', "the same for zsh and ~/.zshrc"),
        Example("codecompass completion fish > ~/.config/fish/completions/codecompass.fish", "for every fish from now on"),
    ),
    chooses_project=False,
)
@asyncclick.argument("shell", metavar="SHELL", type=asyncclick.Choice(["bash", "zsh", "fish"]))
def command(invocation: Invocation, shell: str) -> None:
    """Prints the script."""
    from codecompass.cli.app import build_app

    made = get_completion_class(shell)
    assert made is not None
    invocation.terminal.line(made(build_app(), {}, PROGRAM, VARIABLE).source().rstrip())
