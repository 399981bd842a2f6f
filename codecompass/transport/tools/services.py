"""The interfaces of the parts of a server that tools use: routing, workspaces, commits, the state of the server.

A server that answers one user from the indexes of this machine has one set of them for all callers. A server that answers from an
organisation's code makes a set for each caller, which only gives access to what that caller may see.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from codecompass.actors.messages import Query
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.errors import CodeCompassError
from codecompass.projects.caller import Caller
from codecompass.projects.router import Routed
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.replies import ImportedSymbol, Reply, SearchCodeReply, SearchEvidence
from codecompass.protocol.requests import FindReferences, ListRefs, LocateSymbol, Request, SearchCode
from codecompass.protocol.state_replies import HealthReply, ListRefsReply
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project
from codecompass.tracing import Values

if TYPE_CHECKING:
    from codecompass.actors.history_answers import HistoryLimits
    from codecompass.query.commit_question import CommitQuestion

    # These modules import this one.
    from codecompass.transport.calls import CallOutcome
    from codecompass.transport.tools.call import ToolCall
    from codecompass.transport.tools.project_answers import OtherAnswers


class Routing(Protocol):
    """Finds the project that a request addresses. Implemented by `projects/router.py`, which documents the errors raised."""

    async def route(self, request: Request, caller: Caller) -> Routed:
        """Returns the project that a request addresses."""

    async def several(self, workspace: str | None) -> tuple[str, ...] | None:
        """Returns the names if `workspace` names several projects; None if it names one or none."""

    async def select(self, names: Sequence[str]) -> tuple[SelectedProject, ...]:
        """Returns the projects of these names."""

    async def require_present(self, project: Project) -> None:
        """Raises if a project is no longer where it was registered."""

    async def head_ref(self, project: Project) -> str:
        """Returns the checked out branch of a project, as answers name it."""


class LiveWorkspaces(Protocol):
    """The live workspaces. Implemented by the supervisor."""

    def route(self, project: Project) -> WorkspaceHandle:
        """Returns the live workspace of a project. Must be asked before the next checkpoint."""

    def find(self, project_id: str, commit: NamedCommit | None = None) -> WorkspaceObservation | None:
        """Returns the last observation of a workspace, or of that of one of its commits; None if it is not live."""


class Commits(Protocol):
    """Refs, and the workspaces of commits. Implemented by `projects/commit_workspaces.py`."""

    async def resolve(self, project: Project, ref: str, field: str = "ref") -> NamedCommit | None:
        """Returns the commit that `ref` names; None if the workspace itself answers for it."""

    async def make_room(self, project: Project, commit: NamedCommit) -> None:
        """Makes room for the index of the commit."""

    def route(self, project: Project, commit: NamedCommit) -> WorkspaceHandle:
        """Returns the live workspace of a commit. Must be asked before the next checkpoint."""

    async def list_refs(self, request: ListRefs, project: Project, metadata: BareMetadata) -> ListRefsReply:
        """Returns the reply of the tool `list_refs`."""

    async def search_history(
        self, request: SearchCode, question: "CommitQuestion", project: Project, limits: "HistoryLimits", warnings: Sequence[str]
    ) -> SearchCodeReply:
        """Returns the commits of a project that a question asks for."""


class ManyAnswers(Protocol):
    """Answers about many projects. Implemented by `actors/cold_answers.py`."""

    @property
    def are_fresh(self) -> bool:
        """Whether all answers are of the newest state, so that no project has to index changes first."""

    async def concerned(self, projects: Sequence[Project], asked: Query, seconds: float) -> Collection[str] | None:
        """Returns the ids of the projects that can have an answer; None if that cannot be determined for all at once."""

    async def prepare(self, project: Project, seconds: float) -> None:
        """Returns once the index of a project can be read without waiting for it; used before `answer`, which reads few at a
        time."""

    async def answer(self, project: Project, asked: Query, seconds: float, *, is_fresh: bool = False) -> Reply:
        """Returns the answer of one project's index."""

    def late(self, project: Project) -> CodeCompassError:
        """Returns the error for a project that did not answer in time, which says what to do."""

    async def sample(
        self, projects: Sequence[Project], words: str, seconds: float, found: dict[str, SearchEvidence | CodeCompassError]
    ) -> None:
        """Adds to `found`, by project id and as they arrive, the samples of each index for a question in words."""


class ServerState(Protocol):
    """The server as a whole."""

    async def health(self, *, about: Project | None, limit: int, metadata: BareMetadata) -> HealthReply:
        """Returns the state of the server, or of one of its projects. `limit` bounds the projects listed, not those counted."""


class Elsewhere(Protocol):
    """Another server, which is queried about projects that are not on this machine. Implemented by
    `transport/organisation/answers.py`."""

    async def run(self, call: "ToolCall", run: "Callable[[ToolCall], Awaitable[CallOutcome]]") -> "CallOutcome":
        """Returns the outcome of `run`, or the other server's answer if the call is about one of its repositories."""

    async def split(self, names: Sequence[str]) -> tuple[tuple[SelectedProject, ...], tuple[str, ...]]:
        """Returns the local projects of these names, and the names for which the other server has to be queried."""

    async def ask(
        self,
        call: "ToolCall",
        request: SearchCode | LocateSymbol | FindReferences,
        names: Sequence[str],
        deadline: float,
        *,
        beside: Sequence[Project],
        without: Sequence[str] = (),
        imported: ImportedSymbol | None = None,
    ) -> "OtherAnswers":
        """Returns the other server's answers about the repositories of these names, except those of which `beside` are checkouts
        and those with an id in `without`. Raises nothing but a cancellation: a failure is part of the result."""


class AnsweredCall(Struct, frozen=True, kw_only=True):
    """A call of a tool at its end, for an audit."""

    request: Request
    reply: Reply
    outcome: str
    """`ok`, or the code of the error."""
    seconds: float


class Services(Struct, frozen=True, kw_only=True):
    """The parts of a server that tools use, for one caller or for all."""

    audit: Callable[[AnsweredCall], None] | None = None
    """Is told of every answer."""
    traced_as: Values = MappingProxyType({})
    """Who the caller is, for traces."""
    admit: Callable[[], AbstractContextManager[None]] | None = None
    """Wraps each call. May raise an error that refuses it."""

    workspaces: LiveWorkspaces
    router: Routing
    commits: Commits
    cold_answers: ManyAnswers
    state: ServerState
    default_limit: int
    """Hits of a page if the request has no limit."""
    repository_ids: Callable[[Sequence[Project]], Awaitable[Mapping[str, frozenset[str]]]] | None = None
    """Returns the ids of the repositories that projects are checkouts of, by project id, like `scan/git_remotes.py`. None if the
    id of a project is that of its repository."""
    elsewhere: Elsewhere | None = None
    """The server that is queried about projects that are not on this machine, if there is one."""

    async def of(self, caller: Caller) -> "Services":
        """Returns itself: it is the same for all callers."""
        return self


def asked_text(request: Request) -> str:
    """Returns the question of a request in words, for records of those who want them; empty if it has none."""
    return str(getattr(request, "query", None) or getattr(request, "name", None) or "")


class ServiceSource(Protocol):
    """Provides the services for a call."""

    async def of(self, caller: Caller) -> Services:
        """Returns the services for a caller. Raises a CodeCompassError if the caller has no access."""
