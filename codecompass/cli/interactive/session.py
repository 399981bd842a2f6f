"""The state of an interactive search: the query, its answer, the selected hit, the freshness of the index. Knows no terminal.

Used by one thread alone, that of the terminal. News from the finder and the upkeep arrive through `take`.
"""

import time
from collections import OrderedDict
from typing import Final

from codecompass.cli.interactive.finder import Finder, PreviewAnswer, SearchOutcome, TypedQuery
from codecompass.cli.interactive.preview import Preview
from codecompass.cli.interactive.source import ListedHit, Source
from codecompass.cli.interactive.upkeep import TreeState, Upkeep
from codecompass.protocol.requests import SearchMode

MODES: Final[tuple[SearchMode, ...]] = ("auto", "literal", "regex", "files")
"""In the order in which ^T goes through them."""

MAX_PREVIEWS: Final = 64
"""Previews that are kept for one answer."""


class Session:
    """The state of the search. Its methods return at once."""

    def __init__(self, source: Source, finder: Finder, upkeep: Upkeep | None) -> None:
        """`upkeep` is None for the index of a commit, which does not change."""
        self.source = source
        self.mode: SearchMode = source.mode
        self.query = ""
        self.answer: SearchOutcome | None = None
        self.selected = 0
        self.tree = TreeState()
        self.known = TreeState()
        """The last state in which the index was up to date."""
        self.message = ""
        """Why the last key had no effect."""
        self._finder, self._upkeep = finder, upkeep
        self._question: TypedQuery | None = None
        self._asked_at = 0.0
        self._previews: OrderedDict[tuple[str, int], Preview | None] = OrderedDict()
        self._last_preview: Preview | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the shown answer is not yet that to the query."""
        return self._question is not None and (self.answer is None or self.answer.question.number != self._question.number)

    @property
    def is_withheld(self) -> bool:
        """Whether the policy `strict` withholds the answer: its generation was not found up to date since the question."""
        found = None if self.answer is None else self.answer.found
        return (
            found is not None
            and self.source.policy == "strict"
            and self.source.commit is None
            and (self.known.version != found.version or self.known.as_of < self._asked_at)
        )

    @property
    def hits(self) -> tuple[ListedHit, ...]:
        """The hits that are shown."""
        found = None if self.answer is None else self.answer.found
        return () if found is None or self.is_withheld else found.hits

    @property
    def hit(self) -> ListedHit | None:
        """The selected hit."""
        return self.hits[self.selected] if self.selected < len(self.hits) else None

    @property
    def preview(self) -> Preview | None:
        """The code around the selected hit; until that arrives, the preview shown before, to avoid a flicker."""
        return None if self.hit is None else self._previews.get(_key(self.hit), self._last_preview)

    @property
    def error(self) -> str:
        """The error to show: of the last key, of the query, or of the comparison with the tree."""
        if self.message:
            return self.message
        if self.answer is not None and self.answer.error:
            return self.answer.error
        return self.tree.message if self.tree.phase == "failed" else ""

    def set_query(self, query: str) -> None:
        """Takes the query that is typed now, and asks it."""
        self.query = query
        self.message = ""
        self._ask()

    def next_mode(self) -> None:
        """Asks the query in the next of the modes."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.message = ""
        self._ask()

    def check_tree(self) -> None:
        """Starts a comparison of the index with the tree now."""
        self.message = ""
        if self._upkeep is not None:
            self._upkeep.check_now()

    def move(self, n_rows: int) -> None:
        """Moves the selection down by `n_rows`, up if negative, but not beyond the last or the first hit."""
        self.message = ""
        if self.hits:
            self.selected = max(0, min(self.selected + n_rows, len(self.hits) - 1))
            self._want_preview()

    def cycle(self, n_rows: int) -> None:
        """Moves the selection by `n_rows`; the first hit follows the last."""
        self.message = ""
        if self.hits:
            self.selected = (self.selected + n_rows) % len(self.hits)
            self._want_preview()

    def take(self, news: SearchOutcome | PreviewAnswer | TreeState) -> None:
        """Applies news from a thread. Ignores an answer that is not to the last question."""
        match news:
            case SearchOutcome():
                self._take_answer(news)
            case PreviewAnswer():
                self._keep_preview(news.hit, news.preview)
            case TreeState():
                self._take_state(news)

    def _ask(self) -> None:
        if not self.query.strip():
            self._finder.drop()
            self._question = self.answer = None
            self.selected = 0
            return
        self._question = self._finder.ask(self.query, self.mode)
        self._asked_at = time.time()
        if self._upkeep is not None:
            self._upkeep.note_question()

    def _take_answer(self, answer: SearchOutcome) -> None:
        if self._question is None or answer.question.number != self._question.number:
            return
        is_repeated = self.answer is not None and self.answer.question.query == answer.question.query
        before = self.hit if is_repeated else None
        self.answer = answer
        self._previews.clear()
        hits = () if answer.found is None else answer.found.hits
        # After a change of the tree the same query is asked again: the selection stays at the same hit.
        self.selected = next((number for number, each in enumerate(hits) if before and _is_same(each, before)), 0)
        self._want_preview()
        self._ask_again_if_replaced()

    def _take_state(self, state: TreeState) -> None:
        self.tree = state
        if state.phase == "fresh":
            self.known = state
        self._ask_again_if_replaced()
        self._want_preview()

    def _ask_again_if_replaced(self) -> None:
        """Asks the query again if its answer is of an older generation than the one that is up to date."""
        found = None if self.answer is None else self.answer.found
        if found is None or self.is_pending or self.tree.version is None:
            return
        # Compared by time: a rebuild counts its generations from 1 again.
        if self.tree.phase == "fresh" and found.version[1] < self.tree.version[1]:
            self._question = self._finder.ask(self.query, self.mode)

    def _want_preview(self) -> None:
        hit = self.hit
        if hit is not None and _key(hit) not in self._previews:
            self._finder.request_preview(hit)

    def _keep_preview(self, hit: ListedHit, preview: Preview | None) -> None:
        self._previews[_key(hit)] = self._last_preview = preview
        while len(self._previews) > MAX_PREVIEWS:
            self._previews.popitem(last=False)


def _key(hit: ListedHit) -> tuple[str, int]:
    return hit.path, hit.line


def _is_same(one: ListedHit, other: ListedHit) -> bool:
    return (one.path, one.result.qualified_name, one.text) == (other.path, other.result.qualified_name, other.text)
