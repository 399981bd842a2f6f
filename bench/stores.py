"""Whether both stores give the same answers, and what the engine costs: `python -m bench.stores`.

    --urls URLS --home HOME --truth DIR [--repos a,b] [--every N]

HOME has embedded indexes of the repositories of DIR/repos.jsonl (projects whose directory has the repository's name). Each is
published to the engine, and each question of DIR/dev is answered by the query core from both stores in turn. Prints a table of
how many of the first ten places are the same, the quality of both, and the time of each.
"""

import argparse
import secrets
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.quality.data import Hit, Target, read_lines
from bench.quality.scores import score_search
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.publishing import NewGeneration, publish
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.stores.directory import DirectoryStore
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import AmbiguousSymbol
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.locate import locate_symbol
from codecompass.query.options import QueryOptions
from codecompass.query.references import find_references
from codecompass.query.search import search_code
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.store.snapshot import Snapshot

FIRST: Final = 10
DELETE_SECONDS: Final = 60
KINDS: Final = ("semble", "nav", "refs", "messages")

Place = tuple[str, int]


class Asked(Struct, frozen=True, kw_only=True):
    """A line of the truth; the files name the query differently."""

    repo: str
    query: str = ""
    name: str = ""
    relevant: tuple[Target, ...] = ()
    definition: Target | None = msgspec.field(name="def", default=None)


class Tally(Struct):
    """Results for one kind of question."""

    same: int = 0
    identical: int = 0
    places: int = 0
    asked: int = 0
    quality: dict[str, float] = msgspec.field(default_factory=lambda: {"embedded": 0.0, "engine": 0.0})
    seconds: dict[str, list[float]] = msgspec.field(default_factory=lambda: {"embedded": [], "engine": []})


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.stores", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--urls", required=True, help="addresses of nodes, with commas between")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--repos", default="", help="only these, with commas between")
    parser.add_argument("--every", type=int, default=1, help="ask every Nth question")
    parser.add_argument("--show", action="store_true", help="print the questions whose places differ")
    options = parser.parse_args(arguments)
    engine = Engine(options.urls.split(","), prefix=f"bench{secrets.token_hex(4)}")
    engine.prepare()
    try:
        tallies, literals = _measured(engine, options)
    finally:
        engine.close()
        gone = urllib.request.Request(f"{options.urls.split(',')[0]}/{engine.names.all}", method="DELETE")
        urllib.request.urlopen(gone, timeout=DELETE_SECONDS).close()
    print(_table(tallies))
    print(f"literal and regular expression searches with the same matches: {literals[0]} of {literals[1]}")
    return 0


def _measured(engine: Engine, options: argparse.Namespace) -> tuple[dict[str, Tally], list[int]]:
    """Returns the results by kind of question, and how many scans had the same matches, of how many."""
    tallies: dict[str, Tally] = {}
    literals = [0, 0]
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "store").mkdir()
        store = DirectoryStore(Path(directory) / "store", "bench")
        generations = Generations(engine, store, Path(directory) / "copies")
        for name, project_id in _projects(options.home, options.repos):
            with _both(engine, store, generations, HomeLayout(options.home), project_id) as stores:
                for kind in KINDS:
                    asked = [each for each in read_lines(options.truth / "dev" / f"{kind}.jsonl", Asked) if each.repo == name]
                    for question in asked[:: options.every]:
                        _compare(kind, question, stores, tallies.setdefault(kind, Tally()), show=options.show)
                        if kind in ("semble", "messages"):
                            literals[1] += 1
                            literals[0] += _is_same_scan(question.query, stores)
            print(name, file=sys.stderr, flush=True)
    return tallies, literals


def _projects(home: Path, repos: str) -> Iterator[tuple[str, str]]:
    wanted = set(repos.split(",")) if repos else None
    with open_registry(HomeLayout(home)) as registry:
        for project in registry.projects():
            is_wanted = wanted is None or project.root.name in wanted
            if is_wanted and compatibility(HomeLayout(home).project(project.project_id)).status == "compatible":
                yield project.root.name, project.project_id


@contextmanager
def _both(
    engine: Engine, store: SegmentStore, generations: Generations, home: HomeLayout, project_id: str
) -> Iterator[Mapping[str, Snapshot]]:
    layout = home.project(project_id)
    generation = secrets.token_hex(8)
    publish(engine, store, NewGeneration(repo_id=project_id, generation=generation, layout=layout, project_id=project_id))
    index = WorkspaceIndex(layout, project_id)
    with ExitStack() as stack:
        stack.callback(index.close)
        embedded = stack.enter_context(index.snapshot())
        yield {"embedded": embedded, "engine": stack.enter_context(generations.snapshot(generation))}


def _compare(kind: str, question: Asked, stores: Mapping[str, Snapshot], tally: Tally, *, show: bool) -> None:
    found: dict[str, list[Place]] = {}
    for store, snapshot in stores.items():
        began = time.perf_counter()
        found[store] = _ANSWERS[kind](snapshot, question)
        tally.seconds[store].append(time.perf_counter() - began)
        hits = [Hit(path=path, line_start=line, line_end=line) for path, line in found[store]]
        tally.quality[store] += score_search(hits, question.relevant).ndcg_files if question.relevant else 0.0
    same = sum(one == other for one, other in zip(found["embedded"], found["engine"], strict=False))
    tally.same += same
    tally.places += max(len(found["embedded"]), len(found["engine"]))
    tally.identical += found["embedded"] == found["engine"]
    tally.asked += 1
    if show and found["embedded"] != found["engine"]:
        print(
            f"{question.repo}: {question.query or question.name!r}\n  {found['embedded']}\n  {found['engine']}", file=sys.stderr
        )


def _state(snapshot: Snapshot) -> AnswerState:
    return AnswerState(workspace="/", project_id=snapshot.project_id, ref="")


def _search(snapshot: Snapshot, question: Asked) -> list[Place]:
    reply = search_code(snapshot, SearchCode(query=question.query, limit=FIRST), _state(snapshot), QueryOptions())
    return [(result.path, result.line_start) for result in reply.results]


def _locate(snapshot: Snapshot, question: Asked) -> list[Place]:
    reply = locate_symbol(snapshot, LocateSymbol(name=question.query, limit=FIRST), _state(snapshot), QueryOptions())
    return [(result.path, result.line_start) for result in reply.results]


def _references(snapshot: Snapshot, question: Asked) -> list[Place]:
    request = FindReferences(symbol_name=question.name, path=question.definition.path if question.definition else None)
    try:
        reply = find_references(snapshot, request, _state(snapshot), lambda: False, QueryOptions())
    except AmbiguousSymbol:
        return []
    return [(each.path, each.line_start) for each in reply.references][:FIRST]


_ANSWERS: Final[Mapping[str, Callable[[Snapshot, Asked], list[Place]]]] = {
    "semble": _search,
    "nav": _locate,
    "refs": _references,
    "messages": _search,
}


def _is_same_scan(query: str, stores: Mapping[str, Snapshot]) -> bool:
    """Whether a word of the query, and a pattern made of two, match the same in both stores."""
    words = sorted(query.split(), key=len)[-2:]
    patterns = (("literal", words[-1]), ("regex", ".*".join(word for word in words if word.isalnum()) or "a{3}"))
    for mode, text in patterns:
        replies = [
            search_code(snapshot, SearchCode(query=text, mode=mode, limit=50), _state(snapshot), QueryOptions())
            for snapshot in stores.values()
        ]
        if replies[0].results != replies[1].results or replies[0].total_candidates != replies[1].total_candidates:
            return False
    return True


def _table(tallies: Mapping[str, Tally]) -> str:
    lines = [
        "| questions | asked | same places of the first ten | all ten the same | quality, embedded | engine | "
        "median ms, embedded | engine | p95 ms, embedded | engine |",
        "|" + "---|" * 10,
    ]
    for kind, tally in tallies.items():
        quality = [f"{tally.quality[store] / max(1, tally.asked):.4f}" for store in ("embedded", "engine")]
        times = [_at(tally.seconds[store], share) for share in (0.5, 0.95) for store in ("embedded", "engine")]
        lines.append(
            f"| {kind} | {tally.asked} | {tally.same / max(1, tally.places):.4f} | {tally.identical / max(1, tally.asked):.3f} | "
            + " | ".join([*quality, *times])
            + " |"
        )
    return "\n".join(lines)


def _at(seconds: Sequence[float], share: float) -> str:
    ordered = sorted(seconds)
    return f"{1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]:.1f}" if ordered else "-"


if __name__ == "__main__":
    sys.exit(main())
