"""What `codecompass setup` does: which files of a host it changes, what it says of each, and what is left to do by hand."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from codecompass.cli import failure
from codecompass.cli.hosts import changing, configuration, files
from codecompass.cli.hosts.changing import Edit, Outcome
from codecompass.cli.hosts.configuration import AllowEdit, EntryEdit
from codecompass.cli.hosts.existing import Request
from codecompass.cli.hosts.known import (
    EntryApproval,
    FileApproval,
    Host,
    Launch,
    approval_path,
    host_named,
    project_path,
    user_path,
)
from codecompass.cli.hosts.launch_command import PROGRAM, installed_command, portable_command
from codecompass.cli.hosts.ledger import Ledger
from codecompass.cli.hosts.rules import RulesEdit, rendered, rules_path
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import printable
from codecompass.errors import InvalidInput
from codecompass.protocol.encode import encode
from codecompass.settings import HOME_VARIABLE

_SECRET = ("env", "envs", "environment", "headers")
"""Members of an entry whose values are not shown."""


class Wanted(Struct, frozen=True, kw_only=True):
    """What the user asked for."""

    project: str | None
    workspaces: tuple[str, ...]
    all_tools: bool
    answers: str | None
    approve: bool
    is_print: bool
    dry_run: bool
    undo: bool
    force: bool


class FileReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was done to one file, or with `dry_run` would be; `diff` shows it.

    `change` is `none`, `created`, `changed`, `removed`, or `kept` where the user's own changes forbid an undo. `changes`
    and `kept` are of an entry that was the user's, `replaced` is one that was taken out.
    """

    path: str
    change: str
    diff: str = ""
    backup: str = ""
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: str = ""


class SetupReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `--json` prints. `also` are other files than the one with the entry, `next_steps` what is left to do by hand."""

    host: str
    path: str
    change: str
    server: Mapping[str, object]
    diff: str = ""
    backup: str = ""
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: str = ""
    dry_run: bool = False
    also: tuple[FileReport, ...] = ()
    warnings: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


def set_up_host(invocation: Invocation, name: str, wanted: Wanted) -> int:
    """Writes a host's entry, shows it, or takes it back. Returns the exit code."""
    host = host_named(name)
    root = None if wanted.project is None else _directory("--project", wanted.project)
    if root is not None and host.project is None:
        raise InvalidInput(f"{host.title} has no configuration of a project. Leave out --project.", field="project")
    if wanted.approve and host.approval is None and not wanted.undo:
        raise InvalidInput(
            f"{host.title} has no file in which a program may allow calls. Leave out --approve. {host.asking}".strip(),
            field="approve",
        )
    request = _request(invocation, host, wanted)
    server = request.entry(host.shape)
    warnings = _warnings(invocation, request, is_shared=root is not None)
    steps = () if wanted.undo else _steps(host, wanted)
    tools = _read_only_tools(wanted)
    if wanted.is_print or not host.user:
        return _show(invocation, host, wanted, server, tools, root)
    path = (user_path(host, invocation.environment) if root is None else project_path(host, root)) or Path()
    edit = EntryEdit(host, path, request, invocation.environment.get("PATH"), force=wanted.force)
    ledger = Ledger(invocation.home)
    main = _changed(path, edit, ledger, wanted, is_shared=root is not None)
    also: tuple[FileReport, ...] = ()
    if isinstance(host.approval, FileApproval):
        place = approval_path(host, host.approval, invocation.environment, root)
        allow = AllowEdit(host, place, host.approval, tools)
        if wanted.approve or (wanted.undo and ledger.of(place, allow.kind) is not None):
            also = (_changed(place, allow, ledger, wanted, is_shared=root is not None),)
    report = SetupReport(
        host=name,
        server={} if wanted.undo else server,
        dry_run=wanted.dry_run,
        also=also,
        warnings=() if wanted.undo else warnings,
        next_steps=steps,
        **msgspec.structs.asdict(main),
    )
    if invocation.options.as_json:
        invocation.terminal.json(encode(report))
    else:
        _tell(invocation, host.title, report, wanted)
    return failure.FAILED if main.change == "kept" else failure.DONE


def set_up_rules(invocation: Invocation, wanted: Wanted) -> int:
    """Adds our lines to the instructions of a project's agents, shows them, or takes them out. Returns the exit code."""
    root = _directory("--project", wanted.project) if wanted.project is not None else _current_project(invocation)
    path = rules_path(root)
    if wanted.is_print:
        invocation.terminal.note(f"put this into {printable(str(path))}", "dim")
        invocation.terminal.line(rendered())
        return failure.DONE
    ledger = Ledger(invocation.home)
    edit = RulesEdit()
    if wanted.undo:
        marked = [each for each in (root / "AGENTS.md", root / "CLAUDE.md") if edit.state(files.read(each) or "") is not None]
        path = marked[0] if marked else path
        if ledger.of(path, edit.kind) is None:
            # Added elsewhere and committed: the markers say enough.
            wanted = msgspec.structs.replace(wanted, force=True)
    report = _changed(path, edit, ledger, wanted, is_shared=True, has_backup=False)
    if invocation.options.as_json:
        invocation.terminal.json(
            encode(SetupReport(host="", server={}, dry_run=wanted.dry_run, **msgspec.structs.asdict(report)))
        )
        return failure.FAILED if report.change == "kept" else failure.DONE
    terminal, place = invocation.terminal, printable(report.path)
    _show_diff(invocation, report, wanted)
    if report.change == "kept":
        terminal.warn(f"the lines in {place} have been changed since and stay; --undo --force removes them")
        return failure.FAILED
    if report.change == "none":
        terminal.line(f"{place} has no lines of ours" if wanted.undo else f"{place} has the lines already")
    elif not wanted.dry_run:
        terminal.line(f"{place} {'does not have our lines any more' if wanted.undo else 'tells agents when to use which tool'}")
    if wanted.dry_run and report.change != "none":
        terminal.note("nothing was written; run it again without --dry-run", "dim")
    return failure.DONE


def _changed(path: Path, edit: Edit, ledger: Ledger, wanted: Wanted, *, is_shared: bool, has_backup: bool = True) -> FileReport:
    if wanted.undo:
        outcome = changing.undo(path, edit, ledger, dry_run=wanted.dry_run, force=wanted.force)
    else:
        outcome = changing.apply(path, edit, ledger, is_shared=is_shared, dry_run=wanted.dry_run, has_backup=has_backup)
    return FileReport(
        path=str(path),
        change=_kind(outcome, is_undo=wanted.undo),
        diff=_diff(path, outcome.before or "", outcome.after or ""),
        backup=str(outcome.backup) if outcome.backup is not None else "",
        changes=outcome.done.changes,
        kept=outcome.done.kept if outcome.done.changes else (),
        replaced=_without_secrets(outcome.done.replaced),
    )


def _kind(outcome: Outcome, *, is_undo: bool) -> str:
    if outcome.is_kept:
        return "kept"
    if not outcome.is_changed:
        return "none"
    return "removed" if is_undo else "changed" if outcome.before else "created"


def _directory(option: str, path: str) -> Path:
    directory = Path(path).expanduser().absolute()
    if not directory.is_dir():
        raise InvalidInput(f"{option}: {directory} is not a directory. Correct the path.", field=option, value=path)
    return directory


def _current_project(invocation: Invocation) -> Path:
    from codecompass.cli.terminal import working_directory
    from codecompass.scan.roots import marked_root

    directory = Path(working_directory() or ".").absolute()
    home = Path(invocation.environment.get("HOME") or Path.home())
    return marked_root(directory, frozenset({home, Path("/")})) or directory


def _request(invocation: Invocation, host: Host, wanted: Wanted) -> Request:
    """The entry. What decides here and now where the data and the settings are has to hold for the host's process too."""
    is_shared = wanted.project is not None
    program, *arguments = portable_command(invocation.environment) if is_shared else installed_command()
    general: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if invocation.options.config is not None:
        config = str(Path(invocation.options.config).expanduser().absolute())
        arguments += ["--config", config]
        general = (("--config", (config,)),)
    tools, answers = "all" if wanted.all_tools else "core", wanted.answers or "text"
    arguments += ["serve-mcp", "--tools", tools, "--answers", answers]
    given = wanted.workspaces or tuple(filter(None, [invocation.options.workspace]))
    workspaces = tuple(os.path.realpath(_directory("--workspace", each)) for each in given)
    for workspace in workspaces:
        arguments += ["--workspace", workspace]
    home = invocation.environment.get(HOME_VARIABLE)
    variables = {HOME_VARIABLE: str(Path(home).expanduser().absolute())} if home else {}
    asked = (
        ("--tools", (tools,) if wanted.all_tools else ()),
        ("--answers", (answers,) if wanted.answers is not None else ()),
        ("--workspace", workspaces),
    )
    members: dict[str, object] = {}
    if wanted.approve and isinstance(host.approval, EntryApproval):
        value = host.approval.value
        members[host.approval.member] = list(_read_only_tools(wanted)) if value is None else value
    return Request(
        launch=Launch(program=program, arguments=tuple(arguments), environment=variables),
        asked=tuple((option, values) for option, values in asked if values),
        general=general,
        members=members,
    )


def _read_only_tools(wanted: Wanted) -> tuple[str, ...]:
    if not wanted.approve:
        return ()
    from codecompass.transport.tools.listing import GROUPS, TOOLS

    listed = GROUPS["all" if wanted.all_tools else "core"]
    return tuple(tool.name for tool in TOOLS if tool.name in listed and tool.is_read_only)


def _warnings(invocation: Invocation, request: Request, *, is_shared: bool) -> tuple[str, ...]:
    del invocation
    if not is_shared or request.launch.program == PROGRAM:
        return ()
    return (
        f"a login shell does not find {PROGRAM} on its PATH, so the file names {request.launch.program}, which others do not "
        f"have. Install it where the PATH leads (pipx install, or uv tool install) and run this again.",
    )


def _steps(host: Host, wanted: Wanted) -> tuple[str, ...]:
    """What the person has to do, in order."""
    steps = [host.afterwards]
    if wanted.project is not None and host.project_afterwards:
        steps.append(host.project_afterwards)
    if host.asking and not wanted.approve:
        steps.append(host.asking)
    if not host.finds_project and not wanted.workspaces:
        steps.append(
            f"{host.title} does not say which project is open: the server asks the default one. Choose it with "
            "codecompass init PATH --default, or give --workspace PATH here."
        )
    return tuple(steps)


def _show(
    invocation: Invocation, host: Host, wanted: Wanted, server: Mapping[str, object], tools: tuple[str, ...], root: Path | None
) -> int:
    """Prints what is to be put where; of a host without a file that we may write, that is all there is."""
    path = "" if not host.user else str(user_path(host, invocation.environment) if root is None else project_path(host, root))
    terminal = invocation.terminal
    if wanted.undo:
        terminal.line(f"{host.title} keeps its servers itself. Remove codecompass there: {host.place}")
        return failure.DONE
    if invocation.options.as_json:
        steps = _steps(host, wanted) if host.user else (host.place, *_steps(host, wanted))
        terminal.json(encode(SetupReport(host=host.name, path=path, change="none", server=server, next_steps=steps)))
        return failure.DONE
    terminal.note(f"put this into {printable(path or host.title + ', ' + host.place)}", "dim")
    terminal.line(configuration.rendered(host, server).rstrip())
    if wanted.approve and isinstance(host.approval, FileApproval):
        place = approval_path(host, host.approval, invocation.environment, root)
        terminal.note(f"and this into {printable(str(place))}", "dim")
        items = [host.approval.prefix + tool for tool in tools]
        terminal.line(configuration.rendered_list(host.approval.section, items).rstrip())
    if not host.user:
        for step in _steps(host, wanted):
            terminal.note(step, "dim")
    return failure.DONE


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{path} (now)", f"{path} (then)", n=2
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _without_secrets(entry: object) -> str:
    """An entry as it was, for people to see; values of variables and headers are left out."""
    if entry is None:
        return ""
    if isinstance(entry, Mapping):
        entry = {
            name: dict.fromkeys(value, "...") if name in _SECRET and isinstance(value, Mapping) else value
            for name, value in entry.items()
        }
    return msgspec.json.encode(entry, enc_hook=str).decode()


def _show_diff(invocation: Invocation, report: FileReport | SetupReport, wanted: Wanted) -> None:
    terminal = invocation.terminal
    if wanted.dry_run:
        for line in report.diff.splitlines():
            color = ("green",) if line[:1] == "+" else ("red",) if line[:1] == "-" else ()
            terminal.line(terminal.style(printable(line), *color))


def _tell(invocation: Invocation, title: str, report: SetupReport, wanted: Wanted) -> None:
    terminal, path = invocation.terminal, printable(report.path)
    _show_diff(invocation, report, wanted)
    for each in report.also:
        _show_diff(invocation, each, wanted)
    for warning in report.warnings:
        terminal.warn(warning)
    if report.change == "kept":
        terminal.warn(
            f"the entry in {path} is not as setup wrote it: it is yours, and stays. Remove it by hand, or with --undo --force"
        )
    elif report.change == "none":
        terminal.line(f"{path} has no entry of ours" if wanted.undo else f"{path} starts the server already")
    elif not wanted.dry_run:
        done = "is as before" if wanted.undo else "starts the server now"
        terminal.line(f"{terminal.style(title, 'bold')} {done}: {path}")
    for change in report.changes:
        terminal.line(f"  changed {printable(change)}")
    if report.kept:
        terminal.line(f"  kept {printable(', '.join(report.kept))}")
    if report.replaced:
        terminal.line(f"  this was there, and comes back with --undo: {printable(report.replaced)}")
    for each in report.also:
        if each.change != "none" and not wanted.dry_run:
            done = "is as before" if wanted.undo else "allows the tools that only read"
            terminal.line(f"  {done}: {printable(each.path)}")
    if wanted.dry_run:
        if report.change not in ("none", "kept") or any(each.change != "none" for each in report.also):
            terminal.note("nothing was written; run it again without --dry-run", "dim")
        return
    if report.backup:
        terminal.note(f"what the file held before is in {printable(report.backup)}", "dim")
    for step in report.next_steps if report.change != "none" or report.also else ():
        terminal.note(step, "dim")
