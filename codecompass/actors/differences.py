"""What `diff_context` and `changed_since` need before the index is queried: git's comparison, and both versions of the changed
files as the worker processes parse them. The server and the command line each supply their own way to run blocking work.
"""

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Final, Protocol, TypeVar

from msgspec.structs import replace

from codecompass import hints
from codecompass.actors.answering import depends_on_history
from codecompass.actors.asking import options_for
from codecompass.actors.change_upkeep import history_of_head
from codecompass.actors.file_pipeline import grouped
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.question import Question
from codecompass.actors.tools import Tools
from codecompass.actors.worker_pool import WorkerPool
from codecompass.errors import InvalidInput
from codecompass.protocol.requests import DiffContext, Globs, LocateSymbol, Request, SearchCode
from codecompass.query.differences.file_versions import ReadVersions, TreeDifference, tree_difference, version_tasks
from codecompass.query.filters import ChangedFiles, changed_files, chosen_paths
from codecompass.query.options import QueryOptions
from codecompass.query.path_globs import relative_to_root
from codecompass.scan.git_changes import Chosen, GitChanges, everything, find_changes
from codecompass.scan.git_failures import explained
from codecompass.scan.git_repository import GitCancelled, GitError, GitRepository
from codecompass.scan.git_revisions import WORKING_TREE, NamedCommit, Side, default_base, named_side, repository_of
from codecompass.scan.walk import ScanCancelled
from codecompass.store.layout import ProjectLayout
from codecompass.worker.messages import Answer, Batch

IsCancelled = Callable[[], bool]

COMPARISON_PATIENCE_SECONDS: Final = 60.0
"""How long a comparison may give no sign of progress, while git reads contents to find renames and changed lines."""

INDEXED_TREE: Final = "the working tree as it is indexed"

T = TypeVar("T")


class Blocking(Protocol):
    """How the caller runs work that blocks on git and the disk."""

    async def __call__(self, work: Callable[[IsCancelled], T]) -> T:
        """Runs `work` in a thread, or in this one."""


async def with_differences(
    options: QueryOptions,
    request: Request,
    root: Path,
    limits: IndexLimits,
    pool: Callable[[], AbstractAsyncContextManager[WorkerPool]],
    run: Blocking,
    layout: ProjectLayout,
    commit: NamedCommit | None = None,
) -> QueryOptions:
    """Returns the options with the differences that the question is about, and the history that it needs, if any.

    `commit` is the commit that is indexed (None for the working tree) and the head of the comparison. Raises InvalidInput or
    RefNotIndexed for an invalid ref, InvalidInput for an invalid path filter or if git cannot compare.
    """
    if depends_on_history(request):
        roots = limits.rules.git_roots
        history = await run(lambda is_cancelled: history_of_head(layout, str(root), roots, is_cancelled))
        options = replace(options, history=history)
    if isinstance(request, DiffContext):
        async with pool() as workers:
            return replace(options, difference=await read_difference(root, request, limits, workers, run, commit))
    if isinstance(request, SearchCode | LocateSymbol) and request.changed_since is not None:
        since = request.changed_since
        changed = await run(lambda is_cancelled: read_changed_since(root, since, limits, is_cancelled, commit))
        return replace(options, changed=changed)
    return options


async def prepared_options(
    tools: Tools,
    question: Question,
    defaults: QueryOptions,
    root: Path,
    limits: IndexLimits,
    layout: ProjectLayout,
    commit: NamedCommit | None = None,
) -> QueryOptions:
    """Returns the options of a question to a server, with the differences that it is about, if it is about any.

    Raises the same errors as `with_differences`, and FileSystemUnresponsive.
    """

    async def run(work: Callable[[IsCancelled], T]) -> T:
        return await tools.limits.blocking.run(lambda call: work(call.is_over), root, patience=COMPARISON_PATIENCE_SECONDS)

    options = options_for(question, defaults)
    return await with_differences(options, question.request, root, limits, lambda: nullcontext(tools.pool), run, layout, commit)


async def read_difference(
    root: Path,
    request: DiffContext,
    limits: IndexLimits,
    pool: WorkerPool,
    run: Blocking,
    commit: NamedCommit | None = None,
) -> TreeDifference:
    """Returns what differs between base and head, with both versions parsed. Raises the same errors as `with_differences`."""
    changes = await run(lambda is_cancelled: _changes(str(root), request, limits, is_cancelled, commit))
    indexed = "" if commit is not None or not changes.head.commit else INDEXED_TREE
    return await parsed_difference(changes, limits, pool, indexed)


async def parsed_difference(changes: GitChanges, limits: IndexLimits, pool: WorkerPool, indexed: str = "") -> TreeDifference:
    """Returns the difference with both versions of each changed file as the worker processes parse them: nothing of a repository
    is parsed in this process. `indexed` says what the index is of, if not of the head."""
    old = await _read(changes, limits, pool, is_old=True)
    new = await _read(changes, limits, pool, is_old=False)
    return tree_difference(changes, old, new, indexed=indexed)


def chosen_files(path: Globs | None, root: str) -> Chosen:
    """Returns which files a path filter of a request includes; `root` is what absolute ones lie in. Raises InvalidInput."""
    if path is None:
        return everything
    globs = relative_to_root(path, root)
    chosen_paths((), globs)  # an invalid filter is an error even if nothing differs
    return lambda paths: chosen_paths(paths, globs)


def _head(repository: GitRepository, name: str | None, commit: NamedCommit | None) -> Side:
    if commit is not None:
        return Side(name=commit.name, commit=commit.commit, tree=commit.tree)
    return Side(name=WORKING_TREE) if name is None else named_side(repository, name, field="head")


def _changes(
    root: str, request: DiffContext, limits: IndexLimits, is_cancelled: IsCancelled, commit: NamedCommit | None
) -> GitChanges:
    chosen = chosen_files(request.path, root)
    try:
        repository = repository_of(root, limits.rules.git_roots, field="diff_context")
        head = _head(repository, request.head, commit)
        base = default_base(repository, head) if request.base is None else named_side(repository, request.base, field="base")
        return find_changes(
            repository, root, base, head, limits.rules, chosen=chosen, with_contents=True, is_cancelled=is_cancelled
        )
    except (GitError, GitCancelled, ScanCancelled, OSError) as error:
        raise _cannot_compare(error, "base") from error


def read_changed_since(
    root: Path,
    name: str,
    limits: IndexLimits,
    is_cancelled: IsCancelled | None = None,
    commit: NamedCommit | None = None,
) -> ChangedFiles:
    """Returns the files of the working tree, or of `commit`, that differ from the commit `name`. Blocks on git and the disk.

    Raises InvalidInput for an invalid name, or if git cannot compare.
    """
    try:
        repository = repository_of(str(root), limits.rules.git_roots, field="changed_since")
        base = named_side(repository, name, field="changed_since")
        return changed_files(
            find_changes(repository, str(root), base, _head(repository, None, commit), limits.rules, is_cancelled=is_cancelled)
        )
    except (GitError, GitCancelled, ScanCancelled, OSError) as error:
        raise _cannot_compare(error, "changed_since") from error


def _cannot_compare(error: Exception, field: str) -> InvalidInput:
    cause = explained(error) if isinstance(error, GitError) else f"{str(error) or type(error).__name__}."
    return InvalidInput(
        f"git cannot compare here: {cause} {hints.CHECK} says whether git works; "
        "search_code and locate_symbol still answer without a comparison.",
        field=field,
    )


async def _read(changes: GitChanges, limits: IndexLimits, pool: WorkerPool, *, is_old: bool) -> ReadVersions:
    """Returns one side as the worker processes parse it."""
    answers: list[Answer] = []
    killed: list[str] = []
    for tasks in grouped(version_tasks(changes, is_old=is_old)):
        result = await pool.run(
            Batch(
                root=os.fsencode("/"),
                tasks=tuple(tasks),
                parse=True,
                max_file_bytes=limits.rules.max_file_bytes,
                max_line_characters=limits.max_line_characters,
                parse_cpu_seconds=limits.parse_cpu_seconds,
            )
        )
        answers += result.answers
        killed += (*result.killed_parsing, *result.killed_reading)
    return ReadVersions(tuple(answers), frozenset(killed))
