"""The commands around the installation: `completion` prints what a shell needs, `uninstall` removes all data."""

import sys

import asyncclick
from asyncclick.shell_completion import get_completion_class

from codecompass import formatting
from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import Removal
from codecompass.cli.terminal import printable
from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.settings import user_file

PROGRAM = "codecompass"
VARIABLE = "_CODECOMPASS_COMPLETE"


@command(
    "completion",
    text="""
    Print the completion script for a shell.

    Once the shell has read it, TAB completes commands, options and their values. The script asks this program, so it
    stays right after an upgrade. SHELL is bash, zsh or fish.
    """,
    examples=(
        Example('eval "$(codecompass completion bash)"', "for this bash; put the line into ~/.bashrc to keep it"),
        Example('eval "$(codecompass completion zsh)"', "the same for zsh and ~/.zshrc"),
        Example("codecompass completion fish > ~/.config/fish/completions/codecompass.fish", "for every fish from now on"),
    ),
    chooses_project=False,
)
@asyncclick.argument("shell", metavar="SHELL", type=asyncclick.Choice(["bash", "zsh", "fish"]))
def completion(invocation: Invocation, shell: str) -> None:
    """Prints the script."""
    from codecompass.cli.main import build_app

    made = get_completion_class(shell)
    assert made is not None
    invocation.terminal.line(made(build_app(), {}, PROGRAM, VARIABLE).source().rstrip())


@command(
    "uninstall",
    text="""
    Remove all data: every index and the registry of projects. Asks first.

    Your projects, and configuration files, are not touched. The program itself goes with the tool that installed it.
    """,
    examples=(
        Example("codecompass uninstall", "show what would go, and ask"),
        Example("codecompass uninstall --yes && pip uninstall codecompass", "remove everything"),
    ),
    chooses_project=False,
)
@asyncclick.option("--yes", "-y", is_flag=True, help="Do not ask.")
def uninstall(invocation: Invocation, yes: bool) -> int:
    """Removes all data, after a confirmation unless `yes`."""
    from codecompass.cli.hosts.change_records import ChangeRecords
    from codecompass.store.filesystem import disk_usage
    from codecompass.store.housekeeping import remove_everything

    terminal, home = invocation.terminal, invocation.home
    n_bytes = disk_usage(home.root)
    roots = _roots(invocation)
    set_up = ChangeRecords(home).paths()
    if not yes:
        if invocation.options.as_json or not sys.stdin.isatty():
            raise InvalidInput("nobody is there to be asked. Pass --yes to remove all data.", field="yes")
        terminal.line(f"This removes {formatting.size(n_bytes)} in {printable(str(home.root))}:")
        for root in roots:
            terminal.line(f"  the index of {printable(root)}")
        for path in set_up:
            terminal.line(f"  what codecompass setup --undo needs for {printable(path)}")
        terminal.out.write("Remove all of it? [y/N] ")
        terminal.out.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            terminal.line("nothing was removed")
            return failure.FAILED
    remove_everything(home)
    if invocation.options.as_json:
        invocation.print_json(Removal(projects=roots, freed_bytes=n_bytes))
        return failure.DONE
    terminal.line(f"removed {formatting.size(n_bytes)} in {printable(str(home.root))}")
    for path in set_up:
        terminal.line(f"{printable(path)} still has what setup wrote: setup --undo --force takes it out")
    if user_file().exists():
        terminal.line(f"your settings are still in {printable(str(user_file()))}")
    return failure.DONE


def _roots(invocation: Invocation) -> tuple[str, ...]:
    from codecompass.store.registry import open_registry

    if not invocation.home.registry.exists():
        return ()
    try:
        with open_registry(invocation.home) as registry:
            return tuple(str(project.root) for project in registry.projects())
    except CodeCompassError:
        return ()  # a registry that cannot be read is a good reason to remove it
