"""Questions of the page, asked as tool calls: with the same routing, isolation, freshness, deadlines and counters."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, cast

import trio

from codecompass.actors.job_state import JobHandle
from codecompass.errors import FileSystemUnresponsive
from codecompass.projects.caller import Identity, TransportName
from codecompass.protocol.replies import (
    DirectoryReply,
    ErrorReply,
    FileTextReply,
    LocateSymbolReply,
    Reply,
    Result,
    UseCountsReply,
)
from codecompass.protocol.requests import ALL_PROJECTS, CountUses, ListDirectory, ReadFile
from codecompass.scan.git_failures import explained
from codecompass.scan.git_repository import GitError, GitRepository
from codecompass.transport.http.request import BAD_REQUEST, NOT_FOUND, OK, TOO_MANY, UNAUTHORIZED, UNAVAILABLE
from codecompass.transport.tools.catalog import Catalog

T = TypeVar("T")

RepositoryReading = Callable[[Path, Callable[[GitRepository, Callable[[], bool]], T]], Awaitable[T]]
"""Reads the git repository of the tree at a path, as `CommitWorkspaces.read_repository` does."""

ADVICE: Final[Mapping[str, str]] = {
    "index_not_ready": "The index is being built. Projects shows how far it is; load this page again in a moment.",
    "index_incompatible": "The index is being rebuilt. Projects shows its progress; load this page again in a moment.",
    "index_stale": "Files have changed, and the index does not have them yet. Load this page again in a moment.",
    "file_not_found": "No indexed file has this path. It may be left out, removed or renamed: search for its name.",
    "symbol_not_found": "Nothing of this name is defined in the project. Search for it as text.",
    "ambiguous_symbol": "Several definitions have this name. Choose the one that you mean.",
    "page_not_found": "The address is wrong. Begin with a search.",
    "project_not_found": "There is no such project here. Choose one under Projects.",
    "workspace_not_allowed": "This server does not answer for that project. Choose one under Projects.",
    "workspace_not_registered": "This server does not know that project. Choose one under Projects.",
    "ref_not_indexed": "There is no such branch, tag or commit. Correct the name.",
    "workspace_busy": "Too many questions wait for this project. Load the page again in a moment.",
    "workspace_failed": "The project cannot be answered for now. Projects has a button that builds its index anew.",
    "invalid_input": "Something that was filled in cannot be used. Correct it and send it again.",
    "deadline_exceeded": "That took too long. Ask for less: a more exact query, or a path.",
    "permission_denied": "The index cannot be written. Look at the disk and the rights of the data directory.",
    "git_failed": "Git cannot answer this. The file or the lines may not be committed yet.",
    "internal_error": "That is a defect of CodeCompass. The log of the server has the details.",
}
"""What a person can do on the page, by error code; the tool's own message is for agents."""

_STATUSES: Final = {
    "file_not_found": NOT_FOUND,
    "project_not_found": NOT_FOUND,
    "symbol_not_found": NOT_FOUND,
    "workspace_not_allowed": NOT_FOUND,
    "workspace_not_registered": NOT_FOUND,
    "invalid_input": BAD_REQUEST,
    "unauthorized": UNAUTHORIZED,
    "too_many_requests": TOO_MANY,
    "engine_unavailable": UNAVAILABLE,
}

_PASSING: Final = frozenset({"index_not_ready", "index_incompatible", "index_stale", "workspace_busy"})
"""Errors that soon go away: pages with a script ask again."""


class PageError(Exception):
    """An error that the page shows instead of an answer."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = ADVICE.get(code, "Load the page again; if that does not help, look into the log of the server.")
        self.status = _STATUSES.get(code, OK)
        self.is_passing = code in _PASSING


class PageCaller:
    """The Caller of the page: a person who selects a project with every question."""

    transport: Final[TransportName] = "http"
    request_id: Final = "page"
    project_path: Final = None
    trace: Final = None

    def __init__(self, identity: Identity | None = None) -> None:
        """`identity` is who asks; None on servers without identities."""
        self.identity: Final = identity

    async def roots(self) -> tuple[str, ...]:
        """Returns no roots: a browser has none."""
        return ()

    def take_hint(self) -> bool:
        """Returns False: hints are for people who set up a client."""
        return False

    async def follow(self, job: JobHandle, seconds: float) -> None:
        """Waits for the end of the job, at most `seconds`. The page shows its progress in another way."""
        with trio.move_on_after(seconds):
            await job.wait_end()


class ToolQueries:
    """Calls the tools of a server for one caller. Every question names its project by id: nothing else selects one."""

    def __init__(self, tools: Catalog, caller: PageCaller, read_repository: RepositoryReading[object] | None) -> None:
        """`read_repository` is None if the server has no git repositories."""
        self._tools = tools
        self._caller = caller
        self._read_repository = read_repository

    async def show(self, tool: str, project: str, **arguments: object) -> Reply:
        """Returns the answer, with lines of code if it has any. Arguments that are None are left out.

        Raises PageError for an error.
        """
        outcome = await self._tools.show(tool, {"project_id": project, **arguments}, self._caller, "text")
        return _reply(outcome.reply)

    async def show_all(self, tool: str, **arguments: object) -> Reply:
        """Returns the answer about all projects that the server answers for. Raises PageError."""
        outcome = await self._tools.show(tool, {"workspace": ALL_PROJECTS, **arguments}, self._caller, "text")
        return _reply(outcome.reply)

    async def show_from(self, tool: str, project: str, **arguments: object) -> Reply:
        """Returns the answer about all projects for a name that `project` defines. Raises PageError."""
        return await self.show_all(tool, **arguments, workspace=[project, ALL_PROJECTS])

    async def identify(self, project: str, name: str, path: str | None, limit: int, ref: str | None = None) -> Sequence[Result]:
        """Returns the definitions of a name, or the one around `path:line`, with their ids. Raises PageError."""
        arguments = {"project_id": project, "name": name, "path": path, "limit": limit, "ref": ref}
        reply = _reply((await self._tools.show("locate_symbol", arguments, self._caller, "json")).reply)
        assert isinstance(reply, LocateSymbolReply)
        return reply.results

    async def read(self, project: str, path: str, line_start: int, line_count: int, ref: str | None = None) -> FileTextReply:
        """Returns lines of a file as they are indexed, of the working tree or a commit. Raises PageError."""
        request = ReadFile(project_id=project, path=path, line_start=line_start, limit=line_count, ref=ref)
        reply = _reply((await self._tools.ask(request, self._caller)).reply)
        assert isinstance(reply, FileTextReply)
        return reply

    async def count_uses(self, project: str, path: str, first: int, last: int) -> UseCountsReply:
        """Returns how often the definitions that begin in these lines are used. Raises PageError."""
        request = CountUses(project_id=project, path=path, line_start=first, line_end=max(first, last))
        reply = _reply((await self._tools.ask(request, self._caller)).reply)
        assert isinstance(reply, UseCountsReply)
        return reply

    async def list_directory(self, project: str, path: str, ref: str | None) -> DirectoryReply:
        """Returns the names in a directory of the index. Raises PageError."""
        request = ListDirectory(project_id=project, path=path, ref=ref)
        reply = _reply((await self._tools.ask(request, self._caller)).reply)
        assert isinstance(reply, DirectoryReply)
        return reply

    async def read_repository(self, root: str, read: Callable[[GitRepository, Callable[[], bool]], T]) -> T:
        """Returns what `read` finds in the git repository of a project. Raises PageError if git fails or there is none."""
        if self._read_repository is None:
            raise PageError("not_here", "this server has no clones of the repositories.")
        try:
            found = await self._read_repository(Path(root), read)
        except GitError as error:
            raise PageError("git_failed", explained(error)) from error
        except FileSystemUnresponsive as error:
            raise PageError(error.code, error.message) from error
        # What `read` returns, although the type of a function that is passed on cannot say so.
        return cast("T", found)


def _reply(reply: Reply) -> Reply:
    if isinstance(reply, ErrorReply):
        raise PageError(reply.error.code, reply.error.message)
    return reply
