"""What an organisation's server costs beside the embedded one: `python -m bench.editions --home HOME`.

HOME has the indexes of some repositories, up to date. They are published to a node of OpenSearch that is started for this (or to
--urls), and an embedded server over HOME and one or two of an organisation are asked the same questions over HTTP:

- about one repository: words, literals, patterns, names, definitions and references, drawn from each index by a seed;
- about all (`*`): words, literals, definitions and references;
- with 16 clients at a time, mixed questions about one repository and about all: one server of an organisation beside two, to
  which connections are dealt in turn, as a balancer does. The client is one process of one thread that does not decode answers.

Servers take turns with each question, and every other one begins. The first time that a question is asked does not count, so
that indexes are open and copies are here. CPU time is that of the server's processes. All that runs shares the processors of the
machine: with the node, the servers and the client on two of them, two servers are short of what they could do. With --against
DIR, a source tree of another version, an organisation's server of that version takes turns as well.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from msgspec import Struct

from bench.corpus import SEED
from bench.figures import percentile
from bench.filling import Filler, Real, real_repositories
from bench.measure import cpu_seconds_of, memory_of
from bench.questions import questions
from bench.serving import BenchServer, Call, Load, ask_at_once, serving_embedded, serving_organisation
from bench.table import markdown_table
from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.stores.opening import open_store
from codecompass.settings import ClusterSettings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.units import MIB, MILLISECONDS
from tests.cluster.nodes import AS_IN_PRODUCTION, running_nodes

PREFIX: Final = "editions"
CLIENTS: Final = 16
ALL: Final = "*"
ABOUT_ONE: Final = ("words", "literal", "regex", "name", "definition", "references")
ABOUT_ALL: Final = ("words", "literal", "definition", "references")
PARTS: Final = ("one", "all", "clients")
SETTLE_SECONDS: Final = 0.003
"""After an answer, before the CPU time is read: the server's threads are done with it."""


class Asked(Struct, frozen=True):
    """A question, and its kind."""

    kind: str
    call: Call


class Taken(Struct, frozen=True):
    """What an answer took, in seconds."""

    kind: str
    wall: float
    cpu: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.editions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--urls", default="", help="addresses of nodes, with commas between; without it one is started")
    parser.add_argument("--heap", default="256m", help="of the node that is started (default 256m)")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {','.join(PARTS)}")
    parser.add_argument("--questions", type=int, default=3, help="of each kind about each repository (default 3)")
    parser.add_argument("--everywhere", type=int, default=30, help="of each kind about all (default 30)")
    parser.add_argument("--rounds", type=int, default=2, help="that count (default 2)")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each turn of the clients (default 8)")
    parser.add_argument("--turns", type=int, default=3, help="turns of the clients (default 3)")
    parser.add_argument("--against", type=Path, help="the source tree of another version")
    options = parser.parse_args(arguments)
    home = HomeLayout(options.home.absolute())
    parts = options.parts.split(",")
    with ExitStack() as stack:
        urls = options.urls or stack.enter_context(_node(options.heap))
        store = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="editions-store-")))
        reals = real_repositories(home)
        token = _publish(urls, store, home, reals)
        asked = {real.name: _questions_about(home, real, options.questions) for real in reals}
        root = next(root for root in _roots(home) if root.name == reals[0].name)
        ours = stack.enter_context(serving_organisation(urls, PREFIX, store, token))
        if "one" in parts or "all" in parts:
            servers = [stack.enter_context(serving_embedded(home.root, root)), ours]
            if options.against:
                other = serving_organisation(urls, PREFIX, store, token, "other", options.against.absolute())
                servers.append(stack.enter_context(other))
            if "one" in parts:
                print(_beside("about one repository", _ask_each(servers, asked.values(), options.rounds), ABOUT_ONE), flush=True)
            if "all" in parts:
                everywhere = _about_all(asked, options.everywhere)
                print(_beside("about all (*)", _ask_each(servers, [everywhere], options.rounds), ABOUT_ALL), flush=True)
            for server in servers:
                memory = memory_of(server.pid)
                print(f"{server.name}: {memory.rss / MIB:.0f} MB, of that {memory.anonymous / MIB:.0f} MB its own", flush=True)
        if "clients" in parts:
            second = stack.enter_context(serving_organisation(urls, PREFIX, store, token, "second"))
            mixes = {"one repository": _mixed(asked), "all (*)": [each.call for each in _about_all(asked, options.everywhere)]}
            print(_clients((ours, second), mixes, options.turns, options.seconds), flush=True)
    return 0


@contextmanager
def _node(heap: str) -> Iterator[str]:
    with running_nodes(1, heap=heap, settings=AS_IN_PRODUCTION) as cluster:
        yield cluster.urls[0]


def _publish(urls: str, store: Path, home: HomeLayout, reals: Sequence[Real]) -> str:
    """Publishes all, and returns a token that may see them."""
    engine = Engine(urls.split(","), prefix=PREFIX)
    engine.prepare()
    filler = Filler(engine, open_store(ClusterSettings(prefix=PREFIX, segments=str(store))), home)
    for real in reals:
        filler.publish(real)
    engine.refresh(engine.names.repositories)
    token = Tokens(engine).add("bench", [], is_admin=True, days=1)
    engine.close()
    return token


def _roots(home: HomeLayout) -> list[Path]:
    with open_registry(home) as registry:
        return [project.root for project in registry.projects()]


def _questions_about(home: HomeLayout, real: Real, count: int) -> list[Asked]:
    """Returns `count` questions of each kind about a repository, by name."""
    index = WorkspaceIndex(home.project(real.project_id), real.project_id)
    try:
        with index.snapshot() as snapshot:
            drawn = questions(snapshot, random.Random(f"{SEED}:{real.name}"), count)
    finally:
        index.close()
    here = {"workspace": real.name}
    sentences = (*drawn.sentences, *drawn.phrases)[:count]
    return [
        *(Asked("words", ("search_code", {"query": each, **here})) for each in sentences),
        *(Asked("literal", ("search_code", {"query": each, "mode": "literal", **here})) for each in drawn.literals),
        *(Asked("regex", ("search_code", {"query": _pattern(each), "mode": "regex", **here})) for each in drawn.names),
        *(Asked("name", ("search_code", {"query": each, **here})) for each in drawn.names),
        *(Asked("definition", ("locate_symbol", {"name": each, **here})) for each in drawn.names),
        *(Asked("references", ("find_references", {"symbol_name": each, "limit": 20, **here})) for each in drawn.names),
    ]


def _pattern(name: str) -> str:
    """Returns a pattern that matches calls of what begins like a name."""
    return rf"\b{name[: max(4, len(name) // 2)]}\w*\("


def _about_all(asked: Mapping[str, Sequence[Asked]], count: int) -> list[Asked]:
    """Returns `count` of the questions of each kind of ABOUT_ALL, put to all repositories."""
    source = random.Random(SEED)
    found: list[Asked] = []
    for kind in ABOUT_ALL:
        of_kind = [each for some in asked.values() for each in some if each.kind == kind]
        chosen = source.sample(of_kind, min(count, len(of_kind)))
        found += [Asked(kind, (each.call[0], {**each.call[1], "workspace": ALL})) for each in chosen]
    source.shuffle(found)
    return found


def _mixed(asked: Mapping[str, Sequence[Asked]]) -> list[Call]:
    calls = [each.call for some in asked.values() for each in some]
    random.Random(SEED).shuffle(calls)
    return calls


def _ask_each(servers: Sequence[BenchServer], groups: Iterable[Sequence[Asked]], rounds: int) -> dict[str, list[Taken]]:
    """Asks the servers in turns, each group of questions once without counting and then `rounds` times. Returns what each server
    took."""
    found: dict[str, list[Taken]] = {server.name: [] for server in servers}
    for group in groups:
        for number in range(rounds + 1):
            for place, each in enumerate(group):
                order = servers if (number + place) % 2 else servers[::-1]
                for server in order:
                    taken = _taken(server, each)
                    if number:
                        found[server.name].append(taken)
    return found


def _taken(server: BenchServer, asked: Asked) -> Taken:
    cpu, wall = cpu_seconds_of(server.pid), time.perf_counter()
    server.ask(asked.call)
    took = time.perf_counter() - wall
    time.sleep(SETTLE_SECONDS)
    return Taken(asked.kind, took, cpu_seconds_of(server.pid) - cpu)


def _beside(what: str, found: Mapping[str, Sequence[Taken]], kinds: Sequence[str]) -> str:
    """Returns the table of one place: a row for each kind and one for all."""
    rows = []
    for kind in (*kinds, ""):
        of_kind = [[each for each in some if kind in ("", each.kind)] for some in found.values()]
        rows.append((kind or "together", str(len(of_kind[0])), *_compared(of_kind)))
    header = ("", "answers", *(f"{what} {share}" for what in ("ms", "CPU ms") for share in ("median", "95 %")))
    return f"{what}: {', '.join(found)} (organisation / embedded)\n\n" + markdown_table(header, rows, "<>>>>>")


def _compared(each_server: Sequence[Sequence[Taken]]) -> list[str]:
    """Returns the figures of all servers, the first of which is the embedded one, the second an organisation's."""
    cells = []
    for unit, share in ((unit, share) for unit in ("wall", "cpu") for share in (0.5, 0.95)):
        values = [percentile([getattr(each, unit) for each in some], share) / MILLISECONDS for some in each_server]
        cells.append(f"{', '.join(f'{value:.1f}' for value in values)} ({values[1] / values[0]:.2f})")
    return cells


def _clients(servers: Sequence[BenchServer], mixes: Mapping[str, Sequence[Call]], turns: int, seconds: float) -> str:
    """Returns the table of answers a second from one server and from two."""
    rows = []
    for mix, some in mixes.items():
        # Answers that are errors are left out, so that an error means that something was refused or failed.
        calls = [call for call in some if not servers[0].ask(call).get("isError")]
        for server in servers:
            ask_at_once([server], calls, CLIENTS, seconds)
        loads: dict[int, list[Load]] = {1: [], 2: []}
        cpu: dict[int, list[float]] = {1: [], 2: []}
        client: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(turns):
            for n_servers in (1, 2) if turn % 2 == 0 else (2, 1):
                used = servers[turn % 2 :][:1] if n_servers == 1 else servers
                before, own = sum(cpu_seconds_of(each.pid) for each in used), time.process_time()
                load = ask_at_once(used, calls, CLIENTS, seconds)
                loads[n_servers].append(load)
                cpu[n_servers].append((sum(cpu_seconds_of(each.pid) for each in used) - before) / load.seconds)
                client[n_servers].append((time.process_time() - own) / load.seconds)
                print(f"{mix}, {n_servers}: {load.rate:.1f} answers/s", file=sys.stderr, flush=True)
        ratio = median(two.rate / one.rate for one, two in zip(loads[1], loads[2], strict=True))
        for n_servers, some in loads.items():
            waits = [wait for load in some for wait in load.waits]
            rows.append(
                (
                    mix,
                    str(n_servers),
                    f"{median(load.rate for load in some):.1f}",
                    f"{ratio:.2f}" if n_servers == 2 else "",
                    f"{percentile(waits, 0.5) / MILLISECONDS:.0f}",
                    f"{percentile(waits, 0.95) / MILLISECONDS:.0f}",
                    f"{median(cpu[n_servers]):.2f}",
                    f"{median(client[n_servers]):.2f}",
                    f"{sum(load.n_errors for load in some)}",
                )
            )
    header = ("questions", "servers", "answers/s", "ratio", "median ms", "95 % ms", "cores of servers", "of the client", "errors")
    return f"{CLIENTS} clients\n\n" + markdown_table(header, rows, "<>>>>>>>>")


if __name__ == "__main__":
    sys.exit(main())
