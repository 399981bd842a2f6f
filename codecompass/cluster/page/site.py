"""The page over an organisation's code for one viewer at a time: the pages that read code, asked as the viewer's client would
ask, with lists of what the viewer may see.

    identity -> tools -> services of the caller -> Library          hits, files, definitions, uses
    viewer -> Library.repositories                                  what can be chosen; everything else does not exist
    a name that one of these had before                             a redirect to it

Loaded by the first request.
"""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

from msgspec import Struct

from codecompass.actors.worker_pool import WorkerPool
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.page.own_requests import PageAddress
from codecompass.cluster.page.permalinks import Permalinks
from codecompass.cluster.page.sessions import Sessions
from codecompass.cluster.page.signing_in import SigningIn
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.library import Library
from codecompass.cluster.serving.routing import project_of, visible_repositories
from codecompass.formatting import iso_time
from codecompass.projects.caller import Identity
from codecompass.protocol.state_replies import IndexStatusReply, ListRefsReply
from codecompass.transport.http.request import NOT_FOUND, SEE_OTHER, UNAUTHORIZED, UNAVAILABLE, HttpRequest
from codecompass.transport.ui.access_checks import PAGE_PATH
from codecompass.transport.ui.fields import Fields
from codecompass.transport.ui.file_pages import shown_project
from codecompass.transport.ui.questions import PageCaller, PageError, ToolQueries
from codecompass.transport.ui.reading_pages import Page, answer_page, code_renderers, reading_pages
from codecompass.transport.ui.rendering import NOT_STORED, Rendering
from codecompass.transport.ui.search_form import Choices
from codecompass.transport.ui.shown_projects import ShownProject

if TYPE_CHECKING:
    from codecompass.cluster.serving.server import LibraryServer

LISTED: Final = 100
"""Repositories on one page of their list."""

MAX_NAME_LENGTH: Final = 200
SHOWN_REFS: Final = 100

_NOT_HERE: Final = frozenset({"/blame", "/history"})
"""Pages that need a clone."""

_TEMPLATES: Final = Path(__file__).parent / "templates"

_ADVICE: Final = {
    "index_not_ready": "No worker has indexed this repository yet. Load this page again in a moment.",
    "index_incompatible": "Workers are indexing this repository for a newer version. Load this page again in a moment.",
    "file_not_found": "No indexed file has this path at this commit. It may be left out, removed or renamed: search for it.",
    "project_not_found": "There is no such repository here for you. Choose one under Repositories.",
    "ref_not_indexed": "No such branch, tag or commit is indexed. Choose one of those that the field above a file offers.",
    "not_here": "What this needs is not published here, for the reason below. Ask git in a clone of the repository.",
    "diff/ref_not_indexed": "The published history has no such commit. It has those named below: compare two of them, or ask git "
    "in a clone.",
    "engine_unavailable": "The search engine does not answer. Load this page again in a moment.",
    "unauthorized": "You are signed out. Sign in again.",
    "too_many_requests": "You ask more than one person may. Load this page again in a moment.",
    "symbol_not_found": "Nothing of this name is defined in the repository. Search for it as text.",
    "permission_denied": "The server cannot read its cache. Tell whoever runs it.",
    "workspace_failed": "The repository cannot be answered for now. Tell whoever runs the server.",
}
"""What a person can do here, where that is not what they can do on the page of their own machine."""


class ShownRepositories(Struct, frozen=True):
    """What a viewer can choose from."""

    projects: tuple[ShownProject, ...]
    """By label, in any case."""
    choices: Choices
    former: Mapping[str, str]
    """The ids of repositories by the ids and names that they had before and no other one that is shown has now."""


async def shown_repositories(library: Library) -> ShownRepositories:
    """Returns what the viewer of `library` can choose from, a moment old. Raises EngineUnavailable."""
    on = visible_repositories(library.viewer, await library.repositories())
    now = time.time()
    projects = sorted(
        (_shown(each, on.labels[each.repo_id], now) for each in on.repositories), key=lambda each: (each.label.lower(), each.root)
    )
    # A repository of the same name is meant before a group.
    taken = {text for each in projects for text in (each.label, each.name, each.root.rpartition("/")[2])}
    groups = sorted(name for name in on.groups if name not in taken)
    former = {
        name: each.repo_id
        # What two have been called leads to the one that was added later.
        for each in sorted(on.repositories, key=lambda each: each.added_at)
        for name in each.former
        if name not in on.by_name
    }
    return ShownRepositories(tuple(projects), Choices(tuple(groups), begins_with_all=True), former)


def _shown(repository: Repository, label: str, now: float) -> ShownProject:
    project = project_of(repository, label, now)
    head = repository.default_head
    return ShownProject(
        project_id=project.project_id,
        name=repository.name,
        label=label,
        root=str(project.root).lstrip("/"),
        state="not_indexed" if head is None else "ready",
        freshness="fresh",
        residency="on_disk",
        ref=repository.default_ref,
        file_count=0 if head is None else head.file_count,
        symbol_count=0 if head is None else head.symbol_count,
        source_bytes=0 if head is None else head.source_bytes,
        last_indexed_at="" if head is None else iso_time(head.published_at),
        last_error="",
        last_used_at=0.0,
        is_home=False,
        job=None,
    )


class OrganisationSite:
    """Answers the requests of people who are signed in."""

    def __init__(self, server: "LibraryServer", rendering: Rendering, workers: WorkerPool) -> None:
        self._server = server
        self._rendering = rendering
        self._renderers = code_renderers(workers)

    async def handle(self, request: HttpRequest, identity: Identity) -> None:
        """Answers with a page; cancels the question if the browser disconnects. Raises ClientGone."""
        viewer = await self._server.authenticator.viewer(identity)
        rendering = self._rendering.with_values(viewer=viewer.name, is_session=identity.is_session)
        shown = await shown_repositories(self._server.libraries.of(viewer))
        say = partial(self._say, rendering, request, shown)
        page = self._pages(identity, rendering, shown).get(request.path.removeprefix(PAGE_PATH))
        if page is None:
            await say(PageError("page_not_found", "there is no such page."), NOT_FOUND)
            return
        await answer_page(request, lambda: _follow_or_answer(request, shown, page), say)

    async def say_away(self, request: HttpRequest, error: EngineUnavailable) -> None:
        """Answers that the engine is away, to somebody who cannot be identified without it."""
        trouble = PageError(error.code, error.message)
        values = {"trouble": trouble, "here": "", "viewer": None}
        await self._rendering.page(request, "trouble.html", values, status=UNAVAILABLE)

    async def say_signed_out(self, request: HttpRequest) -> None:
        """Answers a script of the page that nobody is signed in."""
        trouble = PageError("unauthorized", "load the page again to sign in.")
        await self._rendering.page(request, "signed_out.html", {"trouble": trouble}, status=UNAUTHORIZED)

    def _pages(self, identity: Identity, rendering: Rendering, shown: ShownRepositories) -> Mapping[str, Page]:
        questions = ToolQueries(self._server.tools, PageCaller(identity), None)
        reading = reading_pages(questions, rendering, self._renderers, shown.choices)
        permalinks = Permalinks(questions, reading["/file"])
        return {
            **{path: page for path, page in reading.items() if path not in _NOT_HERE},
            "/file": permalinks.file,
            "/permalink": permalinks.make,
            "/projects": partial(self._repositories, rendering, shown),
            "/project": partial(self._repository, rendering, questions),
        }

    async def _repositories(
        self, rendering: Rendering, shown: ShownRepositories, request: HttpRequest, projects: tuple[ShownProject, ...]
    ) -> None:
        """Answers with the repositories, or those whose name contains a text, LISTED at a time."""
        fields = Fields(request)
        wanted = fields.text("q")[:MAX_NAME_LENGTH]
        found = [each for each in projects if wanted.lower() in each.name.lower() or wanted.lower() in each.root.lower()]
        first = fields.number("first", 0, lowest=0, highest=max(0, len(found) - 1))
        values = {
            "projects": found[first : first + LISTED],
            "total": len(projects),
            "n_found": len(found),
            "wanted": wanted,
            "first": first,
            "before": max(0, first - LISTED) if first else None,
            "behind": first + LISTED if first + LISTED < len(found) else None,
            "groups": shown.choices.groups,
            "here": "projects",
        }
        await rendering.page(request, "repositories.html", values)

    async def _repository(
        self, rendering: Rendering, questions: ToolQueries, request: HttpRequest, projects: tuple[ShownProject, ...]
    ) -> None:
        """Answers with one repository: its refs, what is indexed, what was left out and why."""
        fields = Fields(request)
        project = shown_project(fields, projects)
        path = fields.given("path")
        status = await questions.show("index_status", project.project_id, path=path)
        refs = await questions.show("list_refs", project.project_id, limit=SHOWN_REFS)
        assert isinstance(status, IndexStatusReply)
        assert isinstance(refs, ListRefsReply)
        values = {
            "project": project,
            "status": status,
            "refs": refs.refs,
            "n_refs": refs.total_refs,
            "path": path or "",
            "here": "projects",
        }
        await rendering.page(request, "repository.html", values)

    async def _say(
        self, rendering: Rendering, request: HttpRequest, shown: ShownRepositories, trouble: PageError, status: int
    ) -> None:
        await rendering.page(request, "trouble.html", {"trouble": trouble, "here": "", "projects": shown.projects}, status=status)


async def _follow_or_answer(request: HttpRequest, shown: ShownRepositories, page: Page) -> None:
    """Redirects to the same page of the repository that was called so before, if none is called so now; else answers."""
    project_id = shown.former.get(Fields(request).text("project"))
    if project_id is None:
        await page(request, shown.projects)
        return
    fields = parse_qsl(request.query, keep_blank_values=True, errors="surrogateescape")
    query = urlencode([(name, project_id if name == "project" else value) for name, value in fields], errors="surrogateescape")
    await request.answer(SEE_OTHER, headers=(("location", f"{request.path}?{query}"), *NOT_STORED))


class LoadedPage(Struct, frozen=True):
    """What answers the requests to the page."""

    rendering: Rendering
    signing_in: SigningIn
    site: OrganisationSite


def load_page(server: "LibraryServer", address: PageAddress, workers: WorkerPool) -> LoadedPage:
    """Returns the page of a server at an address, with its templates and static files read."""
    rendering = Rendering(organisation=True, templates=(_TEMPLATES,), advice=_ADVICE)
    hours = server.launch.settings.access.page_session_hours
    signing_in = SigningIn(address, Sessions(server.tokens, hours), server.sign_in, server.authenticator, rendering)
    return LoadedPage(rendering, signing_in, OrganisationSite(server, rendering, workers))
