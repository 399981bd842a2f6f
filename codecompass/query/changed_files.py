"""Restricts an index for `changed_since`: the files that differ from a commit, and the changed lines in each."""

from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.amounts import count
from codecompass.scan.git_changes import Changes, Hunk
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

_COMMIT_CHARACTERS: Final = 10


class ChangedFiles(Struct, frozen=True, kw_only=True):
    """The existing files that differ from a commit."""

    name: str
    """The ref with its commit."""
    lines: Mapping[str, tuple[Hunk, ...] | None]
    """The hunks of each file by path; None if they are not known, so that all lines of the file count as changed."""
    warnings: tuple[str, ...] = ()

    def overlaps(self, path: str, first: int, last: int) -> bool:
        """Whether any of these lines is new, or lines between two of them were deleted."""
        if path not in self.lines:
            return False
        hunks = self.lines[path]
        return hunks is None or any(
            hunk.new <= last and first < hunk.new + hunk.n_new if hunk.n_new else first <= hunk.new < last for hunk in hunks
        )


def changed_files(changes: Changes) -> ChangedFiles:
    """Returns the existing files that differ from the base of `changes`, whose head is the working tree."""
    lines = {each.path: each.hunks if each.note in ("", "mode") else None for each in changes.files if each.status != "removed"}
    return ChangedFiles(
        name=f"{changes.base.name} ({changes.base.commit[:_COMMIT_CHARACTERS]})", lines=lines, warnings=changes.warnings
    )


def within(snapshot: Snapshot, where: Filter, changed: ChangedFiles | None) -> Filter:
    """Returns `where`, restricted to changed files; unchanged if `changed` is None."""
    if changed is None:
        return where
    files = snapshot.files()
    ids = [files.ids[number] for path in changed.lines if (number := files.number(path)) is not None]
    if where.file_ids is not None:
        allowed = frozenset(where.file_ids)
        ids = [each for each in ids if each in allowed]
    return msgspec.structs.replace(where, file_ids=tuple(sorted(ids)), left_out=())


def warnings(changed: ChangedFiles | None, *, is_empty: bool) -> tuple[str, ...]:
    """Returns the warnings of an answer about changed files: what was left out, and why an empty answer is empty."""
    if changed is None:
        return ()
    if not changed.lines:
        return (*changed.warnings, f"no existing file differs from {changed.name}, so changed_since excludes everything")
    if not is_empty:
        return changed.warnings
    n_files = count(len(changed.lines), "file")
    return (*changed.warnings, f"nothing found in what differs from {changed.name} ({n_files}); try without changed_since")
