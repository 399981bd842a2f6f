"""Asks several projects one question: selects the projects, and collects the answer or failure of each.

    live       -> its actor indexes pending changes; then its index is read in another process, so that others are not slowed down
    changing   -> its actor answers, as for a question about it alone, if changes are not indexed in time
    cold       -> its index is read as it is (`cold_answers.py`); it does not become live
    too slow, not indexed, failed -> named in a warning; the others are answered

Projects outside the allowed roots never take part, and the root of each project is checked before it answers. Another server for
projects that are not on this machine is queried at the same time.
"""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Literal

import trio
from msgspec.structs import replace

from codecompass.actors.messages import Query, Settle
from codecompass.errors import CodeCompassError, InternalError, InvalidInput, reported
from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.decode import asked_elsewhere
from codecompass.protocol.replies import ImportedSymbol, SearchEvidence
from codecompass.protocol.requests import ALL_PROJECTS, FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import most_promising
from codecompass.tracing import N_CHOSEN, N_REPOSITORIES, REPOSITORY, note, part
from codecompass.transport.tools.call import ToolCall
from codecompass.transport.tools.project_answers import (
    Answers,
    Asked,
    OtherAnswers,
    PageFill,
    ProjectAnswer,
    SharedReply,
    SharedRequest,
)
from codecompass.units import MILLISECONDS, SECONDS

Ask = Callable[
    [ToolCall, SharedRequest, Sequence[SelectedProject], float, ImportedSymbol | None], Awaitable[Sequence[ProjectAnswer]]
]
"""Asks local projects, as `ask_all` does."""

SEVERAL_SECONDS: Final = 5 * SECONDS
"""How long all projects together may take if the request has no `timeout_ms`."""

PREPARING_SHARE: Final = 0.3
SAMPLE_SHARE: Final = 0.5
"""The shares of the remaining time for indexing changes, and then for the samples."""

MAX_AT_ONCE: Final = 8
"""Projects that are asked at a time: most of them wait for changes to be indexed, or for the files of their index."""

READ_AT_ONCE: Final = 2
"""Indexes that one question reads at a time. Most of a search holds the interpreter lock: with eight at a time the same search
took twice the CPU time, and no less time (literals over 29 repositories, measured 2026-11-28). The later ones also know how much
of the page is filled."""

FULL_SEARCHES: Final = 4
"""Projects that are searched by words: those that match most of the question by their samples, which take a tenth of the time.
With six no more messages find their commit among ten (`bench.quality.across`)."""

_ABOUT_ONE: Final = ("project_id", "ref", "changed_since", "why_not")
"""Arguments that only have a meaning in one project."""


async def asked_projects(call: ToolCall, request: SharedRequest) -> Asked | None:
    """Returns the projects that the question addresses; None if it is one project. Raises the same errors as `Router.select`, and
    InvalidInput for arguments that are about one project."""
    names = await call.services.router.several(request.workspace)
    if names is None:
        return None
    given = [name for name in _ABOUT_ONE if getattr(request, name, None) is not None]
    if isinstance(request, FindReferences) and request.relation != "uses":
        given.append("relation")
    if given:
        raise InvalidInput(
            f"{given[0]} is about one project, and workspace names several. Leave it out, or name one project.", field=given[0]
        )
    if call.elsewhere is None:
        return Asked(await call.services.router.select(names))
    here, elsewhere = await call.elsewhere.split(names)
    return Asked(here, elsewhere, is_elsewhere_first=bool(elsewhere) and names[0] != ALL_PROJECTS and _leads(names[0], elsewhere))


def _leads(name: str, elsewhere: Sequence[str]) -> bool:
    return (asked_elsewhere(name) or name.strip()) == elsewhere[0]


def deadline_of(call: ToolCall, request: SharedRequest) -> float:
    """Returns the deadline for all projects, in trio time."""
    milliseconds = request.timeout_ms if isinstance(request, SearchCode | FindReferences) else None
    seconds = SEVERAL_SECONDS if milliseconds is None else milliseconds * MILLISECONDS
    if call.part is not None and call.part.seconds:
        seconds = min(seconds, call.part.seconds)
    return trio.current_time() + seconds


async def ask_everybody(
    call: ToolCall,
    request: SharedRequest,
    asked: Asked,
    deadline: float,
    *,
    beside: Sequence[SelectedProject] | None = None,
    without: Sequence[str] = (),
    imported: ImportedSymbol | None = None,
    ask: Ask | None = None,
) -> Answers:
    """Asks the local projects, and another server at the same time.

    `beside` are the projects whose repositories that server leaves out, by default those of `asked`. `ask` asks the local ones,
    by default `ask_all`; the others as there and in `Elsewhere.ask`.
    """
    ask = ask or ask_all
    if call.elsewhere is None or not asked.elsewhere:
        return Answers(tuple(await ask(call, request, asked.here, deadline, imported)))
    here: list[ProjectAnswer] = []
    other = OtherAnswers()
    async with open_nursery() as nursery:

        async def ask_here() -> None:
            here.extend(await ask(call, request, asked.here, deadline, imported))

        nursery.start_soon(ask_here)
        known = asked.here if beside is None else beside
        other = await call.elsewhere.ask(
            call,
            request,
            asked.elsewhere,
            deadline,
            beside=[each.project for each in known],
            without=without,
            imported=imported,
        )
    return Answers(tuple(here), other)


async def ask_all(
    call: ToolCall,
    request: SharedRequest,
    selected: Sequence[SelectedProject],
    deadline: float,
    imported: ImportedSymbol | None = None,
    *,
    is_definition_only: bool = False,
) -> list[ProjectAnswer]:
    """Asks all projects, and returns their answers until `deadline`, in the order of `selected`; the others as in `Query`."""
    own = replace(request, workspace=None)
    answers: dict[str, ProjectAnswer] = {}
    # A search by words asks few anyway, and a page of uses has those of all projects.
    is_in_order = isinstance(request, LocateSymbol) or (isinstance(request, SearchCode) and request.mode != "auto")
    limit = request.limit or call.services.default_limit if is_in_order else None

    async def ask_in_turn(waiting: Iterator[SelectedProject], page: PageFill) -> None:
        for each in waiting:
            project_id = each.project.project_id
            state = states[project_id]
            if page.needs_no_more():
                answers[project_id] = ProjectAnswer(each, is_checked=state == "fresh", is_passed_over=True)
                continue
            with part("answer", {REPOSITORY: each.project.name}):
                answers[project_id] = await _answer(call, partial(query_for, page), each, state, deadline, reading)
            page.add(answers[project_id])

    def query_for(page: PageFill) -> Query:
        # The first hits of all projects precede their second ones.
        is_in_turns = isinstance(own, SearchCode) and is_in_order
        return Query(
            request=replace(own, limit=room) if is_in_turns and (room := page.room()) < (limit or 0) else own,
            n_merged=len(ready),
            n_counted=page.n_lines if is_in_turns else 0,
            imported=imported,
            is_name_exact=isinstance(own, LocateSymbol) and page.has_enough_similar(),
            is_definition_only=is_definition_only,
            answers=call.answers,
        )

    with trio.move_on_at(deadline):
        states = await _prepared(call, request, selected, deadline, answers)
        ready = [each for each in selected if each.project.project_id in states]
        with part("choose_repositories", {N_REPOSITORIES: len(ready)}):
            if isinstance(request, SearchCode) and request.mode == "auto":
                ready = await _to_search(call, request.query, ready, states, deadline, answers)
            elif len(ready) > FULL_SEARCHES:
                query = Query(request=own, n_merged=len(ready), imported=imported)
                ready = await _concerned(call, query, ready, states, deadline, answers)
            note({N_CHOSEN: len(ready)})
        waiting, page, reading = iter(ready), PageFill(limit), trio.CapacityLimiter(READ_AT_ONCE)
        async with open_nursery() as nursery:
            for _ in range(min(MAX_AT_ONCE, len(ready))):
                nursery.start_soon(ask_in_turn, waiting, page)
    late = call.services.cold_answers.late
    return [answers.get(each.project.project_id) or ProjectAnswer(each, failure=late(each.project)) for each in selected]


_State = Literal["fresh", "changing", "cold"]
"""The state of a project before it is asked: its index has the current tree, does not have it yet, or is not watched."""


def _until(deadline: float) -> float:
    """Returns the seconds until `deadline`, at least 0."""
    return max(0.0, deadline - trio.current_time())


async def _prepared(
    call: ToolCall,
    request: SharedRequest,
    selected: Sequence[SelectedProject],
    deadline: float,
    answers: dict[str, ProjectAnswer],
) -> dict[str, _State]:
    """Lets live projects index their changes, after checking that they are where they were registered. Returns the states;
    adds failures to `answers`."""
    states: dict[str, _State] = {}
    if call.services.cold_answers.are_fresh:
        return dict.fromkeys((each.project.project_id for each in selected), "fresh")
    turns = trio.CapacityLimiter(MAX_AT_ONCE)
    seconds = PREPARING_SHARE * _until(deadline)
    policy = None if isinstance(request, FindReferences) else request.freshness_policy

    async def prepare(each: SelectedProject) -> None:
        project, workspaces = each.project, call.services.workspaces
        if workspaces.find(project.project_id) is None:
            states[project.project_id] = "cold"
            return
        try:
            async with turns:
                await call.services.router.require_present(project)
            # Again: it may have been evicted meanwhile. No checkpoint between this and asking: one with a question is kept.
            if workspaces.find(project.project_id) is None:
                states[project.project_id] = "cold"
                return
            settle = Settle(policy=policy, seconds=seconds)
            settled = await workspaces.route(project).ask(settle, request_id=call.caller.request_id)
            states[project.project_id] = "fresh" if settled.freshness == "fresh" else "changing"
        except Exception as error:  # noqa: BLE001 (a project that fails costs its own part)
            answers[project.project_id] = ProjectAnswer(each, failure=_failure(call, error))

    with trio.move_on_after(seconds):
        async with open_nursery() as nursery:
            for each in selected:
                nursery.start_soon(prepare, each)
    return states


async def _to_search(
    call: ToolCall,
    words: str,
    ready: Sequence[SelectedProject],
    states: Mapping[str, _State],
    deadline: float,
    answers: dict[str, ProjectAnswer],
) -> list[SelectedProject]:
    """Returns the projects to search: those that match most of the question, and those that are changing. Adds the others to
    `answers`."""
    settled = [each for each in ready if states[each.project.project_id] != "changing"]
    if len(settled) <= FULL_SEARCHES:
        return list(ready)
    told: dict[str, SearchEvidence | CodeCompassError] = {}
    seconds = SAMPLE_SHARE * _until(deadline)
    with trio.move_on_after(seconds):
        try:
            await call.services.cold_answers.sample([each.project for each in settled], words, seconds, told)
        except Exception as error:  # noqa: BLE001 (what fails costs the projects that are not sampled yet)
            failure = _failure(call, error)
            for each in settled:
                told.setdefault(each.project.project_id, failure)
    known: list[tuple[SelectedProject, SearchEvidence]] = []
    for each in settled:
        found = told.get(each.project.project_id)
        if isinstance(found, SearchEvidence):
            known.append((each, found))
        elif found is not None:
            answers[each.project.project_id] = ProjectAnswer(each, failure=found)
    best = set(most_promising([evidence for _, evidence in known], FULL_SEARCHES))
    for number, (each, _) in enumerate(known):
        if number not in best:
            is_checked = states[each.project.project_id] == "fresh"
            answers[each.project.project_id] = ProjectAnswer(each, is_checked=is_checked)
    chosen = [each for number, (each, _) in enumerate(known) if number in best]
    # Where samples are late, what is not known is searched rather than nothing.
    unknown = [each for each in settled if each.project.project_id not in told]
    return (
        chosen
        + unknown[: FULL_SEARCHES - len(chosen)]
        + [each for each in ready if states[each.project.project_id] == "changing"]
    )


async def _concerned(
    call: ToolCall,
    query: Query,
    ready: Sequence[SelectedProject],
    states: Mapping[str, _State],
    deadline: float,
    answers: dict[str, ProjectAnswer],
) -> list[SelectedProject]:
    """Returns the projects that can have an answer. Adds the others to `answers`."""
    seconds = SAMPLE_SHARE * _until(deadline)
    settled = [each for each in ready if states[each.project.project_id] != "changing"]
    ids = await call.services.cold_answers.concerned([each.project for each in settled], query, seconds)
    if ids is None:
        return list(ready)
    for each in settled:
        project_id = each.project.project_id
        if project_id not in ids:
            answers[project_id] = ProjectAnswer(each, is_checked=states[project_id] == "fresh")
    return [each for each in ready if each.project.project_id not in answers]


async def _answer(
    call: ToolCall,
    query_now: Callable[[], Query],
    selected: SelectedProject,
    state: _State,
    deadline: float,
    reading: trio.CapacityLimiter,
) -> ProjectAnswer:
    """Returns the answer of one project to the query that `query_now` returns once its turn has come."""
    services, project = call.services, selected.project
    try:
        if state == "changing" and services.workspaces.find(project.project_id) is None:
            state = "cold"
        if state == "changing":
            query = query_now()
            request = query.request
            if isinstance(request, SearchCode | LocateSymbol) and request.freshness_policy != "strict":
                # It has already waited for changes.
                query = replace(query, request=replace(request, freshness_policy="best_effort"))
            reply = await services.workspaces.route(project).ask(query, request_id=call.caller.request_id)
        else:
            if state == "cold":
                await services.router.require_present(project)
            await services.cold_answers.prepare(project, _until(deadline))
            async with reading:
                query = query_now()
                reply = await services.cold_answers.answer(project, query, _until(deadline), is_fresh=state == "fresh")
    except Exception as error:  # noqa: BLE001 (a project that fails costs its own part)
        return ProjectAnswer(selected, failure=_failure(call, error))
    assert isinstance(reply, SharedReply)
    return ProjectAnswer(selected, reply, is_checked=state != "cold", is_name_exact=query.is_name_exact)


def _failure(call: ToolCall, error: Exception) -> CodeCompassError:
    """Returns the error to report for what failed; logs a defect."""
    failure = reported(error)
    if isinstance(failure, InternalError):
        get_logger(__name__).error("project_failed", request_id=call.caller.request_id, exc_info=error)
    return failure
