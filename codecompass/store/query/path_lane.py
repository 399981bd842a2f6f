"""Files that a query names by path: `handler.rs`, `auth/handler.rs`, `src/auth/handler.rs:42`, as logs print them."""

from typing import Final

import msgspec

from codecompass.store.facts import FilePlace
from codecompass.store.index import Snapshot
from codecompass.store.path_roles import role_of
from codecompass.store.query.asked_lines import asked_lines, places_of_lines
from codecompass.store.query.ranking import RankedPlace, Signals
from codecompass.store.text import Filter

MAX_NAMED_FILES: Final = 50


def named_files(snapshot: Snapshot, query: str, where: Filter, limit: int, above: float, root: str = "") -> list[RankedPlace]:
    """Returns the files whose path ends in `query`, product code first, with scores over `above`.

    With a line number behind the path, the definition around that line. `root` is that of the workspace, for absolute paths.
    """
    asked = asked_lines(query)
    if asked is not None:
        places = places_of_lines(snapshot, asked, root, where)[:limit]
        return [msgspec.structs.replace(place, score=_score(above, index)) for index, place in enumerate(places)]
    suffix = query.strip().replace("\\", "/").removeprefix(root.rstrip("/") + "/").removeprefix("./").strip("/")
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
    return [_place(place, _score(above, index)) for index, place in enumerate(found[:limit])]


def _score(above: float, index: int) -> float:
    return above + 1.0 + 1.0 / (1 + index)


def _place(file: FilePlace, score: float) -> RankedPlace:
    return RankedPlace(
        place=file,
        type="file",
        line_start=1,
        line_end=max(1, file.line_count),
        score=score,
        signals=Signals(exact=1.0, path=1.0),
    )
