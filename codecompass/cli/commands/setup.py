"""`codecompass setup HOST`: makes an editor or agent start our server. `setup --rules`: tells agents when to use it."""

from typing import Any

import asyncclick

from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.hosts.supported_hosts import HOSTS
from codecompass.cli.invocation import Invocation
from codecompass.errors import InvalidInput


@command(
    "setup",
    text="""
    Tell an editor or an agent to start our server.

    Adds one entry to the host's configuration and leaves everything else in the file as it is, comments too. An entry that is
    yours already keeps its arguments; only what it needs to start is changed, and shown. Running it again is harmless, --undo
    brings the file back.

    Hosts: claude-code, claude-desktop, codex, cursor, vscode, copilot, gemini, qwen, opencode, amp, cline, cline-vscode,
    continue, windsurf, zed, neovim, goose, jetbrains.
    """,
    examples=(
        Example("codecompass setup claude-code", "for all your projects"),
        Example("codecompass setup claude-code --approve", "and let it search without asking each time"),
        Example("codecompass setup vscode --project .", "for this project, in a file that can be committed"),
        Example("codecompass setup claude-desktop --workspace ~/src/shop", "for a host that has no project open"),
        Example("codecompass setup gemini --all-tools", "list all tools, not only those that agents need most"),
        Example("codecompass setup zed --dry-run", "show the change, and make none"),
        Example("codecompass setup codex --print", "show the entry, to be put into a file by hand"),
        Example("codecompass setup cursor --undo", "bring back what was there before"),
        Example("codecompass setup --rules", "tell this project's agents when to search and when to grep"),
    ),
    chooses_project=False,
)
@asyncclick.argument("host", metavar="HOST", required=False, type=asyncclick.Choice([host.name for host in HOSTS]))
@asyncclick.option(
    "--rules", is_flag=True, help="Add three lines to the project's AGENTS.md or CLAUDE.md: when to use which tool."
)
@asyncclick.option(
    "--project",
    metavar="PATH",
    type=asyncclick.Path(file_okay=False),
    help="Write the file of the project at PATH, not yours for all projects.",
)
@asyncclick.option(
    "--workspace",
    "workspaces",
    metavar="PATH",
    multiple=True,
    type=asyncclick.Path(file_okay=False),
    help="Answer for this directory, whatever the host has open. Can be given several times.",
)
@asyncclick.option("--all-tools", is_flag=True, help="List all tools, not only those that agents need most.")
@asyncclick.option(
    "--answers", type=asyncclick.Choice(["text", "json"]), help="Answer models in plain text (default), or in JSON."
)
@asyncclick.option("--approve", is_flag=True, help="Let the host call the tools that only read without asking.")
@asyncclick.option("--print", "is_print", is_flag=True, help="Print the entry and write nothing.")
@asyncclick.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@asyncclick.option("--undo", is_flag=True, help="Bring back what was there before.")
@asyncclick.option("--force", is_flag=True, help="Replace, or with --undo remove, an entry that is yours.")
def setup(
    invocation: Invocation,
    /,
    host: str | None,
    rules: bool,
    **options: Any,  # noqa: ANN401 - the fields of SetupOptions
) -> int | None:
    """Writes, prints or undoes the host's entry, or the project's rules."""
    from codecompass.cli.host_setup import SetupOptions, set_up_host, set_up_rules

    wanted = SetupOptions(**options)
    if wanted.is_print and wanted.undo:
        raise InvalidInput("--print shows an entry and --undo removes one. Give one of them.", field="print")
    if rules:
        if host is not None:
            raise InvalidInput(f"--rules is for a project, not for a host. Run setup {host} and setup --rules.", field="rules")
        return set_up_rules(invocation, wanted)
    if host is None:
        names = ", ".join(each.name for each in HOSTS)
        raise InvalidInput(f"Missing argument 'HOST'. Choose from: {names}. Or give --rules.", field="host")
    return set_up_host(invocation, host, wanted)
