"""`search_code` in mode `files`: the indexed files that match a glob, or whose paths contain words.

A query with a wildcard is a glob as in `fd --glob`: without a slash it matches names at any depth, with one it is anchored at
the root, or if nothing matches there, anywhere. These files are sorted by path. Any other query is the path of a file or
directory, the end of one, or words. Case counts only if the query has an upper-case letter.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import re2

from codecompass import lazy
from codecompass.errors import InvalidInput
from codecompass.languages.words import split_identifier
from codecompass.protocol.decode import SHOWN_VALUE_LENGTH
from codecompass.protocol.requests import SearchCode
from codecompass.query.filters import ChangedFiles, chosen_files, filter_warnings, languages_meant, nothing_fits
from codecompass.query.path_globs import WILDCARDS, expression_of, path_globs, plain_path
from codecompass.query.search_hits import Hit, HitPage, Hits, RankedPlace, Signals, file_place, score_in_order
from codecompass.store.file_table import FileTable
from codecompass.store.rows import IndexedFile
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

MAX_WORDS: Final = 20
"""Words of a query that are used."""

LEAST_SHARE: Final = 0.5
"""Least share of the query's words in a listed path if no path has all of them."""

_LINE: Final = lazy.pattern(r":\d{1,7}(?::\d+)?$")
_BETWEEN: Final = lazy.pattern(r"[\s/\\,;]+")
_NO_LETTERS: Final = lazy.pattern(r"[\W_]+")


def list_files(snapshot: Snapshot, request: SearchCode, page: HitPage, changed: ChangedFiles | None = None) -> Hits:
    """Returns a page of the files that match the query and the filters, restricted to `changed` if given; `total` counts all.

    Raises InvalidInput for a glob or filter that is too large.
    """
    files = snapshot.files()
    allowed = _allowed(files, request)
    if changed is not None:
        for number, path in enumerate(files.paths):
            allowed[number] &= path in changed.lines
    query = plain_path(request.query)
    warnings: tuple[str, ...] = ()
    numbers: Sequence[int]
    if WILDCARDS.intersection(query) and files.number(query) is None:
        numbers = _by_glob(files, query, allowed)
        total, best = len(numbers), numbers[: page.end]
        if not numbers and any(allowed):
            warnings = (nothing_fits(files, query, "query"),)
    elif (directory := query.strip("/")) and "/" in query and (inside := files.below(directory)):
        numbers = [number for number in inside if allowed[number]]
        total, best = len(numbers), numbers[: page.end]
    else:
        numbers, best, is_whole = _by_words(files, query, allowed, page.end)
        total = len(numbers)
        if best and not is_whole:
            warnings = ("no path has all of these words; the files listed have most of them",)
    if request.kind is not None:
        warnings += ("kind was not used: mode files lists files, not definitions",)
    if not best:
        # Warnings about the filters alone, which do not depend on the ids of the files.
        where = Filter(languages_meant(request.language), None if any(allowed) else ())
        warnings += filter_warnings(snapshot, where, request.language, request.path, None)
    shown = tuple(Hit(place=_place(files, number, index)) for index, number in enumerate(best))[page.offset :]
    end = page.offset + len(shown)
    return Hits(
        shown=shown, intent="path", total=total, unit="file", next_offset=end if shown and total > end else 0, warnings=warnings
    )


def _words_of(path: str) -> list[str]:
    """Returns the words of a query in mode `files`."""
    return list(dict.fromkeys(word for word in _BETWEEN.split(_LINE.sub("", path).strip("/")) if word))[:MAX_WORDS]


def _parts_of(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(part for word in words for part in split_identifier(word)))[:MAX_WORDS]


def _allowed(files: FileTable, request: SearchCode) -> bytearray:
    """Returns for each file 1 if it passes the filters by path and language, else 0."""
    allowed = bytearray(b"\1" * len(files)) if request.path is None else chosen_files(files, request.path)
    languages = languages_meant(request.language)
    if languages:
        wanted = frozenset(languages)
        for number, language in enumerate(files.languages):
            if language not in wanted:
                allowed[number] = 0
    return allowed


def _by_glob(files: FileTable, query: str, allowed: bytearray) -> list[int]:
    globs = path_globs(query)
    # As in a shell, `src/*` means the files directly in the directory; if there are none, those below.
    readings = [[expression_of(glob, is_whole=True) for glob in globs.wanted]]
    readings.append([expression_of(f"**/{glob.lstrip('/')}", is_whole=True) for glob in globs.wanted])
    readings.append([expression_of(glob) for glob in globs.wanted])
    has_case = query != query.lower()
    found = bytearray(len(files))
    try:
        for expressions in readings:
            for expression in expressions or [expression_of("**")]:
                for run in files.runs(expression, has_case=has_case):
                    found[run.start : run.stop] = b"\1" * len(run)
            if any(found):
                break
        for glob in globs.unwanted:
            for run in files.runs(expression_of(glob), has_case=has_case):
                found[run.start : run.stop] = b"\0" * len(run)
    except re2.error as error:
        raise InvalidInput(
            "query is too large a glob. Use fewer or shorter globs.", field="query", value=query[:SHOWN_VALUE_LENGTH]
        ) from error
    both = int.from_bytes(found, "little") & int.from_bytes(allowed, "little")
    return [number for number, is_in in enumerate(both.to_bytes(len(found), "little")) if is_in]


def _by_words(files: FileTable, query: str, allowed: bytearray, limit: int) -> tuple[list[int], list[int], bool]:
    """Returns the files with the words, in the order of `FileTable.ranks`; the best of them; whether they have all words."""
    text = _LINE.sub("", query).strip("/")
    has_case = text != text.lower()
    words = _words_of(query)
    if not words:
        return [], [], True
    paths = files.paths if has_case else files.lower_paths
    numbers = _with_all_words(paths, words, allowed)
    if not numbers:
        # `UserController` finds user_controller.rb if no path contains it literally.
        words = _parts_of(words)
        paths = files.lower_paths
        numbers = _with_all_words(paths, words, allowed) if words else []
    is_whole = bool(numbers)
    if not numbers:
        numbers = _with_most_words(files, words, allowed)
    numbers.sort(key=files.ranks.__getitem__)
    return numbers, list(islice(_best_first(files, paths, numbers, text, words), limit)), is_whole


def _best_first(files: FileTable, paths: Sequence[str], numbers: Sequence[int], text: str, words: Sequence[str]) -> Iterator[int]:
    """Yields `numbers` by how well their paths match, equal ones in the given order. Lazy.

    First paths that equal the query or end in it, then files named by its words; then files whose names, and whose paths,
    have all the words as whole words; then files whose names have them inside other words, and the rest.
    """
    end, joined = "/" + text, "".join(_NO_LETTERS.sub("", word) for word in words).lower()
    lower, written = files.lower_paths, files.paths
    starts = files.name_starts
    in_name = numbers
    for word in words:
        in_name = [number for number in in_name if paths[number].find(word, starts[number]) >= 0]
    ending = [number for number in numbers if paths[number].endswith(text)]
    steps: tuple[tuple[Sequence[int], Callable[[int], bool]], ...] = (
        (ending, lambda number: paths[number] == text),
        (ending, lambda number: paths[number].endswith(end)),
        (in_name, lambda number: _NO_LETTERS.sub("", _stem(lower[number])) == joined),
        (in_name, lambda number: all(_has_word(lower[number], written[number], word, starts[number]) for word in words)),
        (numbers, lambda number: all(_has_word(lower[number], written[number], word, 0) for word in words)),
        (in_name, lambda _: True),
        (numbers, lambda _: True),
    )
    taken: set[int] = set()
    for candidates, fits in steps:
        for number in candidates:
            if number not in taken and fits(number):
                taken.add(number)
                yield number


def _stem(path: str) -> str:
    name = path[path.rfind("/") + 1 :]
    return name.partition(".")[0] or name


def _has_word(lower: str, written: str, word: str, start: int) -> bool:
    """Whether a word of the query is a whole word of the path from `start` on: between marks, or where case changes."""
    if len(lower) != len(written):
        written = lower
    word = word.lower()
    at = lower.find(word, start)
    while at >= 0:
        end = at + len(word)
        begins = not (at and written[at - 1].isalpha()) or (written[at].isupper() and written[at - 1].islower())
        ends = end == len(written) or not written[end].isalpha() or (written[end].isupper() and written[end - 1].islower())
        if begins and ends:
            return True
        at = lower.find(word, at + 1)
    return False


def _with_all_words(paths: Sequence[str], words: Iterable[str], allowed: bytearray) -> list[int]:
    """Returns the numbers of the paths that contain all words."""
    # The longest word is usually the rarest.
    first, *others = sorted(words, key=len, reverse=True)
    numbers = [number for number, path in enumerate(paths) if first in path and allowed[number]]
    for word in others:
        numbers = [number for number in numbers if word in paths[number]]
    return numbers


def _with_most_words(files: FileTable, words: Sequence[str], allowed: bytearray) -> list[int]:
    """Returns the numbers of the paths with the most of the words as whole words, at least half of them."""
    counts = bytearray(len(files))
    for word in words:
        for number, path in enumerate(files.lower_paths):
            if word in path and allowed[number] and _has_word(path, files.paths[number], word, 0):
                counts[number] += 1
    most = max(counts, default=0)
    return [number for number, count in enumerate(counts) if count == most] if most and most >= LEAST_SHARE * len(words) else []


def _place(files: FileTable, number: int, index: int) -> RankedPlace:
    file = IndexedFile(files.ids[number], files.paths[number], files.languages[number], files.line_counts[number])
    return file_place(file, score_in_order(index), Signals(path=1.0))
