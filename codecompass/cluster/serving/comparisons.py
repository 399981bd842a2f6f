"""What questions over an organisation need of a published history: what differs between two of its commits, and which files its
commits changed together.

    names -> commits of the history (`commit_names.py`) -> git, in the copy of the history -> parsed and asked as beside a clone

There is no working tree: a head that is left out is the newest indexed commit.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.answering import depends_on_history
from codecompass.actors.differences import chosen_files, parsed_difference
from codecompass.actors.index_answers import caller_has_left
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.question import Question
from codecompass.actors.worker_pool import WorkerPool
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.serving.commit_names import PublishedCommits
from codecompass.cluster.serving.library import Library
from codecompass.cluster.serving.routing import IndexedElsewhere, needs_history
from codecompass.errors import CodeCompassError, DeadlineExceeded, InvalidInput, ProjectNotFound
from codecompass.protocol.requests import DiffContext
from codecompass.query.filters import changed_files
from codecompass.query.options import QueryOptions
from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory, read_change_history
from codecompass.scan.git_changes import GitChanges, find_changes
from codecompass.scan.git_repository import GitCancelled, GitError, GitRepository, GitTimedOut
from codecompass.scan.git_revisions import DefaultBranch, Side, default_base, repository_of
from codecompass.scan.git_roots import GitRoots
from codecompass.units import SECONDS

COMPARISON_SECONDS: Final = 30 * SECONDS
"""How long one comparison may take until the index is asked, the copying of the history included."""

COMPANIONS_SHARE: Final = 0.3
"""How much of the time of a search may go into reading which files changed together."""

LATE_SECONDS: Final = 1 * SECONDS
"""How much longer than its time a comparison is waited for, so that it can say itself that it is late."""

NO_COMPANIONS: Final = "files that changed together are left out: {cause}"

T = TypeVar("T")


class Comparing(Struct, frozen=True):
    """What a server compares with: limits for files, and processes that parse."""

    limits: IndexLimits
    parsers: WorkerPool


class Compared(Struct, frozen=True, kw_only=True):
    """The head that a question is about."""

    repository: Repository
    ref: str
    head: RefHead
    root: Path
    """The root of the repository as tools see it."""


class Prepared(Struct, frozen=True):
    """The options of a question with what it needs of the history, and warnings about what is missing."""

    options: QueryOptions
    warnings: tuple[str, ...] = ()


async def with_history(
    library: Library, comparing: Comparing, about: Compared, asked: Question, options: QueryOptions, seconds: float
) -> Prepared:
    """Returns the options with the differences that a question is about, and the changes that it depends on, if any.

    Raises IndexedElsewhere if no history is published or a working tree is asked for, RefNotIndexed for a commit that is not in
    it, InvalidInput, DeadlineExceeded, and what `Library.read_history` raises. A search within `seconds` is answered without
    companions if the history cannot be had in time.
    """
    request = asked.request
    since: str | None = getattr(request, "changed_since", None)
    reading = _Reading(library, about, "changed_since" if since is not None else request.tool)
    if isinstance(request, DiffContext):
        return Prepared(await _with_difference(reading, comparing, request, options))
    if since is not None:

        def differing(git: GitRepository, is_late: Callable[[], bool]) -> GitChanges:
            commits = reading.commits(git)
            base, head = _side(commits, since, "changed_since"), _side(commits, about.ref, "ref")
            return find_changes(git, git.top, base, head, comparing.limits.rules, is_cancelled=is_late)

        options = replace(options, changed=changed_files(await reading.run(differing, "changed_since", seconds)))
    # One question to many repositories must not read the histories of all.
    if not depends_on_history(request) or options.is_for_merging:
        return Prepared(options)
    try:
        history = await reading.run(reading.changes, "query", COMPANIONS_SHARE * seconds)
    except IndexedElsewhere:
        return Prepared(options)
    except ProjectNotFound:
        raise
    except CodeCompassError as error:
        return Prepared(options, (NO_COMPANIONS.format(cause=error.message),))
    return Prepared(replace(options, history=history))


async def _with_difference(
    reading: "_Reading", comparing: Comparing, request: DiffContext, options: QueryOptions
) -> QueryOptions:
    about, limits = reading.about, comparing.limits
    chosen = chosen_files(request.path, str(about.root))

    def compare(git: GitRepository, is_late: Callable[[], bool]) -> tuple[GitChanges, ChangeHistory]:
        commits = reading.commits(git)
        head = _head(commits, about, request)
        base = _default_base(git, commits, about, head) if request.base is None else _side(commits, request.base, "base")
        changes = find_changes(git, git.top, base, head, limits.rules, chosen=chosen, with_contents=True, is_cancelled=is_late)
        history = NO_HISTORY
        with suppress(GitError):
            history = reading.changes(git, is_late)
        return changes, history

    began = trio.current_time()
    changes, history = await reading.run(compare, "base", COMPARISON_SECONDS)
    indexed = "" if changes.head.commit == about.head.commit else f"{about.ref} at {about.head.commit[:12]} as it is indexed"
    with trio.move_on_after(max(0.0, COMPARISON_SECONDS - (trio.current_time() - began))):
        difference = await parsed_difference(changes, limits, comparing.parsers, indexed)
        return replace(options, difference=difference, history=history)
    raise _late("base", COMPARISON_SECONDS)


class _Reading:
    """Reads the history of the default branch for one question."""

    def __init__(self, library: Library, about: Compared, what: str) -> None:
        """`what` needs the history, for an error."""
        self.about = about
        self._library = library
        self._what = what
        self._published = about.repository.default_head

    async def run(self, work: Callable[[GitRepository, Callable[[], bool]], T], field: str, seconds: float) -> T:
        """Returns the result of `work`, in a thread; its second argument says whether the time is up, and raises if nobody waits.

        Raises IndexedElsewhere if no history is published, InvalidInput if git cannot compare, DeadlineExceeded.
        """
        published, ends_at = self._published, time.monotonic() + seconds

        def is_late() -> bool:
            return caller_has_left() or time.monotonic() > ends_at

        def in_thread(root: Path | None) -> T:
            if root is None:
                raise needs_history(self._what)
            try:
                return work(repository_of(str(root), GitRoots((str(root),)), field=field), is_late)
            except (GitCancelled, GitTimedOut) as error:
                raise _late(field, seconds) from error
            except (GitError, OSError) as error:
                raise InvalidInput(
                    f"git cannot compare these commits: {str(error) or type(error).__name__}. Ask again in a moment; if it stays "
                    "so, tell whoever runs this server. search_code and locate_symbol answer without a comparison.",
                    field=field,
                ) from error

        if published is None:
            raise needs_history(self._what)
        return await self._library.read_history(self.about.repository, published, in_thread, seconds + LATE_SECONDS)

    def commits(self, git: GitRepository) -> PublishedCommits:
        """Returns the commits of the history."""
        assert self._published is not None
        return PublishedCommits(git, self.about.repository, self._published)

    def changes(self, git: GitRepository, is_late: Callable[[], bool]) -> ChangeHistory:
        """Returns which files the commits of the history changed together."""
        assert self._published is not None
        return read_change_history(git, git.top, self._published.commit, is_cancelled=is_late)


def _late(field: str, seconds: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"{field}: the history could not be read and compared within {seconds:g} s. Ask again: its copy may be here by then; or "
        "pass path, or a base that is nearer to the head."
    )


def _side(commits: PublishedCommits, name: str, field: str) -> Side:
    found = commits.resolve(name, field)
    return Side(name=name, commit=found.commit, tree=found.tree)


def _head(commits: PublishedCommits, about: Compared, request: DiffContext) -> Side:
    """Returns the head: that of the request, which may have no index, else the indexed commit."""
    name, field = (request.head, "head") if request.head is not None else (request.ref, "ref")
    if name is not None:
        return _side(commits, name, field)
    return replace(_side(commits, about.ref, field), reason="the newest commit that is indexed")


def _default_base(git: GitRepository, commits: PublishedCommits, about: Compared, head: Side) -> Side:
    """Returns the commit before the head. Raises RefNotIndexed if it is not published."""
    commits.require_parent(head.commit, "base")
    repository = about.repository
    published = repository.default_head
    assert published is not None
    return default_base(git, head, DefaultBranch(repository.default_ref, repository.default_ref, published.commit))
