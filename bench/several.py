"""What a search over many projects takes: `python -m bench.several`.

One server with at most --live live projects of --projects on disk, each with --files generated files. Searches all projects while
none is live, the live ones alone, then all; and one project while a search over all is running, alternating with the same search
alone. --home keeps the indexes for the next run.
"""

import argparse
import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from bench import job, synthetic
from bench.client import Connection, serving
from bench.corpus import SEED
from bench.figures import Figure, figure, percentile
from bench.measure import memory_of
from bench.questions import questions
from bench.table import figures_table
from codecompass.identity import canonical_root, project_id
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.units import MILLISECONDS

ROUNDS: Final = 40
SHARE: Final = 0.95


class _Plan(Struct, frozen=True):
    roots: tuple[Path, ...]
    live: tuple[Path, ...]
    asked: tuple[str, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.several", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--projects", type=int, default=100)
    parser.add_argument("--live", type=int, default=10)
    parser.add_argument("--files", type=int, default=200, help="of each project (default 200)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"questions of each kind (default {ROUNDS})")
    parser.add_argument("--home", type=Path, help="keep projects and indexes here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="several-") as directory:
        home = (options.home or Path(directory)).absolute()
        roots = _projects(home, options.projects, options.files)
        plan = _Plan(roots, roots[:: max(1, len(roots) // options.live)][: options.live], _questions(home, roots, options.rounds))
        print(figures_table(measure(home, plan)))
    return 0


def measure(home: Path, plan: _Plan) -> list[Figure]:
    """Returns all rows."""
    config = home / "several.toml"
    config.write_text(f"[server]\nmax_live_workspaces = {len(plan.live)}\nprewarm = false\n")
    with serving(plan.live[0], home / "store", "--config", str(config)) as server:
        server.initialize()
        _over(server, "*", plan.asked[:1])
        idle = memory_of(server.pid).rss
        cold = _over(server, "*", plan.asked)
        grown = memory_of(server.pid).rss
        handles = len(os.listdir(f"/proc/{server.pid}/fd"))
        for root in plan.live:
            _over(server, str(root), plan.asked[:1])
        live = _over(server, [str(root) for root in plan.live], plan.asked)
        mixed = _over(server, "*", plan.asked)
        alone, beside = _beside(server, plan)
    n, n_live = len(plan.roots), len(plan.live)
    return [
        _row(f"search over {n} projects, none live: p95", cold, must="1.5 s"),
        _row(f"search over {n_live} live projects: p95", live, must="0.15 s"),
        _row(f"search over {n} projects, {n_live} live: p95", mixed),
        figure(
            "search of one live project while one over all is under way: p95",
            [percentile(beside, SHARE)],
            "s",
            must="1.1x",
            beside=[("alone, in turns", percentile(alone, SHARE))],
            note=f"median {median(beside) / median(alone):.2f}x",
        ),
        figure(
            "memory after searches over all",
            [float(grown)],
            "bytes",
            beside=[("after the first", float(idle))],
            note=f"{handles} open files",
        ),
    ]


def _row(what: str, seconds: Sequence[float], must: str = "") -> Figure:
    return figure(what, [percentile(seconds, SHARE)], "s", must=must, note=f"median {median(seconds) / MILLISECONDS:.0f} ms")


def _over(server: Connection, workspace: object, asked: Sequence[str]) -> list[float]:
    return [server.call("search_code", {"query": query, "workspace": workspace}).seconds for query in asked]


def _beside(server: Connection, plan: _Plan) -> tuple[list[float], list[float]]:
    """Returns seconds of searches of one project: alone, and while one over all is running; alternating, so that other load on
    the machine affects both."""
    root = str(plan.live[0])
    alone: list[float] = []
    beside: list[float] = []
    for query in plan.asked:
        alone += _over(server, root, [query])
        under_way = server.send_call("search_code", {"query": query, "workspace": "*"})
        while not server.is_answered(under_way):
            beside += _over(server, root, [query])
        server.tool_answer(under_way)
    return alone, beside


def _projects(home: Path, count: int, files: int) -> tuple[Path, ...]:
    """Generates and indexes missing projects; returns the roots."""
    roots = []
    for number in range(count):
        root = home / "projects" / f"p{number:03}-{files}"
        if not root.exists():
            for source in synthetic.source_files(SEED + number, files):
                path = root / source.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(source.text)
            job.index(canonical_root(root), home / "store")
        roots.append(canonical_root(root))
    with open_registry(HomeLayout(home / "store")) as registry:
        for root in roots:
            registry.register(root)
    return tuple(roots)


def _questions(home: Path, roots: Sequence[Path], count: int) -> tuple[str, ...]:
    """Returns phrases and sentences of all projects, drawn by a seed."""
    source = random.Random(SEED)
    asked: list[str] = []
    for root in source.sample(list(roots), min(count, len(roots))):
        identifier = project_id(root)
        index = WorkspaceIndex(HomeLayout(home / "store").project(identifier), identifier)
        with index.snapshot() as snapshot:
            found = questions(snapshot, source, 2)
        asked += [*found.phrases[:1], *found.sentences[:1]]
        index.close()
    return tuple(asked[:count])


if __name__ == "__main__":
    sys.exit(main())
