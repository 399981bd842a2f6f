"""Files that a query names by path: `handler.rs`, `auth/handler.rs`, `src/auth/handler.rs:42`, as logs print them."""

import re
from typing import Final

from codecompass.store.facts import FilePlace
from codecompass.store.index import Snapshot
from codecompass.store.path_roles import role_of
from codecompass.store.query.places import as_symbol, enclosing_symbol
from codecompass.store.query.ranking import RankedPlace, Signals
from codecompass.store.text import Filter

MAX_NAMED_FILES: Final = 50

_LINE: Final = re.compile(r":(\d{1,7})(?::\d+)?$")


def named_files(snapshot: Snapshot, query: str, where: Filter, limit: int, above: float) -> list[RankedPlace]:
    """Returns the files whose path ends in `query`, product code first, with scores over `above`.

    With a line number behind the path, the definition around that line.
    """
    text = query.strip().replace("\\", "/")
    match = _LINE.search(text)
    line = int(match[1]) if match else 0
    suffix = (text[: match.start()] if match else text).removeprefix("./").strip("/")
    if not suffix:
        return []
    files = [snapshot.facts.file(path) for path in snapshot.facts.paths_ending(suffix, MAX_NAMED_FILES)]
    found = [
        FilePlace(file.id, file.path, file.language, file.line_count)
        for file in files
        if file is not None
        and (not where.languages or file.language in where.languages)
        and (where.file_ids is None or file.id in where.file_ids)
    ]
    found.sort(key=lambda place: (role_of(place.path).rank, len(place.path), place.path))
    return [_place(snapshot, place, line, above + 1.0 + 1.0 / (1 + index)) for index, place in enumerate(found[:limit])]


def _place(snapshot: Snapshot, file: FilePlace, line: int, score: float) -> RankedPlace:
    place = RankedPlace(
        place=file,
        type="file",
        line_start=1,
        line_end=max(1, file.line_count),
        score=score,
        signals=Signals(exact=1.0, path=1.0),
    )
    if not 1 <= line <= file.line_count:
        return place
    around = enclosing_symbol(snapshot.facts.symbols_around(file.id, line, line), line, line)
    return place if around is None else as_symbol(place, around, line)
