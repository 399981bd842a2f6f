"""How long answers take, warm, and how long the command line takes to start, compared with ripgrep and bare Python."""

import importlib.util
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from bench import probe
from bench.figures import Figure, figure, percentile, written
from bench.measure import python, run
from bench.probe import ProbeRun, Timings

TARGETS: Final[Mapping[str, tuple[str, str]]] = {
    "locate_symbol": ("300 ms", "5 ms"),
    "search_code, symbol names": ("500 ms", "30 ms"),
    "search_code, phrases": ("500 ms", "30 ms"),
    "search_code, natural language": ("500 ms", "30 ms"),
    "search_code, literal": ("500 ms", "30 ms"),
    "search_code, regex": ("500 ms", "30 ms"),
    "get_file_outline": ("50 ms", "5 ms"),
    "first query after opening": ("400 ms", "50 ms"),
}
"""The contract's limits of the 95th percentile: must and aim."""

ASKED_BY_NAME: Final = ("locate_symbol", "search_code, symbol names", "search_code, literal")
"""Kinds of query that ripgrep can answer too."""

RIPGREP_QUERIES: Final = 7
STARTS: Final = 9


def measure(root: Path, home: Path, *, queries: int) -> ProbeRun:
    """Queries the index of `root` in the store `home` in a separate process."""
    return probe.decode(run(python("-m", "bench.probe", root, "--home", home, "--queries", str(queries))).stdout)


def figures_of(done: ProbeRun, root: Path) -> list[Figure]:
    """Returns the row of each kind of query: the 95th percentile, with the median in the note."""
    grep = _ripgrep_milliseconds(root, done.names[:RIPGREP_QUERIES])
    return [_row(timings, grep if timings.kind in ASKED_BY_NAME else None) for timings in done.timings]


def start_figures() -> list[Figure]:
    """Returns how long `codecompass --help` takes, compared with bare Python and an import of the event loop."""
    if importlib.util.find_spec("codecompass.__main__") is None:
        return []
    commands = {
        "codecompass --help": python("-m", "codecompass", "--help"),
        "python -c pass": python("-c", "pass"),
        'python -c "import trio"': python("-c", "import trio"),
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    # Alternating, so that other load on the machine affects all of them.
    for _ in range(STARTS):
        for name, command in commands.items():
            times[name].append(run(command).usage.wall_seconds)
    ours = times.pop("codecompass --help")
    return [figure("codecompass --help: wall", ours, "s", beside=[(name, median(some)) for name, some in times.items()])]


def _row(timings: Timings, grep: float | None) -> Figure:
    must, aim = TARGETS.get(timings.kind, ("", ""))
    p95 = percentile(timings.milliseconds, 0.95)
    note = (
        f"p50 {written(median(timings.milliseconds), 'ms')}, CPU a call {written(timings.cpu_milliseconds, 'ms')}; answer p50 "
        f"{written(median(timings.answer_bytes), 'bytes')}, p95 {written(percentile(timings.answer_bytes, 0.95), 'bytes')}"
    )
    beside = [] if grep is None else [("rg -w, median", grep)]
    return figure(f"{timings.kind}: p95", [p95], "ms", must=must, aim=aim, beside=beside, note=note)


def _ripgrep_milliseconds(root: Path, names: Sequence[str]) -> float | None:
    program = shutil.which("rg")
    if program is None or not names:
        return None
    # `--count` avoids most of the output; a name that is not found (`||`) would otherwise fail.
    search = [["sh", "-c", '"$0" --count -w -F -e "$1" . || true', program, name] for name in names]
    return median(run(command, cwd=root).usage.wall_seconds * 1000 for command in search)
