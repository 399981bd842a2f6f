"""Answers a search of commits (`type:commit`, `type:diff`): of the project that the question addresses, or the merged commits of
several, newest first. Each is asked through git; no index, and no workspace, is needed.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Final

import trio
from msgspec.structs import replace

from codecompass.actors.history_answers import HistoryLimits
from codecompass.errors import reported
from codecompass.formatting import count
from codecompass.nurseries import open_nursery
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.replies import SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.query.commit_question import CommitQuestion, commit_question
from codecompass.query.commit_question import asks_for_commits as asks_for_commits
from codecompass.transport.calls import CallOutcome
from codecompass.transport.tools.call import ToolCall
from codecompass.transport.tools.project_answers import (
    NAMED_SILENT,
    Answers,
    OtherAnswers,
    ProjectAnswer,
    require_an_answer,
    several_metadata,
)
from codecompass.transport.tools.several_projects import asked_projects, deadline_of
from codecompass.units import SECONDS

HISTORY_SECONDS: Final = 10 * SECONDS
"""How long the search of one project may take if the request has no `timeout_ms`."""

MAX_AT_ONCE: Final = 4
"""Projects that are searched at a time: each runs git."""

MAX_WARNINGS: Final = 5
"""Different warnings of projects that a merged answer has, those of the most projects; the projects of others are counted."""

NOT_ASKED: Final = "the organisation's server was not searched for commits; name one of its repositories alone (org:NAME)"


async def search_history(call: ToolCall, request: SearchCode) -> CallOutcome:
    """Returns the commits that a question asks for. Raises the errors of routing, and what `commit_question` and
    `Commits.search_history` raise."""
    question = await trio.to_thread.run_sync(commit_question, request, time.time())
    asked = await asked_projects(call, request)
    limits = HistoryLimits(default_limit=call.services.default_limit, seconds=HISTORY_SECONDS)
    if asked is None:
        project = (await call.route()).project
        reply = await call.services.commits.search_history(request, question, project, limits, call.warnings)
        is_named = call.routed is not None and call.routed.names_project
        metadata = replace(reply.metadata, hint=call.hint, schema_name=project.schema_name if is_named else "")
        return CallOutcome(replace(reply, metadata=metadata))
    answers = Answers(
        tuple(await _ask_each(call, request, question, asked.here, limits)),
        OtherAnswers(is_complete=not asked.elsewhere, warnings=(NOT_ASKED,) if asked.elsewhere else ()),
    )
    require_an_answer(answers)
    return CallOutcome(_merged(call, request, question, answers))


async def _ask_each(
    call: ToolCall, request: SearchCode, question: CommitQuestion, projects: Sequence[SelectedProject], limits: HistoryLimits
) -> list[ProjectAnswer]:
    """Returns the first commits of each project, enough for a page of them all."""
    end = request.offset + (request.limit or call.services.default_limit)
    own = replace(request, workspace=None, offset=0, limit=end, timeout_ms=None)
    deadline = deadline_of(call, request)
    found: dict[str, ProjectAnswer] = {}
    turns = trio.CapacityLimiter(MAX_AT_ONCE)

    async def ask(selected: SelectedProject) -> None:
        project = selected.project
        try:
            async with turns:
                await call.services.router.require_present(project)
                left = replace(limits, seconds=max(0.0, deadline - trio.current_time()))
                reply = await call.services.commits.search_history(own, question, project, left, ())
        except Exception as error:  # noqa: BLE001 (a project that fails costs its own part)
            found[project.project_id] = ProjectAnswer(selected, failure=reported(error))
        else:
            found[project.project_id] = ProjectAnswer(selected, reply, is_checked=True)

    async with open_nursery() as nursery:
        for each in projects:
            nursery.start_soon(ask, each)
    return [found[each.project.project_id] for each in projects]


def _merged(call: ToolCall, request: SearchCode, question: CommitQuestion, answers: Answers) -> SearchCodeReply:
    replies = [(each.selected.label, each.reply) for each in answers.here if isinstance(each.reply, SearchCodeReply)]
    hits = [replace(hit, project=label) for label, reply in replies for hit in reply.commits]
    hits.sort(key=lambda hit: hit.date, reverse=True)
    end = request.offset + (request.limit or call.services.default_limit)
    shown = tuple(hits[request.offset : end])
    has_more = len(hits) > end or any(reply.next_offset for _, reply in replies)
    metadata = several_metadata(call, request, answers, {hit.project for hit in shown})
    metadata = replace(metadata, warnings=(*metadata.warnings, *_warnings(replies)))
    if has_more and metadata.result_completeness == "complete":
        metadata = replace(metadata, result_completeness="truncated")
    return SearchCodeReply(
        results=(),
        commits=shown,
        query_intent=question.history,
        total_candidates=sum(reply.total_candidates for _, reply in replies),
        unit="commit",
        is_counted=all(reply.is_counted for _, reply in replies),
        offset=request.offset,
        next_offset=end if has_more and len(shown) == end - request.offset else 0,
        metadata=metadata,
    )


def _warnings(replies: Sequence[tuple[str, SearchCodeReply]]) -> Iterator[str]:
    """Yields the warnings of projects, each with the first that have it; bounded, however many projects there are."""
    labels: dict[str, list[str]] = {}
    for label, reply in replies:
        for warning in dict.fromkeys(reply.metadata.warnings):
            labels.setdefault(warning, []).append(label)
    by_number = sorted(labels.items(), key=lambda item: -len(item[1]))
    for warning, names in by_number[:MAX_WARNINGS]:
        more = f" and {len(names) - NAMED_SILENT:,} more" if len(names) > NAMED_SILENT else ""
        yield f"{', '.join(names[:NAMED_SILENT])}{more}: {warning}"
    others = {name for _, names in by_number[MAX_WARNINGS:] for name in names}
    if others:
        yield f"{count(len(others), 'project')} had other warnings; name one alone for its own"
