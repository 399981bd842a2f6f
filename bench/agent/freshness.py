"""Edits a copy of a repository and asks at once: is the answer right, does it admit that it is not, or neither?

Every change adds or removes unique names, so the right answer is known: the one file that now has the name, at its line, or
nothing. A wrong answer that admits it (stale and partial, or an error) costs a call; a wrong answer that claims to be fresh or
complete misleads.
"""

import random
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from bench.agent import grep
from bench.agent.answers import Place, read_answer
from bench.agent.asking import OURS, RIPGREP, options_of, wait_until_indexed
from bench.client import Connection, Said, serving
from bench.corpus import copy_of, given_tree
from bench.edits import FUNCTIONS, editable

Verdict = Literal["right", "admitted", "silent"]

FEW: Final = 1
SOME: Final = 10
MANY: Final = 150
CHECKED_OUT: Final = 800
MOVED: Final = 20
"""Number of files of one change."""

PRESENT_ASKED: Final = 3
ABSENT_ASKED: Final = 2
"""Number of names asked for after one change."""

SETTLE_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.05

GIT_SECONDS: Final = 120.0

KEPT_CHARACTERS: Final = 4_000


class Expected(Struct, frozen=True):
    """A name and the only file that has it now; None if no file has it any more."""

    name: str
    path: str | None


class Change(Struct, frozen=True):
    """A change of the tree, and the names to find afterwards."""

    kind: str
    expected: tuple[Expected, ...]


class FreshAnswer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question after a change: a line of the file of answers. `order` counts the questions after the change from 1.

    `settled_ms` is the time from the end of the change until a wrong answer became right; None if it did not within
    SETTLE_SECONDS, 0 for an answer that was right at once. Names are waited for one after the other, so it is an upper bound for
    the later ones. `says` is what the answer reported as missing.
    """

    system: str
    repo: str
    kind: str
    files: int
    round: int
    order: int
    tool: str
    name: str
    path: str | None
    verdict: Verdict
    ms: float
    calls: int
    characters: int
    settled_ms: float | None
    says: str = ""
    text: str = ""


class Tree:
    """A copy of a repository that is edited. Records which of its generated names are in which file."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root = root
        self.random = random.Random(seed)
        self._outside = root.with_name(root.name + "-outside")
        shutil.rmtree(self._outside, ignore_errors=True)
        self._outside.mkdir()
        paths = editable(str(path.relative_to(root)) for path in _files(root))
        if len(paths) < SOME:
            raise ValueError(f"{root.name} has too few files that a function can be added to")
        self._switched = paths[: min(CHECKED_OUT, len(paths) // 2)]
        self._edited = paths[len(self._switched) :]
        self._texts = {path: (root / path).read_bytes() for path in self._edited}
        self._names: dict[str, str] = {}
        self._created = 0
        self._branches = self._make_branches()

    def edit(self, count: int) -> Change:
        """Appends a new function to files, replacing the one appended before."""
        paths = self.random.sample(self._edited, min(count, len(self._edited)))
        gone = [Expected(self._names.pop(path), None) for path in paths if path in self._names]
        for path in paths:
            self._write(path, self._texts[path])
        return Change(f"{len(paths)} edited", (*self._present(paths), *gone))

    def create(self) -> Change:
        """Writes a new file in a new directory."""
        path = self._new_path("created")
        self._write(path, b"")
        return Change("new file", tuple(self._present([path])))

    def rename(self) -> Change:
        """Renames a created file."""
        old = self._own("created")
        new = self._new_path("created")
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        (self.root / old).rename(self.root / new)
        self._names[new] = self._names.pop(old)
        return Change("file renamed", tuple(self._present([new])))

    def delete(self) -> Change:
        """Deletes a created file."""
        path = self._own("created")
        (self.root / path).unlink()
        return Change("file deleted", (Expected(self._names.pop(path), None),))

    def move_in(self) -> Change:
        """Moves a directory of new files in from outside the tree, in one rename."""
        self._created += 1
        directory = f"moved{self._created}"
        (self._outside / directory).mkdir()
        paths = [f"{directory}/part{number}{self._suffix()}" for number in range(MOVED)]
        for path in paths:
            self._write(path, b"", root=self._outside)
        (self._outside / directory).rename(self.root / directory)
        return Change(f"directory of {MOVED} moved in", tuple(self._present(paths)))

    def move_out(self) -> Change:
        """Moves out a directory that was moved in."""
        directory = self._own("moved").partition("/")[0]
        (self.root / directory).rename(self._outside / f"{directory}-back")
        paths = [path for path in self._names if path.startswith(f"{directory}/")]
        return Change(f"directory of {MOVED} moved out", tuple(Expected(self._names.pop(path), None) for path in paths))

    def switch(self) -> Change:
        """Checks out the other branch, which has other names in many files."""
        (_, gone), (branch, names) = self._branches
        _git(self.root, "checkout", "-q", branch)
        self._branches.reverse()
        here = tuple(Expected(name, path) for path, name in names.items())
        return Change(f"checkout of {len(names)}", (*here, *(Expected(name, None) for name in gone.values())))

    def edit_offline(self) -> Change:
        """Edits, creates and deletes: the changes made while no server runs."""
        changes = [self.edit(SOME), self.create(), self.delete()]
        expected = {item.name: item for change in changes for item in change.expected}
        return Change("edited while no server ran", tuple(expected.values()))

    def line_of(self, expected: Expected) -> int:
        """Returns the line of a name, from 1."""
        assert expected.path is not None
        lines = (self.root / expected.path).read_text(encoding="utf-8", errors="replace").split("\n")
        return next(number for number, line in enumerate(lines, 1) if expected.name in line)

    def close(self) -> None:
        """Removes the copy."""
        shutil.rmtree(self._outside, ignore_errors=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def _make_branches(self) -> list[tuple[str, Mapping[str, str]]]:
        """Commits two branches that differ in many files and checks out the first. Returns each with its names by path."""
        branches: list[tuple[str, Mapping[str, str]]] = []
        texts = {path: (self.root / path).read_bytes() for path in self._switched}
        for branch in ("bench-one", "bench-two"):
            _git(self.root, "checkout", "-q", "-b", branch)
            names = {path: self._write_function(self.root / path, text) for path, text in texts.items()}
            _git(self.root, "commit", "-q", "-a", "-m", branch)
            branches.append((branch, names))
        _git(self.root, "checkout", "-q", branches[0][0])
        return branches

    def _write(self, path: str, text: bytes, root: Path | None = None) -> None:
        self._names[path] = self._write_function((root or self.root) / path, text)

    def _write_function(self, file: Path, text: bytes) -> str:
        name = f"BenchFresh{self.random.getrandbits(48):012x}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text + FUNCTIONS[file.suffix].format(name=name, tag=1).encode())
        return name

    def _present(self, paths: Sequence[str]) -> list[Expected]:
        return [Expected(self._names[path], path) for path in paths]

    def _suffix(self) -> str:
        return Path(self.random.choice(self._edited)).suffix

    def _new_path(self, directory: str) -> str:
        self._created += 1
        return f"{directory}/of{self._created}/made{self._created}{self._suffix()}"

    def _own(self, directory: str) -> str:
        return self.random.choice([path for path in self._names if path.startswith(directory)])


class FreshnessRun:
    """Makes changes to a copy of `root`, asks after each, and passes each answer to `keep`. Its index is in `home`."""

    def __init__(self, root: Path, home: Path, form: str, ripgrep: str, keep: Callable[[FreshAnswer], None]) -> None:
        self._repo = root.name
        self._home = home
        self._form = form
        self._ripgrep = ripgrep
        self._keep = keep
        self._root = root
        self._asked = 0

    def run(self, rounds: int, seed: int) -> None:
        """Makes every change `rounds` times; a round ends with edits while no server runs."""
        tree = Tree(copy_of(given_tree(self._root)).root, seed)
        try:
            for round_ in range(rounds):
                with self._serving(tree) as server:
                    wait_until_indexed(server)
                    for make in changes_of(tree):
                        self._ask(server, tree, make(), round_)
                change = tree.edit_offline()
                with self._serving(tree) as server:
                    self._ask(server, tree, change, round_)
        finally:
            tree.close()

    @contextmanager
    def _serving(self, tree: Tree) -> Iterator[Connection]:
        with serving(tree.root, self._home, *options_of(self._form)) as server:
            server.initialize()
            yield server

    def _ask(self, server: Connection, tree: Tree, change: Change, round_: int) -> None:
        """Asks for some of the names at once; afterwards, repeats those answered wrongly until the answer is right."""
        changed = time.monotonic()
        asked = [(expected, self._question(expected.name)) for expected in _some(change.expected, tree.random)]
        answers = [server.ask(tool, arguments) for _, (tool, arguments) in asked]
        verdicts = [judge(tree, expected, said) for (expected, _), said in zip(asked, answers, strict=True)]
        judged = zip(asked, answers, verdicts, strict=True)
        for order, ((expected, (tool, arguments)), said, verdict) in enumerate(judged, 1):
            settled = 0.0 if verdict == "right" else _settled_ms(server, tree, expected, tool, arguments, changed)
            ours = FreshAnswer(
                system=OURS,
                repo=self._repo,
                kind=change.kind,
                files=len(change.expected),
                round=round_,
                order=order,
                tool=f"{tool} {arguments.get('mode', '')}".strip(),
                name=expected.name,
                path=expected.path,
                verdict=verdict,
                ms=said.seconds * 1000,
                calls=1,
                characters=len(said.text),
                settled_ms=settled,
                says=read_answer(said.text, is_error=said.is_error).says,
                text=said.text[:KEPT_CHARACTERS],
            )
            self._keep(ours)
            self._keep(self._grepped(ours, tree, expected))

    def _grepped(self, ours: FreshAnswer, tree: Tree, expected: Expected) -> FreshAnswer:
        found = grep.find_name(self._ripgrep, tree.root, expected.name)
        right = is_right(expected, found.places, lambda: tree.line_of(expected))
        return msgspec.structs.replace(
            ours,
            system=RIPGREP,
            tool="rg -nw",
            verdict="right" if right else "silent",
            ms=found.seconds * 1000,
            characters=len(found.text),
            settled_ms=0.0,
            says="",
            text=found.text[:KEPT_CHARACTERS],
        )

    def _question(self, name: str) -> tuple[str, Mapping[str, object]]:
        """Returns the next of the kinds of question that agents ask, in turn."""
        self._asked += 1
        questions: tuple[tuple[str, Mapping[str, object]], ...] = (
            ("search_code", {"query": name}),
            ("locate_symbol", {"name": name}),
            ("search_code", {"query": name, "mode": "literal"}),
        )
        return questions[self._asked % len(questions)]


def changes_of(tree: Tree) -> Sequence[Callable[[], Change]]:
    """Returns the changes of a round; each comes after those it depends on."""
    return (
        lambda: tree.edit(FEW),
        lambda: tree.edit(SOME),
        lambda: tree.edit(MANY),
        tree.create,
        tree.rename,
        tree.create,
        tree.delete,
        tree.move_in,
        tree.move_out,
        tree.switch,
    )


def judge(tree: Tree, expected: Expected, said: Said) -> Verdict:
    """Returns the verdict on an answer after a change."""
    answer = read_answer(said.text, is_error=said.is_error)
    if not said.is_error and is_right(expected, answer.places, lambda: tree.line_of(expected)):
        return "right"
    return "admitted" if answer.admits else "silent"


def is_right(expected: Expected, places: Sequence[Place], line_of: Callable[[], int]) -> bool:
    """Whether all places that show the name are in its file and one includes its line; no place may show a removed name."""
    found = [place for place in places if place.holds(expected.name)]
    if expected.path is None:
        return not found
    if {place.path for place in found} != {expected.path}:
        return False
    line = line_of()
    return any(line in place.lines or (place.line_start or 0) <= line <= (place.line_end or 0) for place in found)


def _some(expected: Sequence[Expected], random_: random.Random) -> list[Expected]:
    """Returns a few present and a few removed names, shuffled."""
    present = [item for item in expected if item.path is not None]
    absent = [item for item in expected if item.path is None]
    drawn = random_.sample(present, min(PRESENT_ASKED, len(present))) + random_.sample(absent, min(ABSENT_ASKED, len(absent)))
    random_.shuffle(drawn)
    return drawn


def _settled_ms(
    server: Connection, tree: Tree, expected: Expected, tool: str, arguments: Mapping[str, object], changed: float
) -> float | None:
    deadline = time.monotonic() + SETTLE_SECONDS
    while time.monotonic() < deadline:
        if judge(tree, expected, server.ask(tool, arguments)) == "right":
            return (time.monotonic() - changed) * 1000
        time.sleep(POLL_SECONDS)
    return None


def _files(root: Path) -> Iterator[Path]:
    return (path for path in root.rglob("*") if path.is_file() and ".git" not in path.relative_to(root).parts)


def _git(root: Path, *arguments: str) -> None:
    settings = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "gc.auto=0")
    subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True, timeout=GIT_SECONDS)
