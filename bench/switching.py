"""The cost of switching workspaces: to one that is live, to one on disk, to one that is not indexed: `python -m bench.switching`.

One server, many small projects, named by their paths. Also what many of them leave behind, and what the warmset saves and costs.
"""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import Struct

from bench import job, synthetic
from bench.client import Connection, serving
from bench.corpus import SEED
from bench.figures import Figure, figure, percentile, written
from bench.measure import memory_of
from bench.table import figures_table
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry

MAX_LIVE: Final = 8
DEADLINE_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.002


class Plan(Struct, frozen=True, kw_only=True):
    """How many projects there are, and how often each measurement is taken."""

    active: int = 30
    registered: int = 200
    rounds: int = 4
    questions: int = 300
    cold: int = 10
    starts: int = 7
    files: int = 100
    """Files of each project: enough for an index of several segments, few enough to be generated quickly."""


class Held(Struct, frozen=True, kw_only=True):
    """Resources of the server after a round through all active workspaces."""

    handles: int
    threads: int
    rss: int


class SwitchRuns(Struct, frozen=True, kw_only=True):
    """Milliseconds. `same` and `live` are questions about one live workspace and about several in turn; `routed` is an answer
    from memory for a named workspace, `unrouted` the same for none; `disk` opens an index, `cold` builds one of `files` files."""

    same: tuple[float, ...]
    live: tuple[float, ...]
    routed: tuple[float, ...]
    unrouted: tuple[float, ...]
    disk: tuple[float, ...]
    cold: tuple[float, ...]
    held: tuple[Held, ...]
    registered: int
    active: int
    files: int


class WarmsetRuns(Struct, frozen=True, kw_only=True):
    """Seconds until `initialize` was answered, and milliseconds of the first question once the server reports that it is warm."""

    start: tuple[float, ...]
    start_without: tuple[float, ...]
    first: tuple[float, ...]
    first_without: tuple[float, ...]


class _Metadata(Struct, frozen=True):
    indexing_status: str = ""


class _Answer(Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    prewarm_status: str = ""


def main() -> None:
    """Measures with the usual plan, and prints the table."""
    with TemporaryDirectory(prefix="codecompass-bench-") as directory:
        print(figures_table(_figures_of(*measure(Path(directory), Plan()))))


def measure(home: Path, plan: Plan) -> tuple[SwitchRuns, WarmsetRuns]:
    """Generates the projects below `home` and measures; the caller removes `home`."""
    projects = [_project(home / "projects" / f"p{number:03}", number, plan.files) for number in range(plan.active + plan.cold)]
    store = home / "switching"
    for project in projects[: plan.active]:
        job.index(project, store)
    with open_registry(HomeLayout(store.resolve())) as registry:
        for number in range(plan.registered - plan.active):
            empty = home / "more" / f"e{number:03}"
            empty.mkdir(parents=True)
            registry.register(empty.resolve())
    return _switches(projects, store, plan), _warmset(projects[:3], store, plan)


def _switches(projects: Sequence[Path], store: Path, plan: Plan) -> SwitchRuns:
    known, unknown = projects[: plan.active], projects[plan.active :]
    config = store / "bench.toml"
    roots = str(projects[0].parent)
    config.write_text(f"[server]\nmax_live_workspaces = {MAX_LIVE}\nmax_auto_workspaces = 100\nprewarm = false\n")
    flags = ("--config", str(config), "--auto-workspace", "--allowed-root", roots, "--allowed-root", str(store.parent))
    with serving(known[0], store, *flags) as server:
        server.initialize()
        disk, held = [], []
        for _ in range(plan.rounds):
            disk += [_ask(server, root) for root in known]
            held.append(_resources_of(server.pid))
        live = known[-4:]
        for root in live:
            _ask(server, root)
        same = [_ask(server, live[0]) for _ in range(plan.questions)]
        turns = [_ask(server, live[number % len(live)]) for number in range(plan.questions)]
        routed, unrouted = [], []
        for number in range(plan.questions):
            # Alternating, so that other load on the machine affects both.
            routed.append(_milliseconds(server, "health_check", workspace=str(live[number % len(live)])))
            unrouted.append(_milliseconds(server, "health_check"))
        cold = [_first_contact(server, root) for root in unknown]
    return SwitchRuns(
        same=tuple(same),
        live=tuple(turns),
        routed=tuple(routed),
        unrouted=tuple(unrouted),
        # The first round reads what the system has not cached yet, and grows what a server needs once.
        disk=tuple(disk[len(known) :]),
        cold=tuple(cold),
        held=tuple(held),
        registered=plan.registered,
        active=plan.active,
        files=plan.files,
    )


def _warmset(projects: Sequence[Path], store: Path, plan: Plan) -> WarmsetRuns:
    times: dict[str, list[float]] = {name: [] for name in ("start", "start_without", "first", "first_without")}
    for _ in range(plan.starts):
        # Alternating, so that other load on the machine affects both.
        for suffix, flags in (("", ()), ("_without", ("--no-prewarm",))):
            with serving(projects[0], store, *flags) as server:
                times["start" + suffix].append(server.initialize())
                _wait_warm(server)
                times["first" + suffix].append(_ask(server, projects[0]))
    return WarmsetRuns(**{name: tuple(values) for name, values in times.items()})


def _project(root: Path, number: int, files: int) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    for source in synthetic.source_files(SEED + number, files):
        path = root / source.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source.text)
    return root.resolve()


def _ask(server: Connection, root: Path) -> float:
    return _milliseconds(server, "locate_symbol", name="nobody_is_called_this", workspace=str(root))


def _milliseconds(server: Connection, tool: str, **arguments: str) -> float:
    return server.call(tool, arguments).seconds * 1000


def _first_contact(server: Connection, root: Path) -> float:
    began = time.monotonic()
    while time.monotonic() - began < DEADLINE_SECONDS:
        answer = server.call("locate_symbol", {"name": "nobody_is_called_this", "workspace": str(root)})
        if msgspec.json.decode(answer.result, type=_Answer).metadata.indexing_status == "ready":
            return (time.monotonic() - began) * 1000
        time.sleep(POLL_SECONDS)
    raise TimeoutError(f"{root} was not indexed within {DEADLINE_SECONDS:.0f} s")


def _wait_warm(server: Connection) -> None:
    began = time.monotonic()
    while time.monotonic() - began < DEADLINE_SECONDS:
        answer = server.call("health_check")
        if msgspec.json.decode(answer.result, type=_Answer).prewarm_status in ("complete", "skipped"):
            return
        time.sleep(POLL_SECONDS)
    raise TimeoutError("the server does not become warm")


def _resources_of(pid: int) -> Held:
    return Held(handles=len(os.listdir(f"/proc/{pid}/fd")), threads=len(os.listdir(f"/proc/{pid}/task")), rss=memory_of(pid).rss)


def _figures_of(switches: SwitchRuns, warmset: WarmsetRuns) -> list[Figure]:
    """Returns all rows."""
    overhead = percentile(switches.routed, 0.95) - percentile(switches.unrouted, 0.95)
    return [
        figure(
            "routing a named workspace, over an answer that names none: p95",
            [max(0.0, overhead)],
            "ms",
            must="5 ms",
            note=f"p50 {written(median(switches.routed), 'ms')} with and {written(median(switches.unrouted), 'ms')} without",
        ),
        _row("locate_symbol, another live workspace each time: p95", switches.live, aim="5 ms", beside=switches.same),
        _row(f"switch to a workspace on disk, {switches.files} files: p95", switches.disk, must="400 ms", aim="50 ms"),
        _row(f"first contact with a workspace, {switches.files} files, to complete answers: p95", switches.cold),
        _held_row(switches),
        figure(
            "first question to a member of the warmset: p95",
            [percentile(warmset.first, 0.95)],
            "ms",
            must="400 ms",
            aim="50 ms",
            beside=[("--no-prewarm", median(warmset.first_without))],
        ),
        figure(
            "start with a warmset: `initialize` answered",
            warmset.start,
            "s",
            must="15 % more",
            beside=[("--no-prewarm", median(warmset.start_without))],
        ),
    ]


def _row(what: str, times: Sequence[float], *, must: str = "", aim: str = "", beside: Sequence[float] = ()) -> Figure:
    note = f"p50 {written(median(times), 'ms')}, longest {written(max(times), 'ms')}, {len(times)} times"
    others = [("the same workspace", percentile(beside, 0.95))] if beside else []
    return figure(what, [percentile(times, 0.95)], "ms", must=must, aim=aim, beside=others, note=note)


def _held_row(switches: SwitchRuns) -> Figure:
    first, last = switches.held[0], switches.held[-1]
    return figure(
        f"memory after {len(switches.held)} rounds through {switches.active} of {switches.registered} projects, {MAX_LIVE} live",
        [last.rss],
        "bytes",
        beside=[("after the first round", first.rss)],
        note=f"{_counts(last)}, after the first round {_counts(first)}",
    )


def _counts(held: Held) -> str:
    return f"{held.handles} open files and {held.threads} threads"


if __name__ == "__main__":
    main()
