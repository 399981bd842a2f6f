"""How an organisation grows: `python -m bench.organisation --home HOME --repositories N --at 50,200,...`.

HOME has embedded indexes of real repositories. Copies of them (`copies.py` says how they differ, `filling.py` what is written)
are published to a store of segments in --store and to a node of OpenSearch, which is started for this (or to --urls, under a
separate prefix); sizes are lognormal, as widely spread as those in HOME, with 500 files on average. At each of --at repositories
a new server is started, and these are measured and printed at once:

- disk: of the store (objects that copies share count once, and what they would take if they shared nothing), of the engine's
  indexes, and of the server's copies; memory of the engine's process, its heap, and of the server;
- the time of listing the repositories, and its CPU time in this process;
- answers about one repository, a group of 30 and all: words, lines of code, patterns, definitions and references, the same at
  each point. Each question is asked once, which includes fetching copies, and then again. CPU time is that of the server, and
  that of the engine during all questions of a place;
- a few that no summary of words can answer: a part of a word, and a list of files;
- what a repository costs that is not here: a server that may keep --small-cache-mb asks one question about each of --cold
  repositories, and again at once.

Interpretation: a copy has the files and summaries of a real repository in size and in kind, so disk, memory and CPU time are
realistic. Objects of copies are shared in the store, so that those are in memory when a server fetches them: a store on a
network or a slow disk adds its own time. All copies of one repository have its common words, so more repositories have words of a
question than in a real organisation, and a search over all has more to do; a rare word selects one copy, as it does in reality.
"""

import argparse
import os
import secrets
import shutil
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Struct

from bench.copies import chosen
from bench.figures import percentile
from bench.filling import GROUP, Copy, Filler, Template, real_repositories
from bench.measure import cpu_seconds_of, memory_of
from bench.quality.data import read_lines
from bench.serving import BenchServer, Call, QuestionFailed, serving_organisation
from bench.table import markdown_table
from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.stores.opening import open_store
from codecompass.settings import ClusterSettings
from codecompass.store.layout import HomeLayout
from codecompass.units import GIB, MIB, MILLISECONDS, MINUTES
from tests.cluster.nodes import AS_IN_PRODUCTION, running_nodes

MEAN_FILES: Final = 500
ASKED: Final = 12
"""Number of repositories, the first ones, that are asked; questions in `*` are about them too."""

WRITERS: Final = 2
HEAP_SAMPLES: Final = 4
PARTLY_ASKED: Final = 3
"""Questions that all repositories must be asked: few, as each may take until its deadline."""

SETTLE_SECONDS: Final = 2
REQUEST_SECONDS: Final = 60
PLACES: Final = {"one": "", "thirty": GROUP, "all": "*"}
KINDS: Final = ("words", "literal", "regex", "definition", "references")

JsonObject = dict[str, Any]


class _Sentence(Struct, frozen=True, kw_only=True):
    repo: str
    query: str


class Question(Struct, frozen=True):
    """A question of a kind, and the repository that it is about."""

    kind: str
    tool: str
    arguments: tuple[tuple[str, object], ...]
    repository: str

    def call(self, workspace: str) -> Call:
        """Returns the call that puts it to a workspace, or to its repository if that is empty."""
        return self.tool, {**dict(self.arguments), "workspace": workspace or self.repository}


class Taken(Struct, frozen=True, kw_only=True):
    """What an answer took: seconds, and CPU seconds of the server."""

    place: str
    kind: str
    turn: int
    """0 for the first time that it was asked."""
    wall: float
    cpu: float
    is_cut: bool
    """Whether some repositories did not answer, or it failed."""


class Point(Struct, kw_only=True):
    """Measurements at a number of repositories, in bytes and seconds."""

    repositories: int
    files: int
    source: int
    store: int
    store_alone: int
    """What the store would take if copies shared no objects."""
    summaries: int
    engine_disk: int
    engine_rss: int
    heap: int
    filled_seconds: float
    writing_cpu: float
    """CPU seconds of this process for writing one repository."""
    engine_cpu: float
    """CPU seconds of the engine for writing one repository."""
    listing: tuple[float, float]
    """Seconds to list all repositories, and CPU seconds of that in this process: medians."""
    taken: list[Taken]
    engine_asked: dict[str, float]
    """CPU seconds of the engine for a question, by place."""
    server_rss: int = 0
    server_own: int = 0
    copies: int = 0
    """Disk of the server's copies at the end."""
    cold: list[tuple[float, float, float, float]]
    """Of repositories that were not here: seconds and CPU seconds of the first question, and of the same again."""
    load: float

    def of(self, place: str, kind: str, turn: int) -> list[Taken]:
        """Returns what these answers took; all kinds if `kind` is empty."""
        return [each for each in self.taken if each.place == place and kind in ("", each.kind) and each.turn == turn]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.organisation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--store", type=Path, required=True, help="a directory for the store of segments, which is emptied")
    parser.add_argument("--urls", default="", help="addresses of nodes, with commas between; without it one is started")
    parser.add_argument("--heap", default="512m", help="of the node that is started (default 512m)")
    parser.add_argument("--truth", type=Path, help="a file with questions in words: repo and query in each line")
    parser.add_argument("--repositories", type=int, default=2_000)
    parser.add_argument("--at", default="50,200,800", help="measure with so many, with commas between")
    parser.add_argument("--minutes", type=float, default=35, help="of filling")
    parser.add_argument("--min-free-gb", type=float, default=20)
    parser.add_argument("--questions", type=int, default=12, help="of each kind")
    parser.add_argument("--cache-mb", type=int, default=4_096, help="copies that a server may keep (default 4096)")
    parser.add_argument("--small-cache-mb", type=int, default=128, help="the same for repositories that are not here")
    parser.add_argument("--cold", type=int, default=60, help="repositories that are asked while they are not here")
    parser.add_argument("--seed", default="organisation")
    options = parser.parse_args(arguments)
    points = sorted({int(each) for each in options.at.split(",")} | {options.repositories})
    shutil.rmtree(options.store, ignore_errors=True)
    options.store.mkdir(parents=True)
    with ExitStack() as stack:
        urls = options.urls or stack.enter_context(_node(options.heap))
        engine = Engine(urls.split(","), prefix=f"bench{secrets.token_hex(4)}")
        stack.callback(engine.close)
        engine.prepare()
        bench = _Bench(engine, urls, options)
        try:
            bench.run([each for each in points if each <= options.repositories])
        finally:
            bench.say("DELETE", f"/{engine.names.all}")
            shutil.rmtree(options.store, ignore_errors=True)
    return 0


@contextmanager
def _node(heap: str) -> Iterator[str]:
    with running_nodes(1, heap=heap, settings=AS_IN_PRODUCTION) as cluster:
        yield cluster.urls[0]


class _Bench:
    def __init__(self, engine: Engine, urls: str, options: argparse.Namespace) -> None:
        self._engine = engine
        self._options = options
        self._urls = urls
        home = HomeLayout(options.home.absolute())
        store = open_store(ClusterSettings(prefix=engine.names.prefix, segments=str(options.store.absolute())))
        self._filler = Filler(engine, store, home)
        reals = real_repositories(home)
        sizes = [real.files for real in reals]
        self._plan = [reals[each] for each in chosen(sizes, options.repositories, MEAN_FILES, options.seed)]
        self._templates: dict[str, Template] = {}
        self._copies: list[Copy] = []
        self._token = Tokens(engine).add("bench", ["everyone", GROUP])
        self._truth: dict[str, list[str]] = {}
        for each in read_lines(options.truth, _Sentence) if options.truth else ():
            self._truth.setdefault(each.repo, []).append(each.query)
        for index in (engine.names.repositories, engine.names.manifests):
            self.say("PUT", f"/{index}/_settings", {"index": {"number_of_replicas": 0}})

    def run(self, numbers: Sequence[int]) -> None:
        """Fills, measures and prints."""
        n_copies = Counter(self._plan)
        for real, count in n_copies.items():
            self._templates[real.name] = self._filler.template(real, count)
        print(f"{len(self._templates)} repositories are copied", file=sys.stderr, flush=True)
        ends = time.monotonic() + self._options.minutes * MINUTES
        points: list[Point] = []
        print("\n".join(markdown_table(_HEADER, []).splitlines()), flush=True)
        for number in numbers:
            point = self._filled(number, ends)
            self._measure(point)
            points.append(point)
            print(_row(point), flush=True)
            if len(self._copies) < number:
                print(f"ended with {len(self._copies):,} of {number:,} repositories: time or disk", flush=True)
                break
        print(f"\n{_by_kind(points)}\n\n{_cold_table(points)}", flush=True)

    def _filled(self, number: int, ends: float) -> Point:
        """Writes repositories until there are `number`, and returns what is known then."""
        n_before, began, cpu, engine_cpu = len(self._copies), time.monotonic(), time.process_time(), self._engine_cpu()
        turns = Counter(each.template.real for each in self._copies)
        waiting: list[Copy] = []
        for place in range(n_before, number):
            real = self._plan[place]
            waiting.append(Copy(place, turns[real], self._templates[real.name]))
            turns[real] += 1

        def write(copy: Copy) -> Copy | None:
            if time.monotonic() > ends or shutil.disk_usage(self._options.store).free < self._options.min_free_gb * GIB:
                return None
            self._filler.write(copy)
            return copy

        with ThreadPoolExecutor(WRITERS) as threads:
            for done in threads.map(write, waiting):
                if done is not None and done.number == len(self._copies):
                    self._copies.append(done)
        took, n_new = time.monotonic() - began, max(1, len(self._copies) - n_before)
        writing_cpu = (time.process_time() - cpu) / n_new
        self._engine.refresh(self._engine.names.repositories)
        self.say("POST", f"/{self._engine.names.repositories},{self._engine.names.manifests}/_flush")
        time.sleep(SETTLE_SECONDS)
        metas = [copy.template.manifest.meta for copy in self._copies]
        disk = self.say("GET", f"/{self._engine.names.all}/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"]
        return Point(
            repositories=len(metas),
            files=sum(meta.file_count for meta in metas),
            source=sum(meta.source_bytes for meta in metas),
            store=_disk(self._options.store),
            store_alone=sum(copy.template.n_bytes for copy in self._copies),
            summaries=sum(copy.template.n_summary for copy in self._copies),
            engine_disk=disk,
            engine_rss=sum(memory_of(pid).rss for pid in self._engine_pids()),
            heap=self._heap(),
            filled_seconds=took,
            writing_cpu=writing_cpu,
            engine_cpu=(self._engine_cpu() - engine_cpu) / n_new,
            listing=self._listing(),
            taken=[],
            engine_asked={},
            cold=[],
            load=os.getloadavg()[0],
        )

    def _measure(self, point: Point) -> None:
        questions = list(self._questions())
        with self._serving(self._options.cache_mb) as server:
            for place, workspace in PLACES.items():
                cpu, n_asked = self._engine_cpu(), 0
                for turn in (0, 1):
                    for question in questions:
                        point.taken.append(_taken(server, question, workspace, place, turn))
                        n_asked += 1
                point.engine_asked[place] = (self._engine_cpu() - cpu) / n_asked
            for question in self._partly():
                point.taken.append(_taken(server, question, "*", "all", 0))
            memory = memory_of(server.pid)
            point.server_rss, point.server_own, point.copies = memory.rss, memory.anonymous, _disk(server.home)
        with self._serving(self._options.small_cache_mb) as server:
            _taken(server, questions[0], "", "one", 0)
            for question in self._cold_questions():
                first, again = (_taken(server, question, "", "one", turn) for turn in (0, 1))
                point.cold.append((first.wall, first.cpu, again.wall, again.cpu))

    @contextmanager
    def _serving(self, cache_mb: int) -> Iterator[BenchServer]:
        """Yields a new server that may keep copies of `cache_mb`."""
        settings = {"CODECOMPASS_SERVER_CACHE_BYTES": str(cache_mb * MIB)}
        prefix, store = self._engine.names.prefix, self._options.store.absolute()
        with serving_organisation(self._urls, prefix, store, self._token, settings=settings) as server:
            yield server

    def _questions(self) -> Iterator[Question]:
        """Yields the same questions at each point, about the first repositories."""
        for number in range(self._options.questions):
            copy = self._copies[number % ASKED]
            sentences = self._truth.get(copy.template.real.name, [])
            yield from _questions_about(copy, Random(f"{self._options.seed}:{number}"), sentences)

    def _partly(self) -> Iterator[Question]:
        """Yields questions that no summary of words answers."""
        for copy in self._copies[:PARTLY_ASKED]:
            lines = [line for line in copy.template.lines if line.owner == copy.turn]
            if lines:
                arguments = (("query", Random(copy.name).choice(lines).word[1:]), ("mode", "literal"))
                yield Question("part of a word", "search_code", arguments, copy.name)
            yield Question("list of files", "search_code", (("query", "README"), ("mode", "files")), copy.name)

    def _cold_questions(self) -> Iterator[Question]:
        source = Random(f"{self._options.seed}:cold:{len(self._copies)}")
        for copy in source.sample(self._copies, min(self._options.cold, len(self._copies))):
            line = source.choice(copy.template.lines or copy.template.names)
            yield Question("literal", "search_code", (("query", line.text), ("mode", "literal")), copy.name)

    def _listing(self) -> tuple[float, float]:
        repositories, walls, cpus = Repositories(self._engine), [], []
        for _ in range(5):
            wall, cpu = time.perf_counter(), time.process_time()
            repositories.listed()
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        return percentile(walls, 0.5), percentile(cpus, 0.5)

    def _nodes(self, what: str) -> list[JsonObject]:
        return list(self.say("GET", f"/_nodes/stats/{what}")["nodes"].values())

    def _engine_cpu(self) -> float:
        return sum(node["process"]["cpu"]["total_in_millis"] for node in self._nodes("process")) / 1000

    def _engine_pids(self) -> list[int]:
        return [node["process"]["id"] for node in self.say("GET", "/_nodes/process")["nodes"].values()]

    def _heap(self) -> int:
        """Returns the heap of all nodes in use, the least of some samples."""
        samples = []
        for _ in range(HEAP_SAMPLES):
            samples.append(sum(node["jvm"]["mem"]["heap_used_in_bytes"] for node in self._nodes("jvm")))
            time.sleep(0.5)
        return min(samples)

    def say(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """Sends a request to the first node."""
        data = None if body is None else msgspec.json.encode(body)
        url = self._urls.split(",")[0] + path
        request = urllib.request.Request(url, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as answer:
            found: JsonObject = msgspec.json.decode(answer.read())
        return found


def _questions_about(copy: Copy, source: Random, sentences: Sequence[str]) -> Iterator[Question]:
    """Yields a question of each kind about a copy, for words that it owns."""
    names = [name for name in copy.template.names if name.owner == copy.turn]
    lines = [line for line in copy.template.lines if line.owner == copy.turn]
    if sentences:
        yield Question("words", "search_code", (("query", source.choice(sentences)),), copy.name)
    if lines:
        line = source.choice(lines)
        yield Question("literal", "search_code", (("query", line.text), ("mode", "literal")), copy.name)
        yield Question("regex", "search_code", (("query", rf"\b{line.word}\b.*"), ("mode", "regex")), copy.name)
    if names:
        name = source.choice(names).text
        yield Question("definition", "locate_symbol", (("name", name),), copy.name)
        yield Question("references", "find_references", (("symbol_name", name), ("limit", 20)), copy.name)


def _taken(server: BenchServer, question: Question, workspace: str, place: str, turn: int) -> Taken:
    cpu, wall = cpu_seconds_of(server.pid), time.perf_counter()
    is_cut = False
    try:
        is_cut = "no answer from" in str(server.ask(question.call(workspace)))
    except QuestionFailed as error:
        is_cut = True
        print(f"{place}, {question}: {error}", file=sys.stderr, flush=True)
    took = time.perf_counter() - wall
    return Taken(place=place, kind=question.kind, turn=turn, wall=took, cpu=cpu_seconds_of(server.pid) - cpu, is_cut=is_cut)


def _disk(directory: Path) -> int:
    """Returns the bytes of all files below a directory; a file with several names counts once."""
    sizes: dict[int, int] = {}
    for path, _, names in os.walk(directory):
        for name in names:
            try:
                found = os.lstat(os.path.join(path, name))
            except FileNotFoundError:
                continue  # it has just been removed
            sizes[found.st_ino] = found.st_size
    return sum(sizes.values())


_HEADER: Final = (
    *("repositories", "files", "source GB", "store GB (alone)", "summaries MB", "engine: disk MB", "RSS MB", "heap MB"),
    *("filled s", "to write one, CPU ms (engine)", "list ms (CPU)"),
    *(f"{place}: ms, median / 95 %" for place in PLACES),
    *("engine CPU ms, one / thirty / all", "cut or failed", "server MB (its own)", "copies MB", "load"),
)


def _row(point: Point) -> str:
    def wall(place: str, share: float) -> float:
        return percentile([each.wall for each in point.of(place, "", 1)], share) / MILLISECONDS

    cells = [
        f"{point.repositories:,}",
        f"{point.files:,}",
        f"{point.source / 1e9:.2f}",
        f"{point.store / 1e9:.2f} ({point.store_alone / 1e9:.2f})",
        f"{point.summaries / MIB:.0f}",
        f"{point.engine_disk / MIB:.1f}",
        f"{point.engine_rss / MIB:.0f}",
        f"{point.heap / MIB:.0f}",
        f"{point.filled_seconds:.0f}",
        f"{point.writing_cpu / MILLISECONDS:.0f} ({point.engine_cpu / MILLISECONDS:.0f})",
        f"{point.listing[0] / MILLISECONDS:.0f} ({point.listing[1] / MILLISECONDS:.0f})",
        *(f"{wall(place, 0.5):.0f} / {wall(place, 0.95):.0f}" for place in PLACES),
        " / ".join(f"{point.engine_asked[place] / MILLISECONDS:.1f}" for place in PLACES),
        f"{sum(each.is_cut for each in point.taken)}",
        f"{point.server_rss / MIB:.0f} ({point.server_own / MIB:.0f})",
        f"{point.copies / MIB:.0f}",
        f"{point.load:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _by_kind(points: Sequence[Point]) -> str:
    rows = []
    for point in points:
        for place, kind in dict.fromkeys((each.place, each.kind) for each in point.taken):
            cells: list[str] = []
            for turn in (0, 1):
                some = point.of(place, kind, turn)
                cells += [_shares([each.wall for each in some]), _shares([each.cpu for each in some])]
            n_cut = sum(each.is_cut for each in point.taken if (each.place, each.kind) == (place, kind))
            rows.append((f"{point.repositories:,}", place, kind, str(len(point.of(place, kind, 0))), *cells, str(n_cut)))
    header = ("repositories", "place", "kind", "asked", "first: ms, median / 95 %", "CPU ms", "again: ms", "CPU ms", "cut")
    return markdown_table(header, rows, "><<>>>>>>")


def _shares(seconds: Sequence[float]) -> str:
    """Returns the median and the 95th percentile in milliseconds."""
    return " / ".join(f"{percentile(seconds, share) / MILLISECONDS:.0f}" for share in (0.5, 0.95)) if seconds else ""


def _cold_table(points: Sequence[Point]) -> str:
    rows = [
        (
            f"{point.repositories:,}",
            str(len(point.cold)),
            *(_shares([each[place] for each in point.cold]) for place in range(4)),
        )
        for point in points
    ]
    header = ("repositories", "asked", "not here: ms, median / 95 %", "CPU ms", "again: ms", "CPU ms")
    return markdown_table(header, rows, ">>>>>>")


if __name__ == "__main__":
    sys.exit(main())
