"""Routes the requests of the page, and answers errors in a form that people can read.

    /ui  /ui/results                    search
    /ui/facets  /ui/complete            counts of the hits, and what can follow in a query
    /ui/file  /ui/raw  /ui/tree         a file, its text alone, a directory
    /ui/refs                            the branches and tags of a project, to choose one
    /ui/blame  /ui/history              who wrote lines, and which commits changed them
    /ui/goto  /ui/symbol                from a name to its definition, a definition with its uses
    /ui/card                            what a name may mean, in a few lines
    /ui/uses                            how often the definitions in some lines are used
    /ui/diff                            the differences from another commit
    /ui/projects  /ui/project           all projects, one project; POST /ui/act starts and cancels jobs
    /ui/events                          changes of projects and jobs, as a stream of events
    /ui/activity                        the last calls of each client
    /ui/static/...                      scripts and styles

Loaded by the first request.
"""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from codecompass.transport.http.request import NOT_FOUND, HttpRequest, require_method
from codecompass.transport.ui.access_checks import PAGE_PATH
from codecompass.transport.ui.project_pages import ProjectPages
from codecompass.transport.ui.questions import PageCaller, PageError, ToolQueries
from codecompass.transport.ui.reading_pages import Page, answer_page, code_renderers, reading_pages
from codecompass.transport.ui.rendering import Rendering
from codecompass.transport.ui.shown_projects import shown_projects

if TYPE_CHECKING:
    from codecompass.transport.server import Server

EVENTS_PATH: Final = f"{PAGE_PATH}/events"
STATIC_PATH: Final = f"{PAGE_PATH}/static/"


class Site:
    """Answers all requests to the page that `PageDoor` has allowed."""

    def __init__(self, server: "Server", rendering: Rendering) -> None:
        self._server = server
        self._rendering = rendering
        questions = ToolQueries(server.tools, PageCaller(), server.commits.read_repository)
        self._projects = ProjectPages(server, questions, self._rendering)
        self._pages: Mapping[str, Page] = {
            **reading_pages(questions, self._rendering, code_renderers(server.page_workers)),
            "/projects": self._projects.projects,
            "/project": self._projects.project,
            "/activity": self._projects.activity,
        }

    def is_stream(self, request: HttpRequest) -> bool:
        """Returns whether the answer is a stream that runs until the client disconnects."""
        return request.path == EVENTS_PATH

    async def stream(self, request: HttpRequest) -> None:
        """Answers with a stream of events. Raises HttpRefusal if there are too many."""
        require_method(request, "GET")
        await self._projects.events(request)

    async def handle(self, request: HttpRequest) -> None:
        """Answers with a page; cancels the question if the browser disconnects. Raises HttpRefusal, ClientGone."""
        below = request.path.removeprefix(PAGE_PATH)
        if below == "/act":
            await self._projects.act(request)
            return
        require_method(request, "GET")
        if request.path.startswith(STATIC_PATH):
            await self._rendering.file(request)
            return
        say = partial(self._say, request)
        page = self._pages.get(below)
        if page is None:
            await say(PageError("page_not_found", "there is no such page."), NOT_FOUND)
            return
        await answer_page(request, lambda: page(request, shown_projects(self._server)), say)

    async def _say(self, request: HttpRequest, trouble: PageError, status: int) -> None:
        values = {"trouble": trouble, "here": "", "projects": shown_projects(self._server)}
        await self._rendering.page(request, "trouble.html", values, status=status)
