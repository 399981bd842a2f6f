"""Answers a question from files that are not indexed yet, as far as `unindexed_files.py` has read them: by the same query core,
marked as partial, with a warning that says what it rests on.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.unindexed_files import Coverage, UnindexedFiles
from codecompass.errors import (
    CodeCompassError,
    FileSystemUnresponsive,
    IndexDamaged,
    IndexIncompatible,
    IndexNotReady,
    InternalError,
    InvalidInput,
    PermissionDenied,
)
from codecompass.protocol.replies import LocateSymbolReply, Reply, SearchCodeReply
from codecompass.query.options import QueryOptions
from codecompass.query.sought import Sought, sought_for
from codecompass.store.registry import Project

if TYPE_CHECKING:
    from codecompass.actors.index_answers import AnswerContext, IndexAnswers
    from codecompass.actors.messages import Query

_FAILURES: Final = (FileSystemUnresponsive, IndexDamaged, IndexIncompatible, IndexNotReady, InternalError, PermissionDenied)
"""Errors that say nothing of the question."""

MAX_CHANGED_FILES: Final = 200
"""Changed files of a comparison that are read for it."""


class UnindexedAnswer(Struct, frozen=True):
    """An answer from the files themselves; an error if that is the answer.

    Unless it `is_sure`, the index may know something that was not read.
    """

    reply: Reply | CodeCompassError
    is_sure: bool


async def answer_unindexed(
    project: Project,
    files: UnindexedFiles,
    answers: "IndexAnswers",
    query: "Query",
    context: "AnswerContext",
    deadline: float,
) -> UnindexedAnswer | None:
    """Returns the answer from what can be read of the files before `deadline`; see `Workbench.answer_unindexed`."""
    options = await answers.options(query)
    sought = sought_for(query.request, str(project.root), _changed(options))
    async with files:
        read = await files.read(sought, deadline)
        if read is None:
            return None
        index, coverage = read
        asked = replace(query, warnings=(*query.warnings, coverage.warning))
        try:
            reply = await answers.answer_from(index, asked, context, options)
        except _FAILURES:
            raise
        except CodeCompassError as error:
            # What is not found may be in a file that was not read.
            return UnindexedAnswer(error, is_sure=True) if coverage.is_whole or isinstance(error, InvalidInput) else None
        return UnindexedAnswer(reply, _is_sure(reply, sought, coverage))


def _changed(options: QueryOptions) -> Iterable[str]:
    difference = options.difference
    return () if difference is None else [file.path for file in difference.changes.files][:MAX_CHANGED_FILES]


def _is_sure(reply: Reply, sought: Sought, coverage: Coverage) -> bool:
    match reply:
        case SearchCodeReply():
            is_exact = sought.is_literal or sought.pattern is not None
            return bool(reply.results) or (is_exact and coverage.is_whole)
        case LocateSymbolReply():
            return any(result.match != "similar" for result in reply.results)
    return True
