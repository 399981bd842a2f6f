"""Asks a real server right after edits, and compares each answer with the truth on disk.

An answer may be late and say so (`stale`, `partial`, `index_not_ready`); one that is wrong and claims to be `fresh` or
`complete`, or names a branch that it does not show, is a lie. `bench.world` knows the truth.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.client import Connection, serving
from bench.world import CHECKOUT, KINDS, World

WHILE_NO_SERVER_RUNS: Final = "edit while no server runs"
EDITS: Final[Mapping[str, int]] = {**KINDS, WHILE_NO_SERVER_RUNS: 4}
"""Kinds of edit with their weights, about a hundred in total."""


class Lie(Struct, frozen=True, kw_only=True):
    """A wrong answer that does not admit that it may be wrong. `number` counts edits from 0."""

    number: int
    kind: str
    tool: str
    word: str
    expected: tuple[str, ...]
    found: tuple[str, ...]
    metadata: Mapping[str, object]


class Report(Struct, frozen=True, kw_only=True):
    """The result of a run. The counters are by kind of edit; `seconds` are those of the first answer after each edit."""

    edits: int
    questions: int
    right: Mapping[str, int]
    late: Mapping[str, int]
    refused: Mapping[str, int]
    lies: tuple[Lie, ...]
    seconds: Mapping[str, tuple[float, ...]]


class Question(Struct, frozen=True, kw_only=True):
    """A call of a tool that asks for a word."""

    tool: str
    arguments: Mapping[str, object]
    word: str


class Judgement(Struct, frozen=True, kw_only=True):
    """The sorted files that an answer names. `says_so`: it admits that it may be out of date."""

    found: tuple[str, ...]
    is_right: bool
    says_so: bool
    ref: str


class _Metadata(Struct, frozen=True):
    freshness_status: str = ""
    result_completeness: str = ""
    ref: str = ""


class _Hit(Struct, frozen=True):
    path: str
    name: str = ""


class _Answer(Struct, frozen=True):
    results: tuple[_Hit, ...] = ()
    metadata: _Metadata = _Metadata()


class _Result(Struct, frozen=True, rename="camel"):
    content: tuple[Mapping[str, str], ...] = ()
    is_error: bool = False


class Driver:
    """Edits a world and queries a server about it; `options` and `variables` are those of the server."""

    def __init__(self, world: World, home: Path, *options: str, variables: Mapping[str, str] | None = None) -> None:
        self.world = world
        self._home = home
        self._options = options
        self._variables = dict(variables or {})
        self._stack = ExitStack()
        self._server: Connection | None = None
        self._right: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._seconds: dict[str, list[float]] = {}
        self._lies: list[Lie] = []
        self._number = 0
        self._n_questions = 0

    def run(self, n_edits: int, on_edit: Callable[[int, str], None] | None = None) -> Report:
        """Makes `n_edits` edits of all kinds, asks after each, and returns the report."""
        with self._stack:
            self._start()
            for number, kind in enumerate(self._kinds(n_edits)):
                self._number = number
                if on_edit is not None:
                    on_edit(number, kind)
                self._edit_and_ask(kind)
        return Report(
            edits=n_edits,
            questions=self._n_questions,
            right=dict(self._right),
            late=dict(self._late),
            refused=dict(self._refused),
            lies=tuple(self._lies),
            seconds={kind: tuple(seconds) for kind, seconds in self._seconds.items()},
        )

    def _kinds(self, n_edits: int) -> Iterator[str]:
        """Yields each kind once, then random ones."""
        first = list(EDITS)[:n_edits]
        yield from first
        yield from self.world.random.choices(list(EDITS), list(EDITS.values()), k=n_edits - len(first))

    def _start(self) -> None:
        with _environment(self._variables):
            self._server = self._stack.enter_context(serving(self.world.root, self._home, *self._options))
        self._server.initialize()

    def _edit_and_ask(self, kind: str) -> None:
        world = self.world
        if kind == WHILE_NO_SERVER_RUNS:
            assert self._server is not None
            self._server.end()
            words = world.edit(3) + world.add()
            self._start()
        else:
            words = world.change(kind, lambda word: self._ask(kind, word, is_first=True))
        for number, word in enumerate(world.some(words)):
            self._ask(kind, word, is_first=number == 0)

    def _ask(self, kind: str, word: str, *, is_first: bool) -> None:
        assert self._server is not None
        question = asking(word, self.world.random)
        timed = self._server.wait(self._server.send_call(question.tool, question.arguments))
        self._n_questions += 1
        if is_first:
            self._seconds.setdefault(kind, []).append(timed.seconds)
        result = msgspec.json.decode(timed.result, type=_Result)
        text = result.content[0]["text"]
        if result.is_error:
            self._refused[f"{kind}: {json.loads(text)['error']['code']}"] += 1
            return
        expected = self.world.where(word)
        judgement = judge(question, text, expected)
        is_named_wrongly = kind == CHECKOUT and judgement.ref == self.world.branch
        if judgement.is_right:
            self._right[kind] += 1
        elif judgement.says_so and not is_named_wrongly:
            self._late[kind] += 1
        else:
            self._lies.append(
                Lie(
                    number=self._number,
                    kind=kind,
                    tool=question.tool,
                    word=word,
                    expected=expected,
                    found=judgement.found,
                    metadata=json.loads(text)["metadata"],
                )
            )


def asking(word: str, source: random.Random) -> Question:
    """Returns one of the calls that ask for a word of a `World`."""
    tool, arguments = source.choice(
        (
            ("search_code", {"query": word, "mode": "literal", "limit": 100}),
            ("search_code", {"query": word, "limit": 100}),
            ("locate_symbol", {"name": word, "limit": 100}),
        )
    )
    return Question(tool=tool, arguments=arguments, word=word)


def judge(question: Question, text: str, expected: tuple[str, ...]) -> Judgement:
    """Returns which files an answer, `content[0].text` of a result without error, names for the word."""
    answer = msgspec.json.decode(text, type=_Answer)
    # Similar words are fair guesses if the word itself is gone: only exact hits count, and all must be there. Literal hits are
    # lines; otherwise a hit counts if its definition has the name.
    is_literal = question.arguments.get("mode") == "literal"
    found = tuple(sorted({hit.path for hit in answer.results if is_literal or hit.name == question.word}))
    metadata = answer.metadata
    return Judgement(
        found=found,
        is_right=found == expected,
        says_so=metadata.freshness_status != "fresh" and metadata.result_completeness != "complete",
        ref=metadata.ref,
    )


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets variables for the processes that are started in the block."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
