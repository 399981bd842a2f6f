"""Answers from the index of a project whose workspace is not live, without making it live: for questions about many projects.

An actor would scan and watch the tree, for each of a hundred projects. Here the index is opened, asked and closed. What has
changed since it was written is not known; the files that an answer shows are looked at, and those that have changed are marked.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

import trio

from codecompass.actors.answering import asked_for, query, query_settings
from codecompass.actors.background import panics_as_errors
from codecompass.actors.index_answers import deadline
from codecompass.actors.limits import Limits
from codecompass.actors.messages import Query
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import (
    FindReferencesReply,
    LocateSymbolReply,
    Reply,
    SearchCodeReply,
    SearchEvidence,
)
from codecompass.query.merge_evidence import survey_evidence
from codecompass.query.metadata import mark_stale
from codecompass.settings import Settings
from codecompass.store.drift import changed_since_indexed, manifest_entry
from codecompass.store.index import Snapshot, WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.manifest import ManifestEntry
from codecompass.store.mapped_files import MappedFiles
from codecompass.store.registry import Project

COLD_THREADS: Final = 2
"""Indexes that are open here at a time, each with some ten files."""

Shown = dict[str, ManifestEntry | None]


class ColdAnswers:
    """One for a server. Settings are the server's own: reading those of each project would cost more than the answer."""

    def __init__(self, home: HomeLayout, settings: Settings, limits: Limits, mapped_files: MappedFiles | None) -> None:
        self._home = home
        self._options = query_settings(settings, settings.server.answers)
        self._blocking = limits.blocking
        self._mapped_files = mapped_files
        self._limiter = trio.CapacityLimiter(COLD_THREADS)

    async def answer(self, project: Project, asked: Query, seconds: float) -> Reply:
        """Returns the answer of the project's index as it was left; hits in files that have changed are marked.

        Raises IndexNotReady, IndexIncompatible, IndexDamaged, FileSystemUnresponsive, and what the query raises.
        """
        reply, shown = await trio.to_thread.run_sync(
            panics_as_errors(self._answer), project, asked, seconds, limiter=self._limiter
        )
        if not shown:
            return reply
        root = str(project.root)
        changed = await self._blocking.run(lambda _call: changed_since_indexed(root, shown), root)
        return mark_stale(reply, changed) if changed else reply

    async def survey(self, project: Project, words: str) -> SearchEvidence:
        """Returns what the project's index has of a question in words, without searching it. Raises what `answer` raises."""
        return await trio.to_thread.run_sync(panics_as_errors(self._survey), project, words, limiter=self._limiter)

    def _survey(self, project: Project, words: str) -> SearchEvidence:
        with self._open(project) as snapshot:
            return survey_evidence(snapshot, words)

    @contextmanager
    def _open(self, project: Project) -> Iterator[Snapshot]:
        index = WorkspaceIndex(self._home.project(project.project_id), project.project_id, self._mapped_files)
        try:
            with index.snapshot() as snapshot:
                yield snapshot
        finally:
            index.close()

    def _answer(self, project: Project, asked: Query, seconds: float) -> tuple[Reply, Shown]:
        with self._open(project) as snapshot:
            state = AnswerState(
                workspace=str(project.root), project_id=project.name, ref=snapshot.meta.ref, freshness_status="stale"
            )
            reply = query(snapshot, asked.request, state, asked_for(asked, self._options), deadline(seconds))
            shown: Shown = {}
            for path in _paths(reply):
                row = snapshot.facts.file(path)
                shown[path] = None if row is None else manifest_entry(row)
            return reply, shown


def _paths(reply: Reply) -> Iterable[str]:
    match reply:
        case SearchCodeReply() | LocateSymbolReply():
            return {result.path for result in reply.results}
        case FindReferencesReply():
            return {reference.path for reference in reply.references}
    return ()
