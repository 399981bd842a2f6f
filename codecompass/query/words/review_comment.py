"""Reads a comment of a code review: short prose about a place that is given beside it.

    src/shop/prices.py:12                   a line with nothing but the place, before or after the prose
    src/shop/prices.py:12: nit: use `sum`   the place and the prose in one line
    @@ -1,4 +1,6 @@ def total                the hunk that it is on, which ends at the line that it is on
    ```suggestion                           what to write instead

The reader of such a text knows the place and looks for what the comment speaks of. Nothing here reads the index.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass import lazy
from codecompass.query.messages.traces_and_signatures import frames
from codecompass.query.words.intent import classify
from codecompass.query.words.long_question import LongQuestion, TextPart, asked_in, prose_parts
from codecompass.query.words.query_words import identifiers, is_code_name

MAX_CHARACTERS: Final = 8_000
MAX_LINE: Final = 300
"""Characters that are read of a text, and of each of its lines: bounds the cost of unusual text."""

LEAST_WORDS: Final = 2
MOST_WORDS: Final = 150
"""Words of the prose of a comment. More of them are an issue or a description of a change."""

MAX_NAMES: Final = 40
"""Names of the quoted lines, from the last line on, which is the one that the comment is on."""

_PLACE: Final = (
    r"(?P<path>[\w.@+-]+(?:/[\w.@+-]+)*\.[A-Za-z]\w{0,9})"
    r"(?:(?::|\#L|[`*_]{0,3},? (?:\(|on |at )?lines? )(?P<line>\d{1,7})(?:-L?\d{1,7})?\)?)?"
)
_PLACE_ALONE: Final = lazy.pattern(rf"\W{{0,4}}(?:(?:file|path|in|on|at)\b:?\s*)?[`*_]{{0,3}}{_PLACE}[`*_]{{0,3}}:?\s*")
_PLACE_BEFORE: Final = lazy.pattern(rf"[`*_]{{0,3}}{_PLACE}[`*_]{{0,3}}(?::\s+|\s+[-\u2013\u2014]+\s+)(?P<rest>\S.*)")
_HUNK: Final = lazy.pattern(r"@@ -\d+(?:,\d+)? \+(?P<first>\d{1,7})(?:,\d+)? @@.*")
_DIFF: Final = lazy.pattern(r"(?:diff --git .*? b/|\+\+\+ b/)(?P<path>\S+).*")
_OLD_FILE: Final = lazy.pattern(r"(?:--- |index [0-9a-f]+\.\.).*")
_FENCE: Final = lazy.pattern(r"\s*(?:`{3,}|~{3,})\s*(?P<info>[\w+-]*).*")
_GLOB: Final = lazy.pattern(r"[*?\[\]{}!,]|/$")
_SAYS_HERE: Final = lazy.pattern(r"\b(?:this|these|here|that|nit(?:pick)?)\b", re.IGNORECASE)
_ASKS: Final = lazy.pattern(
    r"^\W{0,4}nit(?:pick)?\b"
    r"|\b(?:should(?:n't)?|could|can (?:we|you)|please|instead|maybe|perhaps|consider|prefer|let's|why (?:not|do)|would)\b",
    re.IGNORECASE,
)


class ReviewComment(Struct, frozen=True):
    """A comment, the place that it is on (`line` is 1-based, 0 if unknown), and the names of code in it: those that it says or
    suggests, and those in the quoted lines, the nearest to the place first."""

    path: str
    line: int
    question: LongQuestion
    said: tuple[str, ...]
    quoted: tuple[str, ...]


class _Read(Struct):
    """What was read of a text."""

    paths: dict[str, int]
    prose: list[str]
    quoted: list[str]
    suggested: list[str]
    has_hunk: bool = False
    has_place: bool = False
    line_of_hunk: int = 0


def asked_comment(text: str, path: str) -> ReviewComment | None:
    """Returns what a review comment says, None for any other text. `path` is the argument of the question: the file, unless it is
    a glob."""
    return review_comment(text, "" if _GLOB.search(path) is not None else path)


@lru_cache(maxsize=4)
def review_comment(text: str, path: str = "") -> ReviewComment | None:
    """Returns what a review comment says, None for any other text. `path` is that of the file which the question is about, if
    the text does not say it: then the text must ask for another way to write what is there."""
    read = _read(text[:MAX_CHARACTERS])
    n_words = sum(len(line.split()) for line in read.prose)
    prose = "\n".join(read.prose)
    if not LEAST_WORDS <= n_words <= MOST_WORDS or len(read.paths) > 1 or frames(prose) or classify(prose) == "error":
        return None
    is_sure = read.has_hunk or bool(read.suggested) or read.has_place
    if not read.paths:
        is_about_a_place = is_sure or (_SAYS_HERE.search(prose) is not None and _ASKS.search(prose) is not None)
        if not path or not is_about_a_place:
            return None
        read.paths[path] = 0
    elif not is_sure:
        return None
    parts = [TextPart("title", read.prose[0]), *(part for line in read.prose for part in prose_parts(line))]
    parts += [TextPart("code", line) for line in read.suggested]
    suggested = [name for line in read.suggested for name in identifiers(line)]
    (where, line), *_ = read.paths.items()
    question = asked_in(parts, ())
    said = tuple(dict.fromkeys((*question.names, *suggested)))
    return naming(ReviewComment(where, line or read.line_of_hunk, question, said, ()), read.quoted[::-1])


def naming(comment: ReviewComment, lines: Sequence[str]) -> ReviewComment:
    """Returns a comment with the names in the lines of code that it is on, the nearest first. Their other words, which are those
    of the commented file, count nothing."""
    names = dict.fromkeys(name for line in lines for name in identifiers(line[:MAX_LINE]))
    return replace(comment, quoted=tuple(names)[:MAX_NAMES])


def _read(text: str) -> _Read:
    read = _Read({}, [], [], [])
    lines = text.splitlines()
    filled = [number for number, line in enumerate(lines) if line.strip()]
    ends = {filled[0], filled[-1]} if filled else set()
    fence = ""
    in_hunk = False
    for number, line in enumerate(lines):
        line = line[:MAX_LINE]
        opened = _FENCE.fullmatch(line)
        if opened is not None:
            fence = "" if fence else opened["info"].lower() or "code"
            in_hunk = False
            continue
        bare = line.removeprefix(">").strip() if line.startswith(">") else line
        hunk, of_diff = _HUNK.fullmatch(bare), _DIFF.fullmatch(bare)
        if of_diff is not None:
            read.paths.setdefault(of_diff["path"], 0)
        elif hunk is not None:
            in_hunk = read.has_hunk = True
            first = int(hunk["first"])
            n_new = sum(1 for _ in _new_lines(lines[number + 1 :]))
            read.line_of_hunk = first + max(0, n_new - 1)
        elif fence == "suggestion":
            read.suggested.append(line)
        elif (in_hunk and bare[:1] in ("+", "-", " ")) or fence or line.startswith(">"):
            if in_hunk or _OLD_FILE.fullmatch(bare) is None:
                read.quoted.append(bare[1:] if in_hunk and bare[:1] in ("+", "-", " ") else bare)
        elif bare.strip() and _OLD_FILE.fullmatch(bare) is None:
            in_hunk = False
            _read_prose(read, bare.strip(), is_end=number in ends)
    return read


def _new_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines of a hunk that are in the new version."""
    for line in lines:
        if line[:1] not in ("+", "-", " "):
            return
        if line[:1] != "-":
            yield line


def _read_prose(read: _Read, line: str, *, is_end: bool) -> None:
    place = _PLACE_ALONE.fullmatch(line) if is_end else None
    if place is not None:
        read.has_place = True
        read.paths[place["path"]] = read.paths.get(place["path"], 0) or int(place["line"] or 0)
        return
    before = _PLACE_BEFORE.fullmatch(line) if not read.paths else None
    if before is not None and _ASKS.search(before["rest"]) is not None and classify(before["rest"]) != "error":
        read.has_place = True
        read.paths[before["path"]] = int(before["line"] or 0)
        line = before["rest"]
    read.prose.append(line)


def is_name_of_code(name: str) -> bool:
    """Whether a name in quoted code is not a plain word, which many definitions have."""
    return is_code_name(name) or len(name) >= 6
