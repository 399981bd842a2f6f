"""The rows of many workspaces: measurements and the contract's limits. Pure."""

from collections.abc import Sequence
from statistics import median

from bench.figures import Figure, figure, percentile, written
from bench.switching import MAX_LIVE, Held, SwitchRuns, WarmsetRuns


def figures_of(switches: SwitchRuns, warmset: WarmsetRuns) -> list[Figure]:
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
