"""What a question on the command line is about, and making its index ready: there is one, and it is as fresh as the policy says.

not indexed                -> index it first, or wait for the process that does
files have changed         -> balanced: update the index first; strict: refuse; best_effort: answer, and name what is stale
another process is writing -> wait for it as long as a server's query does, then answer from what is published
nothing can be written     -> answer from what is published, and warn why it is not updated

Whether files have changed is known to a server that watches them, or found by a comparison of the whole tree.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from codecompass.actors.answering import (
    Patience,
    asked_ref,
    freshness_policy,
    is_touch_due,
    needs_symbols,
    needs_uses,
    not_ready,
    patience_of,
    timeout_seconds,
    told_freshness,
)
from codecompass.actors.asking import Standing
from codecompass.actors.index_limits import index_limits
from codecompass.actors.question import QueryRequest, Question
from codecompass.cli.invocation import Invocation
from codecompass.cli.running_server import is_told_fresh
from codecompass.cli.terminal import printable
from codecompass.cli.workspace import choose, forgotten_if_unfinished, project_for_question
from codecompass.errors import IndexInProgress, PermissionDenied
from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.requests import FreshnessPolicy
from codecompass.query.metadata import cannot_update
from codecompass.scan.checkout import read_checkout
from codecompass.settings import Settings
from codecompass.store.epochs import Compatibility, compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import is_locked
from codecompass.store.registry import Project, Registry
from codecompass.store.snapshot import Snapshot

if TYPE_CHECKING:
    from codecompass.scan.git_repository import Head
    from codecompass.scan.git_revisions import NamedCommit
    from codecompass.store.drift import Drift


class Asked(Struct, frozen=True):
    """The project that a question is about, while the registry is open. `commit` is None for the working tree."""

    invocation: Invocation
    registry: Registry
    request: QueryRequest
    project: Project
    settings: Settings
    commit: "NamedCommit | None"

    @property
    def layout(self) -> ProjectLayout:
        """The project's place on disk."""
        return self.invocation.home.project(self.project.project_id)

    @property
    def patience(self) -> Patience:
        """How long the question waits."""
        return patience_of(self.settings)

    @property
    def policy(self) -> FreshnessPolicy:
        """How fresh the answer has to be."""
        return freshness_policy(self.request, self.patience.policy)

    def note_use(self) -> None:
        """Records that the project was used."""
        if is_touch_due(self.project, time.time()):
            # Only eviction reads the time of use: a full disk must not fail the question.
            with suppress(PermissionDenied):
                self.registry.touch(self.project.project_id)


@contextmanager
def asked_project(invocation: Invocation, request: QueryRequest) -> Iterator[Asked]:
    """Finds what a request is about, and registers its project. One that gets no index in the block is forgotten.

    Raises what `choose` and `named_commit` raise.
    """
    with invocation.registry() as registry:
        choice = choose(registry, invocation.options)
        with forgotten_if_unfinished(invocation, registry, choice):
            project = project_for_question(invocation, registry, choice, may_assume=True)
            settings = invocation.settings_for(project.root)
            named = asked_ref(request)
            yield Asked(invocation, registry, request, project, settings, None if named is None else _commit(project, named))


def _commit(project: Project, named: tuple[str, str]) -> "NamedCommit | None":
    from codecompass.actors.commits import named_commit

    return named_commit(project.root, *named)


class ComparedIndex(Struct, frozen=True):
    """The index of a working tree that this command has compared with it. An `asking.Backend`.

    `drift` is how the tree differs from it, None after a job, or if a server has said that it does not; `head` is what is checked
    out then. `refusal` is why it cannot be updated, empty if it can.
    """

    project: Project
    index: WorkspaceIndex
    drift: "Drift | None"
    freshness: FreshnessStatus
    refusal: str = ""
    head: "Head | None" = None

    def open(self) -> AbstractContextManager[Snapshot]:
        """See `Backend`."""
        return self.index.snapshot()

    def standing(self, _question: Question, snapshot: Snapshot | None) -> Standing:
        """See `Backend`."""
        assert snapshot is not None
        drift = self.drift
        head = drift.head if drift is not None and drift.is_fresh else self.head
        known = Standing(
            # No file differs, so the index is that of the current branch, even if it was built on another one.
            ref=None if head is None else head.ref,
            freshness=self.freshness,
            indexing="indexing" if is_locked(self.index.layout) else "ready",
        )
        is_whole = snapshot.meta.completeness == "complete"
        return known.lacking(drift.paths if drift is not None and is_whole else ()).warned(self.refusal)


def ready_index(asked: Asked, index: WorkspaceIndex, seconds: float) -> ComparedIndex:
    """Makes the index of a working tree ready to answer.

    Raises IndexStale under `strict`, and IndexNotReady if another process makes the index, or the symbols that the request needs,
    and takes longer than `seconds`.
    """
    if compatibility(index.layout).needs_build:
        index_first(asked, seconds)
    policy, began = asked.policy, time.monotonic()
    freshness_wait = timeout_seconds(asked.request, asked.patience.freshness_wait)
    head = _head_told_fresh(asked, index, freshness_wait)
    if head is not None:
        return ComparedIndex(asked.project, index, None, "fresh", head=head)
    while True:
        with index.snapshot() as snapshot:
            drift = drift_of(snapshot, str(asked.project.root), asked.settings)
            if drift.is_fresh:
                return ComparedIndex(asked.project, index, drift, "fresh")
            if policy == "strict":
                from codecompass.store.drift import stale_error

                raise stale_error(snapshot, drift)
            lacks_symbols = snapshot.meta.completeness == "partial" and needs_symbols(asked.request)
        gives_up_at = began + (seconds if lacks_symbols else freshness_wait)
        if policy == "best_effort":
            found = told_freshness(policy, "syncing" if is_locked(index.layout) else "stale")
            return ComparedIndex(asked.project, index, drift, found)
        from codecompass.cli.jobs import run_job, wait_for_other

        try:
            run_job(asked.invocation, asked.registry, asked.project, cause="question", reads_uses=needs_uses(asked.request))
        except PermissionDenied as error:
            return ComparedIndex(asked.project, index, drift, "stale", cannot_update(error))
        except IndexInProgress:
            # Another process is indexing changes, perhaps these: wait for it as long as the question may take.
            if not wait_for_other(index.layout, gives_up_at):
                if lacks_symbols:
                    raise not_ready(None, has_text=True) from None
                return ComparedIndex(asked.project, index, drift, "stale")
        else:
            return ComparedIndex(asked.project, index, None, "fresh")


def _head_told_fresh(asked: Asked, index: WorkspaceIndex, seconds: float) -> "Head | None":
    """Returns what is checked out if a server that watches the tree says that the index holds all of it, by the rules that this
    command has; None if the tree must be compared."""
    root = str(asked.project.root)
    before = read_checkout(root)
    if not is_told_fresh(asked.invocation.home, asked.project.project_id, asked.policy, seconds):
        return None
    with index.snapshot() as snapshot:
        has_other_rules = snapshot.meta.rules_fingerprint != index_limits(asked.settings.index).fingerprint
    after = read_checkout(root)
    return None if has_other_rules or (before.head, before.index) != (after.head, after.index) else after.head


def index_first(asked: Asked, seconds: float) -> None:
    """Indexes a project without an index that this program can read, or waits for another process to do so.

    Raises IndexNotReady if that takes longer than `seconds`.
    """
    from codecompass.cli.jobs import run_job, summary, wait_for_other

    layout, terminal = asked.layout, asked.invocation.terminal
    terminal.note(f"indexing {printable(str(asked.project.root))} {_occasion(compatibility(layout))}", "dim")
    gives_up_at = time.monotonic() + seconds
    while True:
        try:
            reads_uses = needs_uses(asked.request)
            job = run_job(asked.invocation, asked.registry, asked.project, cause="first question", reads_uses=reads_uses)
        except IndexInProgress as error:
            if time.monotonic() > gives_up_at:
                raise not_ready(None, has_text=False) from error
        else:
            terminal.note(summary(job), "dim")
            return
        # Another process is indexing it. If that ends without an index, it is our turn.
        wait_for_other(layout, gives_up_at, is_enough=lambda: not compatibility(layout).needs_build)
        if not compatibility(layout).needs_build:
            return


def _occasion(found: Compatibility) -> str:
    if found.status == "not_indexed":
        return "first"
    if found.current is None or found.status != "reindex_required":
        return "anew: its index cannot be read"
    return f"anew: its index is of an older format (codecompass {printable(found.current.program_version)})"


def drift_of(
    snapshot: Snapshot, project_root: str, settings: Settings, *, is_cancelled: Callable[[], bool] | None = None
) -> "Drift":
    """Returns how the tree differs from a snapshot under the project's settings.

    Raises OSError if the root cannot be listed, ScanCancelled once `is_cancelled` returns True.
    """
    from codecompass.store.drift import find_drift  # a command that is told needs none of it

    limits = index_limits(settings.index)
    return find_drift(snapshot, project_root, limits.rules, limits.fingerprint, is_cancelled=is_cancelled)
