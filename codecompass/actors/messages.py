"""The messages of a workspace's mailbox and their replies: frozen Structs, one closed union.

    Query    -> the reply Struct of its tool
    Settle   -> the freshness that the index then has
    StartJob -> JobTicket
    CancelJob -> bool: whether that job was there to be cancelled

Every one can be answered by a CodeCompassError instead.
"""

from collections.abc import Callable

from msgspec import Struct

from codecompass.actors.job_model import JobView
from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.replies import ImportedSymbol
from codecompass.protocol.requests import (
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    FreshnessPolicy,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    LocateSymbol,
    ReadFile,
    SearchCode,
)
from codecompass.settings import AnswerForm

QueryRequest = (
    SearchCode
    | LocateSymbol
    | GetFileOutline
    | GetSymbolHierarchy
    | FindReferences
    | GetCallGraph
    | FindRelatedSymbols
    | GetCodeContext
    | DiffContext
    | ReadFile
    | IndexStatus
)
"""The requests that an index answers."""


class Query(Struct, frozen=True, kw_only=True):
    """A question to the index.

    `warnings` and `hint` come from decoding and routing and go into the answer's metadata. `names_project` says that the
    caller named a project: the answer then carries the name of its store. `tell_job` is called from another task with the job
    that the question has to wait for, if there is one; it must not wait. `is_internal` is a question that nobody asked, to have
    work done: nothing of it leaves the machine. `is_for_merging`: the answer is to be merged with those of other workspaces.
    `imported` is a definition of another workspace, whose uses are asked for. `answers` is the form that the reply is made for,
    None that of the server.
    """

    request: QueryRequest
    warnings: tuple[str, ...] = ()
    hint: str = ""
    names_project: bool = False
    tell_job: Callable[[JobView], None] | None = None
    is_internal: bool = False
    is_for_merging: bool = False
    imported: ImportedSymbol | None = None
    answers: AnswerForm | None = None


class Settle(Struct, frozen=True, kw_only=True):
    """Let changes land, as before an answer, at most `seconds`; `policy` None is that of the workspace. The published index can
    then be read by whoever asked. IndexNotReady where there is none."""

    policy: FreshnessPolicy | None = None
    seconds: float


class Settled(Struct, frozen=True):
    """What is known of the index now: with `fresh` it holds all that had changed before the message, symbols included."""

    freshness: FreshnessStatus


class StartJob(Struct, frozen=True, kw_only=True):
    """Bring the index up to the tree, from nothing with `force`. Joins a job that already does the same."""

    cause: str
    force: bool = False


class CancelJob(Struct, frozen=True, kw_only=True):
    """Stop the job with this id, if it is still running or waiting."""

    job_id: str


class JobTicket(Struct, frozen=True):
    """The job that a StartJob got: its own, or one that was there already."""

    job: JobView
    is_joined: bool


WorkspaceMessage = Query | Settle | StartJob | CancelJob
