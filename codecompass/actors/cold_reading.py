"""Answers from the index of a project as it was left: opened, asked, closed. Blocking, without an event loop, so that it can run
in a thread or in another process.
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
from codecompass.query.merging import sample_evidence
from codecompass.query.options import QueryOptions
from codecompass.store.drift import manifest_entry
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.manifest import ManifestEntry
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot

Shown = dict[str, ManifestEntry | None]
"""The files of an answer, and what the index holds of each."""


NICENESS: Final = 15
"""Who asks about one project goes first where there are too few cores."""


def be_nice() -> bool:
    """Lets other processes go before this one. Called once in each that reads."""
    os.nice(NICENESS)
    return True


class ColdAnswer(Struct, frozen=True):
    """A reply, and what is to be compared with the disk."""

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
    """Returns the answer to a question. Scans end after `seconds` with what they have.

    With `is_fresh` the index is known to hold the tree as it is. Raises IndexNotReady, IndexIncompatible, IndexDamaged, and what
    the query raises.
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
    """Returns what the index of each project has of a question in words, or why that cannot be told."""
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
