"""Reads answers as a model does: which places they show, what they admit is missing, how much of them is useful. Pure.

An answer is `content[0].text`: JSON, or text for models. Text names a file on its own line, followed by definitions (lines, then
the definition), the enclosing definition of lines, and numbered source lines:

    src/flask/app.py
    897-918 def Flask.full_dispatch_request(self) -> Response
    in class Flask 109-1625
    903:        try:

A place can also be on one line, `src/flask/app.py:897-918 method Flask.full_dispatch_request`, and so can a source line,
`src/flask/app.py:903:try:`. Any other line is structure: counts, warnings, advice.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.languages.words import word_set

Lines = Callable[[str], Sequence[str]]
"""Returns the lines of a file by its path; none if the path is not a file."""

USEFUL_FIELDS: Final = word_set(
    "path file_path line line_start line_end start_line end_line"
    " name qualified_name signature snippet text body body_preview content"
)
"""Fields of JSON hits with values useful to a reader of code: paths, lines, names, code."""

_CODE_FIELDS: Final = ("body", "body_preview", "content")
_WORD_FIELDS: Final = ("name", "qualified_name", "signature", "snippet", *_CODE_FIELDS)
_LISTS: Final = ("results", "context_items", "files")

_SOURCE: Final = re.compile(r"\s*(?P<line>\d+)(?:  |:|\t|$)(?P<code>.*)")
_HEADING: Final = re.compile(r"(?P<start>\d+)(?:-(?P<end>\d+))? (?!of \d)(?P<name>\S.*)")
_ENCLOSING: Final = re.compile(r"in (?P<name>\S.*?)(?: \d+(?:-\d+)?)?")
_LOCATED: Final = re.compile(r"(?P<path>\S+?|[^:]+(?=:\d+:)):(?P<start>\d+)(?:-(?P<end>\d+))?(?::(?P<code>.*)|\s+(?P<named>.*))?")
_PATH_ALONE: Final = re.compile(r"(?=\S*[/.])[^\s:;,()]*[^\s:;,.()]")
_ADMISSION: Final = re.compile(
    r"\b(?:stale|partial|partly|incomplete|syncing|out of date|outdated|not (?:yet )?(?:indexed|ready|complete|fresh|up to date)"
    r"|(?:still|being) index(?:ed|ing)|indexing|changed|index_not_ready|pending)\b",
    re.IGNORECASE,
)


class Place(Struct, frozen=True, kw_only=True):
    """A place that an answer shows. Lines count from 1; the range is None if only a file is named.

    `lines` are those whose text is shown, `words` the names and the text.
    """

    path: str
    line_start: int | None = None
    line_end: int | None = None
    lines: tuple[int, ...] = ()
    words: str = ""

    def holds(self, name: str) -> bool:
        """Whether the place shows `name` as a whole word."""
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.words) is not None


class ReadAnswer(Struct, frozen=True, kw_only=True):
    """A parsed answer. Sizes are in bytes of UTF-8.

    `admits`: the answer claims to be neither fresh nor complete, so that nobody relies on what it lacks. `says` is what it
    reports as missing: the two statuses of JSON, the admitting lines of text; empty for a fresh and complete answer.
    """

    places: tuple[Place, ...]
    admits: bool
    says: str
    n_bytes: int
    useful_bytes: int


def read_answer(text: str, *, is_error: bool = False) -> ReadAnswer:
    """Returns what a model reads in an answer, in either form. An error counts as admitting."""
    body = _decoded(text)
    if body is not None:
        places, useful, (admits, says) = list(_places_of_json(body)), _useful_in_json(body), _said_in_json(body)
    else:
        places, useful, says = _read_text(text)
        admits = says != ""
    return ReadAnswer(places=tuple(places), admits=admits or is_error, says=says, n_bytes=_size(text), useful_bytes=useful)


def grep_characters(places: Iterable[Place], lines_of: Lines) -> int:
    """Returns how many characters `rg -n` would print for the lines that the places show: `path:line:text` each, once.

    A place without text counts as its first line. Lines that a file does not have count nothing.
    """
    characters = 0
    for path, line in dict.fromkeys((place.path, line) for place in places for line in _shown_lines(place)):
        lines = lines_of(path)
        if 0 < line <= len(lines):
            characters += len(f"{path}:{line}:{lines[line - 1]}\n")
    return characters


def retry_seconds(text: str) -> float | None:
    """Returns the delay after which an error asks for a retry; None if it asks for none."""
    found = re.search(r"retry_after_ms\W{1,3}(\d+)", text)
    return int(found[1]) / 1000 if found else None


def _shown_lines(place: Place) -> Sequence[int]:
    if place.lines or place.line_start is None:
        return place.lines
    return (place.line_start,)


def _decoded(text: str) -> Mapping[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.DecodeError:
        return None


def _places_of_json(body: Mapping[str, object]) -> Iterator[Place]:
    for hit in _hits(body):
        path = hit.get("path") or hit.get("file_path")
        if not isinstance(path, str):
            continue
        start, end = _number(hit.get("line_start")), _number(hit.get("line_end"))
        words = [str(hit[field]) for field in _WORD_FIELDS if hit.get(field)]
        lines: list[int] = []
        for matched in _dicts(hit.get("matched_lines")):
            number = _number(matched.get("line"))
            lines += [] if number is None else [number]
            words.append(str(matched.get("text", "")))
        for field in _CODE_FIELDS:
            code = hit.get(field)
            if start is not None and isinstance(code, str) and code:
                lines += range(start, start + len(code.splitlines()))
        yield Place(path=path, line_start=start, line_end=end, lines=tuple(dict.fromkeys(lines)), words="\n".join(words))


def _useful_in_json(body: Mapping[str, object]) -> int:
    return sum(_useful(hit) for hit in _hits(body))


def _useful(value: object, *, is_wanted: bool = False) -> int:
    """Returns the bytes of the values of useful fields at any depth; keys, quotes and escapes are structure."""
    if isinstance(value, dict):
        return sum(_useful(inner, is_wanted=key in USEFUL_FIELDS) for key, inner in value.items())
    if isinstance(value, list):
        return sum(_useful(inner, is_wanted=is_wanted) for inner in value)
    return _size(str(value)) if is_wanted and value is not None else 0


def _said_in_json(body: Mapping[str, object]) -> tuple[bool, str]:
    error, metadata = body.get("error"), body.get("metadata")
    if isinstance(error, dict):
        return True, str(error.get("code", "error"))
    known = metadata if isinstance(metadata, dict) else {}
    freshness, completeness = known.get("freshness_status", "fresh"), known.get("result_completeness", "complete")
    is_whole = freshness == "fresh" and completeness != "partial"
    return freshness != "fresh" and completeness != "complete", "" if is_whole else f"{freshness}, {completeness}"


def _hits(body: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    for name in _LISTS:
        yield from _dicts(body.get(name))


def _dicts(value: object) -> Iterator[Mapping[str, object]]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, dict))


def _number(value: object) -> int | None:
    return value if isinstance(value, int) else None


class _Open:
    """The place that is being read, until the next one begins."""

    def __init__(self, path: str, start: int | None = None, end: int | None = None, words: str = "") -> None:
        self.path = path
        self.range = (start, start if end is None else end)
        self.lines: list[int] = []
        self.words = [words]

    def may_have(self, line: int) -> bool:
        """Whether a line below the heading belongs to it: one of another place may follow in a list of lines."""
        start, end = self.range
        return start is None or end is None or start <= line <= end

    def closed(self) -> Place:
        start, end = self.range
        return Place(path=self.path, line_start=start, line_end=end, lines=tuple(self.lines), words="\n".join(self.words))


def _read_text(text: str) -> tuple[list[Place], int, str]:
    """Returns the places, the useful bytes, and the admitting lines that are neither places nor code."""
    rows = text.splitlines()
    places: list[_Open] = []
    path, useful, says = "", 0, list[str]()
    is_named = False  # a file with nothing below it yet
    for number, row in enumerate(rows):
        if path and (source := _SOURCE.fullmatch(row)):
            if is_named or not places[-1].may_have(int(source["line"])):
                places.append(_Open(path))
                is_named = False
            places[-1].lines.append(int(source["line"]))
            places[-1].words.append(source["code"])
            useful += len(source["line"]) + _size(source["code"].rstrip())
        elif path and (heading := _HEADING.fullmatch(row)):
            name, start, end = heading["name"], heading["start"], heading["end"] or ""
            places.append(_Open(path, int(start), int(end) if end else None, name))
            is_named = False
            useful += _size(name) + len(start) + len(end)
        elif path and (enclosing := _ENCLOSING.fullmatch(row)):
            # The lines below are shown; the name is not that of the place.
            places.append(_Open(path))
            is_named = False
            useful += _size(enclosing["name"])
        elif located := _LOCATED.fullmatch(row):
            path, is_named = located["path"], False
            start, end, code, named = located.group("start", "end", "code", "named")
            places.append(_Open(path, int(start), int(end) if end else None, named or code or ""))
            places[-1].lines += [] if code is None else [int(start)]
            _, _, name = (named or "").partition(" ")
            useful += _size(path) + len(start) + len(end or "") + _size((code or name).strip())
        elif _names_file(row, rows[number + 1] if number + 1 < len(rows) else ""):
            places += [_Open(path)] if is_named else []
            path, is_named = row.strip(), True
            useful += _size(path)
        elif _ADMISSION.search(row):
            says.append(row.strip())
    places += [_Open(path)] if is_named else []
    return [place.closed() for place in places], useful, "\n".join(says)


def _names_file(row: str, following: str) -> bool:
    """Whether a line is only a path: it looks like one, or the next line can only follow a path."""
    if not row or row[0].isspace():
        return False
    if _PATH_ALONE.fullmatch(row):
        return True
    return any(known.fullmatch(following) for known in (_SOURCE, _HEADING, _ENCLOSING)) and not row.rstrip().endswith((".", ":"))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
