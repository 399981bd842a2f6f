"""Implements `codecompass setup`: which files of a host are changed, the report on each, and what the user still has to do."""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from codecompass.cli import failure
from codecompass.cli.hosts import files, reversible_edit
from codecompass.cli.hosts.change_records import ChangeRecords
from codecompass.cli.hosts.edits import AllowEdit, Edit, EntryEdit, RulesEdit, rendered, rendered_list
from codecompass.cli.hosts.entry import PROGRAM, WantedEntry, installed_command, portable_command
from codecompass.cli.hosts.reversible_edit import EditOutcome
from codecompass.cli.hosts.rules import FILES, rendered_rules, rules_path
from codecompass.cli.hosts.supported_hosts import (
    EntryApproval,
    FileApproval,
    Host,
    LaunchForm,
    approval_path,
    host_named,
    project_path,
    user_path,
)
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import printable, working_directory
from codecompass.errors import InvalidInput
from codecompass.settings import HOME_VARIABLE

_SECRET = ("env", "envs", "environment", "headers")
"""Members of an entry whose values are not printed."""


class SetupOptions(Struct, frozen=True, kw_only=True):
    """The options of `setup`, as in its help."""

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
    """What was done to one file, or with `dry_run` would be."""

    path: str
    change: str
    """`none`, `created`, `changed`, `removed`, or `kept` if the user's own changes prevent an undo."""
    diff: str = ""
    backup: str = ""
    """Path of the file with the content from before the first change."""
    changes: tuple[str, ...] = ()
    """What changed in an entry that is the user's."""
    kept: tuple[str, ...] = ()
    """Members of that entry that are unchanged."""
    replaced: str = ""
    """The user's entry that was replaced, as JSON without secrets."""


class SetupReport(FileReport, frozen=True, kw_only=True, omit_defaults=True):
    """What `--json` prints: the `FileReport` of the file with the entry, other files in `also`, and `next_steps` for the user."""

    host: str
    server: Mapping[str, object]
    dry_run: bool = False
    also: tuple[FileReport, ...] = ()
    warnings: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()


def set_up_host(invocation: Invocation, name: str, options: SetupOptions) -> int:
    """Writes, prints or undoes a host's entry. Returns the exit code."""
    host = host_named(name)
    root = None if options.project is None else _directory("--project", options.project)
    if root is not None and host.project is None:
        raise InvalidInput(f"{host.title} has no configuration of a project. Leave out --project.", field="project")
    if options.approve and host.approval is None and not options.undo:
        raise InvalidInput(
            f"{host.title} has no file in which a program may allow calls. Leave out --approve. {host.asking}".strip(),
            field="approve",
        )
    request = _request(invocation, host, options)
    server = request.entry(host.shape)
    warnings = _warnings(request, is_shared=root is not None)
    steps = () if options.undo else _steps(host, options)
    tools = _read_only_tools(options)
    if options.is_print or not host.user:
        return _print_entry(invocation, host, options, server, tools, root)
    path = (user_path(host, invocation.environment) if root is None else project_path(host, root)) or Path()
    edit = EntryEdit(host, request, invocation.environment.get("PATH"), force=options.force)
    records = ChangeRecords(invocation.home)
    main = _changed(path, edit, records, options, is_shared=root is not None)
    also: tuple[FileReport, ...] = ()
    if isinstance(host.approval, FileApproval):
        place = approval_path(host, host.approval, invocation.environment, root)
        allow = AllowEdit(host, host.approval, tools)
        if options.approve or (options.undo and records.of(place, allow.kind) is not None):
            also = (_changed(place, allow, records, options, is_shared=root is not None),)
    report = SetupReport(
        host=name,
        server={} if options.undo else server,
        dry_run=options.dry_run,
        also=also,
        warnings=() if options.undo else warnings,
        next_steps=steps,
        **msgspec.structs.asdict(main),
    )
    if invocation.options.as_json:
        invocation.print_json(report)
    else:
        _print_report(invocation, host.title, report, options)
    return failure.FAILED if main.change == "kept" else failure.DONE


def set_up_rules(invocation: Invocation, options: SetupOptions) -> int:
    """Adds our lines to a project's instructions for agents, prints or removes them. Returns the exit code."""
    root = _directory("--project", options.project) if options.project is not None else _current_project()
    path = rules_path(root)
    if options.is_print:
        invocation.terminal.note(f"put this into {printable(str(path))}", "dim")
        invocation.terminal.line(rendered_rules())
        return failure.DONE
    records = ChangeRecords(invocation.home)
    edit = RulesEdit()
    if options.undo:
        marked = [each for each in (root / name for name in FILES) if edit.state(files.read(each) or "") is not None]
        path = marked[0] if marked else path
        if records.of(path, edit.kind) is None:
            # Added on another machine and committed: the markers identify them.
            options = msgspec.structs.replace(options, force=True)
    report = _changed(path, edit, records, options, is_shared=True, has_backup=False)
    if invocation.options.as_json:
        invocation.print_json(SetupReport(host="", server={}, dry_run=options.dry_run, **msgspec.structs.asdict(report)))
        return failure.FAILED if report.change == "kept" else failure.DONE
    terminal, place = invocation.terminal, printable(report.path)
    _print_diff(invocation, report, options)
    if report.change == "kept":
        terminal.warn(f"the lines in {place} have been changed since and stay; --undo --force removes them")
        return failure.FAILED
    if report.change == "none":
        terminal.line(f"{place} has no lines of ours" if options.undo else f"{place} has the lines already")
    elif not options.dry_run:
        terminal.line(f"{place} {'does not have our lines any more' if options.undo else 'tells agents when to use which tool'}")
    if options.dry_run and report.change != "none":
        terminal.note("nothing was written; run it again without --dry-run", "dim")
    return failure.DONE


def _changed(
    path: Path, edit: Edit, records: ChangeRecords, options: SetupOptions, *, is_shared: bool, has_backup: bool = True
) -> FileReport:
    if options.undo:
        outcome = reversible_edit.undo(path, edit, records, dry_run=options.dry_run, force=options.force)
    else:
        outcome = reversible_edit.apply(path, edit, records, is_shared=is_shared, dry_run=options.dry_run, has_backup=has_backup)
    return FileReport(
        path=str(path),
        change=_kind(outcome, is_undo=options.undo),
        diff=_diff(path, outcome.before or "", outcome.after or ""),
        backup=str(outcome.backup) if outcome.backup is not None else "",
        changes=outcome.notes.changes,
        kept=outcome.notes.kept if outcome.notes.changes else (),
        replaced=_without_secrets(outcome.notes.replaced),
    )


def _kind(outcome: EditOutcome, *, is_undo: bool) -> str:
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


def _current_project() -> Path:
    from codecompass.projects.detection import never_projects
    from codecompass.scan.roots import marked_root

    directory = Path(working_directory() or ".").absolute()
    return marked_root(directory, frozenset(never_projects())) or directory


def _request(invocation: Invocation, host: Host, options: SetupOptions) -> WantedEntry:
    """Returns the requested entry, with the configuration file and the data directory of this command for the host's server."""
    is_shared = options.project is not None
    program, *arguments = portable_command(invocation.environment) if is_shared else installed_command()
    general: tuple[tuple[str, tuple[str, ...]], ...] = ()
    if invocation.options.config is not None:
        config = str(Path(invocation.options.config).expanduser().absolute())
        arguments += ["--config", config]
        general = (("--config", (config,)),)
    tools, answers = "all" if options.all_tools else "core", options.answers or "text"
    arguments += ["serve-mcp", "--tools", tools, "--answers", answers]
    given = options.workspaces or tuple(filter(None, [invocation.options.workspace]))
    workspaces = tuple(os.path.realpath(_directory("--workspace", each)) for each in given)
    for workspace in workspaces:
        arguments += ["--workspace", workspace]
    home = invocation.environment.get(HOME_VARIABLE)
    variables = {HOME_VARIABLE: str(Path(home).expanduser().absolute())} if home else {}
    asked = (
        ("--tools", (tools,) if options.all_tools else ()),
        ("--answers", (answers,) if options.answers is not None else ()),
        ("--workspace", workspaces),
    )
    members: dict[str, object] = {}
    if options.approve and isinstance(host.approval, EntryApproval):
        value = host.approval.value
        members[host.approval.member] = list(_read_only_tools(options)) if value is None else value
    return WantedEntry(
        launch=LaunchForm(program=program, arguments=tuple(arguments), environment=variables),
        asked=tuple((option, values) for option, values in asked if values),
        general=general,
        members=members,
    )


def _read_only_tools(options: SetupOptions) -> tuple[str, ...]:
    if not options.approve:
        return ()
    from codecompass.transport.tools.listing import GROUPS, TOOLS

    listed = GROUPS["all" if options.all_tools else "core"]
    return tuple(tool.name for tool in TOOLS if tool.name in listed and tool.is_read_only)


def _warnings(request: WantedEntry, *, is_shared: bool) -> tuple[str, ...]:
    if not is_shared or request.launch.program == PROGRAM:
        return ()
    return (
        f"a login shell does not find {PROGRAM} on its PATH, so the file names {request.launch.program}, which others do not "
        f"have. Install it where the PATH leads (pipx install, or uv tool install) and run this again.",
    )


def _steps(host: Host, options: SetupOptions) -> tuple[str, ...]:
    """Returns what the user has to do, in order."""
    steps = [host.afterwards]
    if options.project is not None and host.project_afterwards:
        steps.append(host.project_afterwards)
    if host.asking and not options.approve:
        steps.append(host.asking)
    if not host.finds_project and not options.workspaces:
        steps.append(
            f"{host.title} does not say which project is open: the server asks the default one. Choose it with "
            "codecompass init PATH --default, or give --workspace PATH here."
        )
    return tuple(steps)


def _print_entry(
    invocation: Invocation,
    host: Host,
    options: SetupOptions,
    server: Mapping[str, object],
    tools: tuple[str, ...],
    root: Path | None,
) -> int:
    """Prints the entry and where to put it: for --print, and for hosts without a file that may be written."""
    path = "" if not host.user else str(user_path(host, invocation.environment) if root is None else project_path(host, root))
    terminal = invocation.terminal
    if options.undo:
        terminal.line(f"{host.title} keeps its servers itself. Remove codecompass there: {host.place}")
        return failure.DONE
    if invocation.options.as_json:
        steps = _steps(host, options) if host.user else (host.place, *_steps(host, options))
        invocation.print_json(SetupReport(host=host.name, path=path, change="none", server=server, next_steps=steps))
        return failure.DONE
    terminal.note(f"put this into {printable(path or host.title + ', ' + host.place)}", "dim")
    terminal.line(rendered(host, server).rstrip())
    if options.approve and isinstance(host.approval, FileApproval):
        place = approval_path(host, host.approval, invocation.environment, root)
        terminal.note(f"and this into {printable(str(place))}", "dim")
        terminal.line(rendered_list(host.approval, tools).rstrip())
    if not host.user:
        for step in _steps(host, options):
            terminal.note(step, "dim")
    return failure.DONE


def _diff(path: Path, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"{path} (now)", f"{path} (then)", n=2
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def _without_secrets(entry: object) -> str:
    """Returns an entry as JSON for people, without the values of variables and headers."""
    if entry is None:
        return ""
    if isinstance(entry, Mapping):
        entry = {
            name: dict.fromkeys(value, "...") if name in _SECRET and isinstance(value, Mapping) else value
            for name, value in entry.items()
        }
    return msgspec.json.encode(entry, enc_hook=str).decode()


def _print_diff(invocation: Invocation, report: FileReport | SetupReport, options: SetupOptions) -> None:
    terminal = invocation.terminal
    if options.dry_run:
        for line in report.diff.splitlines():
            color = ("green",) if line[:1] == "+" else ("red",) if line[:1] == "-" else ()
            terminal.line(terminal.style(printable(line), *color))


def _print_report(invocation: Invocation, title: str, report: SetupReport, options: SetupOptions) -> None:
    terminal, path = invocation.terminal, printable(report.path)
    _print_diff(invocation, report, options)
    for each in report.also:
        _print_diff(invocation, each, options)
    for warning in report.warnings:
        terminal.warn(warning)
    if report.change == "kept":
        terminal.warn(
            f"the entry in {path} is not as setup wrote it: it is yours, and stays. Remove it by hand, or with --undo --force"
        )
    elif report.change == "none":
        terminal.line(f"{path} has no entry of ours" if options.undo else f"{path} starts the server already")
    elif not options.dry_run:
        done = "is as before" if options.undo else "starts the server now"
        terminal.line(f"{terminal.style(title, 'bold')} {done}: {path}")
    for change in report.changes:
        terminal.line(f"  changed {printable(change)}")
    if report.kept:
        terminal.line(f"  kept {printable(', '.join(report.kept))}")
    if report.replaced:
        terminal.line(f"  this was there, and comes back with --undo: {printable(report.replaced)}")
    for each in report.also:
        if each.change != "none" and not options.dry_run:
            done = "is as before" if options.undo else "allows the tools that only read"
            terminal.line(f"  {done}: {printable(each.path)}")
    if options.dry_run:
        if report.change not in ("none", "kept") or any(each.change != "none" for each in report.also):
            terminal.note("nothing was written; run it again without --dry-run", "dim")
        return
    if report.backup:
        terminal.note(f"what the file held before is in {printable(report.backup)}", "dim")
    for step in report.next_steps if report.change != "none" or report.also else ():
        terminal.note(step, "dim")
