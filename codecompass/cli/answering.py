"""Answers a question on the command line: of one project, once its index is ready (`readiness.py`), or of several.

While another process makes a first index, or if none can be written, the files themselves answer (`unindexed.py`).
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.answering import depends_on_history, is_about_differences, timeout_seconds
from codecompass.actors.asking import QueryContext, Standing, StoredIndex, TimeLimit, ask, query_settings
from codecompass.actors.question import QueryRequest, Question
from codecompass.cli.invocation import Invocation
from codecompass.cli.readiness import Asked, ComparedIndex, asked_project, ready_index
from codecompass.cli.semantic import meaning_of
from codecompass.errors import IndexNotReady, InvalidInput, StoreRefused, error_of
from codecompass.identity import project_id
from codecompass.protocol.decode import decode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import ErrorReply, Reply
from codecompass.query.options import QueryOptions
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot
from codecompass.units import MILLISECONDS

if TYPE_CHECKING:
    from codecompass.actors.job_state import JobHandle
    from codecompass.projects.caller import TransportName
    from codecompass.scan.git_revisions import NamedCommit

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

    Raises InvalidInput for arguments that do not decode, before anything is indexed, and what `asked_project`, `ready_index` and
    `query` raise.
    """
    options = invocation.options
    decoded = decode(request_type.tool, {**arguments, "project_id": options.project_id})
    request = decoded.request
    assert isinstance(request, request_type)
    question = Question(request=request, warnings=decoded.warnings, names_project=options.project_id is not None)
    run = partial(query, request)
    asked: Asked | None = None
    try:
        with asked_project(invocation, request) as asked:
            project, settings = asked.project, asked.settings
            if asked.commit is not None:
                return Answer(_reply_about(invocation, project, asked.commit, settings, question, run), project)
            index = WorkspaceIndex(asked.layout, project.project_id)
            found = _ready_or_read(asked, index, question, run)
            if not isinstance(found, ComparedIndex):
                return Answer(found, project)
            tree = found
            asked.note_use()
    except StoreRefused as refused:
        # Raised in the block, so that nothing stays registered that has no index.
        if asked is None or asked.commit is not None or asked.policy == "strict":
            raise
        reply = _from_files(asked, question, run, refused)
        if reply is None:
            raise
        return Answer(reply, asked.project)
    try:
        meaning = meaning_of(invocation, index, request)
        tunables = options_here(invocation, question, project.root, settings)
        if meaning is not None:
            tunables = replace(tunables, meaning=meaning)
        return Answer(ask(tree, question, tunables, time_for(request, settings), run), project)
    finally:
        index.close()


def _ready_or_read(
    asked: Asked, index: WorkspaceIndex, question: Question, query: Callable[[QueryContext], ReplyT]
) -> ComparedIndex | ReplyT:
    """Returns the index once it is ready, or the reply of the files themselves if another process takes long to make it.

    Raises what `ready_index` raises."""
    patience, is_strict = asked.patience, asked.policy == "strict"
    whole = patience.first_answer_wait
    try:
        return ready_index(asked, index, whole if is_strict else min(whole, patience.files_answer_after))
    except IndexNotReady:
        if is_strict:
            raise
    reply = _from_files(asked, question, query)
    return ready_index(asked, index, whole) if reply is None else reply


def _from_files(
    asked: Asked, question: Question, query: Callable[[QueryContext], ReplyT], refused: StoreRefused | None = None
) -> ReplyT | None:
    """Returns what `reply_from_files` does."""
    from codecompass.cli.unindexed import reply_from_files  # loads the event loop and what runs workers

    seconds = asked.patience.first_answer_wait
    return reply_from_files(asked.invocation, asked.project, asked.settings, question, query, seconds, refused)


def _reply_about(
    invocation: Invocation,
    project: Project,
    commit: "NamedCommit",
    settings: Settings,
    question: Question,
    query: Callable[[QueryContext], ReplyT],
) -> ReplyT:
    """Answers from the index of a commit, which is never stale."""
    from codecompass.cli.commit_index import commit_index

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
    trace = None

    async def roots(self) -> tuple[str, ...]:
        """Returns no roots: the options name the projects."""
        return ()

    def take_hint(self) -> bool:
        """Returns False: hints are for agents."""
        return False

    async def follow(self, job: "JobHandle", seconds: float) -> None:
        """Does nothing: no job is waited for."""


def options_here(
    invocation: Invocation, question: Question, root: Path, settings: Settings, commit: "NamedCommit | None" = None
) -> QueryOptions:
    """Returns the options of a question, with the differences of the working tree, or of `commit`, if it is about them.

    Runs git and worker processes for these. Raises what `with_differences` raises.
    """
    options = query_settings(settings, "json" if invocation.options.as_json else "text")
    if not (is_about_differences(question.request) or depends_on_history(question.request)):
        return options
    import trio

    from codecompass.cli.unindexed import with_differences_here

    layout = invocation.home.project(project_id(root))
    return trio.run(with_differences_here, options, question.request, root, settings, layout, commit)


def time_for(request: QueryRequest, settings: Settings) -> TimeLimit:
    """Returns how long the search for a request may take."""
    return TimeLimit(seconds=timeout_seconds(request, settings.query.timeout_ms * MILLISECONDS))
