"""Tables for terminals and for documents. Pure: rows of cells in, text out."""

from collections.abc import Sequence
from typing import Literal

from bench.figures import Figure, written

Alignment = Literal["<", ">"]


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], alignments: str = "") -> str:
    """Returns columns separated by two blanks, with headings. `alignments` has `<` or `>` per column; `<` is the default."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    lines = [_line(header, widths, alignments), _line(["-" * width for width in widths], widths, alignments)]
    lines += [_line(row, widths, alignments) for row in rows]
    return "\n".join(lines)


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], alignments: str = "") -> str:
    """Returns the same as a Markdown table. A `|` in a cell is escaped."""
    marks = ["---:" if _alignment(alignments, i) == ">" else "---" for i in range(len(header))]
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    lines.insert(1, marks)
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def figures_table(figures: Sequence[Figure]) -> str:
    """Returns the rows as a table: what, the two targets, the measured value, and each comparison as `name value (ratio)`;
    notes are below their rows."""
    rows = []
    for figure in figures:
        beside = [f"{other.name} {written(other.value, figure.unit)} ({_ratio(other.ratio)})" for other in figure.beside]
        rows.append((figure.what, figure.must, figure.aim, written(figure.value, figure.unit), "; ".join(beside)))
    header, line, *body = plain_table(("what", "must", "aim", "measured", "beside (ours / its)"), rows, "<<<><").splitlines()
    lines = [header, line]
    for row, figure in zip(body, figures, strict=True):
        lines += [row, f"    {figure.note}"] if figure.note else [row]
    return "\n".join(lines)


def _ratio(value: float) -> str:
    return f"{value:.1f}x" if value >= 1 else f"{value:.2f}x"


def _line(cells: Sequence[str], widths: Sequence[int], alignments: str) -> str:
    parts = [f"{cell:{_alignment(alignments, i)}{widths[i]}}" for i, cell in enumerate(cells)]
    return "  ".join(parts).rstrip()


def _alignment(alignments: str, column: int) -> Alignment:
    return ">" if alignments[column : column + 1] == ">" else "<"
