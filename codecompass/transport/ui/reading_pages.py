"""The pages that read code, which a server over the trees of this machine and one over an organisation's code have in common; and
how a request to a page is answered whatever happens.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from msgspec import Struct

from codecompass.actors.worker_pool import WorkerPool
from codecompass.transport.http.request import HttpRefusal, HttpRequest
from codecompass.transport.ui.code_lines import Highlighter
from codecompass.transport.ui.code_pages import CodePages
from codecompass.transport.ui.file_pages import FilePages
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendered_markdown import MarkdownRenderer
from codecompass.transport.ui.rendering import Rendering
from codecompass.transport.ui.search_form import Choices
from codecompass.transport.ui.search_page import SearchPage
from codecompass.transport.ui.shown_projects import ShownProject

Page = Callable[[HttpRequest, tuple[ShownProject, ...]], Awaitable[None]]
"""Answers a request about one of these projects. Raises PageError, HttpRefusal."""

Say = Callable[[PageError, int], Awaitable[None]]
"""Answers with an error and a status."""


class CodeRenderers(Struct, frozen=True):
    """What makes HTML of code and documents, in worker processes."""

    highlighter: Highlighter
    markdown: MarkdownRenderer


def code_renderers(workers: WorkerPool) -> CodeRenderers:
    """Returns the renderers of a server."""
    return CodeRenderers(Highlighter(workers), MarkdownRenderer(workers))


_ALL: Final = Choices()


def reading_pages(
    questions: ToolQueries, rendering: Rendering, renderers: CodeRenderers, choices: Choices = _ALL
) -> Mapping[str, Page]:
    """Returns the pages by their paths below `/ui`."""
    search = SearchPage(questions, rendering, renderers.highlighter, choices)
    code = CodePages(questions, rendering, renderers.highlighter)
    files = FilePages(questions, rendering, renderers.highlighter, renderers.markdown, choices)
    return {
        "": search.page,
        "/": search.page,
        "/results": search.results,
        "/facets": search.facets,
        "/complete": search.complete,
        "/file": files.file,
        "/raw": files.raw,
        "/refs": files.refs,
        "/tree": files.tree,
        "/blame": files.blame,
        "/history": files.history,
        "/goto": code.goto,
        "/card": code.card,
        "/symbol": code.symbol,
        "/uses": code.uses,
        "/diff": code.difference,
    }


async def answer_page(request: HttpRequest, work: Callable[[], Awaitable[None]], say: Say) -> None:
    """Answers with `work`, with `say` if it fails as pages do; cancels it if the browser disconnects. Raises ClientGone."""
    await request.body()
    failure: Exception | None = None
    async with request.cancelled_when_gone():
        try:
            await _worked(work, say)
        except Exception as error:  # noqa: BLE001 (raised again outside the nursery, which would make it a group)
            failure = error
    if failure is not None:
        raise failure


async def _worked(work: Callable[[], Awaitable[None]], say: Say) -> None:
    try:
        await work()
    except PageError as trouble:
        await say(trouble, trouble.status)
    except HttpRefusal as refusal:
        await say(PageError("", refusal.message), refusal.status)
