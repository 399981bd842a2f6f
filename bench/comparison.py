"""Measures programs on one tree in turns: every round has all of them, in another order each time.

A row is one figure. Its value for a program is one number for each round; the table shows the median of the rounds.
"""

import random
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from bench.client import Connection, ServerFailed, connected
from bench.edits import edit_files, editable, undo
from bench.figures import percentile
from bench.job import layout_for
from bench.measure import RunFailed, cpu_seconds_of, memory_of, run
from bench.programs import OURS, Kind, Place, Program
from bench.questions import questions
from codecompass.store.index import WorkspaceIndex

Part = Literal["index", "contact", "sync", "ask", "find", "edit"]
Unit = Literal["s", "ms", "bytes"]


class Row(Struct, frozen=True):
    """A row of the table."""

    part: Part
    title: str
    unit: Unit


ROWS: Final[dict[str, Row]] = {
    "index_cpu": Row("index", "first index by a command, everything: CPU", "s"),
    "index_wall": Row("index", "first index by a command, everything: wall", "s"),
    "index_memory": Row("index", "memory of all processes meanwhile", "bytes"),
    "disk": Row("index", "index on disk", "bytes"),
    "start": Row("contact", "server started, first message answered", "s"),
    "text_wall": Row("contact", "first index by a server, until text can be searched: wall", "s"),
    "published_wall": Row("contact", "first index by a server, until published: wall", "s"),
    "published_cpu": Row("contact", "first index by a server, until published: CPU", "s"),
    "while_p95": Row("contact", "an answer meanwhile (`index_status`), p95", "ms"),
    "early_p50": Row("contact", "references right after that, p50", "ms"),
    "early_p95": Row("contact", "references right after that, p95", "ms"),
    "same_cpu": Row("sync", "nothing changed, a command: CPU", "s"),
    "ten_cpu": Row("sync", "ten files changed, a command: CPU", "s"),
    **{
        f"{kind}_{share}": Row("ask", f"{title}, {share.replace('cpu', 'CPU of the server')}", "ms")
        for kind, title in {
            "words": "words, through MCP",
            "literal": "literal text, through MCP",
            "locate": "a definition by name, through MCP",
            "references": "references, through MCP",
            "outline": "outline of a file, through MCP",
        }.items()
        for share in ("p50", "p95", "cpu")
    },
    "idle_memory": Row("ask", "memory of the server afterwards", "bytes"),
    "idle_anonymous": Row("ask", "of that what is no mapped file", "bytes"),
    "find_cpu": Row("find", "a name, by a command: CPU", "s"),
    "find_wall": Row("find", "a name, by a command: wall", "s"),
    "edit_p50": Row("edit", "from an edit to the answer with it, p50", "ms"),
    "edit_p95": Row("edit", "from an edit to the answer with it, p95", "ms"),
}

PARTS: Final[tuple[Part, ...]] = tuple(dict.fromkeys(row.part for row in ROWS.values()))

WARM_UP: Final = 5
"""Questions of each kind before timing starts, other ones."""

TEN: Final = 10

NOTHING_FOUND: Final = (0, 1, 3)
"""Exit codes of commands that find a name, or none: some programs know fewer names."""

POLL_SECONDS: Final = 0.1
CALM_SECONDS: Final = 0.3
"""Pause after which a server has noticed an edit that nobody asked about, and is idle again after an answer."""

READY_DEADLINE_SECONDS: Final = 3600.0
EDIT_DEADLINE_SECONDS: Final = 30.0
SEED: Final = 1


class Plan(Struct, frozen=True, kw_only=True):
    """How much is measured. `questions` of each kind, `commands` and `edits` are those of one round."""

    parts: tuple[Part, ...] = PARTS
    rounds: int = 3
    questions: int = 25
    commands: int = 5
    edits: int = 10


class Asked(Struct, frozen=True, kw_only=True):
    """The questions of all rounds by kind, names for commands, and files to edit."""

    by_kind: dict[Kind, tuple[str, ...]]
    names: tuple[str, ...]
    files: tuple[str, ...]


class Measured(Struct, kw_only=True):
    """The figures of a tree: by row and program one value for each round. `failures` are counted by program and what failed."""

    tree: str
    files: int
    source_bytes: int
    values: dict[str, dict[str, list[float]]]
    failures: dict[str, int]


class _Status(Struct, frozen=True):
    index_status: str = ""
    file_count: int = 0


class Comparison:
    """One tree, measured by all programs. The first of them is this checkout, which draws the questions from its index."""

    def __init__(self, tree: Path, stores: Path, programs: Sequence[Program], plan: Plan) -> None:
        """`tree` may be edited, and is restored; `stores` is an empty directory."""
        self._tree = tree
        self._programs = tuple(programs)
        self._ours = tuple(program for program in programs if program.is_codecompass)
        self._plan = plan
        self._places = {program.name: Place(tree, stores / program.name) for program in programs}
        self._values: dict[str, dict[str, list[float]]] = {}
        self._failures: dict[str, int] = defaultdict(int)
        self._round = 0

    def run(self) -> Measured:
        """Measures all rounds. Raises RunFailed and ServerFailed if this checkout fails; other failures are counted."""
        asked = self._draw() if set(self._plan.parts) != {"index"} else None
        parts: dict[Part, Callable[[Asked], None]] = {
            "contact": self._contact,
            "sync": self._sync,
            "ask": self._ask,
            "find": self._find,
            "edit": self._edit,
        }
        for number in range(self._plan.rounds):
            self._round = number
            if "index" in self._plan.parts or (self._round == 0 and asked is not None):
                self._say("index")
                self._index()
            for part, measure in parts.items():
                if asked is not None and part in self._plan.parts:
                    self._say(part)
                    measure(asked)
        layout = layout_for(self._tree, self._places[OURS].store)
        with WorkspaceIndex(layout, "").snapshot() as snapshot:
            meta = snapshot.meta
        return Measured(
            tree=self._tree.name,
            files=meta.file_count,
            source_bytes=meta.source_bytes,
            values=self._values,
            failures=dict(self._failures),
        )

    def _draw(self) -> Asked:
        """Draws the questions of all rounds, from an index that is not measured; also reads all files into memory."""
        ours = self._programs[0]
        self._make_index(ours)
        index = WorkspaceIndex(layout_for(self._tree, self._places[OURS].store), "")
        with index.snapshot() as snapshot:
            plan, source = self._plan, random.Random(SEED)
            drawn = questions(snapshot, source, 2 * (plan.questions * plan.rounds + WARM_UP))
            # Commits differ in how many definitions of a name are too many to answer for all of them.
            single = tuple(name for name in drawn.names if len(snapshot.facts.symbols_named(name, 2)) == 1)
            outlined = [row.path for row in snapshot.facts.files() if row.symbol_count]
            source.shuffle(outlined)
            files = editable(path for _, path in snapshot.facts.paths())
        index.close()
        words = [*drawn.phrases, *drawn.sentences]
        source.shuffle(words)
        by_kind: dict[Kind, tuple[str, ...]] = {
            "words": tuple(words),
            "literal": drawn.literals,
            "locate": drawn.names,
            "references": single,
            "outline": tuple(outlined),
        }
        return Asked(by_kind=by_kind, names=drawn.names, files=tuple(files))

    # the parts

    def _index(self) -> None:
        for program in self._turns(self._programs):
            # What takes part for comparison only is indexed once: it may need minutes.
            if not program.index or (self._round and not program.is_codecompass):
                continue
            with self._counted(program, "index"):
                self._make_index(program, self._note)

    def _make_index(self, program: Program, note: "Callable[[Program, str, float], None] | None" = None) -> None:
        place = self._places[program.name]
        self._forget(program)
        usage = run(place.filled(program.index), cwd=place.store, environment=place.environment(program)).usage
        if note is not None:
            note(program, "index_cpu", usage.cpu_seconds)
            note(program, "index_wall", usage.wall_seconds)
            note(program, "index_memory", usage.peak_rss_all or usage.peak_rss)
            note(program, "disk", sum(map(size_of, self._stores(program))))

    def _contact(self, asked: Asked) -> None:
        """A server that has no index yet makes one, and is asked about it at once."""
        for program in self._turns(self._ours):
            place = Place(self._tree, self._places[program.name].store.with_name(f"{program.name}-contact"))
            shutil.rmtree(place.store, ignore_errors=True)
            place.store.mkdir(parents=True)
            with connected(place.filled(program.serve), place.environment(program)) as server:
                self._note(program, "start", server.initialize())
                before, began = cpu_seconds_of(server.pid), time.monotonic()
                server.call("index_repo")
                answered = []
                is_searchable, status = False, _Status()
                while status.index_status != "ready" and time.monotonic() - began < READY_DEADLINE_SECONDS:
                    time.sleep(POLL_SECONDS)
                    timed = server.call("index_status")
                    answered.append(timed.seconds * 1000)
                    status = msgspec.json.decode(timed.result, type=_Status)
                    if status.file_count and not is_searchable:
                        is_searchable = True
                        self._note(program, "text_wall", time.monotonic() - began)
                self._note(program, "published_wall", time.monotonic() - began)
                self._note(program, "published_cpu", cpu_seconds_of(server.pid) - before)
                self._note(program, "while_p95", percentile(answered, 0.95))
                early = [self._milliseconds(program, server, "references", each)[0] for each in self._share(asked, "references")]
                self._note_shares(program, "early", early)
            shutil.rmtree(place.store, ignore_errors=True)

    def _sync(self, asked: Asked) -> None:
        for program in self._turns(self._ours):
            self._note(program, "same_cpu", self._command(program, program.sync)[0])
            edits = edit_files(self._tree, asked.files[:TEN], tag=self._round)
            try:
                if edits:
                    self._note(program, "ten_cpu", self._command(program, program.sync)[0])
            finally:
                undo(edits)
            self._command(program, program.sync)

    def _ask(self, asked: Asked) -> None:
        """All servers live at once, and each question goes to all of them in turn."""
        with ExitStack() as stack:
            servers: dict[str, Connection] = {}
            for program in self._turns([each for each in self._programs if each.serve]):
                place = self._places[program.name]
                servers[program.name] = stack.enter_context(connected(place.filled(program.serve), place.environment(program)))
                servers[program.name].initialize()
            for kind in asked.by_kind:
                answering = [each for each in self._programs if kind in each.tools and each.name in servers]
                for program in answering:
                    for each in asked.by_kind[kind][-WARM_UP:]:
                        self._milliseconds(program, servers[program.name], kind, each)
                times: dict[str, list[tuple[float, float]]] = {program.name: [] for program in answering}
                for each in self._share(asked, kind):
                    for program in self._turns(answering):
                        with self._counted(program, kind):
                            times[program.name].append(self._milliseconds(program, servers[program.name], kind, each))
                for program in answering:
                    self._note_shares(program, kind, [wall for wall, _ in times[program.name]])
                    self._note(program, f"{kind}_cpu", percentile([cpu for _, cpu in times[program.name]] or [0.0], 0.5))
            time.sleep(CALM_SECONDS)
            for program in self._programs:
                if program.name in servers:
                    memory = memory_of(servers[program.name].pid)
                    self._note(program, "idle_memory", memory.rss)
                    self._note(program, "idle_anonymous", memory.anonymous)

    def _find(self, asked: Asked) -> None:
        times: dict[str, list[tuple[float, float]]] = defaultdict(list)
        finding = [program for program in self._programs if program.find]
        start = self._round * self._plan.commands
        for name in asked.names[start : start + self._plan.commands]:
            for program in self._turns(finding):
                with self._counted(program, "find"):
                    times[program.name].append(self._command(program, program.find, name))
        for program in finding:
            if times[program.name]:
                cpu, wall = zip(*times[program.name], strict=True)
                self._note(program, "find_cpu", percentile(cpu, 0.5))
                self._note(program, "find_wall", percentile(wall, 0.5))

    def _edit(self, asked: Asked) -> None:
        for number, program in enumerate(self._turns(self._ours)):
            place = self._places[program.name]
            seconds = []
            with connected(place.filled(program.serve), place.environment(program)) as server:
                server.initialize()
                self._milliseconds(program, server, "locate", asked.names[0])
                for count, path in enumerate(asked.files[: self._plan.edits]):
                    time.sleep(CALM_SECONDS)
                    edits = edit_files(self._tree, [path], tag=1000 * (self._round + 1) + 100 * number + count)
                    try:
                        seconds.append(_until_answered(server, edits[0].name, path))
                    finally:
                        undo(edits)
            self._note_shares(program, "edit", [each * 1000 for each in seconds if each is not None])
            self._failures[f"{program.name}: edit"] += seconds.count(None)
            self._command(program, program.sync)

    # what they share

    def _turns(self, programs: Sequence[Program]) -> list[Program]:
        """Returns the programs in the order of this round: nobody is always first."""
        start = self._round % max(1, len(programs))
        return [*programs[start:], *programs[:start]]

    def _share(self, asked: Asked, kind: Kind) -> tuple[str, ...]:
        start = self._round * self._plan.questions
        return asked.by_kind[kind][:-WARM_UP][start : start + self._plan.questions]

    def _milliseconds(self, program: Program, server: Connection, kind: Kind, asked: str) -> tuple[float, float]:
        """Asks; returns the milliseconds until the answer, and those of CPU. A refusal is an answer, and counted."""
        tool = program.tools[kind]
        before = cpu_seconds_of(server.pid)
        said = server.ask(tool.name, self._places[program.name].call(tool, asked))
        spent = cpu_seconds_of(server.pid) - before
        self._failures[f"{program.name}: {kind}"] += said.is_error
        return said.seconds * 1000, spent * 1000

    def _command(self, program: Program, command: Sequence[str], asked: str = "") -> tuple[float, float]:
        place = self._places[program.name]
        accepted = NOTHING_FOUND if asked else (0,)
        filled, environment = place.filled(command, asked), place.environment(program)
        usage = run(filled, cwd=self._tree, environment=environment, accepted=accepted).usage
        return usage.cpu_seconds, usage.wall_seconds

    def _note(self, program: Program, row: str, value: float) -> None:
        self._values.setdefault(row, {}).setdefault(program.name, []).append(value)

    def _note_shares(self, program: Program, row: str, samples: Sequence[float]) -> None:
        if samples:
            self._note(program, f"{row}_p50", percentile(samples, 0.5))
            self._note(program, f"{row}_p95", percentile(samples, 0.95))

    def _counted(self, program: Program, what: str) -> "_Counting":
        return _Counting(self._failures, program, what)

    def _stores(self, program: Program) -> Iterator[Path]:
        yield self._places[program.name].store
        if program.store_in_tree:
            yield self._tree / program.store_in_tree

    def _forget(self, program: Program) -> None:
        for store in self._stores(program):
            shutil.rmtree(store, ignore_errors=True)
        self._places[program.name].store.mkdir(parents=True)

    def _say(self, part: str) -> None:
        print(f"bench: {self._tree.name}, round {self._round + 1}: {part} ..", file=sys.stderr, flush=True)


class _Counting:
    """Counts a failure of another program, which is not ours to end the measurement with."""

    def __init__(self, failures: dict[str, int], program: Program, what: str) -> None:
        self._failures, self._program, self._what = failures, program, what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> bool:
        if not isinstance(error, (RunFailed, ServerFailed)) or self._program.is_codecompass:
            return False
        self._failures[f"{self._program.name}: {self._what}"] += 1
        print(f"bench: {self._program.name}: {error}", file=sys.stderr, flush=True)
        return True


def _until_answered(server: Connection, name: str, path: str) -> float | None:
    """Repeats the question for a new name until an answer has its place. Returns the seconds, None if none has it in time."""
    began = time.monotonic()
    while time.monotonic() - began < EDIT_DEADLINE_SECONDS:
        if path in server.ask("locate_symbol", {"name": name}).text:
            return time.monotonic() - began
    return None


def size_of(directory: Path) -> int:
    """Returns the bytes of all files below `directory`."""
    return sum(path.lstat().st_size for path in directory.rglob("*") if path.is_file() and not path.is_symlink())
