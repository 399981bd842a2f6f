"""The answer to a question about the history of a repository (`type:commit`, `type:diff`), from git alone: no index is needed.

Shared by the server and the command line. Blocking, without an event loop.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass import hints
from codecompass.actors.answering import timeout_seconds
from codecompass.errors import DeadlineExceeded, InvalidInput
from codecompass.formatting import iso_time
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata
from codecompass.protocol.replies import ChangedLine, CommitHit, MatchedLine, SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.query.commit_question import CommitQuestion
from codecompass.query.excerpts import shortened
from codecompass.query.filters import chosen_paths
from codecompass.query.path_globs import relative_to_root
from codecompass.scan.git_commit_search import CommitSearch, FoundCommit, FoundLine, search_commits
from codecompass.scan.git_failures import explained
from codecompass.scan.git_repository import GitError, GitTimedOut, head_of
from codecompass.scan.git_revisions import NamedCommit, repository_of, resolve_commit
from codecompass.scan.git_roots import ANYWHERE, GitRoots

MAX_LINES: Final = 5
"""Matching lines of one commit that are shown."""

MAX_SUBJECT: Final = 200
MAX_AUTHOR: Final = 100
"""Characters of a subject and of a name that are shown."""


class HistoryLimits(Struct, frozen=True, kw_only=True):
    """What bounds an answer, and where its repository must lie."""

    default_limit: int
    seconds: float
    """How long the search may take, if the request does not say."""
    roots: GitRoots = ANYWHERE


def answer_from_history(
    request: SearchCode,
    question: CommitQuestion,
    root: Path,
    limits: HistoryLimits,
    *,
    name: str = "",
    schema_name: str = "",
    warnings: Sequence[str] = (),
    is_cancelled: Callable[[], bool] | None = None,
) -> SearchCodeReply:
    """Returns the commits of the repository around `root` that have what is sought, newest first; `name` is that of the project.

    Raises InvalidInput if there is no repository, or git cannot answer; DeadlineExceeded; RefNotIndexed for an unknown `ref`;
    GitCancelled.
    """
    field = f"type:{question.history}"
    ends_at = time.monotonic() + timeout_seconds(request, limits.seconds)
    end = request.offset + (request.limit or limits.default_limit)
    search = CommitSearch(
        is_about_lines=question.history == "diff",
        sought=question.sought,
        author=question.author,
        since=question.since,
        until=question.until,
        chosen=_chosen(question, root),
        limit=end + 1,
    )
    commit: NamedCommit | None = None
    try:
        repository = repository_of(str(root), limits.roots, field=field)
        if request.ref is not None:
            commit = resolve_commit(repository, request.ref)
        start = "HEAD" if commit is None else commit.commit
        found = search_commits(repository, str(root), search, start=start, ends_at=ends_at, is_cancelled=is_cancelled)
        ref = head_of(repository).ref if commit is None else commit.name
    except GitTimedOut as error:
        raise DeadlineExceeded(
            "the history could not be listed in time. Narrow the search with since:, author: or file:, or raise timeout_ms."
        ) from error
    except GitError as error:
        raise InvalidInput(
            f"git cannot search commits here: {explained(error)} {hints.CHECK} says whether git works; without {field}, "
            "search_code answers from the files.",
            field="query",
        ) from error
    shown = found.commits[request.offset : end]
    has_more = len(found.commits) > end
    return SearchCodeReply(
        results=(),
        commits=tuple(_hit(each) for each in shown),
        query_intent=question.history,
        total_candidates=len(found.commits[:end]) if found.has_more else len(found.commits),
        unit="commit",
        is_counted=not found.has_more and not found.is_partial,
        offset=request.offset,
        next_offset=end if has_more else 0,
        metadata=Metadata(
            codecompass_protocol_version=PROTOCOL_VERSION,
            freshness_status="fresh",
            indexing_status="ready",
            result_completeness="partial" if found.is_partial else "truncated" if has_more else "complete",
            ref=ref,
            commit="" if commit is None else commit.commit,
            schema_status="compatible",
            workspace=str(root),
            project_id=name,
            schema_name=schema_name,
            warnings=(*warnings, *question.warnings, *found.warnings),
        ),
    )


def _chosen(question: CommitQuestion, root: Path) -> Callable[[Sequence[str]], Sequence[bool]] | None:
    if question.path is None:
        return None
    path = relative_to_root(question.path, str(root))
    chosen_paths((), path)  # an invalid filter is an error even if nothing is found
    return lambda paths: chosen_paths(paths, path)


def _hit(found: FoundCommit) -> CommitHit:
    shown = found.lines[:MAX_LINES]
    return CommitHit(
        commit=found.commit,
        date=iso_time(found.at),
        author=found.author[:MAX_AUTHOR],
        subject=found.subject[:MAX_SUBJECT],
        message_lines=tuple(MatchedLine(line=each.line, text=_shown(each)) for each in shown if not each.side),
        changed_lines=tuple(
            ChangedLine(path=each.path, line=each.line, side=each.side, text=_shown(each)) for each in shown if each.side
        ),
        n_omitted=found.n_lines - len(shown),
    )


def _shown(line: FoundLine) -> str:
    return shortened(line.text, line.start)
