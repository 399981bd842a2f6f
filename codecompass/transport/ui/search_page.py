"""`/ui`: a query, its hits with lines of code, the reasons for their ranking, and why a file is not among them."""

from typing import Final

import trio
from msgspec import Struct

from codecompass.protocol.metadata import Metadata, RankingReason
from codecompass.protocol.replies import CommitHit, LocateSymbolReply, Result, SearchCodeReply
from codecompass.protocol.requests import SEARCH_MODES
from codecompass.query.query_completion import MEANINGS
from codecompass.transport.http.request import OK, HttpRequest
from codecompass.transport.ui.code_lines import CodeLine, Highlighter, lines_of_hit, opening_line
from codecompass.transport.ui.fields import LENGTHS
from codecompass.transport.ui.narrowing import Completer, ask_projects, count_facets
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendering import Rendering
from codecompass.transport.ui.search_form import MARKED_CHARACTERS, MORE_HITS, Choices, SearchForm, search_form
from codecompass.transport.ui.shown_projects import ShownProject

MAX_JOBS: Final = 5
"""Jobs that are shown above the hits."""

_FACTORS: Final = (
    ("exact_match_boost", "has the words as they are written"),
    ("qualified_name_boost", "has the qualified name"),
    ("definition_boost", "defines rather than uses"),
    ("kind_match", "is of the kind asked for"),
    ("path_affinity", "its path fits"),
    ("bm25_score", "words, by how rare they are (BM25)"),
    ("near_in_meaning", "near in meaning"),
)
"""The factors of a ranking, with their meaning for people."""

VERDICTS: Final = {
    "shown": "is among the hits",
    "below_the_limit": "was found, but further down than what is shown",
    "not_among_the_candidates": "has words of the query, but others fit far better",
    "no_match": "has none of what was asked for",
    "filtered_out": "is left out by a filter",
    "skipped": "is not indexed",
    "not_indexed": "is not part of the index",
}


class Factor(Struct, frozen=True):
    """One reason for the rank of a hit."""

    meaning: str
    value: float


class ShownHit(Struct, frozen=True, kw_only=True):
    """A hit as the page shows it. `line` is the line at which it is opened."""

    hit: Result
    project: ShownProject
    line: int
    lines: tuple[CodeLine, ...]
    score: float | None = None
    factors: tuple[Factor, ...] = ()
    related_words: tuple[str, ...] = ()


class ShownCommit(Struct, frozen=True):
    """A commit that a search of the history found, and its project."""

    hit: CommitHit
    project: ShownProject


class SearchPageResult(Struct, frozen=True, kw_only=True):
    """The answer to a search, or the trouble with it."""

    hits: tuple[ShownHit, ...] = ()
    commits: tuple[ShownCommit, ...] = ()
    total: int = 0
    metadata: Metadata | None = None
    trouble: PageError | None = None
    searched: str = ""
    """The name of the project, empty for several."""

    @property
    def is_passing(self) -> bool:
        """Whether the same question soon has a better answer: what there is comes from files while the index is being built."""
        if self.trouble is not None:
            return self.trouble.is_passing
        seen = self.metadata
        return seen is not None and seen.result_completeness != "complete" and seen.indexing_status not in ("ready", "")


class SearchPage:
    """Answers `/ui`, and the parts of it that change while somebody types: `/ui/results`, `/ui/facets`, `/ui/complete`."""

    def __init__(self, questions: ToolQueries, rendering: Rendering, highlighter: Highlighter, choices: Choices) -> None:
        self._questions = questions
        self._choices = choices
        self._rendering = rendering
        self._highlighter = highlighter
        self._completer = Completer(questions)

    async def page(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the whole page."""
        form = search_form(request, projects, self._choices)
        shown = await self._values(form, projects)
        values = {**shown, **await self._counted(form, projects), "projects": projects, "modes": SEARCH_MODES, "here": "search"}
        values["groups"] = self._choices.groups
        await self._rendering.page(request, "search.html", values)

    async def results(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the hits alone."""
        await self._rendering.page(
            request, "results.html", await self._values(search_form(request, projects, self._choices), projects)
        )

    async def facets(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the counts of the hits by language, directory and kind alone."""
        await self._rendering.page(
            request, "facets.html", await self._counted(search_form(request, projects, self._choices), projects)
        )

    async def complete(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with what can follow at the end of a text, as a list of options."""
        form = search_form(request, projects, self._choices)
        # Of many projects none is asked for its names.
        asked = None if form.is_about_all and self._choices.begins_with_all else form.project
        offered = await self._completer.complete(request.parameter("q", LENGTHS["q"]) or "", asked, projects)
        await self._rendering.page(request, "completions.html", {"completions": offered})

    async def _values(self, form: SearchForm, projects: tuple[ShownProject, ...]) -> dict[str, object]:
        found = await self._found(form, projects)
        is_marked = form.mode == "auto" and len(form.q) <= MARKED_CHARACTERS
        return {
            "form": form,
            "found": found,
            "verdicts": VERDICTS,
            "status": OK,
            "more": MORE_HITS,
            "filter_meanings": MEANINGS,
            "marked": form.parsed.words if is_marked else "",
            "written": form.written,
            "under_way": _under_way(form, projects),
        }

    async def _counted(self, form: SearchForm, projects: tuple[ShownProject, ...]) -> dict[str, object]:
        return {"facets": await count_facets(self._questions, form, projects)}

    async def _found(self, form: SearchForm, projects: tuple[ShownProject, ...]) -> SearchPageResult | None:
        if form.project is None or form.parsed.is_empty:
            return None
        try:
            searched = form.searched(projects)
            reply = await ask_projects(self._questions, form, searched)
        except PageError as trouble:
            return SearchPageResult(trouble=trouble)
        assert isinstance(reply, SearchCodeReply | LocateSymbolReply)
        is_about_one = searched is not None and len(searched) == 1
        of_label = {"": searched[0]} if searched is not None and is_about_one else {each.label: each for each in projects}
        # A project that was registered a moment ago is shown with the next answer.
        known = [(index, hit) for index, hit in enumerate(reply.results) if hit.project in of_label]
        wanted = await trio.to_thread.run_sync(lambda: form.wanted)
        lines = await self._highlighter.lines([lines_of_hit(hit) for _, hit in known], wanted)
        by_index = {reason.result_index: reason for reason in reply.metadata.ranking_reasons}
        hits = tuple(
            _shown_hit(hit, of_label[hit.project], by_index.get(index), own)
            for (index, hit), own in zip(known, lines, strict=True)
        )
        commits = reply.commits if isinstance(reply, SearchCodeReply) else ()
        return SearchPageResult(
            hits=hits,
            commits=tuple(ShownCommit(each, of_label[each.project]) for each in commits if each.project in of_label),
            total=reply.total_candidates,
            metadata=reply.metadata,
            searched=searched[0].label if searched is not None and is_about_one else "",
        )


def _under_way(form: SearchForm, projects: tuple[ShownProject, ...]) -> tuple[ShownProject, ...]:
    """Returns the projects of a search that are being indexed."""
    try:
        searched = form.searched(projects)
    except PageError:
        return ()
    return tuple(each for each in (projects if searched is None else searched) if each.job is not None)[:MAX_JOBS]


def _shown_hit(hit: Result, project: ShownProject, reason: RankingReason | None, lines: tuple[CodeLine, ...]) -> ShownHit:
    return ShownHit(
        hit=hit,
        project=project,
        line=opening_line(hit),
        lines=lines,
        score=None if reason is None else reason.final_score,
        factors=_factors(reason) if reason is not None else (),
        related_words=reason.related_words if reason is not None else (),
    )


def _factors(reason: RankingReason) -> tuple[Factor, ...]:
    found = ((meaning, getattr(reason, name)) for name, meaning in _FACTORS)
    return tuple(Factor(meaning, value) for meaning, value in found if value)
