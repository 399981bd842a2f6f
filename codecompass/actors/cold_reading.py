"""Reads the index of a project on disk: opens it, answers one question, closes it. Blocking, without an event loop, so that it
can run in a thread or in a reader process.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from msgspec import Struct

from codecompass.actors.answering import query, time_limit
from codecompass.actors.background import panics_as_errors
from codecompass.actors.messages import QueryRequest
from codecompass.errors import CodeCompassError
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, Reply, SearchCodeReply, SearchEvidence
from codecompass.query.merge_evidence import sample_evidence
from codecompass.query.options import QueryOptions
from codecompass.store.drift import manifest_entry
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.manifest import ManifestEntry
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot

Shown = dict[str, ManifestEntry | None]
"""The files that an answer shows, each with its manifest entry."""


NICENESS: Final = 15
"""Niceness of a reader process: questions about one project go first when cores are scarce."""


def be_nice() -> bool:
    """Lowers the priority of this process. Called once in each reader process."""
    os.nice(NICENESS)
    return True


class ColdAnswer(Struct, frozen=True):
    """A reply, and the files in it that are to be compared with the disk."""

    reply: Reply
    shown: Shown


def answer_cold(
    home: HomeLayout,
    project: Project,
    request: QueryRequest,
    options: QueryOptions,
    seconds: float,
    is_fresh: bool,
) -> ColdAnswer:
    """Returns the answer to a question. A search that takes longer than `seconds` ends with what it has found.

    With `is_fresh` the index is known to hold the current tree. Raises IndexNotReady, IndexIncompatible, IndexDamaged, and the
    errors of the query.
    """
    with _opened(home, project) as snapshot:
        state = AnswerState(
            workspace=str(project.root),
            project_id=project.name,
            ref=snapshot.meta.ref,
            freshness_status="fresh" if is_fresh else "stale",
        )
        asked = panics_as_errors(query)
        reply = asked(snapshot, request, state, options, time_limit(seconds))
        shown: Shown = {}
        for path in () if is_fresh else _paths(reply):
            row = snapshot.facts.file(path)
            shown[path] = None if row is None else manifest_entry(row)
        return ColdAnswer(reply, shown)


def sample_cold(home: HomeLayout, projects: Sequence[Project], words: str) -> list[SearchEvidence | CodeCompassError]:
    """Returns the sample of each project's index for the question `words`, or the error that prevented it."""
    return [_sampled(home, project, words) for project in projects]


def _sampled(home: HomeLayout, project: Project, words: str) -> SearchEvidence | CodeCompassError:
    try:
        with _opened(home, project) as snapshot:
            return panics_as_errors(sample_evidence)(snapshot, words)
    except CodeCompassError as error:
        return error


@contextmanager
def _opened(home: HomeLayout, project: Project) -> Iterator[Snapshot]:
    index = WorkspaceIndex(home.project(project.project_id), project.project_id)
    try:
        with index.snapshot() as snapshot:
            yield snapshot
    finally:
        index.close()


def _paths(reply: Reply) -> Iterable[str]:
    match reply:
        case SearchCodeReply() | LocateSymbolReply():
            return {result.path for result in reply.results}
        case FindReferencesReply():
            return {reference.path for reference in reply.references}
    return ()
