"""The indexed text of one file, for a page that shows it."""

from typing import Final

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import FileTextReply
from codecompass.protocol.requests import ReadFile
from codecompass.query.metadata import answer_metadata
from codecompass.query.outline import known_file
from codecompass.query.source_lines import lines_of
from codecompass.store.snapshot import Snapshot

MAX_CHARACTERS: Final = 1_000_000
"""Limit for one answer: the default for the largest file that is indexed."""

LINE_CHARACTERS: Final = 5_000
"""Longer lines are cut: nobody reads them."""


def read_file(snapshot: Snapshot, request: ReadFile, state: AnswerState) -> FileTextReply:
    """Returns lines of a file, fewer if the file is shorter or the text would be too large; always the first one.

    Raises FileNotFound, like `get_file_outline`, if the file is not indexed.
    """
    file = known_file(snapshot, request.path, state.workspace)
    first = min(request.line_start, max(1, file.line_count))
    kept: list[str] = []
    size = 0
    for line in lines_of(snapshot, file.id, first, first + request.line_count - 1):
        shown = line if len(line) <= LINE_CHARACTERS else line[: LINE_CHARACTERS - 1] + "…"
        size += len(shown) + 1
        if kept and size > MAX_CHARACTERS:
            break
        kept.append(shown)
    return FileTextReply(
        file_path=file.path,
        language=file.language,
        line_start=first,
        line_count=file.line_count,
        lines=tuple(kept),
        metadata=answer_metadata(snapshot, state, is_truncated=len(kept) < file.line_count),
    )
