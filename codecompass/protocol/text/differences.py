"""The differences between two sides as text: definitions first, each with its users and the lines that differ, then all files,
then those that go with them.

    changed signature, body: fn validate(token), src/auth.py:12-30
      users: 3 outside, 1 inside the differences; tests: 2 outside
      src/api.py 33,40 in fn login
    -14     return old
    +14     return new

    tests to run:
    tests/test_auth.py (uses it, 12 together)

"12 together" counts the last commits that changed the file with one that differs.
A removed line has its number in the base, an added one its number in the head.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.formatting import count
from codecompass.protocol.difference_replies import (
    DiffCompanion,
    DiffContextReply,
    DiffFile,
    DiffItem,
    DiffPiece,
    DiffSide,
    DiffUser,
    DiffVersion,
)
from codecompass.protocol.text.code import CONFIDENCE_MARKS, Name, described, one_line, short_name, span

_COMMIT_CHARACTERS: Final = 10
_STATUS_LETTERS: Final = {"added": "A", "removed": "D", "changed": "M", "renamed": "R"}
NOTES: Final = {
    "mode": "mode alone",
    "secret": "not shown: its name says that it holds a secret",
    "filtered": "not compared: git runs a program on it",
    "beyond_bound": "lines not compared",
    "missing": "lines not compared: this clone lacks a content",
    "too_large": "too large",
}


def difference_lines(reply: DiffContextReply) -> Iterator[str]:
    """Yields the lines of the answer."""
    totals = reply.totals
    if not totals.files:
        yield f"nothing differs between {side(reply.base)} and {side(reply.head)}"
    else:
        amount = (
            f"{count(totals.files, 'file')} +{totals.lines_added} -{totals.lines_removed}, {count(totals.symbols, 'definition')}"
        )
        yield f"{side(reply.base)} -> {side(reply.head)}: {amount}"
    for item in reply.items:
        yield ""
        yield from item_lines(item)
    if reply.items_omitted:
        yield ""
        yield f"{count(reply.items_omitted, 'change')} more: a larger max_tokens, path or symbol shows them"
    if reply.files:
        yield ""
        yield "files:"
        yield from map(file_line, reply.files)
    if reply.files_omitted:
        yield f"and {count(reply.files_omitted, 'file')} more"
    yield from companion_lines(reply)


def companion_lines(reply: DiffContextReply, limit: int | None = None) -> Iterator[str]:
    """Yields the lines of the files that go with the change: a blank line, a title and the first `limit` files of each list."""
    for title, companions in (("tests to run:", reply.tests), ("may have to change too:", reply.may_change)):
        if companions:
            yield ""
            yield title
            yield from map(companion_line, companions[:limit])
            if limit is not None and len(companions) > limit:
                yield f"and {count(len(companions) - limit, 'file')} more"


def companion_line(companion: DiffCompanion) -> str:
    """Returns the line for a file that goes with the change."""
    reasons = ["uses it"] * companion.uses + [f"{companion.together} together"] * bool(companion.together)
    said = f" ({', '.join(reasons)})" if reasons else ""
    return one_line(companion.path) + said


def side(of: DiffSide) -> str:
    """Returns the description of one side: name, commit, and why it was chosen."""
    name = one_line(of.name)
    commit = of.commit[:_COMMIT_CHARACTERS]
    named = name if not commit or of.commit.startswith(name) else f"{name} {commit}"
    return f"{named} ({one_line(of.reason)})" if of.reason else named


def heading(item: DiffItem) -> str:
    """Returns the first line of a change: what differs, and where."""
    at = f"{one_line(item.path)}:{span(item.line_start, item.line_end)}"
    if item.change == "lines":
        return f"lines outside of definitions: {at}"
    parts = f" {', '.join(item.parts)}" if item.parts else ""
    inner = f" with {count(item.inner, 'definition')} in it" if item.inner else ""
    named = described(Name(item.kind, item.name, item.qualified_name, item.signature, item.path))
    return f"{item.change}{parts}: {named}, {at}{inner}"


def item_lines(item: DiffItem) -> Iterator[str]:
    """Yields the lines of one change."""
    yield heading(item)
    if item.old_path or item.old_name:
        at = f"{one_line(item.old_path or item.path)}:{span(item.old_line_start, item.old_line_end)}"
        old = Name(item.kind, item.old_name.rpartition(".")[2], item.old_name, "", item.old_path or item.path)
        yield f"  was: {f'{one_line(short_name(old))}, ' if item.old_name else ''}{at}"
    summary = users_summary(item)
    if summary:
        yield f"  {summary}"
    yield from (f"  {user_line(user)}" for user in item.users)
    for version, name in ((item.old, "base"), (item.new, "head")):
        if version is not None:
            yield from _version_lines(version, name)
    for piece in item.pieces:
        yield from piece_lines(piece)
    if item.lines_omitted:
        yield f"({count(item.lines_omitted, 'line')} more)"


def users_summary(item: DiffItem) -> str:
    """Returns the numbers of users and tests of a definition; empty if there are none."""
    parts = []
    if item.users_outside or item.users_inside:
        inside = f", {item.users_inside} inside" if item.users_inside else ""
        parts.append(f"users: {item.users_outside} outside{inside}")
    if item.tests_inside or item.tests_outside:
        parts.append(f"tests: {item.tests_inside} in the diff, {item.tests_outside} not")
    return "; ".join(parts)


def user_line(user: DiffUser) -> str:
    """Returns the line for a user of a definition."""
    lines = ",".join(map(str, user.lines))
    around = f" in {user.kind} {one_line(user.name)}" if user.name else ""
    return f"{CONFIDENCE_MARKS[user.confidence]}{one_line(user.path)}:{lines}{around}{' (differs too)' if user.in_diff else ''}"


def piece_lines(piece: DiffPiece) -> Iterator[str]:
    """Yields the lines that differ, each with its number."""
    yield from (f"-{number} {one_line(line)}".rstrip() for number, line in enumerate(piece.removed, piece.old_start))
    yield from (f"+{number} {one_line(line)}".rstrip() for number, line in enumerate(piece.added, piece.new_start))


def _version_lines(version: DiffVersion, name: str) -> Iterator[str]:
    yield f"{name}: {one_line(version.path)}:{span(version.line_start, version.line_end)}"
    lines = version.body.split("\n") if version.body else []
    yield from (f"{number}:{one_line(line)}" for number, line in enumerate(lines, version.line_start))
    if version.lines_omitted:
        yield f"({count(version.lines_omitted, 'line')} more)"


def file_line(file: DiffFile) -> str:
    """Returns the line for a file that differs, with its numbers of lines."""
    old = f"{one_line(file.old_path)} -> " if file.old_path else ""
    like = f" {file.similarity}%" if file.old_path else ""
    lines = f" +{file.lines_added} -{file.lines_removed}" if file.lines_added or file.lines_removed else ""
    note = f" ({NOTES.get(file.note, file.note)})" if file.note else ""
    return f"{_STATUS_LETTERS[file.status]} {old}{one_line(file.path)}{like}{lines}{note}"
