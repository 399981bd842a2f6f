"""In which order a scan looks at what could match: the order of its answer, so that it can end when that is full."""

from collections.abc import Iterable, Iterator

from codecompass.store.facts import FactsReader, SymbolRow
from codecompass.store.text import HeldChunks


def in_order(facts: FactsReader, held: HeldChunks, definitions: Iterable[SymbolRow]) -> Iterator[int]:
    """Yields the number of every candidate once: product code before tests, chunks with a definition first, by path and line.

    Only as much is worked out as is asked for: of a large tree mostly the beginning.
    """
    lines: dict[int, set[int]] = {}
    for row in definitions:
        if row.file_id in held.file_ids:
            lines.setdefault(row.file_id, set()).add(row.line_start)
    first = list(facts.in_order(lines))[::-1]
    for file in facts.in_order(held.file_ids):
        while first and first[-1].rank <= file.rank:
            defining = first.pop().file_id
            yield from (number for number in held.of(defining) if _defines(held, number, lines[defining]))
        if (own := lines.get(file.file_id)) is None:
            yield from held.of(file.file_id)
        else:
            yield from (number for number in held.of(file.file_id) if not _defines(held, number, own))


def _defines(held: HeldChunks, number: int, lines: Iterable[int]) -> bool:
    place = held.place(number)
    return any(place.line_start <= line <= place.line_end for line in lines)
