"""Asks a real server right after edits, and holds each answer against the truth on disk.

An answer may be late and say so (`stale`, `partial`, `index_not_ready`); one that is wrong and calls itself `fresh` or
`complete`, or carries the name of a branch that it does not show, is a lie. The tree and the edits come from a seed. Every
file holds words that no other file ever held, so that what an answer must name is known without reading anything.
"""

import json
import os
import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.client import Connection, serving

N_FILES: Final = 1_000
FILES_A_DIRECTORY: Final = 25
CHECKED_OUT: Final = 800
MAIN, OTHER = "main", "other"

KINDS: Final[Mapping[str, int]] = {
    "edit 1 file": 40,
    "edit 10 files": 14,
    "edit 150 files": 3,
    "new files": 8,
    "rename": 7,
    "delete": 7,
    "directory moved in": 5,
    "checkout of 800 files": 2,
    "edit while no server runs": 4,
    "two edits of one size": 6,
    "write through a hard link": 2,
    "write through a mapping": 2,
}
"""What is done, and how often among a hundred."""


class Lie(Struct, frozen=True, kw_only=True):
    """An answer that is wrong and does not say that it may be. `number` counts edits from 0."""

    number: int
    kind: str
    tool: str
    word: str
    expected: tuple[str, ...]
    found: tuple[str, ...]
    metadata: Mapping[str, object]


class Report(Struct, frozen=True, kw_only=True):
    """What came of a run. The counters are by kind of edit; `seconds` are those of the first answer after each edit."""

    edits: int
    questions: int
    right: Mapping[str, int]
    late: Mapping[str, int]
    refused: Mapping[str, int]
    lies: tuple[Lie, ...]
    seconds: Mapping[str, tuple[float, ...]]


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


class World:
    """A repository that is edited, and what its files hold. `beside` is a directory outside of it, of the same disk."""

    def __init__(self, top: Path, seed: int, n_files: int = N_FILES) -> None:
        self.random = random.Random(seed)
        self.root = top / "tree"
        self.beside = top / "beside"
        self.words: dict[str, str] = {}
        self.gone: list[str] = []
        self.branch = MAIN
        self._other: dict[str, str] = {}
        self._n_words = 0
        self._n_places = 0
        self._links: dict[str, Path] = {}
        self._make(n_files)

    def where(self, word: str) -> tuple[str, ...]:
        """Returns the files that hold a word, sorted: one or none."""
        return tuple(sorted(path for path, held in self.words.items() if held == word))

    def edit(self, count: int) -> list[str]:
        """Gives files other words; returns those words and one that is gone."""
        paths = self.random.sample(sorted(self.words), min(count, len(self.words)))
        return [word for path in paths for word in self._rewrite(path)]

    def add(self) -> list[str]:
        """Makes new files, some in new directories."""
        paths = [self._new_place() for _ in range(self.random.randint(1, 8))]
        return [self._write(path) for path in paths]

    def rename(self) -> list[str]:
        """Moves files within the tree, one of them over another."""
        paths = self.random.sample(sorted(self.words), 4)
        words = []
        for path, place in ((paths[0], self._new_place()), (paths[1], self._new_place()), (paths[2], paths[3])):
            (self.root / place).parent.mkdir(parents=True, exist_ok=True)
            os.rename(self.root / path, self.root / place)
            self._links.pop(path, None)
            self._links.pop(place, None)
            if place in self.words:
                words.append(self._forget(place))
            self.words[place] = self.words.pop(path)
            words.append(self.words[place])
        return words

    def delete(self) -> list[str]:
        """Removes files, or a directory."""
        paths = self.random.sample(sorted(self.words), 5)
        if self.random.random() < 0.3:
            directory = paths[0].rpartition("/")[0] + "/"
            paths = [path for path in self.words if path.startswith(directory)]
            shutil.rmtree(self.root / directory)
        else:
            for path in paths:
                (self.root / path).unlink()
        return [self._forget(path) for path in paths]

    def move_in(self) -> list[str]:
        """Moves a directory of files from elsewhere into the tree."""
        self._n_places += 1
        name = f"moved{self._n_places}"
        words = {}
        for number in range(self.random.randint(2, 30)):
            path = f"{name}/deep{number % 3}/m{number}.py"
            file = self.beside / path
            file.parent.mkdir(parents=True, exist_ok=True)
            words[path] = self._word()
            file.write_text(_source(words[path]))
        os.rename(self.beside / name, self.root / name)
        self.words.update(words)
        return list(words.values())

    def check_out(self) -> list[str]:
        """Commits what there is, and switches to the branch on which 800 files are others."""
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-q", "--allow-empty", "-m", "as it is")
        here = dict(self.words)
        there = OTHER if self.branch == MAIN else MAIN
        _git(self.root, "checkout", "-q", there)
        self.branch = there
        self.words, self._other = self._other, here
        self._links.clear()
        self.gone = [word for word in here.values() if word not in set(self.words.values())]
        return [word for path, word in self.words.items() if here.get(path) != word]

    def edit_twice(self, ask: Callable[[str], None]) -> list[str]:
        """Edits a file, has it asked for, and edits it again at once, to the same size."""
        path = self.random.choice(sorted(self.words))
        words = self._rewrite(path)
        ask(words[0])
        return [*self._rewrite(path), words[0]]

    def write_link(self) -> list[str]:
        """Writes a file through a name that it has outside of the tree, one that it has had since an earlier edit."""
        known = [path for path in self._links if path in self.words]
        if not known:
            path = self._new_place()
            other = self.beside / f"link{self._n_places}.py"
            self.words[path] = self._word()
            other.write_text(_source(self.words[path]))
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(other, self.root / path)
            self._links[path] = other
            return [self.words[path]]
        path = self.random.choice(known)
        old, self.words[path] = self.words[path], self._word()
        self.gone.append(old)
        with self._links[path].open("w") as file:
            file.write(_source(self.words[path]))
        return [self.words[path], old]

    def write_mapped(self) -> list[str]:
        """Writes a file through a shared mapping, the last part of it after its times have been set."""
        import mmap

        path = self.random.choice(sorted(self.words))
        old, new = self.words[path], self._word()
        with (self.root / path).open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            content = _source(new).encode()
            assert len(content) == len(mapping), "words are of one length"
            mapping[:10] = content[:10]
            time.sleep(0.03)
            mapping[10:] = content[10:]
        self.words[path] = new
        self.gone.append(old)
        return [new, old]

    # the tree

    def _make(self, n_files: int) -> None:
        self.beside.mkdir(parents=True)
        self.root.mkdir()
        _git(self.root, "init", "-q", "-b", MAIN)
        for number in range(n_files):
            self._write(f"pkg{number // FILES_A_DIRECTORY}/m{number}.py")
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-q", "-m", "first")
        first = dict(self.words)
        _git(self.root, "checkout", "-q", "-b", OTHER)
        for path in sorted(first)[:CHECKED_OUT]:
            self._write(path)
        _git(self.root, "commit", "-q", "-a", "-m", "other")
        self._other = self.words
        self.words = first
        _git(self.root, "checkout", "-q", MAIN)

    def _write(self, path: str) -> str:
        word = self._word()
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_source(word))
        self.words[path] = word
        return word

    def _rewrite(self, path: str) -> tuple[str, str]:
        """Returns the new word and the old one."""
        old = self.words[path]
        if path in self._links:
            # As editors do: another file under the name.
            self._links.pop(path)
            (self.root / path).unlink()
        self.gone.append(old)
        return self._write(path), old

    def _forget(self, path: str) -> str:
        self._links.pop(path, None)
        word = self.words.pop(path)
        self.gone.append(word)
        return word

    def _word(self) -> str:
        self._n_words += 1
        return f"quokka{self._n_words:07d}"

    def _new_place(self) -> str:
        self._n_places += 1
        directory = self.random.choice((f"new{self._n_places}/deeper", f"pkg{self.random.randrange(20)}", f"new{self._n_places}"))
        return f"{directory}/n{self._n_places}.py"


class Driver:
    """Edits a world and asks the server of a connection about it; `options` and `variables` are those of the server."""

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
        """Makes so many edits of all kinds, asks after each, and returns what came of it."""
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
        """Each kind once, then at random."""
        weights = list(KINDS.values())
        first = list(KINDS)[:n_edits]
        yield from first
        yield from self.world.random.choices(list(KINDS), weights, k=n_edits - len(first))

    def _start(self) -> None:
        with _environment(self._variables):
            self._server = self._stack.enter_context(serving(self.world.root, self._home, *self._options))
        self._server.initialize()

    def _edit_and_ask(self, kind: str) -> None:
        world = self.world
        match kind:
            case "edit 1 file":
                words = world.edit(1)
            case "edit 10 files":
                words = world.edit(10)
            case "edit 150 files":
                words = world.edit(150)
            case "new files":
                words = world.add()
            case "rename":
                words = world.rename()
            case "delete":
                words = world.delete()
            case "directory moved in":
                words = world.move_in()
            case "checkout of 800 files":
                words = world.check_out()
            case "edit while no server runs":
                assert self._server is not None
                self._server.end()
                words = world.edit(3) + world.add()
                self._start()
            case "two edits of one size":
                words = world.edit_twice(lambda word: self._ask(kind, word, is_first=True))
            case "write through a hard link":
                words = world.write_link()
            case "write through a mapping":
                words = world.write_mapped()
            case _:
                raise AssertionError(kind)
        asked = self._some(words)
        for number, word in enumerate(asked):
            self._ask(kind, word, is_first=number == 0)

    def _some(self, words: Sequence[str]) -> list[str]:
        """The first and the last word, one in between, and one that has been gone for a while."""
        chosen = dict.fromkeys([words[0], words[len(words) // 2], words[-1]])
        if self.world.gone:
            chosen[self.world.random.choice(self.world.gone)] = None
        return list(chosen)

    def _ask(self, kind: str, word: str, *, is_first: bool) -> None:
        assert self._server is not None
        tool, arguments = self.world.random.choice(
            (
                ("search_code", {"query": word, "mode": "literal", "limit": 100}),
                ("search_code", {"query": word, "limit": 100}),
                ("locate_symbol", {"name": word, "limit": 100}),
            )
        )
        timed = self._server.wait(self._server.send_call(tool, arguments))
        self._n_questions += 1
        if is_first:
            self._seconds.setdefault(kind, []).append(timed.seconds)
        result = msgspec.json.decode(timed.result, type=_Result)
        text = result.content[0]["text"]
        if result.is_error:
            self._refused[f"{kind}: {json.loads(text)['error']['code']}"] += 1
            return
        answer = msgspec.json.decode(text, type=_Answer)
        expected = self.world.where(word)
        found = tuple(sorted({hit.path for hit in answer.results if self._is_meant(tool, arguments, hit, word)}))
        metadata = answer.metadata
        # A similar word is a fair guess where the word itself is gone: only exact hits count, and these must be all.
        if found == expected:
            self._right[kind] += 1
            return
        says_so = metadata.freshness_status != "fresh" and metadata.result_completeness != "complete"
        is_named_wrongly = kind == "checkout of 800 files" and metadata.ref == self.world.branch
        if says_so and not is_named_wrongly:
            self._late[kind] += 1
            return
        self._lies.append(
            Lie(
                number=self._number,
                kind=kind,
                tool=tool,
                word=word,
                expected=expected,
                found=found,
                metadata=json.loads(text)["metadata"],
            )
        )

    def _is_meant(self, tool: str, arguments: Mapping[str, object], hit: _Hit, word: str) -> bool:
        if tool == "locate_symbol":
            return hit.name == word
        # Words of the query's kind are alike in parts: what counts is a hit whose definition is called so.
        return arguments.get("mode") == "literal" or hit.name == word


def _source(word: str) -> str:
    """Returns the text of a file that defines a word; of one size for all words."""
    body = "".join(f"    value = value * {number} + total - {number + 1}\n" for number in range(1, 12))
    return f"def {word}(value, total):\n{body}    return value\n"


def _git(root: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false", *arguments]
    subprocess.run(command, cwd=root, check=True, capture_output=True)


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
