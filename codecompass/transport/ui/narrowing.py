"""Ways to narrow a search: the hits counted by language, directory and kind, and what can follow while a query is typed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import trio
from msgspec import Struct

from codecompass.languages.detect import language_of
from codecompass.protocol.replies import LocateSymbolReply, Reply, Result, SearchCodeReply
from codecompass.protocol.requests import MAX_LIMIT, LocateSymbol, SearchCode
from codecompass.protocol.state_replies import IndexStatusReply
from codecompass.query.query_completion import MAX_COMPLETIONS, Completion, completions, typed_filter
from codecompass.query.query_language import FilterName
from codecompass.transport.ui.questions import PageError, ToolQueries
from codecompass.transport.ui.search_form import SearchForm
from codecompass.transport.ui.shown_projects import ShownProject

FACET_VALUES: Final = 6
"""Values of one facet that are shown, the most frequent."""

COUNTED: Final = MAX_LIMIT
"""Hits that are counted, the best."""


class FacetValue(Struct, frozen=True):
    """A value with its number of hits, and the text and the address of the query that is narrowed to it."""

    shown: str
    count: int
    text: str
    address: str


class Facet(Struct, frozen=True):
    """The hits counted by one property."""

    name: str
    values: tuple[FacetValue, ...]


class Facets(Struct, frozen=True):
    """The counts of a search. `is_partial`: there are more hits than those that were counted."""

    facets: tuple[Facet, ...]
    n_counted: int
    is_partial: bool


async def ask_projects(
    questions: ToolQueries, form: SearchForm, searched: Sequence[ShownProject] | None, **others: object
) -> Reply:
    """Returns the answer to a form about these projects, all for None; `others` replace its arguments. Raises PageError."""
    arguments = {**form.arguments, **others}
    if searched is not None and len(searched) == 1:
        why_not = {"why_not": form.why_not or None} if form.parsed.tool == SearchCode.tool and not others else {}
        return await questions.show(form.parsed.tool, searched[0].project_id, **arguments, **why_not)
    of_group = {"workspace": form.group} if form.group and not form.parsed.projects else {}
    named = of_group if searched is None else {"workspace": [each.project_id for each in searched]}
    return await questions.show_all(form.parsed.tool, **arguments, **named)


async def count_facets(questions: ToolQueries, form: SearchForm, projects: tuple[ShownProject, ...]) -> Facets | None:
    """Returns the counts of the best hits of a search; None if it cannot be answered, which the results say."""
    if form.project is None or form.parsed.is_empty or form.parsed.history is not None:
        return None
    try:
        reply = await ask_projects(
            questions, form, form.searched(projects), limit=COUNTED, detail_level="location", ranking_explain_level="off"
        )
    except PageError:
        return None
    assert isinstance(reply, SearchCodeReply | LocateSymbolReply)
    return await trio.to_thread.run_sync(_facets, form, reply)


def _facets(form: SearchForm, reply: SearchCodeReply | LocateSymbolReply) -> Facets:
    hits = reply.results
    below = _directory_of(form)
    counted: tuple[tuple[str, FilterName, Counter[str], str], ...] = (
        ("Language", "lang", Counter(hit.language or language_of(hit.path, b"") for hit in hits), "{}"),
        ("Directory", "file", Counter(filter(None, (_directory(hit.path, below) for hit in hits))), "^{}"),
        ("Kind", "kind", Counter(_kinds(hits)), "{}"),
    )
    facets = (Facet(title, _values(form, name, counts, pattern)) for title, name, counts, pattern in counted)
    return Facets(tuple(each for each in facets if each.values), len(hits), reply.total_candidates > len(hits))


def _values(form: SearchForm, name: FilterName, counts: Mapping[str, int], pattern: str) -> tuple[FacetValue, ...]:
    ordered = sorted(((value, count) for value, count in counts.items() if value), key=lambda item: (-item[1], item[0]))
    found = []
    for value, count in ordered[:FACET_VALUES]:
        # A directory within one that is asked for replaces that.
        replaced = [each for each in form.parsed.filters if name == "file" and each.name == "file" and each.value[:1] == "^"]
        rest = form.parsed.without(replaced)
        text = form.parsed.with_filter(name, pattern.format(value)) if not replaced else f"{rest} {name}:^{value}".strip()
        found.append(FacetValue(value, count, text, form.address_of(text)))
    return tuple(found)


def _kinds(hits: Iterable[Result]) -> list[str]:
    return [hit.kind for hit in hits if hit.kind and hit.kind != "use"]


def _directory_of(form: SearchForm) -> str:
    """Returns the directory that the text asks for, with a slash at its end; empty for the root."""
    asked = [each.value[1:] for each in form.parsed.filters if each.name == "file" and each.value.startswith("^")]
    return asked[0] if len(asked) == 1 and asked[0].endswith("/") else ""


def _directory(path: str, below: str) -> str:
    """Returns the directory just below another one that a file lies in, with a slash at its end; empty if it is in none."""
    if not path.startswith(below):
        return ""
    name, slash, _ = path[len(below) :].partition("/")
    return f"{below}{name}/" if slash else ""


class Completer:
    """Says what can follow in a query; asks the index for names and paths, and nothing if none of them is typed."""

    def __init__(self, questions: ToolQueries) -> None:
        self._questions = questions

    async def complete(
        self, text: str, project: ShownProject | None, projects: tuple[ShownProject, ...]
    ) -> tuple[Completion, ...]:
        """Returns what can follow at the end of a text, best first; nothing where the index cannot be asked."""
        typed = typed_filter(text)
        values: dict[FilterName, Sequence[str]] = {"repo": tuple(each.label for each in projects)}
        if typed is not None and typed.name is not None and project is not None:
            try:
                values |= await self._values(typed.name, typed.value.strip(), project.project_id)
            except PageError:
                pass  # the list stays empty; the search itself says what is the matter
        return completions(text, values)

    async def _values(self, name: FilterName, typed: str, project_id: str) -> dict[FilterName, Sequence[str]]:
        match name:
            case "lang":
                status = await self._questions.show("index_status", project_id)
                assert isinstance(status, IndexStatusReply)
                counts = status.languages
                return {"lang": sorted(counts, key=lambda language: -counts[language])}
            case "file" | "-file" if typed.strip("^$/*"):
                reply = await self._questions.show(
                    SearchCode.tool, project_id, query=typed.strip("^$"), mode="files", limit=MAX_COMPLETIONS
                )
                assert isinstance(reply, SearchCodeReply)
                return {"file": [hit.path for hit in reply.results]}
            case "sym" if typed:
                located = await self._questions.show(LocateSymbol.tool, project_id, name=typed, limit=MAX_COMPLETIONS)
                assert isinstance(located, LocateSymbolReply)
                return {"sym": [hit.qualified_name or hit.name for hit in located.results if hit.name]}
            case _:
                return {}
