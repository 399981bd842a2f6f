"""The files of a search, in the order of its hits: where a file that was opened from it stands among them, and its neighbours."""

from typing import Final

import trio
from msgspec import Struct

from codecompass.protocol.replies import LocateSymbolReply, SearchCodeReply
from codecompass.transport.ui.code_lines import opening_line
from codecompass.transport.ui.narrowing import ask_projects
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendering import address
from codecompass.transport.ui.search_form import MORE_HITS, SearchForm
from codecompass.transport.ui.shown_projects import ShownProject
from codecompass.units import SECONDS

ANSWER_SECONDS: Final = 1 * SECONDS
"""How long a file waits for the search that led to it, which takes tens of milliseconds (docs/adr/0030)."""


class ResultFile(Struct, frozen=True):
    """A file of a search, with the line of its first hit."""

    project: ShownProject
    path: str
    line: int


class PlaceInResult(Struct, frozen=True, kw_only=True):
    """Where a file stands among those of a search. `number` counts from 1; it is 0 if the file is not among them, or the search
    was not answered in time. `is_partial`: the search has more hits than those that were asked for."""

    search: str
    """The address of the search."""
    number: int = 0
    n_files: int = 0
    is_partial: bool = False
    before: ResultFile | None = None
    behind: ResultFile | None = None


async def place_in_result(
    questions: ToolQueries, form: SearchForm, projects: tuple[ShownProject, ...], project: ShownProject, path: str
) -> PlaceInResult:
    """Returns where a file stands among the files of a search, as far as the page of the search can list its hits."""
    limit = max(form.limit, MORE_HITS)
    whole = PlaceInResult(search=address("", **form.as_parameters, limit=limit if form.limit > MORE_HITS else ""))
    found: tuple[list[ResultFile], bool] | None = None
    with trio.move_on_after(ANSWER_SECONDS):
        found = await _files(questions, form, projects, limit)
    if found is None:
        return whole
    files, is_partial = found
    at = next((at for at, each in enumerate(files) if (each.project.project_id, each.path) == (project.project_id, path)), None)
    if at is None:
        return whole
    return PlaceInResult(
        search=whole.search,
        number=at + 1,
        n_files=len(files),
        is_partial=is_partial,
        before=files[at - 1] if at else None,
        behind=files[at + 1] if at + 1 < len(files) else None,
    )


async def _files(
    questions: ToolQueries, form: SearchForm, projects: tuple[ShownProject, ...], limit: int
) -> tuple[list[ResultFile], bool] | None:
    """Returns the files of the first hits, each once, and whether there are more hits; None if there is no answer."""
    try:
        searched = form.searched(projects)
        reply = await ask_projects(questions, form, searched, limit=limit, ranking_explain_level="off")
    except PageError:
        return None
    assert isinstance(reply, SearchCodeReply | LocateSymbolReply)
    is_about_one = searched is not None and len(searched) == 1
    of_label = {"": searched[0]} if searched is not None and is_about_one else {each.label: each for each in projects}
    files: dict[tuple[str, str], ResultFile] = {}
    for hit in reply.results:
        project = of_label.get(hit.project)
        if project is not None:
            files.setdefault((project.project_id, hit.path), ResultFile(project, hit.path, opening_line(hit)))
    return list(files.values()), reply.total_candidates > len(reply.results)
