"""The index that an interactive search reads, opened once, and the queries of it. Synchronous; used by one thread at a time.

Each query takes a snapshot of its own, so a publication is seen by the next query, and no read transaction outlives a query.
"""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.asking import QueryContext, Standing, StoredIndex, ask, query_settings, run_query
from codecompass.actors.question import Question
from codecompass.cli.answering import time_for
from codecompass.cli.commit_index import commit_index
from codecompass.cli.invocation import Invocation
from codecompass.cli.readiness import asked_project, index_first
from codecompass.errors import InvalidInput
from codecompass.protocol.decode import decode
from codecompass.protocol.replies import LocateSymbolReply, Reply, Result, SearchCodeReply
from codecompass.protocol.requests import FreshnessPolicy, LocateSymbol, SearchCode, SearchMode
from codecompass.query.query_language import NOTHING_SOUGHT, ParsedQuery, parse_query
from codecompass.query.source_lines import lines_of
from codecompass.scan.git_revisions import NamedCommit
from codecompass.settings import Settings
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot

SHOWN_HITS: Final = 30
"""Hits of an answer without --limit: several screens of them."""

LINES_BEFORE: Final = 60
LINES_AFTER: Final = 100
"""Lines of a preview before and after that of the hit, more than most screens have."""

Version = tuple[int, float]
"""Identifies a generation: its number, and when it was published, because a rebuild counts from 1 again."""


class Source(Struct, frozen=True):
    """What is searched. `arguments` are those of `search_code` except query and mode. `commit` is None for the working tree."""

    project: Project
    settings: Settings
    layout: ProjectLayout
    arguments: Mapping[str, object]
    mode: SearchMode
    policy: FreshnessPolicy
    commit: NamedCommit | None


class ListedHit(Struct, frozen=True):
    """A hit and the line to show: that of a definition, or else the one that matches, with its text."""

    result: Result
    line: int
    text: str = ""

    @property
    def path(self) -> str:
        """The path of the file, relative to the root."""
        return self.result.path


class ShownHits(Struct, frozen=True):
    """The hits for a query. `notice` says how it was read, or that nothing has it as it stands."""

    hits: tuple[ListedHit, ...]
    total: int
    notice: str
    warnings: tuple[str, ...]
    version: Version


class CodeAround(Struct, frozen=True):
    """Lines of a file as the index has them, from line `first` on, and the file's language."""

    first: int
    lines: tuple[str, ...]
    language: str


def open_source(invocation: Invocation, arguments: Mapping[str, object]) -> Source:
    """Returns the source for `arguments`, those of `search_code`; indexes the project or commit first if it is not indexed.

    Raises InvalidInput for arguments that do not decode, and what opening an index for `codecompass search` raises.
    """
    request = decode(SearchCode.tool, {"query": "any", **arguments}).request
    assert isinstance(request, SearchCode)
    with asked_project(invocation, request) as asked:
        layout = asked.layout
        if asked.commit is not None:
            index = commit_index(invocation, asked.project, asked.commit, asked.settings)
            layout = index.layout
            index.close()
        elif compatibility(layout).needs_build:
            index_first(asked, asked.patience.first_answer_wait)
        asked.note_use()
    rest = {name: value for name, value in arguments.items() if name not in ("query", "mode", "limit")}
    return Source(
        asked.project,
        asked.settings,
        layout,
        {**rest, "limit": request.limit or SHOWN_HITS},
        request.mode,
        asked.policy,
        asked.commit,
    )


class LiveIndex:
    """The index of a source, kept open. Its methods raise what opening and searching an index raises."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._index = WorkspaceIndex(source.layout, source.project.project_id)

    def search(self, query: str, mode: SearchMode, is_dropped: Callable[[], bool]) -> ShownHits:
        """Returns the hits for `query`, fewer once `is_dropped` returns True."""
        request = self._request(parse_query(query, mode))
        limit = replace(time_for(request, self.source.settings), is_dropped=is_dropped)
        # `upkeep.py` determines the freshness independently of the answer.
        known = Standing(freshness="stale")
        if self.source.commit is not None:
            known = Standing(ref=self.source.commit.name)
        version: Version = (0, 0.0)

        def run(context: QueryContext) -> Reply:
            nonlocal version
            version = version_of(context.snapshot)
            return run_query(request, context)

        index = StoredIndex(project=self.source.project, open=self._index.snapshot, known=known)
        reply = ask(index, Question(request=request), query_settings(self.source.settings, "text"), limit, run)
        assert isinstance(reply, SearchCodeReply | LocateSymbolReply)
        by_line = isinstance(reply, SearchCodeReply) and reply.unit == "line"
        hits = tuple(_hit(result, by_line=by_line) for result in reply.results)
        return ShownHits(hits, reply.total_candidates, reply.notice, reply.metadata.warnings, version)

    def around(self, path: str, line: int) -> CodeAround:
        """Returns the lines around a line of a file, none if the newest generation has no such file."""
        with self._index.snapshot() as snapshot:
            file = snapshot.facts.file(path)
            if file is None:
                return CodeAround(1, (), "")
            first = max(1, line - LINES_BEFORE)
            lines = lines_of(snapshot, file.id, first, line + LINES_AFTER)
            return CodeAround(first, tuple(lines), file.language)

    def close(self) -> None:
        """Closes the index."""
        self._index.close()

    def _request(self, parsed: ParsedQuery) -> SearchCode | LocateSymbol:
        project = self.source.project
        others = [each for each in parsed.projects if each not in (project.name, project.project_id, project.root.name)]
        if others:
            raise InvalidInput(f"this searches {project.root.name} alone. Leave out repo:{others[0]}, or leave out -i.")
        if parsed.history is not None:
            raise InvalidInput(f"this lists places in code. Leave out type:{parsed.history}, or leave out -i.")
        if parsed.is_empty:
            raise InvalidInput(NOTHING_SOUGHT, field="query")
        request = decode(parsed.tool, parsed.arguments(self.source.arguments)).request
        assert isinstance(request, SearchCode | LocateSymbol)
        return request


def version_of(snapshot: Snapshot) -> Version:
    """Returns the version of the generation that a snapshot is of."""
    return snapshot.meta.generation, snapshot.meta.published_at


def _hit(result: Result, *, by_line: bool) -> ListedHit:
    lines = () if result.excerpt is None else result.excerpt.lines
    if lines and (by_line or result.result_type not in ("", "symbol")):
        return ListedHit(result, lines[0].line, lines[0].text)
    is_definition = result.result_type in ("", "symbol") and result.name
    return ListedHit(result, result.line_start, "" if is_definition else result.snippet or result.result_type)
