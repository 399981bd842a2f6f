"""One answer from several projects: a page of hits, or the uses of a definition wherever it is imported."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from codecompass.errors import AmbiguousSymbol, SymbolNotFound
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, ReferenceCounts, SearchCodeReply
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import Part, merged_results
from codecompass.transport.calls import Outcome
from codecompass.transport.tools.several_projects import (
    ProjectAnswer,
    ask_all,
    deadline_of,
    require_an_answer,
    selected_projects,
    several_metadata,
)
from codecompass.transport.tools.toolkit import Call, ask_index

SHOWN_CANDIDATES: Final = 20
"""Definitions of a name in several projects that an error lists."""


async def ask_projects(call: Call) -> Outcome:
    """Returns what the index of the project says that is meant, or those of all that are.

    Raises what `selected_projects` raises, what `toolkit.ask_index` raises where one project is meant, and why none answered
    where all of several failed.
    """
    request = call.request
    assert isinstance(request, SearchCode | LocateSymbol | FindReferences)
    selected = await selected_projects(call, request)
    if selected is None:
        return await ask_index(call)
    if isinstance(request, FindReferences):
        return Outcome(await _references(call, request, selected))
    answers = await ask_all(call, request, selected, deadline_of(request))
    require_an_answer(answers)
    return Outcome(_page(call, request, answers))


def _page(
    call: Call, request: SearchCode | LocateSymbol, answers: Sequence[ProjectAnswer]
) -> SearchCodeReply | LocateSymbolReply:
    replies = [
        (each.selected.label, each.reply) for each in answers if isinstance(each.reply, SearchCodeReply | LocateSymbolReply)
    ]
    limit = request.limit or call.services.default_limit
    merged = merged_results([Part(label, reply) for label, reply in replies], limit)
    metadata = several_metadata(call, request, answers, {result.project for result in merged.results})
    metadata = replace(metadata, ranking_reasons=merged.reasons)
    if replies and not merged.results:
        # What all say of the question, such as that none has a word of it.
        said = [reply.metadata.warnings for _, reply in replies]
        shared = tuple(warning for warning in said[0] if all(warning in others for others in said))
        metadata = replace(metadata, warnings=(*metadata.warnings, *shared))
    total = sum(reply.total_candidates for _, reply in replies)
    if isinstance(request, LocateSymbol):
        return LocateSymbolReply(results=merged.results, total_candidates=total, metadata=metadata)
    intent = next((reply.query_intent for _, reply in replies if isinstance(reply, SearchCodeReply)), "natural_language")
    return SearchCodeReply(results=merged.results, query_intent=intent, total_candidates=total, metadata=metadata)


# references


async def _references(call: Call, request: FindReferences, selected: Sequence[SelectedProject]) -> FindReferencesReply:
    """Returns the uses of a definition: product code in projects that import its package, then in its own; last tests.

    Raises SymbolNotFound where no project defines it, AmbiguousSymbol where several do and the first that is named does not.
    """
    deadline = deadline_of(request)
    enough = replace(request, offset=0, limit=request.offset + request.limit)
    # Whoever names a project first means its definition, and need not wait for what others have.
    n_first = 1 if selected[0].is_named else 0
    answers = await ask_all(call, enough, selected[:n_first], deadline)
    if not any(each.reply for each in answers):
        answers += await ask_all(call, enough, selected[n_first:], deadline)
    home = _home(request, answers)
    found = home.reply
    assert isinstance(found, FindReferencesReply)
    others: list[ProjectAnswer] = []
    if found.imported is not None:
        rest = [each for each in selected if each.project.project_id != home.selected.project.project_id]
        others = await ask_all(call, enough, rest, deadline, found.imported)
    parts = [home, *others]
    replies = [(each.selected.label, each.reply) for each in parts if isinstance(each.reply, FindReferencesReply)]
    uses = [replace(use, project=label) for label, reply in replies for use in reply.references]
    uses.sort(key=lambda use: (use.is_test, use.project == home.selected.label))
    page = tuple(uses[request.offset : request.offset + request.limit])
    metadata = several_metadata(call, request, parts, {home.selected.label, *(use.project for use in page)})
    total = sum(reply.total for _, reply in replies)
    if request.offset + len(page) < total and metadata.result_completeness == "complete":
        metadata = replace(metadata, result_completeness="truncated")
    if found.imported is None:
        reason = (
            "the language of the definition has no packages that others import by name; its own project alone was looked through"
        )
        metadata = replace(metadata, warnings=(*metadata.warnings, reason))
    return FindReferencesReply(
        definition=replace(found.definition, project=home.selected.label),
        references=page,
        counts=_summed([reply.counts for _, reply in replies]),
        total=total,
        offset=request.offset,
        metadata=metadata,
    )


def _home(request: FindReferences, answers: Sequence[ProjectAnswer]) -> ProjectAnswer:
    """Returns the answer of the project that defines the symbol."""
    defining = [each for each in answers if each.reply is not None]
    ambiguous = [each for each in answers if isinstance(each.failure, AmbiguousSymbol)]
    if (len(defining) == 1 and not ambiguous) or (defining and defining[0] is answers[0] and answers[0].selected.is_named):
        return defining[0]
    if not defining and not ambiguous:
        require_an_answer([each for each in answers if not isinstance(each.failure, SymbolNotFound)])
        name = request.symbol_name[:100]
        raise SymbolNotFound(
            f"no project defines {name}. Find it with search_code, or locate_symbol for similar names.", name=name
        )
    candidates = [
        {
            "path": f"{each.selected.label}:{reply.definition.path}",
            "line": reply.definition.line_start,
            "kind": reply.definition.kind,
            "qualified_name": reply.definition.qualified_name,
        }
        for each in defining
        if isinstance(reply := each.reply, FindReferencesReply)
    ]
    for each in ambiguous:
        found = each.failure.data.get("candidates") if each.failure is not None else None
        candidates += [
            {**one, "path": f"{each.selected.label}:{one['path']}"} for one in (found if isinstance(found, list) else ())
        ]
    raise AmbiguousSymbol(
        f"several definitions are named {request.symbol_name[:100]}. Name the project that is meant first in workspace, before "
        "the others (as in: api,*), and pass path or a qualified name where it has several.",
        candidate_count=len(candidates),
        candidates=candidates[:SHOWN_CANDIDATES],
    )


def _summed(counts: Sequence[ReferenceCounts]) -> ReferenceCounts:
    roles: dict[str, int] = {}
    for each in counts:
        for role, number in each.roles.items():
            roles[role] = roles.get(role, 0) + number
    return ReferenceCounts(
        exact=sum(each.exact for each in counts),
        likely=sum(each.likely for each in counts),
        possible=sum(each.possible for each in counts),
        elsewhere=sum(each.elsewhere for each in counts),
        tests=sum(each.tests for each in counts),
        roles=dict(sorted(roles.items())),
    )
