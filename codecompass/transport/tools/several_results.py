"""Merges the answers of several projects into one page of hits; the uses of a definition are merged by `several_references.py`.

For a server that merges them with its own answers they are returned unmerged: one part a project, with the data for merging.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, Raw
from msgspec.structs import replace

from codecompass.errors import AmbiguousSymbol, InvalidInput, SymbolNotFound, error_body
from codecompass.languages.table import PACKAGES
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.encode import encode, one_line
from codecompass.protocol.parts import PartRequest
from codecompass.protocol.replies import (
    AnswerPart,
    ImportedSymbol,
    LocateSymbolReply,
    PartsReply,
    SearchCodeReply,
)
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import MergedResults, WorkspacePart, in_turns, merged_page, merged_results
from codecompass.query.options import COUNTED_LINES
from codecompass.query.weak_answers import WEAK_EVERYWHERE
from codecompass.query.words.intent import classify
from codecompass.transport.calls import CallOutcome
from codecompass.transport.tools.call import ToolCall, ask_index
from codecompass.transport.tools.project_answers import (
    Answers,
    ProjectAnswer,
    SharedRequest,
    nothing_notice,
    require_an_answer,
    several_metadata,
)
from codecompass.transport.tools.several_projects import ask_all, ask_everybody, asked_projects, deadline_of
from codecompass.transport.tools.several_references import ask_defining, references

MAX_PACKAGES: Final = 10_000
MAX_IMPORTED_LENGTH: Final = 1_000
"""Maximum number of packages in another server's ImportedSymbol, and of characters of each of its texts."""


async def ask_projects(call: ToolCall) -> CallOutcome:
    """Returns the answer of the project that the question addresses, or the merged one of several.

    Raises the same errors as `asked_projects`, as `call.ask_index` for one project, and as `require_an_answer` for several.
    """
    request = call.request
    assert isinstance(request, SearchCode | LocateSymbol | FindReferences)
    asked = await asked_projects(call, request)
    if asked is None:
        return await ask_index(call)
    if call.part is not None and not call.part.is_page:
        return CallOutcome(await _parts_reply(call, request, asked.here, call.part))
    if isinstance(request, FindReferences):
        return CallOutcome(await references(call, request, asked))
    end = request.offset + (request.limit or call.services.default_limit)
    # What comes after the first ones of all projects together is unknown to each of them.
    enough = replace(request, offset=0, limit=end) if request.offset else request
    answers = await ask_everybody(call, enough, asked, deadline_of(call, request))
    require_an_answer(answers)
    return CallOutcome(_page(call, request, answers))


def _page(call: ToolCall, request: SearchCode | LocateSymbol, answers: Answers) -> SearchCodeReply | LocateSymbolReply:
    replies = [
        (each.selected.label, each.reply) for each in answers.each if isinstance(each.reply, SearchCodeReply | LocateSymbolReply)
    ]
    end = request.offset + (request.limit or call.services.default_limit)
    merged = merged_results([WorkspacePart(label, reply) for label, reply in replies], end + 1)
    page = answers.other.page
    if page is not None:
        merged = in_turns(merged, MergedResults(page.results, page.metadata.ranking_reasons), end + 1)
    has_more = len(merged.results) > end or any(reply.next_offset for _, reply in replies)
    merged = merged_page(merged, request.offset, end)
    next_offset = end if has_more and len(merged.results) == end - request.offset else 0
    metadata = several_metadata(call, request, answers, {result.project for result in merged.results})
    metadata = replace(metadata, ranking_reasons=merged.reasons)
    if page is not None:
        metadata = replace(metadata, projects=(*metadata.projects, *page.metadata.projects))
    if replies and not merged.results:
        # Warnings that all projects share, such as that none of the words is known.
        said = [reply.metadata.warnings for _, reply in replies]
        shared = tuple(warning for warning in said[0] if all(warning in others for others in said))
        metadata = replace(metadata, warnings=(*metadata.warnings, *shared))
    total = sum(reply.total_candidates for _, reply in replies) + (0 if page is None else page.total_candidates)
    notices = {reply.notice for _, reply in replies}
    notice = next(iter(notices)) if len(notices) == 1 else ""
    if not merged.results:
        notice = nothing_notice(answers) or notice
    if isinstance(request, LocateSymbol):
        return LocateSymbolReply(
            notice=notice,
            results=merged.results,
            total_candidates=total,
            offset=request.offset,
            next_offset=next_offset,
            metadata=metadata,
        )
    searched = [reply for _, reply in replies if isinstance(reply, SearchCodeReply)]
    is_verbatim = any(reply.is_verbatim for reply in searched)
    everything = [*searched, *([page] if isinstance(page, SearchCodeReply) else [])]
    weak = bool(everything) and all(reply.weak for reply in everything)
    if weak and merged.results:
        notice = WEAK_EVERYWHERE
    is_counted = all(reply.is_counted for reply in everything)
    if request.mode in ("literal", "regex") and total >= COUNTED_LINES:
        # Which projects stopped counting depends on which of them answered first, so what they counted is not shown.
        total, is_counted = COUNTED_LINES, False
        metadata = replace(metadata, projects=tuple(replace(each, total_candidates=0) for each in metadata.projects))
    units = {reply.unit for reply in everything} or {"line" if request.mode in ("literal", "regex") else "place"}
    return SearchCodeReply(
        weak=weak,
        notice="" if is_verbatim and merged.results else notice,
        results=merged.results,
        query_intent=next((reply.query_intent for reply in searched), classify(request.query)),
        total_candidates=total,
        unit=units.pop() if len(units) == 1 else "place",
        is_counted=is_counted,
        offset=request.offset,
        next_offset=next_offset,
        is_verbatim=is_verbatim,
        metadata=metadata,
    )


# parts for another server


async def _parts_reply(
    call: ToolCall, request: SharedRequest, selected: Sequence[SelectedProject], part: PartRequest
) -> PartsReply:
    """Returns the answers of the selected projects but those that `part` leaves out. Raises InvalidInput for an invalid part."""
    if part.imported is not None:
        _check(part.imported)
    ids = await _ids(call, selected)
    left_out = frozenset(part.leave_out)
    wanted = [each for each in selected if left_out.isdisjoint(ids[each.project.project_id])]
    ask = ask_defining if isinstance(request, FindReferences) and part.imported is None else ask_all
    answers = await ask(call, request, wanted, deadline_of(call, request), part.imported)
    # A project that does not define the name has not failed.
    troubled = [each for each in answers if not isinstance(each.failure, SymbolNotFound | AmbiguousSymbol)]
    metadata = several_metadata(call, request, Answers(tuple(troubled)), ())
    return PartsReply(
        parts=tuple(
            _part(each, ids[each.selected.project.project_id])
            for each in answers
            if each.reply is not None or isinstance(each.failure, AmbiguousSymbol)
        ),
        metadata=replace(metadata, n_projects=len(answers)),
    )


async def _ids(call: ToolCall, selected: Sequence[SelectedProject]) -> Mapping[str, frozenset[str]]:
    """Returns the ids by which each project can be left out: its own, and those of the repositories that it is a checkout of."""
    projects = [each.project for each in selected]
    tell = call.services.repository_ids
    known: Mapping[str, frozenset[str]] = {} if tell is None else await tell(projects)
    return {each.project_id: known.get(each.project_id, frozenset()) | {each.project_id} for each in projects}


def _part(answer: ProjectAnswer, ids: frozenset[str]) -> AnswerPart:
    project = answer.selected.project
    return AnswerPart(
        project_id=project.project_id,
        name=answer.selected.label,
        root=str(project.root),
        repositories=tuple(sorted(ids)),
        is_named=answer.selected.is_named,
        is_checked=answer.is_checked,
        reply=UNSET if answer.reply is None else Raw(one_line(encode(answer.reply))),
        error=None if answer.failure is None else error_body(answer.failure),
    )


def _check(symbol: ImportedSymbol) -> None:
    packages = (*symbol.own, *symbol.others)
    texts = (symbol.name, symbol.kind, symbol.owner, *packages)
    if symbol.family not in PACKAGES or len(packages) > MAX_PACKAGES or any(len(each) > MAX_IMPORTED_LENGTH for each in texts):
        raise InvalidInput(
            "the definition that the call is about is of no known language, or has too many packages. Leave it out.",
            field="imported",
        )
