"""What an interactive search knows: the query, its answer, the selected hit, how the index stands to the tree. No terminal.

Touched by one thread alone, that of the terminal. What the finder and the upkeep say arrives through `take`.
"""

import time
from collections import OrderedDict
from typing import Final

from codecompass.cli.interactive.finder import Answer, Finder, PreviewAnswer, Question
from codecompass.cli.interactive.preview import Preview
from codecompass.cli.interactive.source import Hit, Source
from codecompass.cli.interactive.upkeep import TreeState, Upkeep
from codecompass.protocol.requests import SearchMode

MODES: Final[tuple[SearchMode, ...]] = ("auto", "literal", "regex", "files")
"""In the order in which a key goes through them."""

MAX_PREVIEWS: Final = 64
"""Previews that are kept of one answer."""


class Session:
    """The state of the search. Its methods return at once."""

    def __init__(self, source: Source, finder: Finder, upkeep: Upkeep | None) -> None:
        """`upkeep` is None for the index of a commit, which does not change."""
        self.source = source
        self.mode: SearchMode = source.mode
        self.query = ""
        self.answer: Answer | None = None
        self.selected = 0
        self.tree = TreeState()
        self.known = TreeState()
        """The last state in which the index was up to date."""
        self.message = ""
        """What the last key could not do."""
        self._finder, self._upkeep = finder, upkeep
        self._question: Question | None = None
        self._asked_at = 0.0
        self._previews: OrderedDict[tuple[str, int], Preview | None] = OrderedDict()
        self._last_preview: Preview | None = None

    @property
    def is_pending(self) -> bool:
        """Whether the shown answer is not yet that of the query."""
        return self._question is not None and (self.answer is None or self.answer.question.number != self._question.number)

    @property
    def is_withheld(self) -> bool:
        """Whether the policy `strict` holds an answer back: its generation was not found up to date since the question."""
        found = None if self.answer is None else self.answer.found
        return (
            found is not None
            and self.source.policy == "strict"
            and self.source.commit is None
            and (self.known.version != found.version or self.known.as_of < self._asked_at)
        )

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits that are shown."""
        found = None if self.answer is None else self.answer.found
        return () if found is None or self.is_withheld else found.hits

    @property
    def hit(self) -> Hit | None:
        """The selected hit."""
        return self.hits[self.selected] if self.selected < len(self.hits) else None

    @property
    def preview(self) -> Preview | None:
        """The code around the selected hit; until that is there, what was shown before, which is better than a flicker."""
        return None if self.hit is None else self._previews.get(_key(self.hit), self._last_preview)

    @property
    def error(self) -> str:
        """What is wrong: with the last key, with the query, or with the tree."""
        if self.message:
            return self.message
        if self.answer is not None and self.answer.error:
            return self.answer.error
        return self.tree.message if self.tree.phase == "failed" else ""

    def typed(self, query: str) -> None:
        """Asks for another query."""
        self.query = query
        self.message = ""
        self._ask()

    def turn_mode(self) -> None:
        """Reads the query in the next of the modes."""
        self.mode = MODES[(MODES.index(self.mode) + 1) % len(MODES)]
        self.message = ""
        self._ask()

    def look(self) -> None:
        """Has the index compared with the tree now."""
        self.message = ""
        if self._upkeep is not None:
            self._upkeep.look_now()

    def move(self, n_rows: int) -> None:
        """Selects the hit so many rows below, or above; the last or the first one where there are not so many."""
        self.message = ""
        if self.hits:
            self.selected = max(0, min(self.selected + n_rows, len(self.hits) - 1))
            self._want_preview()

    def cycle(self, n_rows: int) -> None:
        """Selects the next hit, after the last one the first."""
        self.message = ""
        if self.hits:
            self.selected = (self.selected + n_rows) % len(self.hits)
            self._want_preview()

    def take(self, news: Answer | PreviewAnswer | TreeState) -> None:
        """Takes in what a thread says. An answer that is not that of the last question is left out."""
        match news:
            case Answer():
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
            self._upkeep.asked()

    def _take_answer(self, answer: Answer) -> None:
        if self._question is None or answer.question.number != self._question.number:
            return
        is_repeated = self.answer is not None and self.answer.question.query == answer.question.query
        before = self.hit if is_repeated else None
        self.answer = answer
        self._previews.clear()
        hits = () if answer.found is None else answer.found.hits
        # After a change of the tree the same query is asked again: the reader stays at the same hit.
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
        """Asks the query again where its answer is of an older generation than the one that is up to date."""
        found = None if self.answer is None else self.answer.found
        if found is None or self.is_pending or self.tree.version is None:
            return
        # By time: a rebuild counts its generations from 1 again.
        if self.tree.phase == "fresh" and found.version[1] < self.tree.version[1]:
            self._question = self._finder.ask(self.query, self.mode)

    def _want_preview(self) -> None:
        hit = self.hit
        if hit is not None and _key(hit) not in self._previews:
            self._finder.show(hit)

    def _keep_preview(self, hit: Hit, preview: Preview | None) -> None:
        self._previews[_key(hit)] = self._last_preview = preview
        while len(self._previews) > MAX_PREVIEWS:
            self._previews.popitem(last=False)


def _key(hit: Hit) -> tuple[str, int]:
    return hit.path, hit.line


def _is_same(one: Hit, other: Hit) -> bool:
    return (one.path, one.result.qualified_name, one.text) == (other.path, other.result.qualified_name, other.text)
