"""What the hits of one workspace say of themselves, so that they can be compared with hits of others.

Scores of different collections are not comparable as they stand: each is relative to the best of its own, and a word that is
rare in one is common in another. Comparable is which words of the question a hit has; how rare a word is over all workspaces
follows from how many texts of each have it.
"""

from collections.abc import Sequence
from typing import Final

from codecompass.languages.words import split_identifier
from codecompass.protocol.replies import HitEvidence, SearchEvidence, WordEvidence
from codecompass.query.query_words import WantedWords, query_words
from codecompass.query.search_hits import Hit, RankedPlace
from codecompass.query.source_lines import lines_of
from codecompass.store.index import Snapshot
from codecompass.store.schema import CHUNK_RECORD

READ_LINES: Final = 120
"""Of each hit: longer ones are judged by their beginnings."""

IN_NAME: Final = 0.5
IN_PATH: Final = 0.5
"""What a word adds that is in the name of the definition, and in the path, where one in the text has 1."""


def search_evidence(snapshot: Snapshot, query: str, hits: Sequence[Hit]) -> SearchEvidence:
    """Returns how many texts have each word of the query, and for each hit how well it has them. Reads the lines of the hits."""
    words = query_words(query)
    text = snapshot.text
    total = max(1, text.document_frequency("record", CHUNK_RECORD))
    wanted = WantedWords({word.text: word.weight for word in words})
    return SearchEvidence(
        n_texts=total,
        words=tuple(
            WordEvidence(
                word.text,
                word.weight,
                min(total, max(text.document_frequency("body", word.text), text.document_frequency("parts", word.text))),
            )
            for word in words
        ),
        hits=tuple(HitEvidence(score=hit.place.score, has=_matches(snapshot, hit.place, wanted, len(words))) for hit in hits),
    )


def _matches(snapshot: Snapshot, place: RankedPlace, wanted: WantedWords, n_words: int) -> tuple[float, ...]:
    last = min(place.line_end, place.line_start + READ_LINES)
    best: dict[int, float] = {}
    for _, matches in wanted.places_in("\n".join(lines_of(snapshot, place.file.id, place.line_start, last))):
        for number, match in matches:
            best[number] = max(best.get(number, 0.0), match)
    named = place.symbol or place.enclosing
    in_name = {} if named is None else wanted.numbers_of(named.name)
    in_path = wanted.matches(split_identifier(place.file.path), 1.0)
    return tuple(
        best.get(number, 0.0) + IN_NAME * in_name.get(number, 0.0) + IN_PATH * in_path.get(number, 0.0)
        for number in range(n_words)
    )
