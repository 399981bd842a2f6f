"""Renders the screen of an interactive search, as lines of styled text that fit a width. Pure; knows no terminal.

All text from a repository, a query or an error goes through `printable`, so that nothing in it controls the terminal.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Final

from codecompass import formatting
from codecompass.cli.interactive.finder import SearchOutcome
from codecompass.cli.interactive.preview import Fragment, Preview
from codecompass.cli.interactive.source import ListedHit, Source
from codecompass.cli.interactive.upkeep import TreeState
from codecompass.cli.render import KIND_STYLES
from codecompass.cli.terminal import ELLIPSIS, columns, cut, printable
from codecompass.hints import for_people
from codecompass.protocol.requests import SearchMode
from codecompass.protocol.text.code import Name, short_name

Line = list[Fragment]

STYLES: Final = {
    "prompt": "bold ansicyan",
    "selected": "reverse",
    "place": "ansicyan",
    "dim": "ansibrightblack",
    "error": "bold ansired",
    "warning": "ansiyellow",
    "fresh": "ansigreen",
    "title": "bold ansicyan underline",
    "focus": "bold",
    "key": "bold",
    "code.comment": "ansibrightblack",
    "code.string": "ansigreen",
    "code.number": "ansimagenta",
    "code.keyword": "ansiblue",
    "code.name": "ansicyan",
    "code.decorator": "ansiyellow",
}
"""Of the 16 colours that every terminal has, in the shades that its user has chosen."""

KEYS: Final = (
    ("Enter", "open"),
    ("Tab", "next"),
    ("^Y", "print"),
    ("^T", "mode"),
    ("^R", "check"),
    ("Esc", "leave"),
)

MARK: Final = "› "
LEAST_PLACE: Final = 16
"""Minimum columns of a place in a row, however long the name is."""

ABOVE_FOCUS: Final = 3
"""A third of the preview is above its line."""


def fitted(fragments: Iterable[Fragment], width: int) -> Line:
    """Returns the fragments as exactly `width` columns, cut with an ellipsis or filled with blanks."""
    line = [(style, text) for style, text in fragments if text]
    room = width - sum(columns(text) for _, text in line)
    if room >= 0:
        return [*line, ("", " " * room)] if room else line
    kept: Line = []
    room = width
    for style, text in line:
        taken = columns(text)
        # The last column is for the ellipsis: something is left out, though perhaps not of this fragment.
        if taken >= room:
            break
        kept.append((style, text))
        room -= taken
    if room > 0:
        # The padding exceeds the room, so that `cut` writes the ellipsis.
        shortened = cut(text + " " * width, room)
        kept += [(style, shortened), ("", " " * (room - columns(shortened)))]
    return kept


def cut_start(text: str, width: int) -> str:
    """Returns `text`, shortened at its start to at most `width` columns: the end of a path says most."""
    if columns(text) <= width:
        return text
    first = 0
    while first < len(text) and columns(text[first:]) > width - 1:
        first += 1
    return ELLIPSIS + text[first:]


def hit_row(hit: ListedHit, width: int, *, is_selected: bool, is_changed: bool) -> Line:
    """Returns the row of a hit: its name or text on the left, its place on the right."""
    place = printable(f"{hit.path}:{hit.line}") + (" (changed)" if is_changed else "")
    what = _what(hit)
    room = max(0, width - len(MARK))
    taken = sum(columns(text) for _, text in what)
    place = cut_start(place, max(min(room, LEAST_PLACE), room // 2, room - taken - 2))
    row = [
        ("class:prompt" if is_selected else "", MARK if is_selected else " " * len(MARK)),
        *fitted(what, max(0, room - columns(place) - 2)),
        ("", "  "),
        ("class:place", place),
    ]
    line = fitted(row, width)
    return [(f"{style} class:selected", text) for style, text in line] if is_selected else line


def _what(hit: ListedHit) -> Line:
    if hit.text:
        return [("", printable(hit.text.strip().expandtabs(1)))]
    result = hit.result
    kind = "".join(f"ansi{style} " if style != "dim" else "class:dim " for style in KIND_STYLES.get(result.kind, ("yellow",)))
    name = short_name(Name(result.kind, result.name, result.qualified_name, "", result.path))
    return [(kind, f"{result.kind} "), ("bold", printable(name))]


def hit_rows(hits: Sequence[ListedHit], selected: int, top: int, width: int, height: int, changed: frozenset[str]) -> list[Line]:
    """Returns the rows of the hits from number `top` on, as many as fit."""
    return [
        hit_row(hit, width, is_selected=number == selected, is_changed=hit.path in changed)
        for number, hit in enumerate(hits[top : top + height], top)
    ]


def preview_lines(shown: Preview | None, width: int, height: int) -> list[Line]:
    """Returns the preview below its title, with the line of the hit marked and a third of the way down."""
    if shown is None or height < 1:
        return []
    title = fitted([("class:title", cut_start(printable(f"{shown.path}:{shown.focus}"), width))], width)
    room = height - 1
    at = shown.focus - shown.first
    start = max(0, min(at - room // ABOVE_FOCUS, len(shown.lines) - room))
    digits = len(str(shown.first + len(shown.lines)))
    lines = [title]
    for offset, fragments in enumerate(shown.lines[start : start + room], start):
        number = shown.first + offset
        is_focus = number == shown.focus
        bar = "▌" if shown.hit_first <= number <= shown.hit_last else " "
        head = [
            ("class:prompt" if is_focus else "", ">" if is_focus else " "),
            ("class:focus class:selected" if is_focus else "class:dim", str(number).rjust(digits)),
            ("class:place", bar),
        ]
        code = [(f"{style} class:focus", text) for style, text in fragments] if is_focus else fragments
        lines.append(fitted([*head, *code], width))
    return lines


def status_line(width: int, left: str, is_error: bool, right: Fragment) -> Line:
    """Returns a line with `left` and, if there is room for it, `right` at its end."""
    style = "class:error" if is_error else "class:dim"
    room = width - columns(right[1]) - 2
    if not right[1] or room < min(columns(left), 12):
        return fitted([(style, left)], width)
    return [*fitted([(style, left)], room), ("", "  "), right]


def prompt(mode: SearchMode) -> Fragment:
    """Returns the prompt before the query: its mode, unless that is `auto`, and a sign."""
    return "class:prompt", "> " if mode == "auto" else f"{mode}> "


def counted(answer: SearchOutcome | None, is_pending: bool) -> str:
    """Returns a summary of an answer, which ends in an ellipsis while a newer question is being answered."""
    if answer is None or answer.found is None:
        return f"searching{ELLIPSIS}" if is_pending else "type to search"
    found = answer.found
    if not found.hits:
        text = "nothing found"
    else:
        n_shown = len(found.hits)
        text = f"{n_shown:,} of {found.total:,}" if n_shown < found.total else formatting.count(n_shown, "hit")
        text += f"; {printable(for_people(found.notice))}" if found.notice else ""
    return text + (ELLIPSIS if is_pending else "")


def freshness(source: Source, answer: SearchOutcome | None, state: TreeState, known: TreeState) -> Fragment:
    """Returns how fresh the shown answer is. `known` is the last state in which the index was up to date."""
    if source.commit is not None:
        return "class:dim", printable(f"of {source.commit.name}")
    version = None if answer is None or answer.found is None else answer.found.version
    match state.phase:
        case "updating":
            return "class:warning", f"taking in {state.message}{ELLIPSIS}"
        case "waiting":
            return "class:warning", f"another process is indexing{ELLIPSIS}"
        case "stale":
            return "class:warning", printable(f"not up to date: {state.message}")
        case "failed":
            return "class:error", "not compared with the tree"
        case _ if version is None:
            return "", ""
        case _ if known.version == version:
            return "class:fresh", f"up to date {time.strftime('%H:%M:%S', time.localtime(known.as_of))}"
        case _:
            return "class:dim", f"not checked yet{ELLIPSIS}"


def key_line(width: int) -> Line:
    """Returns the keys and what they do, as many as fit."""
    line: Line = []
    room = width
    for key, effect in KEYS:
        gap = 2 if line else 0
        room -= gap + len(key) + 1 + len(effect)
        if room < 0:
            break
        line += [("", " " * gap), ("class:key", key), ("class:dim", f" {effect}")]
    return fitted(line, width)
