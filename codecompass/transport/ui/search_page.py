"""`/ui`: a query, its hits with lines of code, the reasons for their ranking, and why a file is not among them."""

import re
from typing import Final

import trio
from msgspec import Struct

from codecompass.protocol.metadata import Metadata, RankingReason
from codecompass.protocol.replies import Result, SearchCodeReply
from codecompass.protocol.requests import ALL_PROJECTS, MAX_LIMIT, SEARCH_MODES
from codecompass.query.excerpts import word_pattern
from codecompass.transport.http.request import OK, HttpRequest
from codecompass.transport.ui.code_lines import CodeLine, Highlighter, lines_of_hit
from codecompass.transport.ui.fields import Fields
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.rendering import Rendering
from codecompass.transport.ui.shown_projects import ShownProject, chosen

HITS: Final = 10
MORE_HITS: Final = 40

MARKED_CHARACTERS: Final = 500
"""Longest query whose words are marked in the hits: a pasted log has too many to search for in every line."""

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


class SearchForm(Struct, frozen=True, kw_only=True):
    """The search parameters, as the form shows them again."""

    project: ShownProject | None
    is_about_all: bool
    q: str
    mode: str
    path: str
    kind: str
    language: str
    limit: int
    why: bool
    why_not: str

    @property
    def has_details(self) -> bool:
        """Whether a field is filled in that the form hides by default."""
        return bool(self.path or self.kind or self.language or self.why or self.why_not)

    @property
    def as_parameters(self) -> dict[str, object]:
        """The parameters of the address of the same search."""
        return {
            "project": ALL_PROJECTS if self.is_about_all else self.project.project_id if self.project else "",
            "q": self.q,
            "mode": "" if self.mode == "auto" else self.mode,
            "path": self.path,
            "kind": self.kind,
            "language": self.language,
            "why": "1" if self.why else "",
            "why_not": self.why_not,
        }


class SearchPageResult(Struct, frozen=True, kw_only=True):
    """The answer to a search, or the trouble with it."""

    hits: tuple[ShownHit, ...] = ()
    total: int = 0
    metadata: Metadata | None = None
    trouble: PageError | None = None


class SearchPage:
    """Answers `/ui`, and `/ui/results` with the part that changes while somebody types."""

    def __init__(self, questions: ToolQueries, rendering: Rendering, highlighter: Highlighter) -> None:
        self._questions = questions
        self._rendering = rendering
        self._highlighter = highlighter

    async def page(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the whole page."""
        form = _form(request, projects)
        values = {**await self._values(form, projects), "projects": projects, "modes": SEARCH_MODES, "here": "search"}
        await self._rendering.page(request, "search.html", values)

    async def results(self, request: HttpRequest, projects: tuple[ShownProject, ...]) -> None:
        """Answers with the hits alone."""
        await self._rendering.page(request, "results.html", await self._values(_form(request, projects), projects))

    async def _values(self, form: SearchForm, projects: tuple[ShownProject, ...]) -> dict[str, object]:
        found = await self._found(form, projects)
        return {"form": form, "found": found, "verdicts": VERDICTS, "status": OK, "more": MORE_HITS}

    async def _found(self, form: SearchForm, projects: tuple[ShownProject, ...]) -> SearchPageResult | None:
        if form.project is None or not form.q:
            return None
        arguments = {
            "query": form.q,
            "limit": form.limit,
            "mode": form.mode,
            "path": form.path or None,
            "kind": form.kind or None,
            "language": form.language or None,
            "ranking_explain_level": "full" if form.why else "off",
        }
        try:
            if form.is_about_all:
                reply = await self._questions.show_all("search_code", **arguments)
            else:
                why_not = form.why_not or None
                reply = await self._questions.show("search_code", form.project.project_id, **arguments, why_not=why_not)
        except PageError as trouble:
            return SearchPageResult(trouble=trouble)
        assert isinstance(reply, SearchCodeReply)
        of_label = {each.label: each for each in projects} if form.is_about_all else {"": form.project}
        # A project that was registered a moment ago is shown with the next answer.
        known = [(index, hit) for index, hit in enumerate(reply.results) if hit.project in of_label]
        wanted = await trio.to_thread.run_sync(_wanted, form)
        lines = await self._highlighter.lines([lines_of_hit(hit) for _, hit in known], wanted)
        by_index = {reason.result_index: reason for reason in reply.metadata.ranking_reasons}
        hits = tuple(
            _shown_hit(hit, of_label[hit.project], by_index.get(index), own)
            for (index, hit), own in zip(known, lines, strict=True)
        )
        return SearchPageResult(hits=hits, total=reply.total_candidates, metadata=reply.metadata)


def _form(request: HttpRequest, projects: tuple[ShownProject, ...]) -> SearchForm:
    fields = Fields(request)
    mode = fields.text("mode")
    asked = fields.text("project")
    is_about_all = asked == ALL_PROJECTS
    return SearchForm(
        project=chosen(projects, "" if is_about_all else asked),
        is_about_all=is_about_all,
        q=fields.text("q"),
        mode=mode if mode in SEARCH_MODES else "auto",
        path=fields.text("path"),
        kind=fields.text("kind"),
        language=fields.text("language"),
        limit=fields.number("limit", HITS, lowest=1, highest=MAX_LIMIT),
        why=bool(fields.text("why")),
        why_not=fields.text("why_not"),
    )


def _wanted(form: SearchForm) -> re.Pattern[str] | None:
    """Returns the pattern of what is marked in the hits; None if nothing is."""
    if form.mode in ("regex", "files") or len(form.q) > MARKED_CHARACTERS:
        return None
    return re.compile(re.escape(form.q)) if form.mode == "literal" else word_pattern(form.q)


def _shown_hit(hit: Result, project: ShownProject, reason: RankingReason | None, lines: tuple[CodeLine, ...]) -> ShownHit:
    is_definition = hit.result_type == "symbol" or bool(hit.symbol_id)
    return ShownHit(
        hit=hit,
        project=project,
        line=hit.line_start if is_definition or not lines else lines[0].number or hit.line_start,
        lines=lines,
        score=None if reason is None else reason.final_score,
        factors=_factors(reason) if reason is not None else (),
        related_words=reason.related_words if reason is not None else (),
    )


def _factors(reason: RankingReason) -> tuple[Factor, ...]:
    found = ((meaning, getattr(reason, name)) for name, meaning in _FACTORS)
    return tuple(Factor(meaning, value) for meaning, value in found if value)
