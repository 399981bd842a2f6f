"""Merges the answers of several projects into one: a page of hits, or the uses of a definition in all projects that import it.

For a server that merges them with its own answers they are returned unmerged: one part a project, with the data for merging.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import UNSET, Raw
from msgspec.structs import replace

from codecompass.errors import AmbiguousSymbol, IndexNotReady, InvalidInput, SymbolNotFound, WorkspaceBusy, error_body
from codecompass.languages.table import PACKAGES
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.encode import encode, one_line
from codecompass.protocol.parts import PartRequest
from codecompass.protocol.replies import (
    AnswerPart,
    FindReferencesReply,
    ImportedSymbol,
    LocateSymbolReply,
    PartsReply,
    SearchCodeReply,
)
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import MergedResults, WorkspacePart, in_turns, merged_page, merged_results
from codecompass.query.options import COUNTED_LINES
from codecompass.query.uses.chosen_symbol import MAX_SYMBOLS
from codecompass.query.weak_answers import WEAK_EVERYWHERE
from codecompass.query.words.intent import classify
from codecompass.transport.calls import CallOutcome
from codecompass.transport.tools.call import ToolCall, ask_index
from codecompass.transport.tools.merged_uses import Home, MergedUses
from codecompass.transport.tools.project_answers import (
    RETRY_MS,
    Answers,
    Asked,
    OtherAnswers,
    ProjectAnswer,
    SharedRequest,
    nothing_notice,
    require_an_answer,
    several_metadata,
    silence,
)
from codecompass.transport.tools.several_projects import (
    ask_all,
    ask_everybody,
    asked_projects,
    deadline_of,
)

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
        return CallOutcome(await _references(call, request, asked))
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


# references


async def _references(call: ToolCall, request: FindReferences, asked: Asked) -> FindReferencesReply:
    """Returns the uses of the definitions of a name: product code in projects that import their package, then in their own
    project, then tests.

    The first named project's definitions are meant if it has any, otherwise those of all projects.

    Raises SymbolNotFound if no project defines it, AmbiguousSymbol if they define too many.
    """
    deadline = deadline_of(call, request)
    enough = replace(request, offset=0, limit=request.offset + request.limit)
    # The project that is named first is the one whose definition is meant, so the others are not waited for.
    first, rest = _named_first(asked)
    answers = await ask_everybody(call, enough, first, deadline, beside=asked.here if first.here else ())
    if not any(each.reply for each in answers.each):
        later = await ask_everybody(call, enough, rest, deadline, beside=asked.here)
        answers = _together(answers, later)
    merged = MergedUses(_homes(request, answers))
    told: dict[str, ProjectAnswer] = {home.selected.project.project_id: home for home, _ in merged.homes}
    other = answers.other if answers.other.failure is not None else OtherAnswers()
    for number, (home, found) in enumerate(merged.homes):
        if found.imported is None:
            continue
        home_id = home.selected.project.project_id
        is_here = any(each is home for each in answers.here)
        everybody = Asked(tuple(each for each in asked.here if each.project.project_id != home_id), asked.elsewhere)
        without = () if is_here else (home_id,)
        outside = await ask_everybody(
            call, enough, everybody, deadline, beside=asked.here, without=without, imported=found.imported
        )
        merged.add(number, outside.each)
        told = {each.selected.project.project_id: each for each in outside.here} | told
        other = outside.other
    reply = merged.reply(request)
    shown = {*merged.labels, *(use.project for use in reply.references)}
    metadata = several_metadata(call, request, Answers(tuple(told.values()), other), shown)
    if request.offset + len(reply.references) < reply.total and metadata.result_completeness == "complete":
        metadata = replace(metadata, result_completeness="truncated")
    if all(found.imported is None for _, found in merged.homes):
        reason = (
            "the language of the definition has no packages that others import by name; its own project alone was looked through"
        )
        metadata = replace(metadata, warnings=(*metadata.warnings, reason))
    return replace(reply, metadata=metadata)


def _named_first(asked: Asked) -> tuple[Asked, Asked]:
    """Returns the project that is named first, if any, whose definition is preferred, and the others."""
    if asked.is_elsewhere_first:
        return Asked((), asked.elsewhere[:1]), Asked(asked.here, asked.elsewhere[1:])
    n_first = 1 if asked.here and asked.here[0].is_named else 0
    return Asked(asked.here[:n_first]), Asked(asked.here[n_first:], asked.elsewhere)


def _together(first: Answers, later: Answers) -> Answers:
    one, two = first.other, later.other
    other = OtherAnswers(
        answers=(*one.answers, *two.answers),
        n_projects=one.n_projects + two.n_projects,
        is_fresh=one.is_fresh and two.is_fresh,
        is_complete=one.is_complete and two.is_complete,
        warnings=tuple(dict.fromkeys((*one.warnings, *two.warnings))),
        failure=one.failure or two.failure,
    )
    return Answers((*first.here, *later.here), other)


def _homes(request: FindReferences, answers: Answers) -> list[Home]:
    """Returns the answers of the projects that define the symbol: of the one that is named first alone, if it does."""
    defining = [(each, each.reply) for each in answers.each if isinstance(each.reply, FindReferencesReply)]
    refused = [each for each in answers.each if isinstance(each.failure, AmbiguousSymbol)]
    if defining and defining[0][0].selected.is_named and defining[0][0] is answers.each[0]:
        return defining[:1]
    if not defining and not refused:
        failed = tuple(each for each in answers.here if not isinstance(each.failure, SymbolNotFound))
        if len(failed) == len(answers.here):
            require_an_answer(Answers(failed))
        name = request.symbol_name[:100]
        silent = "; ".join(silence(answers))
        causes = [each.failure for each in failed if each.failure is not None]
        # An index that is not there yet is the usual state of some project of a machine.
        if any(cause.is_retryable and not isinstance(cause, IndexNotReady) for cause in causes):
            raise WorkspaceBusy(
                f"no project that could be asked defines {name}, and not all could. {silent[:1].upper()}{silent[1:]}",
                retry_after_ms=RETRY_MS,
            )
        where = f"project that could be asked ({silent})" if silent else "project"
        raise SymbolNotFound(
            f"no {where} defines {name}. Find it with search_code, or locate_symbol for similar names.", name=name
        )
    known = [(each.selected.label, one) for each, reply in defining for one in (reply.definitions or (reply.definition,))]
    if not refused and len(known) <= MAX_SYMBOLS:
        return defining
    candidates: list[object] = [
        {
            "path": f"{label}:{one.path}",
            "line": one.line_start,
            "kind": one.kind,
            "qualified_name": one.qualified_name,
        }
        for label, one in known
    ]
    for each in refused:
        found = each.failure.data.get("candidates") if each.failure is not None else None
        candidates += [
            {**one, "path": f"{each.selected.label}:{one['path']}"} for one in (found if isinstance(found, list) else ())
        ]
    raise AmbiguousSymbol(
        f"many definitions are named {request.symbol_name[:100]}. Name the project that is meant first in workspace, before "
        "the others (as in: api,*), and pass path or a qualified name where it has several.",
        candidate_count=len(candidates),
        candidates=candidates[:MAX_SYMBOLS],
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
    answers = await ask_all(call, request, wanted, deadline_of(call, request), part.imported)
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
