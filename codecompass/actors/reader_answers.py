"""What a reader process does with a question about the index of a workspace: it answers as a thread of the server would, and
keeps the index open for the next question.

It is given what the server knew when it settled the freshness of the index, and reads the newest generation that is published
when it begins, as a thread does: its answer is never from an older one than the server had published. Between two answers the
readers' lock is released, so that nobody waits for this process to remove an index; what it still has open of a removed one is
closed with a later question, or when the process ends.
"""

import signal
import time
from collections import OrderedDict
from functools import cache
from math import inf
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass import query as core
from codecompass.actors.asking import TimeLimit, ask
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.index_answers import AnswerContext, TreeIndex
from codecompass.actors.packed_structs import packed
from codecompass.actors.question import Question
from codecompass.actors.reader_processes import DROP_SIGNAL
from codecompass.actors.tree_comparison import Comparison
from codecompass.errors import Cancelled, CodeCompassError, IndexDamaged
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import IndexStatus
from codecompass.query.options import QueryOptions
from codecompass.scan.git_change_history import NO_HISTORY
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.registry import Project
from codecompass.units import SECONDS

MAX_KEPT: Final = 4
"""Indexes that a reader process keeps open, each with a few connections and its text."""

KEPT_SECONDS: Final = 60 * SECONDS
"""An index that was not asked for this long is closed with the next question."""


class SentQuestion(Struct, frozen=True, kw_only=True):
    """A question to the index in `layout`, with all that its answer depends on."""

    layout: ProjectLayout
    project: Project
    context: AnswerContext
    compared: Comparison | None
    question: Question
    options: QueryOptions
    seconds: float
    """How long the search may take, as is `ends_at`: see `TimeLimit`. The monotonic clock is the same in all processes."""
    ends_at: float


class SentAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a reader process, which is packed on its way: a reply, or the error with which the query core answered.

    With neither of them, `cause` says why it has none: a thread of the server then finds out what that means for the index."""

    reply: Reply | None = None
    error: CodeCompassError | None = None
    cause: str = ""
    seconds: float = 0.0
    """How long it took, and how much of that was processor time."""
    cpu_seconds: float = 0.0


def sent(tree: TreeIndex, asked: Question, options: QueryOptions, limit: TimeLimit) -> SentQuestion | None:
    """Returns the question as it is sent; None for one that needs more than its index: the state of the server, files that are
    not indexed, or what was read for it of git or of an endpoint, which may be large."""
    is_read = (each is not None for each in (options.meaning, options.difference, options.changed))
    has_read = options.history is not NO_HISTORY or any(is_read)
    if isinstance(asked.request, IndexStatus) or not tree.is_own or has_read:
        return None
    return SentQuestion(
        layout=tree.index.layout,
        project=tree.project,
        # Only `index_status` reports jobs.
        context=replace(tree.context, active_job=None, last_job=None),
        compared=tree.compared,
        question=Question(**{name: getattr(asked, name) for name in Question.__struct_fields__}),
        options=options,
        seconds=limit.seconds,
        ends_at=limit.ends_at,
    )


# in a reader process, without an event loop


def prepared() -> bool:
    """Returns True, once all that an answer needs is loaded, and this process takes DROP_SIGNAL."""
    core.load()
    signal.signal(DROP_SIGNAL, lambda _number, _frame: _this_reader().drop())
    return True


def answer_sent(question: SentQuestion) -> bytes:
    """Returns the answer to a question, packed."""
    began, cpu_began = time.monotonic(), time.process_time()
    answer = _this_reader().answer(question)
    taken = {"seconds": time.monotonic() - began, "cpu_seconds": time.process_time() - cpu_began}
    try:
        return packed(replace(answer, **taken))
    except UnicodeEncodeError as error:
        return packed(SentAnswer(cause=str(error)))


class Reader:
    """The state of a reader process, which answers one question at a time."""

    def __init__(self) -> None:
        self._kept: OrderedDict[ProjectLayout, tuple[WorkspaceIndex, float]] = OrderedDict()
        """With the time of the last question, by the monotonic clock; that one is the last."""
        self._is_dropped = False

    def answer(self, question: SentQuestion) -> SentAnswer:
        """Returns the answer. Never raises."""
        index = self._index(question.layout, question.project.project_id)
        tree = TreeIndex(project=question.project, index=index, context=question.context, compared=question.compared)
        limit = TimeLimit(seconds=question.seconds, ends_at=question.ends_at, is_dropped=self._require_asker)
        try:
            return SentAnswer(reply=panics_as_errors(ask)(tree, question.question, question.options, limit))
        except CodeCompassError as error:
            # The query core gives its errors the metadata of an answer.
            is_answer = error.metadata is not None and not isinstance(error, IndexDamaged | Cancelled)
            return SentAnswer(error=error) if is_answer else SentAnswer(cause=error.message)
        except Exception as error:  # noqa: BLE001 (a thread of the server asks again, and reports what it gets)
            return SentAnswer(cause=f"{type(error).__name__}: {error}")
        finally:
            # A question that is dropped later than this costs the next one its answer from here, as it has a cause then.
            self._is_dropped = False
            index.release_lock()

    def drop(self) -> None:
        """Ends the search under way: nobody waits for its answer any more."""
        self._is_dropped = True

    def _require_asker(self) -> bool:
        if self._is_dropped:
            raise Cancelled("nobody waits for this answer any more")
        return False

    def _index(self, layout: ProjectLayout, project_id: str) -> WorkspaceIndex:
        now = time.monotonic()
        known, _ = self._kept.pop(layout, (None, -inf))
        while self._kept and (len(self._kept) >= MAX_KEPT or now - next(iter(self._kept.values()))[1] > KEPT_SECONDS):
            self._kept.popitem(last=False)[1][0].close()
        index = known or WorkspaceIndex(layout, project_id)
        self._kept[layout] = index, now
        return index


@cache
def _this_reader() -> Reader:
    return Reader()
