"""What a person asks on the search page: the fields of the form, the filters in the text, and the projects that both mean."""

import re
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct

from codecompass.protocol.requests import ALL_PROJECTS, MAX_LIMIT, SEARCH_MODES, SearchMode
from codecompass.query.excerpts import word_pattern
from codecompass.query.query_language import ParsedQuery, parse_query, phrase_of
from codecompass.transport.http.request import HttpRequest
from codecompass.transport.ui.fields import LENGTHS, Fields, WrittenFields
from codecompass.transport.ui.questions import PageError
from codecompass.transport.ui.rendering import address
from codecompass.transport.ui.shown_projects import ShownProject, chosen

HITS: Final = 10
MORE_HITS: Final = 40
"""Hits of the page at first, and after "Show more"."""

MARKED_CHARACTERS: Final = 500
"""Longest query whose words are marked in the hits: a pasted log has too many to search for in every line."""


class Choices(Struct, frozen=True):
    """What can be searched beside single projects."""

    groups: tuple[str, ...] = ()
    begins_with_all: bool = False
    """Whether all projects are searched if an address names none, and not the default project."""


GROUP: Final = "group:"
"""How a group is written where a project could be."""


class Chip(Struct, frozen=True):
    """A filter of the query, and the text and the address of the query without it."""

    written: str
    text: str
    address: str


class SearchForm(Struct, frozen=True, kw_only=True):
    """The search parameters, as the form shows them again. `project` is the one that is chosen in the form."""

    project: ShownProject | None
    is_about_all: bool
    """Whether several are chosen: `group`, or all."""
    group: str
    q: str
    mode: str
    path: str
    kind: str
    language: str
    limit: int
    why: bool
    why_not: str
    parsed: ParsedQuery

    @property
    def has_details(self) -> bool:
        """Whether a field is filled in that the form hides by default."""
        return bool(self.path or self.kind or self.language or self.why or self.why_not)

    @property
    def chosen(self) -> str:
        """What is chosen in the form: the id of a project, a group, or all."""
        if self.is_about_all:
            return f"{GROUP}{self.group}" if self.group else ALL_PROJECTS
        return self.project.project_id if self.project else ""

    @property
    def as_parameters(self) -> dict[str, object]:
        """The parameters of the address of the same search."""
        return {
            "project": self.chosen,
            "q": self.q,
            "mode": "" if self.mode == "auto" else self.mode,
            "path": self.path,
            "kind": self.kind,
            "language": self.language,
            "why": "1" if self.why else "",
            "why_not": self.why_not,
        }

    @property
    def written(self) -> str:
        """The search as one field of another address; empty if it is too long for that."""
        parts = {name: value for name, value in self.as_parameters.items() if value and name not in ("why", "why_not")}
        written = urlencode(parts, errors="surrogatepass")
        return written if len(self.q) <= MARKED_CHARACTERS and len(written) <= LENGTHS["search"] else ""

    @property
    def arguments(self) -> dict[str, object]:
        """The arguments of `parsed.tool`, without those that choose projects."""
        beside = {
            "query": self.q,
            "limit": self.limit,
            "mode": self.mode,
            "path": self.path or None,
            "kind": self.kind or None,
            "language": self.language or None,
            "ranking_explain_level": "full" if self.why else "off",
        }
        return self.parsed.arguments(beside)

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The filters of the text, each of which can be removed."""
        return tuple(
            Chip(each.written, text := self.parsed.without((each,)), self.address_of(text)) for each in self.parsed.filters
        )

    @property
    def reading(self) -> str:
        """How the text is read where that is not as words; empty otherwise."""
        if self.parsed.history is not None:
            return "a search of commits" if self.parsed.history == "commit" else "a search of what commits changed"
        if self.parsed.mode == "regex" and self.mode == "auto":
            what = "the phrase" if phrase_of(self.parsed.words) else "a pattern"
            return what + (", case counts" if self.parsed.is_case_sensitive else ", in any case")
        return "the text as written, case counts" if self.parsed.mode == "literal" and self.mode == "auto" else ""

    def address_of(self, text: str) -> str:
        """Returns the address of the same search for another text."""
        return address("", **{**self.as_parameters, "q": text})

    def searched(self, projects: tuple[ShownProject, ...]) -> tuple[ShownProject, ...] | None:
        """Returns the projects that are searched; None for all of them, or those of `group`. Raises PageError for a `repo:` that
        means none."""
        if not self.parsed.projects:
            return None if self.is_about_all else () if self.project is None else (self.project,)
        found: dict[str, ShownProject] = {}
        for name in self.parsed.projects:
            if name == ALL_PROJECTS:
                return None
            meant = projects_named(projects, name)
            if not meant:
                raise PageError("project_not_found", f"no project here has {name} in its name.")
            found |= {each.project_id: each for each in meant}
        return tuple(found.values())

    @property
    def wanted(self) -> re.Pattern[str] | None:
        """The pattern of what is marked in the hits; None if nothing is."""
        return wanted_by(self.parsed, is_chosen=self.mode != "auto")


def wanted_by(parsed: ParsedQuery, *, is_chosen: bool = False) -> re.Pattern[str] | None:
    """Returns the pattern of what a query looks for; None if that is no text. `is_chosen`: its mode was not read from it."""
    if parsed.history is not None:
        return None
    words = "" if is_chosen else phrase_of(parsed.words)
    if parsed.mode == "regex" and words:
        return re.compile(f"(?i){re.escape(words)}")
    if parsed.mode in ("regex", "files") or not parsed.query or len(parsed.query) > MARKED_CHARACTERS:
        return None
    return re.compile(re.escape(parsed.query)) if parsed.mode == "literal" else word_pattern(parsed.query)


def search_form(request: HttpRequest, projects: tuple[ShownProject, ...], choices: Choices) -> SearchForm:
    """Returns what a request asks. Raises HttpRefusal."""
    return _form(Fields(request), projects, choices)


def written_form(written: str, projects: tuple[ShownProject, ...], choices: Choices) -> SearchForm | None:
    """Returns the search that `SearchForm.written` stands for; None for none. Raises HttpRefusal."""
    form = _form(WrittenFields(written), projects, choices) if written else None
    return None if form is None or form.project is None or form.parsed.is_empty else form


def _form(fields: Fields, projects: tuple[ShownProject, ...], choices: Choices) -> SearchForm:
    asked_mode = fields.text("mode")
    mode: SearchMode = next((each for each in SEARCH_MODES if each == asked_mode), "auto")
    asked, q = fields.text("project"), fields.text("q")
    group = next((each for each in choices.groups if asked == f"{GROUP}{each}"), "")
    is_about_all = bool(group) or asked == ALL_PROJECTS or (choices.begins_with_all and not asked)
    return SearchForm(
        project=chosen(projects, "" if is_about_all else asked),
        is_about_all=is_about_all,
        group=group,
        q=q,
        mode=mode,
        path=fields.text("path"),
        kind=fields.text("kind"),
        language=fields.text("language"),
        limit=fields.number("limit", HITS, lowest=1, highest=MAX_LIMIT),
        why=bool(fields.text("why")),
        why_not=fields.text("why_not"),
        parsed=parse_query(q, mode),
    )


def projects_named(projects: tuple[ShownProject, ...], name: str) -> tuple[ShownProject, ...]:
    """Returns the project of this name or id, else those that have it in their name, in any case."""
    exact = tuple(each for each in projects if name in (each.project_id, each.name, each.label))
    lowered = name.lower()
    return exact or tuple(each for each in projects if lowered in each.label.lower())
