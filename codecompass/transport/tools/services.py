"""The parts of a server that tools use, as tools see them: which project is meant, who answers for it, how the server is.

A server that answers for one user from the indexes of this machine has one set of them for all callers. A server that answers
from an organisation's code makes a set for each caller, in which there is nothing but what that caller may see.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from codecompass.actors.messages import Query
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.errors import CodeCompassError
from codecompass.projects.caller import Caller
from codecompass.projects.router import Routed
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.replies import ImportedSymbol, Reply, SearchEvidence
from codecompass.protocol.requests import FindReferences, ListRefs, LocateSymbol, Request, SearchCode
from codecompass.protocol.state_replies import HealthReply, ListRefsReply
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project

if TYPE_CHECKING:
    # These know the services.
    from codecompass.transport.calls import Outcome
    from codecompass.transport.tools.project_answers import OtherAnswers
    from codecompass.transport.tools.toolkit import Call


class Routing(Protocol):
    """Which project a request means. Implemented by `projects/router.py`, where each method says what it raises."""

    async def route(self, request: Request, caller: Caller) -> Routed:
        """Returns the project that a request means."""

    async def several(self, workspace: str | None) -> tuple[str, ...] | None:
        """Returns the names where `workspace` means several projects; None where it is one, or none is named."""

    async def select(self, names: Sequence[str]) -> tuple[SelectedProject, ...]:
        """Returns the projects that these names mean."""

    async def require_present(self, project: Project) -> None:
        """Raises where a project is not where it was when it was registered."""

    async def head_ref(self, project: Project) -> str:
        """Returns the branch that a project is on, as answers name it."""


class LiveWorkspaces(Protocol):
    """The workspaces that are asked. Implemented by the supervisor."""

    def route(self, project: Project) -> WorkspaceHandle:
        """Returns the live workspace of a project. Ask it before the next checkpoint."""

    def find(self, project_id: str, commit: NamedCommit | None = None) -> WorkspaceObservation | None:
        """Returns what a workspace, or that of one of its commits, has published last; None where it is not live."""


class Commits(Protocol):
    """Refs, and the workspaces of commits. Implemented by `projects/commit_workspaces.py`."""

    async def resolve(self, project: Project, ref: str, field: str = "ref") -> NamedCommit | None:
        """Returns the commit that `ref` names; None where that is what the workspace itself answers from."""

    async def make_room(self, project: Project, commit: NamedCommit) -> None:
        """Makes sure that the commit's index can be kept."""

    def route(self, project: Project, commit: NamedCommit) -> WorkspaceHandle:
        """Returns the live workspace of a commit. Ask it before the next checkpoint."""

    async def list_refs(self, request: ListRefs, project: Project, metadata: BareMetadata) -> ListRefsReply:
        """Returns the reply of the tool `list_refs`."""


class ManyAnswers(Protocol):
    """Answers about many projects. Implemented by `actors/cold_answers.py`."""

    @property
    def are_fresh(self) -> bool:
        """Whether all answers are of the newest state: then no project has to be asked first to let changes land."""

    async def concerned(self, projects: Sequence[Project], asked: Query, seconds: float) -> Collection[str] | None:
        """Returns the ids of those that can have an answer, where that can be told at once for all; None where each is asked."""

    async def answer(self, project: Project, asked: Query, seconds: float, *, is_fresh: bool = False) -> Reply:
        """Returns the answer from the index of one project."""

    async def sample(
        self, projects: Sequence[Project], words: str, seconds: float, found: dict[str, SearchEvidence | CodeCompassError]
    ) -> None:
        """Puts into `found`, by project id and as they come, what each index has of a question in words."""


class ServerState(Protocol):
    """The server as a whole."""

    async def health(self, *, about: Project | None, limit: int, metadata: BareMetadata) -> HealthReply:
        """Returns the state of the server, or of one project of it. `limit` bounds the projects listed, not those counted."""


class Elsewhere(Protocol):
    """Another server, which is asked for what is not here. Implemented by `transport/organisation/asking.py`."""

    async def run(self, call: "Call", run: "Callable[[Call], Awaitable[Outcome]]") -> "Outcome":
        """Returns what `run` answers here, or what the other server does where the call is about a repository of it."""

    async def split(self, names: Sequence[str]) -> tuple[tuple[SelectedProject, ...], tuple[str, ...]]:
        """Returns the projects of these names that are here, and the names for which the other server is to be asked."""

    async def ask(
        self,
        call: "Call",
        request: SearchCode | LocateSymbol | FindReferences,
        names: Sequence[str],
        deadline: float,
        *,
        beside: Sequence[Project],
        without: Sequence[str] = (),
        imported: ImportedSymbol | None = None,
    ) -> "OtherAnswers":
        """Returns what the other server answers about the repositories of these names, but those that `beside` are checkouts of
        and those with an id in `without`. Raises nothing but a cancellation: why it has not answered is in what it returns."""


class Services(Struct, frozen=True, kw_only=True):
    """The parts of a server that tools use, for one caller or for all."""

    workspaces: LiveWorkspaces
    router: Routing
    commits: Commits
    cold_answers: ManyAnswers
    state: ServerState
    default_limit: int
    """Hits of a page where the request names no limit."""
    repository_ids: Callable[[Sequence[Project]], Awaitable[Mapping[str, frozenset[str]]]] | None = None
    """Tells which repositories projects are checkouts of, by project id, as `scan/git_remotes.py` does. None where the id of a
    project is that of its repository."""
    elsewhere: Elsewhere | None = None
    """Who is asked for what is not here, if anybody is."""

    async def of(self, caller: Caller) -> "Services":
        """Returns itself: it serves everybody alike."""
        return self


class ServiceSource(Protocol):
    """Where the catalogue gets the parts for a call from."""

    async def of(self, caller: Caller) -> Services:
        """Returns the parts for a caller. Raises a CodeCompassError where the caller is answered nothing."""
