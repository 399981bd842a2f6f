"""A question about several projects: which are meant, each asked by itself, one answer from all.

    live       -> its actor, from its own snapshot, as for a question about it alone
    not live   -> its index as it was left (`cold_answers.py`); it does not become live
    too slow, not indexed, failed -> named in a warning; the others are answered

Nothing of a project outside the allowed roots takes part, and each root is looked at before its index is.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.messages import Query
from codecompass.errors import CodeCompassError, DeadlineExceeded, InvalidInput, WorkspaceBusy
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata, ProjectPart
from codecompass.protocol.named_projects import several_projects
from codecompass.protocol.replies import LocateSymbolReply, SearchCodeReply, SearchEvidence
from codecompass.protocol.requests import ALL_PROJECTS, LocateSymbol, SearchCode
from codecompass.query.merging import Part, merged_results, most_promising
from codecompass.transport.calls import Outcome
from codecompass.transport.tools.toolkit import Call, ask_index
from codecompass.units import MILLISECONDS, SECONDS

SEVERAL_SECONDS: Final = 5 * SECONDS
"""How long all projects together may take where the request names no `timeout_ms`."""

MAX_AT_ONCE: Final = 8
"""Projects that are asked at a time. Their threads are bounded elsewhere; this bounds what waits."""

FULL_SEARCHES: Final = 12
"""Projects that are not live and are searched by words: those with most of the question by a survey that takes a tenth of the
time. With more of them the page is the same (`bench.quality.across`)."""

NAMED_SILENT: Final = 10
"""Projects without an answer that a warning names; it counts the others."""

_ABOUT_ONE: Final = ("ref", "changed_since", "why_not")
"""Arguments that mean something in one project only."""


class _Answer(Struct, frozen=True):
    """What became of one project: its reply, or why there is none; neither where others have more of the question."""

    selected: SelectedProject
    reply: SearchCodeReply | LocateSymbolReply | None = None
    is_checked: bool = False
    """Whether its index was compared with its tree."""
    failure: CodeCompassError | None = None


async def ask_projects(call: Call) -> Outcome:
    """Returns what the index of the project says that is meant, or those of all that are.

    Raises ProjectNotFound for a name that no project has, InvalidInput for arguments that are about one project, and what
    `toolkit.ask_index` raises where one is meant.
    """
    request = call.request
    assert isinstance(request, SearchCode | LocateSymbol)
    names = await call.services.router.several(request.workspace)
    if names is None:
        return await ask_index(call)
    _require_about_several(request)
    selected = await call.services.router.select(names)
    answers = await _answers(call, request, selected)
    return Outcome(_merged(call, request, answers))


def _require_about_several(request: SearchCode | LocateSymbol) -> None:
    given = [name for name in _ABOUT_ONE if getattr(request, name, None) is not None]
    if request.project_id is not None:
        given.append("project_id")
    if given:
        raise InvalidInput(
            f"{given[0]} is about one project, and workspace names several. Leave it out, or name one project.", field=given[0]
        )


async def _answers(call: Call, request: SearchCode | LocateSymbol, selected: Sequence[SelectedProject]) -> list[_Answer]:
    """Asks all, and returns what each answered in time, in the order of `selected`."""
    milliseconds = request.timeout_ms if isinstance(request, SearchCode) else None
    seconds = SEVERAL_SECONDS if milliseconds is None else milliseconds * MILLISECONDS
    own = replace(request, workspace=None)
    answers: dict[str, _Answer] = {}
    turns = trio.CapacityLimiter(MAX_AT_ONCE)

    async def ask(each: SelectedProject) -> None:
        async with turns:
            answers[each.project.project_id] = await _answer(call, own, each, deadline - trio.current_time())

    deadline = trio.current_time() + seconds
    with trio.move_on_at(deadline):
        live = {observation.project_id for observation in call.services.workspaces.observe()}
        asked = [each for each in selected if each.project.project_id in live]
        cold = [each for each in selected if each.project.project_id not in live]
        if isinstance(request, SearchCode) and request.mode == "auto" and len(cold) > FULL_SEARCHES:
            cold = await _surveyed(call, request.query, cold, answers)
        async with trio.open_nursery() as nursery:
            for each in (*asked, *cold):
                nursery.start_soon(ask, each)
    late = DeadlineExceeded("it did not answer in time")
    return [answers.get(each.project.project_id, _Answer(each, failure=late)) for each in selected]


async def _surveyed(
    call: Call, words: str, cold: Sequence[SelectedProject], answers: dict[str, _Answer]
) -> list[SelectedProject]:
    """Returns the projects to search: those with most of the question. Notes what becomes of the others."""
    found: dict[str, SearchEvidence] = {}
    turns = trio.CapacityLimiter(MAX_AT_ONCE)

    async def survey(each: SelectedProject) -> None:
        async with turns:
            try:
                await call.services.router.require_present(each.project)
                found[each.project.project_id] = await call.services.cold_answers.survey(each.project, words)
            except CodeCompassError as error:
                answers[each.project.project_id] = _Answer(each, failure=error)

    async with trio.open_nursery() as nursery:
        for each in cold:
            nursery.start_soon(survey, each)
    known = [each for each in cold if each.project.project_id in found]
    best = most_promising([found[each.project.project_id] for each in known], FULL_SEARCHES)
    chosen = [known[number] for number in best]
    for each in known:
        if each not in chosen:
            answers[each.project.project_id] = _Answer(each)
    return chosen


async def _answer(call: Call, request: SearchCode | LocateSymbol, selected: SelectedProject, seconds: float) -> _Answer:
    services, project = call.services, selected.project
    try:
        await services.router.require_present(project)
        # No checkpoint between this and asking: a workspace with a question is never evicted.
        if services.workspaces.find(project.project_id) is not None:
            handle = services.workspaces.route(project)
            reply = await handle.ask(
                Query(request=request, is_for_merging=True, answers=call.answers), request_id=call.caller.request_id
            )
            is_checked = True
        else:
            reply = await services.cold_answers.answer(project, request, seconds)
            is_checked = False
    except CodeCompassError as error:
        return _Answer(selected, failure=error)
    assert isinstance(reply, SearchCodeReply | LocateSymbolReply)
    return _Answer(selected, reply, is_checked)


def _merged(call: Call, request: SearchCode | LocateSymbol, answers: Sequence[_Answer]) -> SearchCodeReply | LocateSymbolReply:
    answered = [(each, each.reply) for each in answers if each.reply is not None]
    failed = [(each, each.failure) for each in answers if each.failure is not None]
    if failed and len(failed) == len(answers):
        raise _all_failed(failed)
    merged = merged_results([Part(each.selected.label, reply) for each, reply in answered], _limit(call, request))
    shown = {result.project for result in merged.results}
    metadata = Metadata(
        codecompass_protocol_version=PROTOCOL_VERSION,
        freshness_status="fresh" if all(map(_is_fresh, answers)) else "stale",
        indexing_status="ready",
        result_completeness="complete" if all(map(_is_complete, answers)) else "partial",
        ref="live",
        schema_status="compatible",
        workspace=_asked(request),
        project_id="",
        ranking_reasons=merged.reasons,
        projects=tuple(
            ProjectPart(
                name=each.selected.label,
                root=str(each.selected.project.root),
                freshness_status=reply.metadata.freshness_status if each.is_checked else "unchecked",
                total_candidates=reply.total_candidates,
            )
            for each, reply in answered
            if each.selected.label in shown
        ),
        n_projects=len(answers),
        warnings=(*call.warnings, *_warnings(answers)),
    )
    total = sum(reply.total_candidates for _, reply in answered)
    if isinstance(request, LocateSymbol):
        return LocateSymbolReply(results=merged.results, total_candidates=total, metadata=metadata)
    intent = next((reply.query_intent for _, reply in answered if isinstance(reply, SearchCodeReply)), "natural_language")
    return SearchCodeReply(results=merged.results, query_intent=intent, total_candidates=total, metadata=metadata)


def _limit(call: Call, request: SearchCode | LocateSymbol) -> int:
    return request.limit or call.services.default_limit


def _asked(request: SearchCode | LocateSymbol) -> str:
    return ", ".join(several_projects(request.workspace) or (request.workspace or ALL_PROJECTS,))


def _is_fresh(answer: _Answer) -> bool:
    return answer.is_checked and answer.reply is not None and answer.reply.metadata.freshness_status == "fresh"


def _is_complete(answer: _Answer) -> bool:
    return _is_fresh(answer) and answer.reply is not None and answer.reply.metadata.result_completeness == "complete"


def _warnings(answers: Sequence[_Answer]) -> list[str]:
    warnings: list[str] = []
    reasons: dict[str, list[str]] = {}
    for each in answers:
        if each.failure is not None:
            reasons.setdefault(_reason(each.failure), []).append(each.selected.label)
    for reason, names in reasons.items():
        more = f" and {len(names) - NAMED_SILENT:,} more" if len(names) > NAMED_SILENT else ""
        warnings.append(f"no answer from {', '.join(names[:NAMED_SILENT])}{more}: {reason}")
    unchecked = sum(not each.is_checked and each.failure is None for each in answers)
    if unchecked:
        warnings.append(
            f"{unchecked:,} of {len(answers):,} projects were answered from their indexes as they are, and only "
            "the files shown were compared with the disk; name one alone for its newest state"
        )
    replies = [each.reply for each in answers if each.reply is not None]
    if not any(reply.results for reply in replies):
        # What all say of the question, such as that none has a word of it.
        said = [reply.metadata.warnings for reply in replies]
        warnings += [warning for warning in said[0] if all(warning in others for others in said)] if said else []
    return warnings


_REASONS: Final[Mapping[str, str]] = {
    "index_not_ready": "it has no index yet; index_repo makes one",
    "deadline_exceeded": "not in time; pass a larger timeout_ms, or name fewer",
}


def _reason(failure: CodeCompassError) -> str:
    return _REASONS.get(failure.code, failure.message.rstrip("."))


def _all_failed(failed: Sequence[tuple[_Answer, CodeCompassError]]) -> CodeCompassError:
    first, failure = failed[0]
    if len(failed) == 1:
        return failure
    names = ", ".join(each.selected.label for each, _ in failed[:NAMED_SILENT])
    return WorkspaceBusy(
        f"none of {len(failed):,} projects answered ({names}); the first, {first.selected.label}: {failure.message}",
        retry_after_ms=int(SECONDS / MILLISECONDS),
    )
