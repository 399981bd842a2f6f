"""The table of a comparison: as Markdown, as a file with every sample, and as part of a document."""

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from msgspec import Struct

from bench.comparison import ROWS, Measured
from bench.figures import written
from bench.programs import OURS
from bench.table import markdown_table

BEGIN: Final = "<!-- bench: begin -->"
END: Final = "<!-- bench: end -->"

DATA: Final = "performance.json"
"""The report behind a document's table, beside it."""


class Column(Struct, frozen=True, kw_only=True):
    """A measured program and its version."""

    program: str
    version: str


class Report(Struct, frozen=True, kw_only=True):
    """What was measured, when and on what. `against` is the compared commit, or empty. `load` is the load average over the last
    minute, before and after."""

    taken_at: str
    system: str
    python: str
    processors: int
    load: tuple[float, float]
    rounds: int
    against: str
    columns: tuple[Column, ...]
    absent: tuple[str, ...]
    trees: tuple[Measured, ...]


def rendered(report: Report) -> str:
    """Returns one Markdown table for each tree, below a paragraph on how it was measured."""
    versions = "; ".join(f"{each.program} {each.version}".strip() for each in report.columns)
    absent = f" Not installed: {', '.join(report.absent)}." if report.absent else ""
    before, after = report.load
    heading = (
        f"Measured {report.taken_at[:10]} on {report.processors} processors, Python {report.python}, load {before:.1f} before "
        f"and {after:.1f} after; medians of {report.rounds} rounds in turns.{absent}\n\n{versions}"
    )
    return "\n\n".join([heading, *(_tree(report, tree) for tree in report.trees)])


def worse(report: Report, tolerance: float) -> list[str]:
    """Returns the rows in which this checkout needs more than the compared commit by more than `tolerance`, a share."""
    found = []
    for tree in report.trees:
        for key, programs in tree.values.items():
            ratio = _ratio(programs, report.against)
            if ratio is not None and ratio > 1 + tolerance:
                found.append(f"{tree.tree}: {ROWS[key].title}: {ratio:.2f}")
    return found


def write_into(document: Path, report: Report) -> None:
    """Replaces the table in a document, and keeps the report beside it. Raises ValueError if it has no place for a table."""
    text = document.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{document} has no {BEGIN} and {END}")
    head, rest = text.split(BEGIN, 1)
    document.write_text(f"{head}{BEGIN}\n\n{rendered(report)}\n\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")
    document.with_name(DATA).write_bytes(msgspec.json.encode(report) + b"\n")


def table_in(document: Path) -> str:
    """Returns the table in a document, without its marks; empty if there is none."""
    found = re.search(f"{BEGIN}\n\n(.*?)\n*{END}", document.read_text(encoding="utf-8"), re.DOTALL)
    return found.group(1) if found is not None else ""


def _tree(report: Report, tree: Measured) -> str:
    others = [each.program for each in report.columns if each.program not in (OURS, report.against)]
    compared = [report.against, "ratio"] if report.against else []
    header = [f"{tree.tree}: {tree.files:,} files, {written(tree.source_bytes, 'bytes')}", OURS, *compared, *others]
    rows = []
    for key, row in ROWS.items():
        programs = tree.values.get(key, {})
        if programs:
            ratio = _ratio(programs, report.against)
            figures = [_cell(programs.get(name, ()), key) for name in (report.against, *others) if name]
            if report.against:
                figures.insert(1, "" if ratio is None else f"{ratio:.2f}")
            rows.append((row.title, _cell(programs.get(OURS, ()), key), *figures))
    failed = ", ".join(f"{what} {count}" for what, count in tree.failures.items() if count)
    table = markdown_table(header, rows, "<" + ">" * (len(header) - 1))
    return f"{table}\n\nNot answered or failed: {failed}." if failed else table


def _cell(values: Sequence[float], key: str) -> str:
    return written(median(values), ROWS[key].unit) if values else ""


def _ratio(programs: dict[str, list[float]], against: str) -> float | None:
    ours, other = programs.get(OURS), programs.get(against)
    return median(ours) / median(other) if ours and other and median(other) else None
