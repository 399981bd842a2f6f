"""From a question on the command line to an answer: the project, its index, its freshness, then the query itself.

not indexed                -> index it first
files have changed         -> balanced: take them in first; strict: refuse; best_effort: answer, and say stale
another process is writing -> answer from what is published, and say syncing
"""

import time
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from msgspec import Struct

from codecompass.actors.answering import query_settings
from codecompass.actors.index_limits import index_limits
from codecompass.cli.invocation import Invocation
from codecompass.cli.jobs import OTHERS_DEADLINE_SECONDS, OTHERS_POLL_SECONDS, run_job, summary
from codecompass.cli.terminal import printable
from codecompass.cli.workspace import asked, choose
from codecompass.errors import IndexInProgress, RefNotIndexed
from codecompass.protocol.decode import decode
from codecompass.protocol.metadata import AnswerState, FreshnessStatus
from codecompass.protocol.requests import AnyRequest
from codecompass.settings import Settings
from codecompass.store.drift import Drift, find_drift, stale_error
from codecompass.store.epochs import compatibility
from codecompass.store.index import Snapshot, WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import is_locked
from codecompass.store.query.settings import QuerySettings
from codecompass.store.registry import Project, Registry
from codecompass.units import MILLISECONDS, MINUTES

RequestT = TypeVar("RequestT", bound=AnyRequest)
ReplyT = TypeVar("ReplyT", bound=Struct)

TOUCH_SECONDS: Final = 1 * MINUTES
"""A project used more recently than this is not noted as used again: a question should not write."""

"""How long to wait for the first index that another process is building."""


class Question(Struct, frozen=True):
    """What a query function gets besides the request."""

    snapshot: Snapshot
    state: AnswerState
    settings: QuerySettings
    is_expired: Callable[[], bool]


class Answer(Struct, Generic[ReplyT], frozen=True):
    """The reply and the project that gave it."""

    reply: ReplyT
    project: Project


def answer(
    invocation: Invocation,
    request_type: type[RequestT],
    arguments: Mapping[str, object],
    query: Callable[[RequestT, Question], ReplyT],
) -> Answer[ReplyT]:
    """Returns what `query` says to the request that `arguments` make.

    Raises InvalidInput for arguments that make none, before anything is indexed.
    """
    options = invocation.options
    decoded = decode(request_type.tool, {**arguments, "project_id": options.project_id})
    request = decoded.request
    assert isinstance(request, request_type)
    with invocation.registry() as registry:
        choice = choose(registry, workspace=options.workspace, name=options.project_id)
        project = asked(registry, choice)
        settings = invocation.settings_for(project.root)
        index = WorkspaceIndex(invocation.home.project(project.project_id), project.project_id)
        if compatibility(index.layout).status == "not_indexed":
            _index_first(invocation, registry, project, index.layout)
        policy = getattr(request, "freshness_policy", None) or settings.query.freshness_policy
        drift, status = _fresh_enough(invocation, registry, project, index, settings, policy)
        if time.time() - project.last_used_at > TOUCH_SECONDS:
            registry.touch(project.project_id)
    ref = drift.head.ref
    require_ref(request.ref, ref)
    try:
        with index.snapshot() as snapshot:
            state = AnswerState(
                workspace=str(project.root),
                project_id=project.name,
                ref=ref,
                freshness_status=status,
                indexing_status="indexing" if status == "syncing" else "ready",
                schema_name="" if options.project_id is None else project.schema_name,
                warnings=decoded.warnings,
            )
            question = Question(
                snapshot, state, query_settings(settings, "json" if options.as_json else "text"), _deadline(request, settings)
            )
            return Answer(query(request, question), project)
    finally:
        index.close()


def require_ref(wanted: str | None, current: str) -> None:
    """Raises RefNotIndexed where another branch is wanted than the one that the working tree is on."""
    if wanted is not None and wanted != current:
        raise RefNotIndexed(
            f"{wanted} is not indexed: the index is of the working tree, which is on {current}. "
            "Leave --ref out, or switch to that branch.",
            ref=wanted,
        )


def drift_of(snapshot: Snapshot, project_root: str, settings: Settings) -> Drift:
    """Returns how the tree differs from a snapshot under the project's settings."""
    limits = index_limits(settings.index)
    return find_drift(snapshot, project_root, limits.rules, limits.fingerprint)


def _index_first(invocation: Invocation, registry: Registry, project: Project, layout: ProjectLayout) -> None:
    terminal = invocation.terminal
    terminal.note(f"indexing {printable(str(project.root))} first", "dim")
    gives_up_at = time.monotonic() + OTHERS_DEADLINE_SECONDS
    while True:
        try:
            job = run_job(invocation, registry, project, cause="first question")
        except IndexInProgress:
            if time.monotonic() > gives_up_at:
                raise
        else:
            terminal.note(summary(job), "dim")
            return
        # Somebody else was first. What they publish is as good; if they go away without, it is our turn.
        while is_locked(layout) and compatibility(layout).status == "not_indexed" and time.monotonic() < gives_up_at:
            time.sleep(OTHERS_POLL_SECONDS)
        if compatibility(layout).status != "not_indexed":
            return


def _fresh_enough(
    invocation: Invocation, registry: Registry, project: Project, index: WorkspaceIndex, settings: Settings, policy: str
) -> tuple[Drift, FreshnessStatus]:
    gives_up_at = time.monotonic() + settings.query.freshness_wait_ms * MILLISECONDS
    while True:
        with index.snapshot() as snapshot:
            drift = drift_of(snapshot, str(project.root), settings)
            if drift.is_fresh:
                return drift, "fresh"
            if policy == "strict":
                raise stale_error(snapshot, drift)
        if policy == "best_effort":
            return drift, "syncing" if is_locked(index.layout) else "stale"
        try:
            run_job(invocation, registry, project, cause="question")
        except IndexInProgress:
            # Somebody takes changes in already, perhaps ours: let them land, for as long as a question may take.
            while is_locked(index.layout):
                if time.monotonic() > gives_up_at:
                    return drift, "syncing"
                time.sleep(OTHERS_POLL_SECONDS)
        else:
            return drift, "fresh"


def _deadline(request: AnyRequest, settings: Settings) -> Callable[[], bool]:
    milliseconds = getattr(request, "timeout_ms", None) or settings.query.timeout_ms
    ends = time.monotonic() + milliseconds * MILLISECONDS
    return lambda: time.monotonic() > ends
