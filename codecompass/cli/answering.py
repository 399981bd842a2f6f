"""Answers a question on the command line: finds the project and its index, checks the freshness, then runs the query.

not indexed                -> index it first; while another process does, answer from the files themselves (unindexed.py)
files have changed         -> balanced: update the index first; strict: refuse; best_effort: answer, and name what is stale
another process is writing -> wait for it as long as a server's query does, then answer from what is published
nothing can be written     -> answer from what is published, and warn why it is not updated
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.answering import (
    asked_ref,
    freshness_policy,
    is_about_differences,
    is_touch_due,
    needs_symbols,
    not_ready,
    timeout_seconds,
)
from codecompass.actors.asking import QueryContext, Standing, StoredIndex, TimeLimit, ask, query_settings
from codecompass.actors.commits import named_commit
from codecompass.actors.index_limits import index_limits
from codecompass.actors.question import QueryRequest, Question
from codecompass.cli.commit_index import commit_index
from codecompass.cli.invocation import Invocation
from codecompass.cli.jobs import OTHERS_POLL_SECONDS, run_job, summary
from codecompass.cli.semantic import meaning_of
from codecompass.cli.terminal import printable
from codecompass.cli.workspace import choose, forgotten_if_unfinished, project_for_question
from codecompass.errors import IndexInProgress, IndexNotReady, InvalidInput, PermissionDenied, error_of
from codecompass.protocol.decode import decode
from codecompass.protocol.metadata import AnswerState, FreshnessStatus
from codecompass.protocol.replies import ErrorReply, Reply
from codecompass.protocol.requests import FreshnessPolicy
from codecompass.query.metadata import cannot_update
from codecompass.query.options import QueryOptions
from codecompass.scan.git_revisions import NamedCommit
from codecompass.settings import Settings
from codecompass.store.drift import Drift, find_drift, stale_error
from codecompass.store.epochs import Compatibility, compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import is_locked
from codecompass.store.registry import Project, Registry
from codecompass.store.snapshot import Snapshot
from codecompass.units import MILLISECONDS

if TYPE_CHECKING:
    from codecompass.actors.job_state import JobView
    from codecompass.projects.caller import TransportName

RequestT = TypeVar("RequestT", bound=QueryRequest)
ReplyT = TypeVar("ReplyT", bound=Reply)


class Answer(Struct, Generic[ReplyT], frozen=True):
    """A reply, and the project that it is about."""

    reply: ReplyT
    project: Project


def answer(
    invocation: Invocation,
    request_type: type[RequestT],
    arguments: Mapping[str, object],
    query: Callable[[RequestT, QueryContext], ReplyT],
) -> Answer[ReplyT]:
    """Returns the reply of `query` to the request that `arguments` decode to.

    Raises InvalidInput for arguments that do not decode, before anything is indexed, and what `choose` and `query` raise.
    """
    options = invocation.options
    decoded = decode(request_type.tool, {**arguments, "project_id": options.project_id})
    request = decoded.request
    assert isinstance(request, request_type)
    with invocation.registry() as registry, ExitStack() as stack:
        choice = choose(registry, options)
        stack.enter_context(forgotten_if_unfinished(invocation, registry, choice))
        project = project_for_question(invocation, registry, choice)
        settings = invocation.settings_for(project.root)
        named = asked_ref(request)
        commit = None if named is None else named_commit(project.root, *named)
        question = Question(request=request, warnings=decoded.warnings, names_project=options.project_id is not None)
        if commit is not None:
            return Answer(_reply_about(invocation, project, commit, settings, question, partial(query, request)), project)
        index = WorkspaceIndex(invocation.home.project(project.project_id), project.project_id)
        policy = freshness_policy(request, settings.query.freshness_policy)

        def ready(seconds: float) -> _Ready:
            return _ready(invocation, registry, project, index, settings, request, policy, seconds)

        whole = first_answer_seconds(settings)
        try:
            found = ready(whole if policy == "strict" else min(whole, settings.query.files_answer_after_ms * MILLISECONDS))
        except IndexNotReady:
            if policy == "strict":
                raise
            from codecompass.cli.unindexed import reply_from_files  # loads the event loop and what runs workers

            reply = reply_from_files(invocation, project, settings, question, partial(query, request), whole)
            if reply is not None:
                return Answer(reply, project)
            found = ready(whole)
        if is_touch_due(project, time.time()):
            # Only eviction reads the time of use: a full disk must not fail the question.
            with suppress(PermissionDenied):
                registry.touch(project.project_id)
    try:
        meaning = meaning_of(invocation, index, request)
        tunables = options_here(invocation, question, project.root, settings)
        if meaning is not None:
            tunables = replace(tunables, meaning=meaning)
        tree = _TreeIndex(project, index, found)
        return Answer(ask(tree, question, tunables, time_for(request, settings), partial(query, request)), project)
    finally:
        index.close()


def _reply_about(
    invocation: Invocation,
    project: Project,
    commit: NamedCommit,
    settings: Settings,
    question: Question,
    query: Callable[[QueryContext], ReplyT],
) -> ReplyT:
    """Answers from the index of a commit, which is never stale."""
    index = commit_index(invocation, project, commit, settings)
    known = Standing(ref=commit.name, commit=commit.commit)
    try:
        tunables = options_here(invocation, question, project.root, settings, commit)
        stored = StoredIndex(project=project, open=index.snapshot, known=known)
        return ask(stored, question, tunables, time_for(question.request, settings), query)
    finally:
        index.close()


def print_answer(
    invocation: Invocation,
    request_type: type[RequestT],
    arguments: Mapping[str, object],
    query: Callable[[Snapshot, RequestT, AnswerState, Callable[[], bool]], ReplyT],
) -> ReplyT:
    """Prints the reply of `query`, as JSON or as the text that agents get, and returns it. Raises what `answer` raises."""

    def run(request: RequestT, context: QueryContext) -> ReplyT:
        return query(context.snapshot, request, context.state, context.is_expired)

    reply = answer(invocation, request_type, arguments, run).reply
    invocation.print_reply(reply)
    return reply


def answer_several(invocation: Invocation, tool: str, arguments: Mapping[str, object], names: tuple[str, ...]) -> Reply:
    """Returns a tool's reply about the projects of these names, `*` for all.

    A server inside of this process answers: each project from its index as it is, without a job, and the organisation's server
    at the same time.

    Raises the error that the tool replies with, and InvalidInput if options choose a single project as well.
    """
    import trio

    from codecompass.cli.organisation import organisation_target_of
    from codecompass.projects.detection import RoutingRules
    from codecompass.transport.server import ServerOptions, open_server

    options = invocation.options
    if options.workspace is not None or options.project_id is not None:
        raise InvalidInput(
            "--all and --in are about several projects. Leave out --workspace and --project-id.", field="workspace"
        )
    form = "json" if options.as_json else "text"
    settings = replace(invocation.settings, server=replace(invocation.settings.server, prewarm=False, answers=form))
    launch = ServerOptions(
        settings=settings,
        settings_for=invocation.logged_settings_for,
        home=invocation.home,
        rules=RoutingRules(),
        organisation=organisation_target_of(settings, invocation.environment),
        has_upkeep=False,
    )

    async def ask() -> Reply:
        async with open_server(launch) as server:
            outcome = await server.tools.call(tool, {**arguments, "workspace": list(names)}, _Person())
            return outcome.reply

    reply = trio.run(ask)
    if isinstance(reply, ErrorReply):
        raise error_of(reply.error.code, reply.error.message, **(reply.error.data or {}))
    return reply


class _Person:
    """The Caller at a terminal."""

    transport: "TransportName" = "stdio"
    request_id = ""
    project_path = None
    identity = None

    async def roots(self) -> tuple[str, ...]:
        """Returns no roots: the options name the projects."""
        return ()

    def take_hint(self) -> bool:
        """Returns False: hints are for agents."""
        return False

    async def follow(self, job: "JobView", seconds: float) -> None:
        """Does nothing: no job is waited for."""


def drift_of(
    snapshot: Snapshot, project_root: str, settings: Settings, *, is_cancelled: Callable[[], bool] | None = None
) -> Drift:
    """Returns how the tree differs from a snapshot under the project's settings.

    Raises OSError if the root cannot be listed, ScanCancelled once `is_cancelled` returns True.
    """
    limits = index_limits(settings.index)
    return find_drift(snapshot, project_root, limits.rules, limits.fingerprint, is_cancelled=is_cancelled)


class _Ready(Struct, frozen=True):
    """What is known of an index that can answer: how the tree differs from it, None after a job, its freshness, and why it cannot
    be updated, empty if it can."""

    drift: Drift | None
    freshness: FreshnessStatus
    refusal: str = ""


class _TreeIndex(Struct, frozen=True):
    """The index of a working tree that this command has compared with it. An `asking.Backend`."""

    project: Project
    index: WorkspaceIndex
    found: _Ready

    def open(self) -> AbstractContextManager[Snapshot]:
        """See `Backend`."""
        return self.index.snapshot()

    def standing(self, _question: Question, snapshot: Snapshot | None) -> Standing:
        """See `Backend`."""
        assert snapshot is not None
        drift = self.found.drift
        known = Standing(
            # No file differs, so the index is that of the current branch, even if it was built on another one.
            ref=drift.head.ref if drift is not None and drift.is_fresh else None,
            freshness=self.found.freshness,
            indexing="indexing" if is_locked(self.index.layout) else "ready",
        )
        is_whole = snapshot.meta.completeness == "complete"
        return known.lacking(drift.paths if drift is not None and is_whole else ()).warned(self.found.refusal)


def _ready(
    invocation: Invocation,
    registry: Registry,
    project: Project,
    index: WorkspaceIndex,
    settings: Settings,
    request: QueryRequest,
    policy: FreshnessPolicy,
    seconds: float,
) -> _Ready:
    """Makes the index ready to answer. Raises IndexNotReady if another process makes it, and takes longer than `seconds`."""
    if compatibility(index.layout).needs_build:
        index_first(invocation, registry, project, index.layout, seconds)
    try:
        return _Ready(*_fresh_enough(invocation, registry, project, index, settings, request, policy, seconds))
    except _NotWritable as error:
        return _Ready(error.drift, "stale", cannot_update(error.cause))


def first_answer_seconds(settings: Settings) -> float:
    """Returns how long a question may wait for a first index."""
    return settings.query.first_answer_wait_ms * MILLISECONDS


def index_first(invocation: Invocation, registry: Registry, project: Project, layout: ProjectLayout, seconds: float) -> None:
    """Indexes a project without an index that this program can read, or waits for another process to do so.

    Raises IndexNotReady if that takes longer than `seconds`.
    """
    terminal = invocation.terminal
    terminal.note(f"indexing {printable(str(project.root))} {_occasion(compatibility(layout))}", "dim")
    gives_up_at = time.monotonic() + seconds
    while True:
        try:
            job = run_job(invocation, registry, project, cause="first question")
        except IndexInProgress as error:
            if time.monotonic() > gives_up_at:
                raise not_ready(None, has_text=False) from error
        else:
            terminal.note(summary(job), "dim")
            return
        # Another process is indexing it. If that ends without an index, it is our turn.
        while is_locked(layout) and compatibility(layout).needs_build and time.monotonic() < gives_up_at:
            time.sleep(OTHERS_POLL_SECONDS)
        if not compatibility(layout).needs_build:
            return


def _occasion(found: Compatibility) -> str:
    if found.status == "not_indexed":
        return "first"
    if found.current is None or found.status != "reindex_required":
        return "anew: its index cannot be read"
    return f"anew: its index is of an older format (codecompass {printable(found.current.program_version)})"


def options_here(
    invocation: Invocation, question: Question, root: Path, settings: Settings, commit: NamedCommit | None = None
) -> QueryOptions:
    """Returns the options of a question, with the differences of the working tree, or of `commit`, if it is about them.

    Runs git and worker processes for these. Raises what `with_differences` raises.
    """
    options = query_settings(settings, "json" if invocation.options.as_json else "text")
    if not is_about_differences(question.request):
        return options
    import trio

    from codecompass.cli.unindexed import with_differences_here

    return trio.run(with_differences_here, options, question.request, root, settings, commit)


class _NotWritable(Exception):
    """Files have changed, and the index cannot be written."""

    def __init__(self, drift: Drift, cause: PermissionDenied) -> None:
        super().__init__(cause.message)
        self.drift = drift
        self.cause = cause


def _fresh_enough(
    invocation: Invocation,
    registry: Registry,
    project: Project,
    index: WorkspaceIndex,
    settings: Settings,
    request: QueryRequest,
    policy: FreshnessPolicy,
    seconds: float,
) -> tuple[Drift | None, FreshnessStatus]:
    """Updates the index as the policy says. Returns how the tree differs from it, None after a job, and the freshness.

    Raises _NotWritable, IndexStale under `strict`, and IndexNotReady if symbols that the request needs are missing for longer
    than `seconds`.
    """
    freshness_wait = timeout_seconds(request, settings.query.freshness_wait_ms * MILLISECONDS)
    began = time.monotonic()
    while True:
        with index.snapshot() as snapshot:
            drift = drift_of(snapshot, str(project.root), settings)
            if drift.is_fresh:
                return drift, "fresh"
            if policy == "strict":
                raise stale_error(snapshot, drift)
            lacks_symbols = snapshot.meta.completeness == "partial" and needs_symbols(request)
        gives_up_at = began + (seconds if lacks_symbols else freshness_wait)
        if policy == "best_effort":
            return drift, "syncing" if is_locked(index.layout) else "stale"
        try:
            run_job(invocation, registry, project, cause="question")
        except PermissionDenied as error:
            raise _NotWritable(drift, error) from error
        except IndexInProgress:
            # Another process is indexing changes, perhaps these: wait for it as long as the question may take.
            while is_locked(index.layout):
                if time.monotonic() > gives_up_at:
                    if lacks_symbols:
                        raise not_ready(None, has_text=True) from None
                    return drift, "stale"
                time.sleep(OTHERS_POLL_SECONDS)
        else:
            return None, "fresh"


def time_for(request: QueryRequest, settings: Settings) -> TimeLimit:
    """Returns how long the search for a request may take."""
    return TimeLimit(seconds=timeout_seconds(request, settings.query.timeout_ms * MILLISECONDS))
