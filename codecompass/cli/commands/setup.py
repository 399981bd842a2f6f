"""`codecompass setup HOST`: tell an editor or an agent to start our server."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import asyncclick
from msgspec import Struct

from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.hosts.known import HOSTS, Host, entry, host_named, user_path
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import printable
from codecompass.errors import InvalidInput
from codecompass.settings import HOME_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

ATTEMPTS: Final = 5
"""How often a change is made anew where the host has written its file in between."""

HELP = """
    Tell an editor or an agent to start our server.

    Adds one entry to the host's configuration and leaves everything else in the file as it is, comments too. Running it
    again is harmless. The content before the change is kept beside the file.

    Hosts: claude-code, claude-desktop, codex, cursor, vscode, gemini, zed.
"""


class SetupReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `--json` prints. `change` says what was done to the file, or with `dry_run` would be; `diff` shows it."""

    host: str
    path: str
    change: str
    server: "Mapping[str, object]"
    diff: str = ""
    backup: str = ""
    dry_run: bool = False


@make_command(
    "setup",
    text=HELP,
    examples=(
        Example("codecompass setup claude-code", "for all your projects"),
        Example("codecompass setup vscode --project .", "for this project, in a file that can be committed"),
        Example("codecompass setup claude-desktop --workspace ~/src/shop", "for a host that has no project open"),
        Example("codecompass setup zed --dry-run", "show the change, and make none"),
        Example("codecompass setup codex --print", "show the entry, to be put into a file by hand"),
        Example("codecompass setup cursor --undo", "remove the entry again"),
    ),
    chooses_project=False,
)
@asyncclick.argument("host", metavar="HOST", type=asyncclick.Choice([host.name for host in HOSTS]))
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
@asyncclick.option("--print", "is_print", is_flag=True, help="Print the entry and write nothing.")
@asyncclick.option("--dry-run", is_flag=True, help="Show what would change and write nothing.")
@asyncclick.option("--undo", is_flag=True, help="Remove the entry again.")
def command(
    invocation: Invocation,
    host: str,
    project: str | None,
    workspaces: tuple[str, ...],
    is_print: bool,
    dry_run: bool,
    undo: bool,
) -> None:
    """Writes the entry, or removes it."""
    from codecompass.cli.hosts import configuration, files

    if is_print and undo:
        raise InvalidInput("--print shows an entry and --undo removes one. Give one of them.", field="print")
    chosen = host_named(host)
    path = _path(invocation, chosen, project)
    server = _server(invocation, chosen, workspaces, is_shared=project is not None)
    if is_print:
        if invocation.options.as_json:
            _report(invocation, SetupReport(host=host, path=str(path), change="none", server=server))
            return
        invocation.terminal.note(f"put this into {printable(str(path))}", "dim")
        invocation.terminal.line(configuration.rendered(chosen, server).rstrip())
        return

    def change(text: str) -> str:
        if undo:
            return configuration.without_server(text, chosen, path, files.backup(path))
        return configuration.with_server(text, chosen, server, path)

    before, after = _changed(path, change, is_shared=project is not None, dry_run=dry_run)
    is_changed = (before or "") != after
    backup = files.backup_path(path)
    report = SetupReport(
        host=host,
        path=str(path),
        change="none" if not is_changed else "removed" if undo else "changed" if before else "created",
        server={} if undo else server,
        diff=_diff(path, before or "", after),
        backup=str(backup) if is_changed and not dry_run and backup.exists() else "",
        dry_run=dry_run,
    )
    if invocation.options.as_json:
        _report(invocation, report)
    else:
        _tell(invocation, chosen, report, has_workspace=bool(workspaces))


def _path(invocation: Invocation, host: Host, project: str | None) -> Path:
    if project is None:
        return user_path(host, invocation.environment)
    if host.project is None:
        raise InvalidInput(f"{host.title} has no configuration of a project. Leave out --project.", field="project")
    return _directory("--project", project) / host.project


def _directory(option: str, path: str) -> Path:
    directory = Path(path).expanduser().absolute()
    if not directory.is_dir():
        raise InvalidInput(f"{option}: {directory} is not a directory. Correct the path.", field=option, value=path)
    return directory


def _server(invocation: Invocation, host: Host, workspaces: tuple[str, ...], *, is_shared: bool) -> dict[str, object]:
    """The entry. What decides here and now where the data and the settings are has to hold for the host's process too."""
    from codecompass.cli.hosts.launch_command import installed_command, portable_command

    program, *arguments = portable_command(invocation.environment) if is_shared else installed_command()
    if invocation.options.config is not None:
        arguments += ["--config", str(Path(invocation.options.config).expanduser().absolute())]
    arguments += ["serve-mcp", "--tools", "core", "--answers", "text"]
    given = workspaces or tuple(filter(None, [invocation.options.workspace]))
    for workspace in given:
        arguments += ["--workspace", os.path.realpath(_directory("--workspace", workspace))]
    home = invocation.environment.get(HOME_VARIABLE)
    variables = {HOME_VARIABLE: str(Path(home).expanduser().absolute())} if home else {}
    return entry(host, program, tuple(arguments), variables)


def _changed(path: Path, change: Callable[[str], str], *, is_shared: bool, dry_run: bool) -> tuple[str | None, str]:
    """Changes the file and returns its text before and after. A file that is empty then and was not there at first goes."""
    from codecompass.cli.hosts import configuration, files

    for _ in range(ATTEMPTS):
        before = files.read(path)
        after = change(before or "")
        if dry_run or (before or "") == after:
            return before, after
        try:
            if before is not None and configuration.is_bare(after) and not files.backup_path(path).exists():
                files.remove(path, before)
            else:
                files.replace(path, before, after, is_shared=is_shared)
        except files.Changed:
            continue
        return before, after
    raise InvalidInput(f"{path} is being written by another program again and again. Close it and run again.", path=str(path))


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{path} (now)", f"{path} (then)", n=2
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _report(invocation: Invocation, report: SetupReport) -> None:
    from codecompass.protocol.encode import encode

    invocation.terminal.json(encode(report))


def _tell(invocation: Invocation, host: Host, report: SetupReport, *, has_workspace: bool) -> None:
    terminal = invocation.terminal
    path = printable(report.path)
    is_undo = not report.server
    if report.dry_run:
        for line in report.diff.splitlines():
            terminal.line(
                terminal.style(printable(line), *(("green",) if line[:1] == "+" else ("red",) if line[:1] == "-" else ()))
            )
    if report.change == "none":
        terminal.line(f"{path} has no entry of ours" if is_undo else f"{path} starts the server already")
        return
    if report.dry_run:
        terminal.note("nothing was written; run it again without --dry-run", "dim")
        return
    done = "does not start the server any more" if is_undo else "starts the server now"
    terminal.line(f"{terminal.style(host.title, 'bold')} {done}: {path}")
    if report.backup:
        terminal.note(f"what the file held before is in {printable(report.backup)}", "dim")
    if is_undo:
        return
    terminal.note(host.afterwards, "dim")
    if not host.finds_project and not has_workspace:
        terminal.note(
            f"{host.title} has no project open: it asks the default one. Choose it with codecompass init PATH --default, or "
            "give --workspace PATH here.",
            "dim",
        )
