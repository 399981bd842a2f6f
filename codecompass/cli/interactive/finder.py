"""The thread that answers an interactive search: at most one question is being answered and one of each kind is waiting.

A newer question replaces the one that is waiting, and cancels the one that is being answered. Only this thread reads from its
`LiveIndex`; the terminal belongs to the thread that calls `ask`.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from codecompass.cli.failure import as_known
from codecompass.cli.interactive.highlighting import PreviewHighlighter
from codecompass.cli.interactive.preview import Preview, preview
from codecompass.cli.interactive.source import ListedHit, LiveIndex, ShownHits, Source
from codecompass.errors import InternalError
from codecompass.hints import for_people
from codecompass.protocol.requests import SearchMode

JOIN_SECONDS: Final = 2.0
"""How long `stop` waits for a question to notice that it was dropped."""

WARMING_QUERY: Final = "main"
"""Searched before the first question, to load what each question needs, which takes as long as twenty of them."""


class TypedQuery(Struct, frozen=True):
    """A query and its mode. Of two questions the later one has the higher number."""

    number: int
    query: str
    mode: SearchMode


class SearchOutcome(Struct, frozen=True):
    """The outcome of a question: what was found, or an error message."""

    question: TypedQuery
    found: ShownHits | None = None
    error: str = ""


class PreviewAnswer(Struct, frozen=True):
    """The preview of a hit, None if the lines could not be read."""

    hit: ListedHit
    preview: Preview | None


class Finder:
    """Answers questions about a source. `deliver` is called in the finder's thread, for each question that was not dropped."""

    def __init__(self, source: Source, deliver: Callable[[SearchOutcome | PreviewAnswer], object]) -> None:
        self._deliver = deliver
        self._changed = threading.Condition()
        self._question: TypedQuery | None = None
        self._wanted: ListedHit | None = None
        self._latest = 0
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, args=(source,), name="interactive-search", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def ask(self, query: str, mode: SearchMode) -> TypedQuery:
        """Queues a question, and drops those before it."""
        with self._changed:
            self._latest += 1
            self._question = TypedQuery(self._latest, query, mode)
            self._wanted = None
            self._changed.notify()
            return self._question

    def drop(self) -> None:
        """Drops all questions."""
        with self._changed:
            self._latest += 1
            self._question = self._wanted = None

    def request_preview(self, hit: ListedHit) -> None:
        """Queues the preview of a hit, in place of another that is waiting."""
        with self._changed:
            self._wanted = hit
            self._changed.notify()

    def stop(self) -> None:
        """Stops the thread, and waits up to JOIN_SECONDS for its end."""
        with self._changed:
            self._is_stopped = True
            self._latest += 1
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(JOIN_SECONDS)

    def _run(self, source: Source) -> None:
        index, highlighter = LiveIndex(source), PreviewHighlighter()
        try:
            highlighter.start()
            self._warm_up(index)
            while True:
                with self._changed:
                    while self._question is None and self._wanted is None and not self._is_stopped:
                        self._changed.wait()
                    if self._is_stopped:
                        return
                    question, self._question = self._question, None
                    wanted, self._wanted = (self._wanted, None) if question is None else (None, self._wanted)
                if question is not None:
                    answer = self._answer(index, question)
                    if not self._is_dropped(question):
                        self._deliver(answer)
                elif wanted is not None:
                    shown = _preview(index, wanted, highlighter, self._has_newer)
                    if not self._has_newer():
                        self._deliver(PreviewAnswer(wanted, shown))
        finally:
            highlighter.close()
            index.close()

    def _warm_up(self, index: LiveIndex) -> None:
        # A question will fail in the same way and report it.
        with suppress(Exception):
            index.search(WARMING_QUERY, "auto", lambda: self._question is not None or self._is_stopped)

    def _answer(self, index: LiveIndex, question: TypedQuery) -> SearchOutcome:
        try:
            return SearchOutcome(question, index.search(question.query, question.mode, lambda: self._is_dropped(question)))
        except Exception as error:  # noqa: BLE001 - the boundary of a question: its failure is an answer
            return SearchOutcome(question, error=message_of(error))

    def _has_newer(self) -> bool:
        """Whether something else is asked for than the preview that is being made."""
        return self._question is not None or self._wanted is not None or self._is_stopped

    def _is_dropped(self, question: TypedQuery) -> bool:
        return question.number != self._latest


def message_of(error: Exception) -> str:
    """Returns the message of an error for people, with commands in place of tools."""
    known = as_known(error) or InternalError(f"{type(error).__name__}: {error}")
    return for_people(known.message)


def _preview(index: LiveIndex, hit: ListedHit, highlighter: PreviewHighlighter, is_dropped: Callable[[], bool]) -> Preview | None:
    try:
        return preview(index.around(hit.path, hit.line), hit, highlighter, is_dropped)
    except Exception:  # noqa: BLE001 - the hit is shown without a preview; the next question reports the error
        return None
