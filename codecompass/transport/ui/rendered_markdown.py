"""Markdown as a reader sees it: a worker process parses it, and the HTML is made here, of the tags below and of escaped text.

Links lead to http, https and mailto addresses, to headings and lines of the same file, and to files and directories of the same
project at the same commit; what would lead elsewhere is shown as text. Pictures are not loaded: their description is shown.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

import trio
from markupsafe import Markup, escape
from msgspec import Struct

from codecompass.actors.worker_pool import MarkdownResult, WorkerPool
from codecompass.errors import InternalError
from codecompass.languages.detect import language_of
from codecompass.transport.ui.rendering import address, lines_address
from codecompass.transport.ui.slow_texts import SlowTexts
from codecompass.units import SECONDS
from codecompass.worker.messages import Piece, ReadMarkdown

RENDERED: Final = "rendered"
"""The view of a file that is Markdown rendered."""

LANGUAGE: Final = "markdown"

MAX_CHARACTERS: Final = 200_000
"""Longer documents are shown as their source. One of 95,000 takes a worker 30 ms (2026-11-26)."""

CPU_SECONDS: Final = 1 * SECONDS
WAIT_SECONDS: Final = 4 * SECONDS
"""How long a page waits for a worker and its answer, when other processes use the processors or all workers are busy."""

TOO_LONG: Final = f"This file has more than {MAX_CHARACTERS:,} characters, which are not rendered. This is its source."
TOO_LARGE: Final = "Rendered, this file would be far larger than its source, which is shown instead."
TOO_SLOW: Final = "Rendering this file takes more than a second of processor time. This is its source."
NO_WORKER: Final = "No process was free to render this file, so this is its source. Load the page again."

HEADING_PREFIX: Final = "s-"
"""Before the names of headings in addresses, so that no document can choose an id that the page uses itself."""

_TAGS: Final[Mapping[str, str]] = {
    # The page itself has the heading of the first level.
    **{f"heading{level}": f"h{min(6, level + 1)}" for level in range(1, 7)},
    "paragraph": "p",
    "quote": "blockquote",
    "bullets": "ul",
    "numbers": "ol",
    "item": "li",
    "table": "table",
    "head": "thead",
    "row": "tr",
    "headcell": "th",
    "cell": "td",
    "strong": "strong",
    "emphasis": "em",
    "deleted": "del",
    "fence": "pre",
    "code": "code",
}
_VOID: Final[Mapping[str, str]] = {"rule": "hr", "break": "br"}
_SCHEMES: Final = ("http", "https", "mailto")
_LINES: Final = re.compile(r"L(\d{1,8})(?:-L?(\d{1,8}))?", re.ASCII)
_NOT_IN_NAMES: Final = re.compile(r"[^\w\- ]")


class DocumentPlace(Struct, frozen=True):
    """Where a document lies. `ref` is the commit that is shown, None for the working tree."""

    project_id: str
    path: str
    ref: str | None = None


class RenderedDocument(Struct, frozen=True):
    """A document as HTML; None if it is not rendered, and why."""

    html: Markup | None
    why_not: str = ""


class MarkdownRenderer:
    """Renders documents for pages, with the help of worker processes."""

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers
        self._slow = SlowTexts()

    async def render(self, text: str, place: DocumentPlace) -> RenderedDocument:
        """Returns a document as HTML, or why it is not rendered."""
        if len(text) > MAX_CHARACTERS:
            return RenderedDocument(None, TOO_LONG)
        source = text.encode("utf-8", "replace")
        key = self._slow.key(source)
        if key in self._slow:
            return RenderedDocument(None, TOO_SLOW)
        result = MarkdownResult(None)
        # The source is shown anyway if no process can be started.
        with trio.move_on_after(WAIT_SECONDS), suppress(InternalError):
            result = await self._workers.read_markdown(ReadMarkdown(source, CPU_SECONDS), WAIT_SECONDS)
        if result.was_killed_by_text:
            self._slow.add(key)
            return RenderedDocument(None, TOO_SLOW)
        if result.answer is None:
            return RenderedDocument(None, NO_WORKER)
        if result.answer.is_too_large:
            return RenderedDocument(None, TOO_LARGE)
        # In a thread: there may be thousands of pieces.
        return RenderedDocument(await trio.to_thread.run_sync(html_of, result.answer.pieces, place))


def html_of(pieces: Sequence[Piece], place: DocumentPlace) -> Markup:
    """Returns the HTML of a document. A block has the id of the line at which it begins, like a line of code."""
    return _Writer(place).html(pieces)


class _Writer:
    def __init__(self, place: DocumentPlace) -> None:
        self._place = place
        self._parts: list[str] = []
        self._open: list[tuple[str, str]] = []
        """Kinds that have begun, and the tags that end them."""
        self._headings: Counter[str] = Counter()
        self._targets: dict[str, str | None] = {}

    def html(self, pieces: Sequence[Piece]) -> Markup:
        for number, piece in enumerate(pieces):
            if not piece.kind:
                self._parts.append(escape(piece.text))
            elif piece.kind.startswith("/"):
                # What a worker says is not trusted to be balanced.
                if self._open and self._open[-1][0] == piece.kind[1:]:
                    self._parts.append(self._open.pop()[1])
            elif piece.kind in _VOID:
                self._parts.append(f"<{_VOID[piece.kind]}{_line_id(piece)}>")
            elif piece.kind == "link":
                self._begin_link(piece)
            elif piece.kind == "image":
                self._begin_image(piece, pieces[number + 1].text if number + 1 < len(pieces) else "")
            elif piece.kind in _TAGS:
                self._begin(piece, pieces, number)
        self._parts += [end for _, end in reversed(self._open)]
        # All text has been escaped; the tags and their attributes are ours.
        return Markup("".join(self._parts))

    def _begin(self, piece: Piece, pieces: Sequence[Piece], number: int) -> None:
        tag = _TAGS[piece.kind]
        attributes = _line_id(piece)
        if tag == "ol" and piece.text.isascii() and piece.text.isdecimal() and len(piece.text) < 10:
            attributes += f' start="{piece.text}"'
        elif tag in ("td", "th") and piece.text in ("center", "right"):
            attributes += f' class="{piece.text}"'
        elif tag == "code":
            attributes = ' class="inline"'
        self._parts.append(f"<{tag}{attributes}>")
        self._open.append((piece.kind, f"</{tag}>"))
        if piece.kind.startswith("heading"):
            self._parts.append(f'<span id="{HEADING_PREFIX}{escape(self._heading_name(pieces, number))}"></span>')

    def _heading_name(self, pieces: Sequence[Piece], number: int) -> str:
        """Returns the name of the heading that begins at this piece, which no earlier one has."""
        end = f"/{pieces[number].kind}"
        inside = takewhile(lambda piece: piece.kind != end, (pieces[at] for at in range(number + 1, len(pieces))))
        name = heading_name("".join(piece.text for piece in inside if not piece.kind))
        self._headings[name] += 1
        return name if self._headings[name] == 1 else f"{name}-{self._headings[name] - 1}"

    def _begin_link(self, piece: Piece) -> None:
        target = self._target(piece.text)
        is_shown = target is not None and not self._is_in_link()
        self._parts.append(f'<a href="{escape(target)}"{_relation(target or "")}>' if is_shown else "")
        self._open.append(("link", "</a>" if is_shown else ""))

    def _is_in_link(self) -> bool:
        return any(kind == "link" for kind, _ in self._open)

    def _begin_image(self, piece: Piece, description: str) -> None:
        """Begins the description of a picture, which leads to it if it is elsewhere: those of the project are not indexed."""
        target = self._target(piece.text)
        self._parts.append('<span class="picture"><span class="hidden">Picture: </span>')
        if target is None or not _relation(target) or self._is_in_link():
            self._open.append(("image", "</span>"))
        else:
            self._parts.append(f'<a href="{escape(target)}"{_relation(target)}>')
            self._open.append(("image", "</a></span>"))
        if not description:
            self._parts.append(escape(unquote(piece.text, errors="replace").rstrip("/").rpartition("/")[2] or "without a name"))

    def _target(self, link: str) -> str | None:
        if link not in self._targets:
            self._targets[link] = link_target(link, self._place)
        return self._targets[link]


def link_target(link: str, place: DocumentPlace) -> str | None:
    """Returns the address to which a link of a document leads; None if it leads nowhere that the page may link to."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return None
    if parts.scheme or parts.netloc:
        is_whole = parts.scheme == "mailto" or bool(parts.netloc)
        return link if parts.scheme in _SCHEMES and is_whole else None
    return _target_within(parts, place)


def _target_within(parts: SplitResult, place: DocumentPlace) -> str | None:
    path, anchor = unquote(parts.path, errors="replace"), unquote(parts.fragment, errors="replace")
    if not path:
        return _anchor(anchor) if anchor else None
    above = "" if path.startswith("/") else posixpath.dirname(place.path)
    found = posixpath.normpath(posixpath.join(above, path.lstrip("/")))
    if found == ".." or found.startswith("../"):
        return None
    if found == "." or path.endswith("/"):
        return address("tree", project=place.project_id, path="" if found == "." else found, ref=place.ref)
    if language_of(found, b"") == LANGUAGE:
        return address("file", project=place.project_id, path=found, ref=place.ref, view=RENDERED) + _anchor(anchor)
    lines = _LINES.fullmatch(anchor)
    if lines is not None:
        return lines_address(place.project_id, found, place.ref, int(lines[1]), int(lines[2] or 0))
    return address("file", project=place.project_id, path=found, ref=place.ref)


def _anchor(name: str) -> str:
    """Returns the anchor of a line or of a heading; empty for none."""
    if not name or _LINES.fullmatch(name):
        return f"#{name}" if name else ""
    return f"#{HEADING_PREFIX}{heading_name(name)}"


def heading_name(text: str) -> str:
    """Returns the name of a heading in addresses: small letters, digits, and hyphens for blanks, as code hosts do."""
    return _NOT_IN_NAMES.sub("", text.strip().lower()).replace(" ", "-")


def _line_id(piece: Piece) -> str:
    return f' id="L{piece.line}"' if piece.line else ""


def _relation(target: str) -> str:
    """Returns the attribute of a link that leads to another site; empty for one within the page."""
    return "" if target.startswith(("/", "#")) else ' rel="noreferrer noopener"'
