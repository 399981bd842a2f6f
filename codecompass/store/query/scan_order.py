"""In which order a scan looks at what could match: the order of its answer, so that it can end when that is full."""

from collections.abc import Iterable, Iterator

from codecompass.store.facts import FactsReader, SymbolRow
from codecompass.store.text import HeldChunk, HeldChunks


def in_order(facts: FactsReader, held: HeldChunks, definitions: Iterable[SymbolRow]) -> Iterator[tuple[int, HeldChunk]]:
    """Yields (file, chunk) of every candidate once: product code before tests, chunks with a definition first, by path and line.

    Only as much is worked out as is asked for: of a large tree mostly the beginning.
    """
    lines: dict[int, set[int]] = {}
    for row in definitions:
        if row.file_id in held.file_ids:
            lines.setdefault(row.file_id, set()).add(row.line_start)
    first = list(facts.ordered(lines.keys()))[::-1]
    for file in facts.ordered(held.file_ids):
        while first and first[-1].rank <= file.rank:
            defining = first.pop().file_id
            for chunk in held.of(defining):
                if _defines(chunk, lines[defining]):
                    yield defining, chunk
        own = lines.get(file.file_id)
        for chunk in held.of(file.file_id):
            if own is None or not _defines(chunk, own):
                yield file.file_id, chunk


def _defines(chunk: HeldChunk, lines: Iterable[int]) -> bool:
    return any(chunk.line_start <= line <= chunk.line_end for line in lines)
