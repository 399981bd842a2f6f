"""The rows of the server: measurements and the contract's limits. Pure."""

from collections.abc import Mapping
from statistics import median
from typing import Final

from bench.figures import Figure, figure, percentile, written
from bench.indexing import EDITS
from bench.serving import Asked, IndexingRuns, SaveRuns, ServingRuns, StartRuns, Visible

WARM: Final[Mapping[str, tuple[str, str]]] = {
    "locate_symbol": ("300 ms", "5 ms"),
    "search_code, symbol names": ("500 ms", "30 ms"),
    "search_code, phrases": ("500 ms", "30 ms"),
    "get_file_outline": ("50 ms", "5 ms"),
}
"""The contract's limits of the 95th percentile: must and aim."""

WHILE_INDEXING: Final[Mapping[str, tuple[str, str]]] = {"ping": ("50 ms", "10 ms"), "health_check": ("50 ms", "10 ms")}


def figures_of(runs: ServingRuns) -> list[Figure]:
    """Returns all rows, in the order in which a user meets them."""
    rows = _start_rows(runs.start)
    for saves in runs.saves:
        rows += _save_rows(saves)
    rows += [_asked_row(asked, f"over stdio, {runs.start.files:,} files", WARM) for asked in runs.warm]
    rows += _indexing_rows(runs.indexing)
    return rows


def _start_rows(runs: StartRuns) -> list[Figure]:
    files = f"{runs.files:,} files"
    return [
        figure(
            "serve-mcp: `initialize` answered after process start",
            runs.initialize,
            "s",
            must="2 s",
            aim="0.3 s, 1.6x imports",
            beside=[('python -c "import trio, msgspec"', median(runs.imports)), ("python -c pass", median(runs.python))],
        ),
        figure(
            f"serve-mcp: first real answer after process start, {files}",
            runs.first_answer,
            "s",
            must="2 s",
            aim="0.5 s",
            note=f"fresh in {runs.first_answer_fresh} of {len(runs.first_answer)}",
        ),
        figure(
            f"memory of an idle server, one project, {files}",
            [runs.asked.rss],
            "bytes",
            must="100 MB",
            aim="60 MB",
            note=f"anonymous {written(runs.asked.anonymous, 'bytes')}, processes {runs.asked.n_processes}; before it was asked "
            f"anything {written(runs.idle.rss, 'bytes')}, anonymous {written(runs.idle.anonymous, 'bytes')}",
        ),
        figure(f"CPU of an idle server a minute, {files}", [runs.idle_cpu_seconds_a_minute], "s"),
        figure("end of input to end of process", runs.end, "s"),
    ]


def _save_rows(runs: SaveRuns) -> list[Figure]:
    files = f"{runs.files:,} files"
    count = len(runs.asked.seconds)
    return [
        _visible_row(
            f"save to visible, asked at once, {files}",
            runs.asked,
            f"the first answer held it {runs.asked.n_held} times of {count}, and said fresh {runs.asked.n_fresh} times",
        ),
        _visible_row(
            f"save to visible, by the watcher alone, {files}",
            runs.watched,
            f"a best_effort question right then held it {runs.watched.n_held} times of {len(runs.watched.seconds)}",
        ),
        figure(
            f"{EDITS} files changed, through the server, {files}: CPU of all processes",
            runs.update_cpu_seconds,
            "s",
            aim="0.3 s",
            note=f"all visible after {written(median(runs.update_wall_seconds), 's')}",
        ),
    ]


def _visible_row(what: str, visible: Visible, seen: str) -> Figure:
    return figure(
        f"{what}: p95",
        [percentile(visible.seconds, 0.95)],
        "s",
        must="5 s",
        aim="0.5 s",
        note=f"p50 {written(median(visible.seconds), 's')}, longest {written(max(visible.seconds), 's')}; {seen}",
    )


def _indexing_rows(runs: IndexingRuns) -> list[Figure]:
    files = f"while {runs.files:,} files are indexed"
    rows = [_asked_row(asked, files, WHILE_INDEXING) for asked in runs.asked if asked.milliseconds]
    if runs.peak_rss_all is not None:
        rows.append(
            figure(
                f"memory of all processes {files} by a server",
                [runs.peak_rss_all],
                "bytes",
                must="1 GB",
                aim="0.6 GB",
                note=f"first index through the server: {written(runs.seconds, 's')}, with a client that never stops asking",
            )
        )
    rows.append(figure(f"end of input to end of process, {files}", [runs.end_while_indexing], "s"))
    return rows


def _asked_row(asked: Asked, where: str, targets: Mapping[str, tuple[str, str]]) -> Figure:
    must, aim = targets.get(asked.kind, ("", ""))
    times = asked.milliseconds
    note = f"p50 {written(median(times), 'ms')}, longest {written(max(times), 'ms')}, {len(times)} requests"
    return figure(f"{asked.kind} {where}: p95", [percentile(times, 0.95)], "ms", must=must, aim=aim, note=note)
