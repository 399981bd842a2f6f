"""One question to one index: from what is known of the index at that moment to the reply. The only place that makes the state of
an answer.

    working tree, commit, index on disk, engine  --Backend-->  ask()  -->  query core  -->  reply with metadata

Synchronous, without an event loop: a server runs `ask` in a thread, the command line where it is. What may take long comes
before: the wait for an index (`questions.py`, `cli/answering.py`), the differences that a question is about (`differences.py`).
"""

import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from math import inf
from pathlib import Path
from typing import Final, Protocol, TypeVar, overload

from msgspec import Struct
from msgspec.structs import replace

from codecompass import query as core
from codecompass.actors.question import QueryRequest, Question
from codecompass.protocol.metadata import AnswerState, FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import (
    CountUses,
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    ListDirectory,
    LocateSymbol,
    ReadFile,
    SearchCode,
)
from codecompass.protocol.state_replies import IndexStatusReply, SemanticReport
from codecompass.query.metadata import errors_with_metadata, mark_stale, stale_warning
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.status import JobsState, index_status
from codecompass.settings import AnswerForm, Settings
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.units import MILLISECONDS

ReplyT = TypeVar("ReplyT", bound=Reply)

LOOK_SECONDS: Final = 1 * MILLISECONDS
"""How often a search looks whether somebody still waits for it, which takes as long as reading a piece of text."""


class Standing(Struct, frozen=True, kw_only=True):
    """What a backend knows of its index at the moment of an answer."""

    ref: str | None = None
    """The ref that the answer is about; None for that of the index."""
    commit: str = ""
    """The full id of the commit if the index is that of a commit."""
    freshness: FreshnessStatus = "fresh"
    indexing: IndexingStatus = "ready"
    schema_status: SchemaStatus = "compatible"
    schema_version: int = SCHEMA_VERSION
    is_partial: bool = False
    """Whether the index may lack what is asked for, because it is still being made."""
    changed: Collection[str] = ()
    """Files whose newest content the index lacks: what is shown of them is marked."""
    warnings: tuple[str, ...] = ()
    """Why the answer may not be complete or current."""
    jobs: JobsState = JobsState()
    """For `index_status`, as is `semantic`."""
    semantic: SemanticReport | None = None

    def warned(self, *warnings: str) -> "Standing":
        """Returns the standing with these warnings after its own; empty ones count as absent."""
        return replace(self, warnings=(*self.warnings, *filter(None, warnings)))

    def lacking(self, paths: Collection[str]) -> "Standing":
        """Returns the standing of an index that lacks the newest content of `paths`, sorted, and says so; unchanged for none."""
        return replace(self, changed=frozenset(paths)).warned(stale_warning(tuple(paths))) if paths else self


class Named(Protocol):
    """What an answer names as its project."""

    @property
    def root(self) -> Path: ...
    @property
    def name(self) -> str: ...
    @property
    def schema_name(self) -> str: ...


class Backend(Protocol):
    """An index that can be asked, as it is for one question."""

    @property
    def project(self) -> Named:
        """The project that the answer names."""

    def open(self) -> AbstractContextManager[Snapshot | None]:
        """Opens the newest generation; None, for `index_status` alone, if there is no index that can be read.

        Raises IndexNotReady, IndexIncompatible and IndexDamaged.
        """

    def standing(self, question: Question, snapshot: Snapshot | None) -> Standing:
        """Returns what is known of the index. Raises IndexStale if the question must not be answered from it, RefNotIndexed if it
        is about another ref."""


class StoredIndex(Struct, frozen=True, kw_only=True):
    """A Backend of which all is known before it is opened: an index on disk, of a commit, or of the engine."""

    project: Named
    open: Callable[[], AbstractContextManager[Snapshot | None]]
    known: Standing = Standing()

    def standing(self, _question: Question, _snapshot: Snapshot | None) -> Standing:
        """See `Backend`."""
        return self.known


class TimeLimit(Struct, frozen=True, kw_only=True):
    """How long a search may take."""

    seconds: float
    """From the moment that the index is open."""
    ends_at: float = inf
    """When it has to end instead, by `time.monotonic`; inf for a question that names no time."""
    is_dropped: Callable[[], bool] = no_deadline
    """Whether nobody waits for the answer any more; an exception ends the search."""

    def begin(self) -> Callable[[], bool]:
        """Returns a function that says whether a search that begins now has to end; whether it is dropped, as of up to
        LOOK_SECONDS ago. A scan calls it for each piece of text."""
        begun = time.monotonic()
        ends = begun + self.seconds if self.ends_at == inf else self.ends_at
        is_dropped, looks_at = self.is_dropped, begun

        def has_to_end() -> bool:
            nonlocal looks_at
            now = time.monotonic()
            if now < looks_at:
                return now > ends
            looks_at = now + LOOK_SECONDS
            return is_dropped() or now > ends

        return has_to_end


class QueryContext(Struct, frozen=True):
    """What a function of the query core gets besides the request."""

    snapshot: Snapshot
    state: AnswerState
    options: QueryOptions
    is_expired: Callable[[], bool]


@overload
def ask(backend: Backend, question: Question, options: QueryOptions, limit: TimeLimit) -> Reply: ...
@overload
def ask(
    backend: Backend, question: Question, options: QueryOptions, limit: TimeLimit, run: Callable[[QueryContext], ReplyT]
) -> ReplyT: ...
def ask(
    backend: Backend,
    question: Question,
    options: QueryOptions,
    limit: TimeLimit,
    run: Callable[[QueryContext], Reply] | None = None,
) -> Reply:
    """Returns the answer to a question, with the hits in changed files marked.

    `options` are those of the question (see `options_for`), with the differences and the meaning that it needs. `run` answers it
    in place of the query core's function for its request.

    Raises the errors of the backend, and those of the query core with the metadata of an answer.
    """
    request = question.request
    if isinstance(request, IndexStatus):
        return ask_status(backend, question, request)
    with backend.open() as snapshot:
        assert snapshot is not None, "only index_status is answered without an index"
        standing = backend.standing(question, snapshot)
        state = _state(backend.project, question, standing, snapshot)
        with errors_with_metadata(snapshot, state):
            context = QueryContext(snapshot, state, options, limit.begin())
            reply = run_query(request, context) if run is None else run(context)
        if not standing.changed:
            return reply
        return mark_stale(reply, standing.changed, max_tokens=getattr(request, "max_tokens", None))


def ask_status(backend: Backend, question: Question, request: IndexStatus) -> IndexStatusReply:
    """Returns the state of the index, also if there is none. Raises the errors of the backend."""
    with backend.open() as snapshot:
        standing = backend.standing(question, snapshot)
        reply = index_status(
            snapshot,
            request,
            _state(backend.project, question, standing, snapshot),
            standing.jobs,
            current_schema_version=standing.schema_version,
            required_schema_version=SCHEMA_VERSION,
        )
        return reply if standing.semantic is None else replace(reply, semantic=standing.semantic)


def _state(project: Named, question: Question, standing: Standing, snapshot: Snapshot | None) -> AnswerState:
    return AnswerState(
        workspace=str(project.root),
        project_id=project.name,
        ref=_ref(standing, snapshot),
        commit=standing.commit,
        is_partial=standing.is_partial,
        freshness_status=standing.freshness,
        indexing_status=standing.indexing,
        schema_status=standing.schema_status,
        schema_name=project.schema_name if question.names_project else "",
        warnings=(*question.warnings, *standing.warnings),
        hint=question.hint,
    )


def _ref(standing: Standing, snapshot: Snapshot | None) -> str:
    if standing.ref is not None:
        return standing.ref
    return "" if snapshot is None else snapshot.meta.ref


def run_query(request: QueryRequest, context: QueryContext) -> Reply:
    """Answers a request by the query core's function for it. Raises the errors of that function."""
    snapshot, state, options, is_expired = context.snapshot, context.state, context.options, context.is_expired
    match request:
        case SearchCode():
            return core.search_code(snapshot, request, state, options, is_expired)
        case LocateSymbol():
            return core.locate_symbol(snapshot, request, state, options, is_expired)
        case GetFileOutline():
            return core.get_file_outline(snapshot, request, state, options)
        case GetSymbolHierarchy():
            return core.get_symbol_hierarchy(snapshot, request, state, is_expired)
        case FindReferences():
            if options.imported is not None:
                return core.find_package_references(snapshot, request, state, options.imported, is_expired)
            return core.find_relation(snapshot, request, state, is_expired, options)
        case GetCallGraph():
            return core.get_call_graph(snapshot, request, state, is_expired)
        case FindRelatedSymbols():
            return core.find_related_symbols(snapshot, request, state, is_expired)
        case GetCodeContext():
            return core.get_code_context(snapshot, request, state, options, is_expired)
        case DiffContext():
            from codecompass.query.diff_context import diff_context

            assert options.difference is not None, "computed before the query: see differences.py"
            return diff_context(snapshot, request, options.difference, state, options, is_expired)
        case ReadFile():
            return core.read_file(snapshot, request, state, options)
        case ListDirectory():
            return core.list_directory(snapshot, request, state)
        case CountUses():
            return core.count_uses(snapshot, request, state, is_expired)
        case IndexStatus():
            raise AssertionError("index_status is answered by `ask_status`")


def query_settings(settings: Settings, answers: AnswerForm) -> QueryOptions:
    """Returns the query core's options for replies of the form `answers`."""
    return QueryOptions(
        default_limit=settings.query.default_limit,
        ranking_explain_level=settings.query.ranking_explain_level,
        max_result_bytes=settings.query.max_response_bytes,
        answers=answers,
        # A model that gets text wants code; the documents that JSON follows want signatures.
        default_strategy="depth" if answers == "text" else "breadth",
    )


def options_for(question: Question, options: QueryOptions) -> QueryOptions:
    """Returns `options` adapted to a question: whether its answer will be merged with others, and its own reply form."""
    if question.n_merged:
        options = replace(
            options,
            n_merged=question.n_merged,
            counted_lines=max(0, options.counted_lines - question.n_counted),
            imported=question.imported,
            is_name_exact=question.is_name_exact,
            is_definition_only=question.is_definition_only,
        )
    return options if question.answers is None else replace(options, answers=question.answers)
