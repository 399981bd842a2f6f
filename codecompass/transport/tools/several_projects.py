"""Asks several projects one question: which are meant, and what became of each.

    live       -> its actor, from its own snapshot, as for a question about it alone
    not live   -> its index as it was left (`cold_answers.py`); it does not become live
    too slow, not indexed, failed -> named in a warning; the others are answered

Nothing of a project outside the allowed roots takes part, and each root is looked at before its index is.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.messages import Query
from codecompass.errors import CodeCompassError, DeadlineExceeded, InvalidInput, WorkspaceBusy
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata, ProjectPart
from codecompass.protocol.named_projects import several_projects
from codecompass.protocol.replies import FindReferencesReply, ImportedSymbol, LocateSymbolReply, SearchCodeReply, SearchEvidence
from codecompass.protocol.requests import ALL_PROJECTS, FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import most_promising
from codecompass.transport.tools.toolkit import Call
from codecompass.units import MILLISECONDS, SECONDS

SEVERAL_SECONDS: Final = 5 * SECONDS
"""How long all projects together may take where the request names no `timeout_ms`."""

SURVEY_SHARE: Final = 0.5
"""The share of that time that the survey may take: a project that does not answer then takes no part."""

MAX_AT_ONCE: Final = 8
"""Projects that are asked at a time. Their threads are bounded elsewhere; this bounds what waits."""

FULL_SEARCHES: Final = 12
"""Projects that are not live and are searched by words: those with most of the question by a survey that takes a tenth of the
time. With more of them the page is the same (`bench.quality.across`)."""

NAMED_SILENT: Final = 10
"""Projects without an answer that a warning names; it counts the others."""

_ABOUT_ONE: Final = ("project_id", "ref", "changed_since", "why_not")
"""Arguments that mean something in one project only."""

SharedRequest = SearchCode | LocateSymbol | FindReferences
SharedReply = SearchCodeReply | LocateSymbolReply | FindReferencesReply


class ProjectAnswer(Struct, frozen=True):
    """What became of one project: its reply, or why there is none; neither where others have more of the question."""

    selected: SelectedProject
    reply: SharedReply | None = None
    is_checked: bool = False
    """Whether its index was compared with its tree."""
    failure: CodeCompassError | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether the answer is of the tree as it is."""
        return self.is_checked and self.reply is not None and self.reply.metadata.freshness_status == "fresh"


async def selected_projects(call: Call, request: SharedRequest) -> tuple[SelectedProject, ...] | None:
    """Returns the projects that are meant, None where it is one. Raises what `Router.select` raises, and InvalidInput for
    arguments that are about one project."""
    names = await call.services.router.several(request.workspace)
    if names is None:
        return None
    given = [name for name in _ABOUT_ONE if getattr(request, name, None) is not None]
    if given:
        raise InvalidInput(
            f"{given[0]} is about one project, and workspace names several. Leave it out, or name one project.", field=given[0]
        )
    return await call.services.router.select(names)


def deadline_of(request: SharedRequest) -> float:
    """Returns when all have to have answered, by the clock of the event loop."""
    milliseconds = request.timeout_ms if isinstance(request, SearchCode) else None
    return trio.current_time() + (SEVERAL_SECONDS if milliseconds is None else milliseconds * MILLISECONDS)


async def ask_all(
    call: Call,
    request: SharedRequest,
    selected: Sequence[SelectedProject],
    deadline: float,
    imported: ImportedSymbol | None = None,
) -> list[ProjectAnswer]:
    """Asks all, and returns what each answered until `deadline`, in the order of `selected`; `imported` as in `Query`."""
    own = replace(request, workspace=None)
    answers: dict[str, ProjectAnswer] = {}
    turns = trio.CapacityLimiter(MAX_AT_ONCE)

    async def ask(each: SelectedProject) -> None:
        async with turns:
            answers[each.project.project_id] = await _answer(call, own, each, deadline - trio.current_time(), imported)

    with trio.move_on_at(deadline):
        live = {observation.project_id for observation in call.services.workspaces.observe()}
        asked = [each for each in selected if each.project.project_id in live]
        cold = [each for each in selected if each.project.project_id not in live]
        if isinstance(request, SearchCode) and request.mode == "auto" and len(cold) > FULL_SEARCHES:
            cold = await _surveyed(call, request.query, cold, deadline, answers)
        async with trio.open_nursery() as nursery:
            for each in (*asked, *cold):
                nursery.start_soon(ask, each)
    late = DeadlineExceeded("it did not answer in time")
    return [answers.get(each.project.project_id, ProjectAnswer(each, failure=late)) for each in selected]


async def _surveyed(
    call: Call, words: str, cold: Sequence[SelectedProject], deadline: float, answers: dict[str, ProjectAnswer]
) -> list[SelectedProject]:
    """Returns the projects to search: those with most of the question. Notes what becomes of the others."""
    told: dict[str, SearchEvidence | CodeCompassError] = {}
    seconds = SURVEY_SHARE * (deadline - trio.current_time())
    with trio.move_on_after(seconds):
        await call.services.cold_answers.survey([each.project for each in cold], words, seconds, told)
    found = {project_id: each for project_id, each in told.items() if isinstance(each, SearchEvidence)}
    for each in cold:
        failure = told.get(each.project.project_id)
        if isinstance(failure, CodeCompassError):
            answers[each.project.project_id] = ProjectAnswer(each, failure=failure)
    known = [each for each in cold if each.project.project_id in found]
    best = most_promising([found[each.project.project_id] for each in known], FULL_SEARCHES)
    answers.update((each.project.project_id, ProjectAnswer(each)) for number, each in enumerate(known) if number not in best)
    return [known[number] for number in best]


async def _answer(
    call: Call, request: SharedRequest, selected: SelectedProject, seconds: float, imported: ImportedSymbol | None
) -> ProjectAnswer:
    services, project = call.services, selected.project
    try:
        await services.router.require_present(project)
        # No checkpoint between this and asking: a workspace with a question is never evicted.
        is_live = services.workspaces.find(project.project_id) is not None
        if is_live:
            query = Query(request=request, is_for_merging=True, imported=imported, answers=call.answers)
            reply = await services.workspaces.route(project).ask(query, request_id=call.caller.request_id)
        else:
            reply = await services.cold_answers.answer(project, request, seconds, imported, call.answers)
    except CodeCompassError as error:
        return ProjectAnswer(selected, failure=error)
    assert isinstance(reply, SharedReply)
    return ProjectAnswer(selected, reply, is_live)


def several_metadata(
    call: Call, request: SharedRequest, answers: Sequence[ProjectAnswer], shown: Collection[str | None]
) -> Metadata:
    """Returns the metadata of one answer from all; `shown` are the labels of the projects that have hits in it."""
    is_complete = all(
        each.is_fresh and each.reply is not None and each.reply.metadata.result_completeness == "complete" for each in answers
    )
    return Metadata(
        codecompass_protocol_version=PROTOCOL_VERSION,
        freshness_status="fresh" if all(each.is_fresh for each in answers) else "stale",
        indexing_status="ready",
        result_completeness="complete" if is_complete else "partial",
        ref="live",
        schema_status="compatible",
        workspace=", ".join(several_projects(request.workspace) or (request.workspace or ALL_PROJECTS,)),
        project_id="",
        projects=tuple(
            ProjectPart(
                name=each.selected.label,
                root=str(each.selected.project.root),
                freshness_status=each.reply.metadata.freshness_status if each.is_checked else "unchecked",
                total_candidates=each.reply.total if isinstance(each.reply, FindReferencesReply) else each.reply.total_candidates,
            )
            for each in answers
            if each.reply is not None and each.selected.label in shown
        ),
        n_projects=len(answers),
        warnings=(*call.warnings, *_warnings(answers)),
    )


def _warnings(answers: Sequence[ProjectAnswer]) -> list[str]:
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
    return warnings


_REASONS: Final[Mapping[str, str]] = {
    "index_not_ready": "it has no index yet; index_repo makes one",
    "deadline_exceeded": "not in time; pass a larger timeout_ms, or name fewer",
}


def _reason(failure: CodeCompassError) -> str:
    return _REASONS.get(failure.code, failure.message.rstrip("."))


def require_an_answer(answers: Sequence[ProjectAnswer]) -> None:
    """Raises why none answered, where all failed."""
    failed = [(each, each.failure) for each in answers if each.failure is not None]
    if not failed or len(failed) < len(answers):
        return
    first, failure = failed[0]
    if len(failed) == 1:
        raise failure
    names = ", ".join(each.selected.label for each, _ in failed[:NAMED_SILENT])
    raise WorkspaceBusy(
        f"none of {len(failed):,} projects answered ({names}); the first, {first.selected.label}: {failure.message}",
        retry_after_ms=int(SECONDS / MILLISECONDS),
    )
