"""Commits that a search of the history found, as compact text.

    6f1c0a9b2d3e 2024-05-01 Ada Lovelace: Retry uploads that time out
    message:3: The proxy closes idle connections.
    src/upload.py:41:+    for attempt in range(RETRIES):

A line after `+` is of the version that the commit made, one after `-` of the version before.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass.protocol.replies import CommitHit
from codecompass.protocol.text.code import one_line

SHORT_ID: Final = 12
DAY: Final = 10
"""Characters of a shown id, and of the date in a time."""


def commit_heading(hit: CommitHit) -> str:
    """Returns id, day, author and subject of a commit as one line, after the label of its project if it has one."""
    label = f"{hit.project}:" if hit.project else ""
    return one_line(f"{label}{hit.commit[:SHORT_ID]} {hit.date[:DAY]} {hit.author}: {hit.subject}")


def matching_lines(hit: CommitHit) -> Iterator[str]:
    """Yields the matching lines of a commit, each with its place, and how many are left out."""
    for line in hit.message_lines:
        yield one_line(f"message:{line.line}: {line.text}")
    for changed in hit.changed_lines:
        yield one_line(f"{changed.path}:{changed.line}:{changed.side}{changed.text}")
    if hit.n_omitted:
        yield f"… {hit.n_omitted:,} more lines"


def commit_lines(hits: Sequence[CommitHit]) -> Iterator[str]:
    """Yields the lines of all commits. Those with matching lines are separated by empty lines."""
    is_after_block = False
    for index, hit in enumerate(hits):
        lines = list(matching_lines(hit))
        if index and (lines or is_after_block):
            yield ""
        is_after_block = bool(lines)
        yield commit_heading(hit)
        yield from lines
