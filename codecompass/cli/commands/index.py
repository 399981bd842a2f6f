"""The commands that register a project and keep its index: `init`, `index` and `sync`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import asyncclick
from msgspec.structs import replace

from codecompass import formatting
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.cli.json_output import IndexPlan, LeftOutFile, PlannedFile, ProjectName
from codecompass.cli.terminal import printable
from codecompass.errors import InvalidInput
from codecompass.settings import IndexSettings

if TYPE_CHECKING:
    from codecompass.cli.workspace import Choice
    from codecompass.scan.rules import ScanRules
    from codecompass.scan.walk import ScanResult
    from codecompass.store.registry import Registry
    from codecompass.worker.messages import FileTask


@command(
    "init",
    text="""
    Make a project known and give it a name.

    PATH is the project's directory; without it, the project that the current directory belongs to. Nothing is written
    into the project. Running it again is harmless, and changes the name if --project-id is given.

    The first project made known is the default: the one that a server uses for callers that name none.
    """,
    examples=(
        Example("codecompass init", "this project, under its directory's name"),
        Example("codecompass init --project-id web-shop", "this project, as web-shop"),
        Example("codecompass init ~/src/api --default", "another directory, and the default from now on"),
    ),
    chooses_project=False,
)
@asyncclick.argument("path", required=False, type=asyncclick.Path(file_okay=False))
@asyncclick.option("--workspace", metavar="PATH", type=asyncclick.Path(), help="The same as the argument PATH.")
@asyncclick.option(
    "--project-id",
    "alias",
    metavar="NAME",
    help="The name: 1 to 50 lower-case letters, digits and single hyphens between them.",
)
@asyncclick.option("--default", "is_default", is_flag=True, help="Make it the default project.")
def init(invocation: Invocation, path: str | None, workspace: str | None, alias: str | None, is_default: bool) -> None:
    """Registers the project."""
    from codecompass.cli.workspace import choose, ensure_registered
    from codecompass.store.registry import check_alias

    options = invocation.options
    name = options.project_id if alias is None else alias
    if name is not None:
        check_alias(name)
    with invocation.registry() as registry:
        choice = choose(registry, GlobalOptions(workspace=path or workspace or options.workspace), may_be_empty=True)
        if name is not None:
            registry.require_free(name, None if choice.project is None else choice.project.project_id)
        project = ensure_registered(registry, choice)
        is_new = choice.project is None
        project = registry.adopt(project.project_id, alias=name, as_default=True if is_default else None)
    if options.as_json:
        found = ProjectName(
            project_id=project.project_id, name=project.name, repo_root=str(project.root), is_default=project.is_default
        )
        invocation.print_json(found)
        return
    terminal = invocation.terminal
    known = "is registered" if is_new else "is already registered"
    default = ", the default project" if project.is_default else ""
    terminal.line(f"{printable(str(project.root))} {known} as {terminal.style(project.name, 'bold')}{default}")
    if not invocation.home.project(project.project_id).current.exists():
        terminal.note("next: codecompass index", "dim")


@command(
    "index",
    text="""
    Index a project, from nothing where needed.

    PATH is the project's directory; without it, the project that the current directory belongs to. What is indexed
    already is only brought up to date. Files of .gitignore and .codecompassignore, dependencies, secrets, binary and
    generated files are left out; codecompass status says how many, and status --path FILE why.
    """,
    examples=(
        Example("codecompass index", "this project"),
        Example("codecompass index ~/src/linux", "another directory"),
        Example("codecompass index --dry-run", "list what would be indexed, and what not"),
        Example("codecompass index --force", "build the index again from nothing"),
    ),
)
@asyncclick.argument("path", required=False, type=asyncclick.Path())
@asyncclick.option("--force", is_flag=True, help="Build the index again from nothing; the old one answers meanwhile.")
@asyncclick.option("--dry-run", is_flag=True, help="Only list what would be indexed.")
def index(invocation: Invocation, path: str | None, force: bool, dry_run: bool) -> None:
    """Indexes the project and prints a summary; with `dry_run` prints the plan."""
    from codecompass.cli.workspace import choose

    options = invocation.options
    if path is not None and options.workspace is not None:
        raise InvalidInput("PATH and --workspace both name a directory. Give one of them.", field="workspace")
    with invocation.registry() as registry:
        choice = choose(registry, replace(options, workspace=path or options.workspace))
        if not dry_run:
            _update(invocation, registry, choice, force=force, reports_quarantine=True)
            return
    _print_plan(invocation, _plan(choice.root, invocation.settings_for(choice.root).index))


@command(
    "sync",
    text="""
    Bring the index up to what has changed.

    Costs about as much as the changes do. Searching does this by itself; sync is for hooks and scripts that want it
    done before anybody asks.
    """,
    examples=(
        Example("codecompass sync", "this project"),
        Example("echo 'codecompass sync &' >> .git/hooks/post-checkout", "after every change of branch"),
        Example("codecompass sync --json | jq .changed_files", "how many files had changed"),
    ),
)
@asyncclick.option("--force", is_flag=True, help="Build the index again from nothing.")
def sync(invocation: Invocation, force: bool) -> None:
    """Updates the index and prints a summary."""
    from codecompass.cli.workspace import choose, forgotten_if_unfinished, project_for_question

    options = invocation.options
    with invocation.registry() as registry:
        choice = choose(registry, options)
        # A hook or script runs this in any directory: only `index` names one to be indexed.
        with forgotten_if_unfinished(invocation, registry, choice):
            project_for_question(invocation, registry, choice)
            _update(invocation, registry, choice, force=force, reports_quarantine=False)


def _update(invocation: Invocation, registry: "Registry", choice: "Choice", *, force: bool, reports_quarantine: bool) -> None:
    """Runs a job, then makes the vectors that are missing; prints what was done."""
    from codecompass.cli.jobs import run_job_in_turn, summary
    from codecompass.cli.semantic import make_vectors
    from codecompass.cli.workspace import ensure_registered, forgotten_if_unfinished

    with forgotten_if_unfinished(invocation, registry, choice):
        project = ensure_registered(registry, choice)
        job = run_job_in_turn(invocation, registry, project, force=force, cause="command")
    if invocation.options.as_json:
        invocation.print_json(job)
    else:
        invocation.terminal.line(f"{printable(job.repo_root)}: {summary(job)}")
        for warning in job.warnings:
            invocation.terminal.warn(warning)
        for quarantined in job.quarantined if reports_quarantine else ():
            invocation.terminal.warn(f"{quarantined}: its parse was stopped; it is searchable as text only")
    make_vectors(invocation, project)


def _plan(root: Path, settings: IndexSettings) -> IndexPlan:
    """Returns what a job would index of the tree at `root`, by the same scan and the same checks of each file's content.

    Reads every file once; raises OSError for a missing root.
    """
    from codecompass.actors.index_limits import index_limits
    from codecompass.languages.words import WordSplitter
    from codecompass.scan.walk import scan
    from codecompass.worker.messages import Batch, FileTask
    from codecompass.worker.reading import read_file

    limits = index_limits(settings)
    head = _tree_of_head(root, limits.rules)
    if head is not None:
        tasks, scanned = head
    else:
        scanned = scan(str(root), limits.rules)
        tasks = [FileTask(file.path, size=file.size) for file in scanned.files]
    batch = Batch(
        root=os.fsencode(root),
        tasks=(),
        parse=False,
        max_file_bytes=limits.rules.max_file_bytes,
        max_line_characters=limits.max_line_characters,
        parse_cpu_seconds=limits.parse_cpu_seconds,
    )
    splitter = WordSplitter()
    files = []
    skipped = [LeftOutFile(item.path, item.reason, item.size) for item in scanned.skipped]
    for task in tasks:
        answer = read_file(batch, task, splitter).answer
        if answer.status == "indexed":
            files.append(PlannedFile(task.path, task.size, answer.language))
        elif answer.status == "skipped":
            skipped.append(LeftOutFile(task.path, answer.reason, task.size))
    return IndexPlan(
        repo_root=str(root),
        files=tuple(files),
        skipped=tuple(sorted(skipped, key=lambda item: item.path)),
        total_bytes=sum(file.size for file in files),
        ignored_files=scanned.ignored_files,
        ignored_directories=scanned.ignored_directories,
        warnings=scanned.warnings,
    )


def _tree_of_head(root: Path, rules: "ScanRules") -> "tuple[list[FileTask], ScanResult] | None":
    """Returns the files of a bare repository's HEAD with their contents; None for any other root. Raises RefNotIndexed."""
    from codecompass.actors.commits import named_commit, unreadable
    from codecompass.scan.commit_tree import read_commit_tree
    from codecompass.scan.git_objects import read_blobs
    from codecompass.scan.git_repository import GitError, bare_repository_at
    from codecompass.scan.walk import ScanResult
    from codecompass.worker.messages import FileTask

    repository = bare_repository_at(os.path.realpath(root))
    if repository is None:
        return None
    commit = named_commit(root, "HEAD", field="HEAD")
    assert commit is not None
    try:
        tree = read_commit_tree(repository, repository.top, commit.commit, rules)
        blobs = read_blobs(repository, [file.object_id for file in tree.files], rules.max_file_bytes)
        tasks = [
            FileTask(file.path, size=file.size, content=blob.content or b"") for file, blob in zip(tree.files, blobs, strict=True)
        ]
    except GitError as error:
        raise unreadable(commit, error) from error
    return tasks, ScanResult(
        files=(),
        skipped=tree.skipped,
        directories=(),
        repositories=(),
        ignored_files=0,
        ignored_directories=0,
        linked_worktrees=0,
        warnings=tree.warnings,
    )


def _print_plan(invocation: Invocation, found: IndexPlan) -> None:
    terminal = invocation.terminal
    if invocation.options.as_json:
        invocation.print_json(found)
        return
    for file in found.files:
        terminal.line(printable(file.path))
    for warning in found.warnings:
        terminal.warn(warning)
    terminal.note(f"{formatting.count(len(found.files), 'file')} ({formatting.size(found.total_bytes)}) would be indexed", "bold")
    reasons: dict[str, int] = {}
    for left_out in found.skipped:
        reasons[left_out.reason] = reasons.get(left_out.reason, 0) + 1
    if reasons:
        named = ", ".join(f"{number:,} {reason}" for reason, number in sorted(reasons.items()))
        terminal.note(f"left out: {named}", "dim")
    if found.ignored_files or found.ignored_directories:
        files = formatting.count(found.ignored_files, "file")
        directories = formatting.count(found.ignored_directories, "directory", "directories")
        terminal.note(f"ignored: {files} and {directories}", "dim")
