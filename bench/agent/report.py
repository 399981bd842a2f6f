"""The tables of a run. Pure: rows of answers in, Markdown out."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median
from typing import Final, TypeVar

from bench.agent.asking import FIRST, OURS, Asked
from bench.agent.freshness import FreshAnswer
from bench.figures import percentile
from bench.table import markdown_table

HEADER: Final = (
    "task",
    "system",
    "n",
    "first",
    "in ten",
    "shown",
    "wrong, silent",
    "characters p50",
    "mean",
    "calls",
    "ms p50",
    "p95",
    "characters / rg, same places p50",
    "all",
    "useful bytes",
)
TEN: Final = 10

NOTHING: Final = ""

Row = TypeVar("Row")
Cells = tuple[str, ...]


def agent_table(asked: Sequence[Asked], fresh: Sequence[FreshAnswer]) -> str:
    """Returns the table: each kind of task by each system. `shown`: right at any place of what was read; `wrong, silent`: answers
    that claim to be fresh or complete and are wrong (after edits, and if a first answer shows nothing right)."""
    rows = [
        _task_cells(f"{name}, {category}" if category else name, system, group)
        for (name, category), pairs in _grouped(asked, lambda row: (row.set, row.category)).items()
        for system, group in _grouped(pairs, lambda row: row.system).items()
    ]
    tasks = [row for row in asked if row.set != FIRST]
    if len({(row.set, row.category) for row in tasks}) > 1:
        rows += [_task_cells("all tasks", system, group) for system, group in _grouped(tasks, lambda row: row.system).items()]
    for system, group in _grouped(fresh, lambda row: row.system).items():
        rows.append(_fresh_cells(system, group))
    return markdown_table(HEADER, rows, "<<" + ">" * (len(HEADER) - 2))


def first_table(asked: Iterable[Asked]) -> str:
    """Returns the first questions by repository: how many were right at once, and the time to a right answer."""
    header = ("first question", "runs", "right at once", "ms p50", "p95", "ms until right p50", "p95", "never")
    by_repository = _grouped(asked, lambda row: row.repo)
    groups = [*sorted(by_repository.items()), ("all", [row for rows in by_repository.values() for row in rows])]
    cells = [(name, *_contact_cells(rows)) for name, rows in groups if rows]
    return markdown_table(header, cells, "<" + ">" * 7)


def fresh_table(fresh: Iterable[FreshAnswer]) -> str:
    """Returns our answers after each kind of change."""
    header = ("after", "asked", "right", "admitted", "silent", "ms p50", "p95", "ms until right, of the wrong ones, p95", "never")
    ours = [row for row in fresh if row.system == OURS]
    groups = [*_grouped(ours, lambda row: row.kind).items(), ("all", ours)]
    cells = [(name, *_change_cells(rows)) for name, rows in groups if rows]
    return markdown_table(header, cells, "<" + ">" * 8)


def _task_cells(name: str, system: str, rows: Sequence[Asked]) -> Cells:
    silent = sum(row.rank is None and not row.admits for row in rows)
    return (
        name,
        system,
        str(len(rows)),
        _share(row.rank == 1 for row in rows),
        _share(row.rank is not None and row.rank <= TEN for row in rows),
        _share(row.rank is not None for row in rows),
        str(silent) if all(row.set == FIRST for row in rows) else NOTHING,
        *_cost_cells([row.characters for row in rows], [row.calls for row in rows], [row.ms for row in rows]),
        *_ratio_cells(rows),
    )


def _ratio_cells(rows: Sequence[Asked]) -> Cells:
    """Compares only answers that show a place."""
    compared = [row for row in rows if row.same_places]
    if not compared:
        return (NOTHING, NOTHING, NOTHING)
    # `characters` may include earlier answers, which show nothing; the places are read from the text.
    ratios = [row.characters / (row.same_places or 1) for row in compared]
    total = sum(row.characters for row in compared) / sum(row.same_places or 0 for row in compared)
    useful = sum(row.useful_bytes for row in compared) / sum(row.n_bytes for row in compared)
    return (f"{median(ratios):.2f}", f"{total:.2f}", f"{useful:.2f}")


def _fresh_cells(system: str, rows: Sequence[FreshAnswer]) -> Cells:
    right = _share(row.verdict == "right" for row in rows)
    silent = str(sum(row.verdict == "silent" for row in rows))
    costs = _cost_cells([row.characters for row in rows], [row.calls for row in rows], [row.ms for row in rows])
    return ("names after edits", system, str(len(rows)), right, right, right, silent, *costs, NOTHING, NOTHING, NOTHING)


def _cost_cells(characters: Sequence[int], calls: Sequence[int], milliseconds: Sequence[float]) -> Cells:
    return (
        f"{median(characters):,.0f}",
        f"{mean(characters):,.0f}",
        f"{mean(calls):.1f}",
        f"{percentile(milliseconds, 0.5):,.0f}",
        f"{percentile(milliseconds, 0.95):,.0f}",
    )


def _contact_cells(rows: Sequence[Asked]) -> Cells:
    right = [row.right_ms for row in rows if row.right_ms is not None]
    milliseconds = [row.ms for row in rows]
    return (
        str(len(rows)),
        _share(row.rank is not None and row.rank <= TEN for row in rows),
        f"{percentile(milliseconds, 0.5):,.0f}",
        f"{percentile(milliseconds, 0.95):,.0f}",
        *_percentiles(right),
        str(len(rows) - len(right)),
    )


def _change_cells(rows: Sequence[FreshAnswer]) -> Cells:
    wrong = [row for row in rows if row.verdict != "right"]
    settled = [row.settled_ms for row in wrong if row.settled_ms is not None]
    milliseconds = [row.ms for row in rows]
    return (
        str(len(rows)),
        *(str(sum(row.verdict == verdict for row in rows)) for verdict in ("right", "admitted", "silent")),
        f"{percentile(milliseconds, 0.5):,.0f}",
        f"{percentile(milliseconds, 0.95):,.0f}",
        f"{percentile(settled, 0.95):,.0f}" if settled else NOTHING,
        str(len(wrong) - len(settled)),
    )


def _percentiles(samples: Sequence[float]) -> Cells:
    if not samples:
        return (NOTHING, NOTHING)
    return (f"{percentile(samples, 0.5):,.0f}", f"{percentile(samples, 0.95):,.0f}")


def _share(facts: Iterable[bool]) -> str:
    return f"{mean(map(float, facts)):.3f}"


Key = TypeVar("Key")


def _grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Returns the rows by a key, in the order in which keys first occur."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups
