"""The places that the parts of a long text name, beside those found by its words: the frames of its traces, and its paths.

What the text names gains by how certainly it names it, in units of the best place's score, and keeps what its file has by words.
So the innermost frame comes first, but a frame in a file that the rest of the text is about comes before one in a helper that
every trace passes through.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from codecompass.query.direct_answers import framed_place
from codecompass.query.filters import passes
from codecompass.query.messages.traces_and_signatures import locate_frames
from codecompass.query.names.named_locations import files_at
from codecompass.query.search_hits import RankedPlace
from codecompass.query.words.long_question import LongQuestion
from codecompass.scan.path_roles import role_of
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

FRAME: Final = 0.8
NEXT_FRAME: Final = 0.8
"""What the innermost frame gains, and the factor from each frame to the one that called it."""

PATH: Final = 1.0
"""What the file of a path gains, times the weight of the path's place in the text."""

MANY_PATHS: Final = 8
"""Paths in a text from which on the table of files is read to look them up: it takes as long as five scans of the database."""

MAX_PATHS: Final = 8
MAX_NAMESAKES: Final = 3
"""Paths that are looked up, the heaviest ones, and files from which on a path says nothing."""


def with_named_places(
    snapshot: Snapshot, question: LongQuestion, ranked: Sequence[RankedPlace], where: Filter
) -> list[RankedPlace]:
    """Returns the places found by the words of a long text together with those that it names, best first.

    Only product code gains: traces pass through tests and scripts that are not what a text is about.
    """
    best = ranked[0].score if ranked else 1.0
    by_words: dict[int, float] = {}
    for place in ranked:
        by_words.setdefault(place.file.id, place.score)
    is_allowed = passes(where)
    if len(question.frames) + len(question.paths) >= MANY_PATHS:
        snapshot.files()
    framed = [place for place in _framed(snapshot, question) if is_allowed(place.file.id, place.file.language)]
    named = [
        replace(place, score=by_words.get(place.file.id, 0.0) + best * FRAME * NEXT_FRAME**index)
        for index, place in enumerate(framed)
    ]
    gains = dict(_named_files(snapshot, question))
    lifted = [replace(place, score=place.score + best * gains.pop(place.file.id, 0.0)) for place in ranked]
    return sorted((*named, *lifted), key=lambda place: -place.score)


def _framed(snapshot: Snapshot, question: LongQuestion) -> Iterator[RankedPlace]:
    for located in locate_frames(snapshot, question.frames):
        if role_of(located.file.path).rank == 0:
            yield framed_place(located, 0.0)


def _named_files(snapshot: Snapshot, question: LongQuestion) -> Iterator[tuple[int, float]]:
    """Yields the ids of the files that a text names, the certain ones last, with what each gains."""
    for path, weight in reversed(list(question.paths.items())[:MAX_PATHS]):
        files = [file for file in files_at(snapshot, path, "") if role_of(file.path).rank == 0]
        if len(files) <= MAX_NAMESAKES:
            yield from ((file.id, PATH * weight / len(files)) for file in files)
