"""Answers a question from files that are not indexed yet, as far as `unindexed_files.py` has read them: by the same query core,
marked as partial, with a warning that says what it rests on.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.question import Question
from codecompass.actors.unindexed_files import Coverage, UnindexedFiles
from codecompass.errors import (
    AmbiguousSymbol,
    CodeCompassError,
    FileSystemUnresponsive,
    IndexDamaged,
    IndexIncompatible,
    IndexNotReady,
    InternalError,
    InvalidInput,
    PermissionDenied,
    StoreRefused,
)
from codecompass.protocol.replies import LocateSymbolReply, Reply, SearchCodeReply
from codecompass.query.options import QueryOptions
from codecompass.query.sought import Sought, sought_for
from codecompass.store.index import WorkspaceIndex
from codecompass.store.registry import Project

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


OptionsOf = Callable[[Question], Awaitable[QueryOptions]]
"""Returns the options of a question, with the differences that it is about, if it is about any."""

AskFiles = Callable[[WorkspaceIndex, Question, QueryOptions], Awaitable[Reply]]
"""Answers a question from an index, marked as partial. Raises the errors of the functions of `query`."""


async def answer_unindexed(
    project: Project,
    files: UnindexedFiles,
    question: Question,
    deadline: float,
    options_of: OptionsOf,
    ask_files: AskFiles,
    refused: StoreRefused | None = None,
) -> UnindexedAnswer | None:
    """Returns the answer from what can be read of the files before `deadline`; see `IndexWorkbench.answer_unindexed`.

    `refused` is why no index can be made, None while one is being made.
    """
    if refused is not None:
        files.expect_no_job()
    found: UnindexedAnswer | None = None
    known: Coverage | None = None
    try:
        options = await options_of(question)
        # In a thread: reading a question of the greatest length takes tens of milliseconds.
        sought = await trio.to_thread.run_sync(sought_for, question.request, str(project.root), _changed(options))
        async with files:
            # What is read stays, so that reading again gets further than a time that was too short.
            while (read := await files.read(sought, deadline)) is not None and read[1] != known:
                index, known = read
                asked = replace(question, warnings=(*question.warnings, known.warning(refused)))
                found = await _answer(ask_files(index, asked, options), known, sought)
                if known.is_whole or (found is not None and found.is_sure):
                    break
    except InvalidInput as error:
        return UnindexedAnswer(error, is_sure=True)
    return found


async def _answer(answering: Awaitable[Reply], coverage: Coverage, sought: Sought) -> UnindexedAnswer | None:
    try:
        reply = await answering
    except (InvalidInput, *_FAILURES):
        raise
    except CodeCompassError as error:
        # What is not found may be in a file that was not read.
        return UnindexedAnswer(error, is_sure=True) if coverage.is_whole or isinstance(error, AmbiguousSymbol) else None
    return UnindexedAnswer(reply, _is_sure(reply, sought, coverage))


def _changed(options: QueryOptions) -> Iterable[str]:
    difference = options.difference
    return () if difference is None else [file.path for file in difference.changes.files][:MAX_CHANGED_FILES]


def _is_sure(reply: Reply, sought: Sought, coverage: Coverage) -> bool:
    match reply:
        case SearchCodeReply():
            # A mode that looks for a certain text, and finds it nowhere, has an answer too.
            is_exact = sought.is_literal or sought.pattern is not None
            is_probed = coverage.n_probed >= coverage.n_files
            return (bool(reply.results) and (is_probed or coverage.holds_name)) or (is_exact and coverage.is_whole)
        case LocateSymbolReply():
            return any(result.match != "similar" for result in reply.results)
    return True
