"""The messages of a workspace's mailbox and their replies: frozen Structs, one closed union.

    Query     -> the reply Struct of its tool
    Settle    -> Settled: the freshness of the index afterwards
    StartJob  -> JobView: the job that does it, new or joined
    CancelJob -> bool: whether there was such a job to cancel

Each can be answered by a CodeCompassError instead.
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
    """A question to the index."""

    request: QueryRequest
    warnings: tuple[str, ...] = ()
    """From decoding and routing, for the answer's metadata; `hint` likewise."""
    hint: str = ""
    names_project: bool = False
    """Whether the caller named a project: the answer then carries the name of its store."""
    tell_job: Callable[[JobView], None] | None = None
    """Called from another task with the job that the question has to wait for, if any; it must not block."""
    is_internal: bool = False
    """Whether the server itself asks, to have work done: nothing of the question leaves the machine."""
    is_for_merging: bool = False
    """Whether the answer is to be merged with those of other workspaces."""
    imported: ImportedSymbol | None = None
    """A definition of another workspace whose uses are asked for."""
    answers: AnswerForm | None = None
    """The form of the reply, None for the server's."""


class Settle(Struct, frozen=True, kw_only=True):
    """Let changes land, as before an answer, within `seconds`, so that the asker can read the published index itself.

    `policy` None is the workspace's. The answer is IndexNotReady if there is no index.
    """

    policy: FreshnessPolicy | None = None
    seconds: float


class Settled(Struct, frozen=True):
    """The freshness of the index. With `fresh` it holds all changes made before the message, symbols included."""

    freshness: FreshnessStatus


class StartJob(Struct, frozen=True, kw_only=True):
    """Bring the index up to the tree; rebuild it with `force`. Joins a job that already does the same."""

    cause: str
    force: bool = False


class CancelJob(Struct, frozen=True, kw_only=True):
    """Stop the job with this id, if it runs or waits."""

    job_id: str


WorkspaceMessage = Query | Settle | StartJob | CancelJob
