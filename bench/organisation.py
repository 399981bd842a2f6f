"""How an organisation's index grows: `python -m bench.organisation --urls URLS --home HOME --repositories N --at 50,100,...`.

HOME has embedded indexes of real repositories. Copies of them (`copies.py` says how they differ, `filling.py` what is written)
are written to the engine, under a separate prefix and without replicas; sizes are lognormal, as widely spread as those in HOME,
with 500 files on average. At each of --at repositories it measures, and prints a row of a table at once:

- disk of text and blocks after a refresh, when merges have ended or after --settle seconds, with segments and merges;
- heap of all nodes: the minimum of some samples, and after the last collection of the old generation if the engine reports it.
  With --collect COMMAND each node first collects its garbage: `jcmd PID GC.run`, as the user of the nodes;
- CPU time of the engine's processes for what was written since the previous point, merges included;
- answers of a real server over HTTP, newly started: `search_code` over one repository, over a group of 30 and over all, with
  questions in words (from --truth), names of definitions and lines of code, the same at each point; and the cost of listing the
  repositories. The ratio is to the first point of this run.

Filling stops after --minutes, or with less than --min-free-gb of disk; the indexes are removed at the end unless --keep.

Interpretation: a copy has the sizes, lengths and most words of a real repository, so disk, heap and CPU time per file are
realistic. All copies of one repository have its common words, so more repositories have words of a question than in a real
organisation, and a search over all has more to sort; no query is cheaper than it would be. Facts are the real repository's.
"""

import argparse
import http.client
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
from msgspec import Struct

from bench.copies import chosen
from bench.figures import percentile
from bench.filling import GROUP, Copy, Filler, Real, real_repositories, repository_id
from bench.measure import cpu_seconds_of, memory_of, python
from bench.quality.data import read_lines
from bench.table import markdown_table
from codecompass.cluster.access import Tokens
from codecompass.cluster.engine import Engine
from codecompass.cluster.repositories import Repositories
from codecompass.store.layout import HomeLayout
from codecompass.units import GIB, MIB, MINUTES

MEAN_FILES: Final = 500
ASKED: Final = 12
"""Number of repositories, the first ones, that are queried; the first questions of each kind are about them too."""
WRITERS: Final = 2
HEAP_SAMPLES: Final = 8
FILES_ASKED: Final = 3
"""A list of files over all projects queries each repository."""
START_SECONDS: Final = 60
REQUEST_SECONDS: Final = 60
COLLECT_SECONDS: Final = 30
PLACES: Final = {"one": "", GROUP: GROUP, "all": "*"}

JsonObject = dict[str, Any]


class _Asked(Struct, frozen=True, kw_only=True):
    repo: str
    query: str


class Question(Struct, frozen=True):
    """A question, and its repository if it is about a single one."""

    kind: str
    query: str
    workspace: str
    mode: str = "auto"


class Point(Struct, kw_only=True):
    """Measurements at a number of repositories, in bytes and seconds."""

    repositories: int
    files: int
    source: int
    documents: int
    text: int
    blocks: int
    segments: int
    merging: int
    heap: int
    old_after_collection: int
    filled_seconds: float
    engine_cpu: float
    listing: tuple[float, float]
    """Seconds to list all repositories, and CPU seconds of that in this process: medians."""
    seconds: dict[tuple[str, str], list[float]]
    """By place and kind of question."""
    failed: int
    server_rss: int
    server_cpu: float
    load: float

    def at(self, place: str, share: float) -> float:
        """Returns a percentile of the answer times of a place, in milliseconds."""
        return 1000 * percentile([each for (where, _), some in self.seconds.items() if where == place for each in some], share)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.organisation", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", required=True, help="addresses of nodes, with commas between")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True, help="a file with questions: repo and query in each line")
    parser.add_argument("--repositories", type=int, default=2_000)
    parser.add_argument("--at", default="50,100,200,400,800,1600", help="measure with so many, with commas between")
    parser.add_argument("--minutes", type=float, default=35, help="of filling")
    parser.add_argument("--min-free-gb", type=float, default=30)
    parser.add_argument("--settle", type=float, default=60, help="seconds to wait for merges at each point")
    parser.add_argument("--questions", type=int, default=36, help="of each place, a third of each kind")
    parser.add_argument("--collect", default="", help="a command that makes the Java process PID collect its garbage")
    parser.add_argument("--keep", action="store_true", help="leave the indexes in the engine")
    parser.add_argument("--prefix", default="", help="of indexes that a run with this --seed has kept: goes on there")
    parser.add_argument("--seed", default="organisation")
    options = parser.parse_args(arguments)
    points = sorted({int(each) for each in options.at.split(",")} | {options.repositories})
    home, prefix = HomeLayout(options.home), options.prefix or f"bench{secrets.token_hex(4)}"
    engine = Engine(options.urls.split(","), prefix=prefix)
    engine.prepare()
    print(f"prefix {prefix}", file=sys.stderr, flush=True)
    bench = _Bench(engine, home, options)
    try:
        bench.run([each for each in points if each <= options.repositories])
    finally:
        if not options.keep:
            bench.say("DELETE", f"/{engine.names.all}")
        engine.close()
    return 0


class _Bench:
    def __init__(self, engine: Engine, home: HomeLayout, options: argparse.Namespace) -> None:
        self._engine = engine
        self._options = options
        self._url = options.urls.split(",")[0]
        self._filler = Filler(engine, home)
        self._reals = real_repositories(home)
        self._copies: list[Copy] = []
        self._token = Tokens(engine).add("bench", ["everyone", GROUP])
        self._truth: dict[str, list[str]] = {}
        for each in read_lines(options.truth, _Asked):
            self._truth.setdefault(each.repo, []).append(each.query)
        for index in (engine.names.text, engine.names.blocks):
            self.say("PUT", f"/{index}/_settings", {"index": {"number_of_replicas": 0}})

    def run(self, numbers: Sequence[int]) -> None:
        """Fills, measures and prints."""
        sizes = [real.files for real in self._reals]
        plan = [self._reals[each] for each in chosen(sizes, self._options.repositories, MEAN_FILES, self._options.seed)]
        seconds_left = self._options.minutes * MINUTES
        self._take_up(plan)
        points: list[Point] = []
        cpu_before = self._engine_cpu()
        print(_row_header(), flush=True)
        for number in numbers:
            began = time.monotonic()
            self._fill(plan[:number], began + seconds_left)
            took = time.monotonic() - began
            seconds_left -= took
            self._settle()
            cpu = self._engine_cpu()
            point = self._measured(took, cpu - cpu_before)
            cpu_before = self._engine_cpu()
            points.append(point)
            print(_row(point, points[0]), flush=True)
            if len(self._copies) < number:
                print(f"ended with {len(self._copies):,} of {len(plan):,} repositories: time or disk", flush=True)
                break
        print(_by_kind(points), flush=True)

    def _take_up(self, plan: Sequence[Real]) -> None:
        """Takes over existing copies of a kept run, in order, up to the first missing one."""
        there = {each.repo_id for each in Repositories(self._engine).listed(is_current=True)}
        for number, real in enumerate(plan):
            if repository_id(number) not in there:
                return
            self._copies.append(self._filler.copy(number, self._filler.template(real)))

    def _fill(self, plan: Sequence[Real], until: float) -> None:
        start = len(self._copies)
        made_before = self._filler.template_seconds

        def write(number: int) -> Copy | None:
            template = self._filler.template(plan[number])
            # The time for making templates does not count as filling.
            if time.monotonic() > until + self._filler.template_seconds - made_before:
                return None
            if shutil.disk_usage(self._options.home).free < self._options.min_free_gb * GIB:
                return None
            return self._filler.write(number, template)

        with ThreadPoolExecutor(WRITERS) as threads:
            for done in threads.map(write, range(start, len(plan))):
                if done is not None and done.number == len(self._copies):
                    self._copies.append(done)
                if len(self._copies) % 50 == 0:
                    print(f"{time.strftime('%H:%M:%S')} {len(self._copies)} repositories", file=sys.stderr, flush=True)

    def _settle(self) -> None:
        self._engine.refresh(self._engine.names.text)
        self._engine.refresh(self._engine.names.blocks)
        self.say("POST", f"/{self._engine.names.text},{self._engine.names.blocks}/_flush")
        until = time.monotonic() + self._options.settle
        while time.monotonic() < until and self._stats(self._engine.names.text)["merges"]["current"]:
            time.sleep(1)

    def _measured(self, filled_seconds: float, cpu: float) -> Point:
        text, blocks = self._stats(self._engine.names.text), self._stats(self._engine.names.blocks)
        load = os.getloadavg()[0]
        heap, old = self._heap()
        metas = [copy.template.meta for copy in self._copies]
        point = Point(
            repositories=len(metas),
            files=sum(meta.file_count for meta in metas),
            source=sum(meta.source_bytes for meta in metas),
            documents=text["docs"]["count"],
            text=text["store"]["size_in_bytes"],
            blocks=blocks["store"]["size_in_bytes"],
            segments=text["segments"]["count"],
            merging=text["merges"]["current"],
            heap=heap,
            old_after_collection=old,
            filled_seconds=filled_seconds,
            engine_cpu=cpu,
            listing=self._listing(),
            seconds={},
            failed=0,
            server_rss=0,
            server_cpu=0.0,
            load=load,
        )
        if point.documents != sum(copy.template.averages.documents for copy in self._copies):
            print("the engine has another number of documents than were written", file=sys.stderr)
        with serving_organisation(self._options.urls, self._engine.names.prefix) as server:
            for place, workspace in PLACES.items():
                questions = list(self._questions())
                for question in [*questions[::6], *questions]:  # the first ones warm up
                    self._ask(server, question, workspace, point, place)
                for kind in {question.kind for question in questions}:
                    n = sum(question.kind == kind for question in questions)
                    point.seconds[place, kind] = point.seconds[place, kind][-n:]
            for _ in range(FILES_ASKED):
                self._ask(server, Question("README", "README", "*", "files"), "*", point, "files")
            point.server_rss, point.server_cpu = memory_of(server.pid).rss, cpu_seconds_of(server.pid)
        return point

    def _ask(self, server: "OrganisationServer", question: Question, workspace: str, point: Point, place: str) -> None:
        arguments = {"query": question.query, "mode": question.mode, "workspace": workspace or question.workspace}
        began = time.perf_counter()
        error = server.ask(self._token, arguments)
        took = time.perf_counter() - began
        point.seconds.setdefault((place, question.kind), []).append(took)
        if error:
            point.failed += 1
            print(f"{place}, {question}: {error}", file=sys.stderr, flush=True)

    def _questions(self) -> Iterator[Question]:
        """Yields the same questions at each point, about the first repositories."""
        asked = self._copies[:ASKED]
        for number in range(self._options.questions // 3):
            copy = asked[number % len(asked)]
            template, rng = copy.template, Random(f"{self._options.seed}:{number}")
            sentences = self._truth.get(template.real.name) or [each[0] for each in self._truth.values()]
            yield Question("words", rng.choice(sentences), copy.name)
            if template.names:
                yield Question("name", copy.own(rng.choice(template.names)), copy.name)
            if template.lines:
                yield Question("line", copy.own(rng.choice(template.lines)), copy.name, "literal")

    def _listing(self) -> tuple[float, float]:
        repositories, walls, cpus = Repositories(self._engine), [], []
        for _ in range(5):
            wall, cpu = time.perf_counter(), time.process_time()
            repositories.listed()
            walls.append(time.perf_counter() - wall)
            cpus.append(time.process_time() - cpu)
        return percentile(walls, 0.5), percentile(cpus, 0.5)

    def _stats(self, index: str) -> JsonObject:
        found: JsonObject = self.say("GET", f"/{index}/_stats/docs,store,segments,merge")["_all"]["primaries"]
        return found

    def _nodes(self, what: str) -> list[JsonObject]:
        return list(self.say("GET", f"/_nodes/stats/{what}")["nodes"].values())

    def _engine_cpu(self) -> float:
        return sum(node["process"]["cpu"]["total_in_millis"] for node in self._nodes("process")) / 1000

    def _heap(self) -> tuple[int, int]:
        if self._options.collect:
            for node in self.say("GET", "/_nodes/process")["nodes"].values():
                command = [part.replace("PID", str(node["process"]["id"])) for part in self._options.collect.split()]
                subprocess.run(command, check=False, timeout=COLLECT_SECONDS, stdout=subprocess.DEVNULL)
        samples = []
        for _ in range(HEAP_SAMPLES):
            jvms = [node["jvm"]["mem"] for node in self._nodes("jvm")]
            samples.append(sum(jvm["heap_used_in_bytes"] for jvm in jvms))
            time.sleep(0.5)
        old = sum(jvm["pools"]["old"].get("last_gc_stats", {}).get("used_in_bytes", 0) for jvm in jvms)
        return min(samples), old

    def say(self, method: str, path: str, body: JsonObject | None = None) -> JsonObject:
        """Sends a request to the first node."""
        data = None if body is None else msgspec.json.encode(body)
        request = urllib.request.Request(self._url + path, data, {"content-type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as answer:
            found: JsonObject = msgspec.json.decode(answer.read())
        return found


class OrganisationServer:
    """`codecompass serve-mcp --store opensearch` in a separate process, on a local port."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid = pid
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)

    def ask(self, token: str, arguments: Mapping[str, object]) -> str:
        """Calls search_code and returns its error; empty if there was none."""
        params = {"name": "search_code", "arguments": arguments}
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        self._connection.request("POST", "/", body, {"authorization": f"Bearer {token}", "content-type": "application/json"})
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status != http.client.OK:
            return said[:300].decode(errors="replace")
        found = msgspec.json.decode(said)
        result = found.get("result", {})
        return str(result or found)[:300] if "result" not in found or result.get("isError") else ""


@contextmanager
def serving_organisation(urls: str, prefix: str) -> Iterator[OrganisationServer]:
    """Starts a server; it is stopped when the block ends."""
    with tempfile.TemporaryDirectory(prefix="organisation-") as home, (Path(home) / "errors").open("w+b") as errors:
        environment = {
            **os.environ,
            "CODECOMPASS_HOME": home,
            "CODECOMPASS_CLUSTER_URL": urls,
            "CODECOMPASS_CLUSTER_PREFIX": prefix,
            "CODECOMPASS_ACCESS_MAX_REQUESTS_PER_MINUTE": "0",
        }
        command = python("-P", "-m", "codecompass", "serve-mcp", "--transport", "http", "--bind", "127.0.0.1", "--port", "0")
        process = subprocess.Popen([*command, "--store", "opensearch"], stdin=subprocess.DEVNULL, stderr=errors, env=environment)
        try:
            yield OrganisationServer(process.pid, _port(process, Path(home) / "errors"))
        finally:
            process.terminate()
            try:
                process.wait(REQUEST_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(process: subprocess.Popen[bytes], errors: Path) -> int:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        _, found, rest = errors.read_text(errors="replace").partition("http://127.0.0.1:")
        if found and not rest[:1].isspace() and len(digits := rest[:6].strip("/.\n ")) and digits.isdigit():
            return int(digits)
        time.sleep(0.1)
    raise RuntimeError(f"the server does not start: {errors.read_text(errors='replace')[-2000:]}")


_HEADER: Final = (
    *("repositories", "files", "source GB", "documents", "text GB", "facts GB", "segments (merging)", "heap MB, least", "old MB"),
    *("filled s", "engine CPU s", "list ms (CPU)"),
    *("one ms, median / p95", "30 ms, median / p95", "all ms, median / p95", "all over first point"),
    *("files of all, s", "failed", "server MB", "load"),
)


def _row_header() -> str:
    return "\n".join(markdown_table(_HEADER, []).splitlines())


def _row(point: Point, first: Point) -> str:
    files = percentile([each for (place, _), some in point.seconds.items() if place == "files" for each in some], 0.5)
    cells = [
        f"{point.repositories:,}",
        f"{point.files:,}",
        f"{point.source / 1e9:.2f}",
        f"{point.documents:,}",
        f"{point.text / 1e9:.3f}",
        f"{point.blocks / 1e9:.3f}",
        f"{point.segments} ({point.merging})",
        f"{point.heap / MIB:.0f}",
        f"{point.old_after_collection / MIB:.0f}",
        f"{point.filled_seconds:.0f}",
        f"{point.engine_cpu:.0f}",
        f"{1000 * point.listing[0]:.0f} ({1000 * point.listing[1]:.0f})",
        *(f"{point.at(place, 0.5):.0f} / {point.at(place, 0.95):.0f}" for place in PLACES),
        f"{point.at('all', 0.5) / first.at('all', 0.5):.2f} / {point.at('all', 0.95) / first.at('all', 0.95):.2f}",
        f"{files:.2f}",
        f"{point.failed}",
        f"{point.server_rss / MIB:.0f}",
        f"{point.load:.1f}",
    ]
    return "| " + " | ".join(cells) + " |"


def _by_kind(points: Sequence[Point]) -> str:
    rows = [
        (f"{point.repositories:,}", place, kind, str(len(some)), f"{1000 * percentile(some, 0.5):.0f}", f"{1000 * max(some):.0f}")
        for point in points
        for (place, kind), some in point.seconds.items()
    ]
    return markdown_table(("repositories", "place", "kind", "asked", "median ms", "longest ms"), rows, "><<>>>")


if __name__ == "__main__":
    sys.exit(main())
