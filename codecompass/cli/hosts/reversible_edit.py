"""Changes a user's file as text, and undoes the change; the records say what was ours.

    apply   undoes our earlier change first, so that two runs make one change
    undo    nothing else has changed since     the file is restored byte for byte
            other parts have changed           our part is removed; the rest and its layout stay
            the host has rewritten the file    our values are removed by the edit; its layout stays
            our part itself has changed        refused: it is the user's now

A file or directory that was created for the change is removed with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cli.hosts import files
from codecompass.cli.hosts.change_records import Change, ChangeRecords, digest, splice
from codecompass.cli.hosts.edits import Edit
from codecompass.cli.hosts.entry import Notes
from codecompass.cli.hosts.places import BOM, NotEditable, canonical
from codecompass.errors import FileUnreadable, InvalidInput

ATTEMPTS: Final = 5
"""How often a change is tried if the host writes the file at the same time."""


class EditOutcome(Struct, frozen=True, kw_only=True):
    """What was, or would be, done to a file. With `is_kept` the user's changes prevent an undo. Texts are None for no file."""

    before: str | None
    after: str | None
    notes: Notes = Notes()
    backup: Path | None = None
    is_kept: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether the file was, or would be, changed."""
        return self.before != self.after


def apply(
    path: Path, edit: Edit, records: ChangeRecords, *, is_shared: bool, dry_run: bool, has_backup: bool = True
) -> EditOutcome:
    """Makes and records the change.

    Raises FileUnreadable for a file that cannot be edited, PermissionDenied, InvalidInput if the file keeps changing.
    """

    def attempt() -> EditOutcome:
        before, first = files.read(path), records.of(path, edit.kind)
        text = before or ""
        original = None if first is None or not _is_as_written(edit, text, first) else _undone(edit, text, first)
        base, first = (text, None) if original is None else (original[0], first)
        after, notes = edit.apply(text, base)
        outcome = EditOutcome(before=before, after=after, notes=notes)
        if dry_run or not outcome.is_changed:
            return outcome
        records.open()
        made = files.replace(path, before, after, is_shared=is_shared)
        keeps_backup = has_backup and before is not None and (first is None or first.existed)
        wrote_backup = keeps_backup and files.keep_backup(path, base)
        state_before = edit.state(base)
        change = Change(
            path=str(path),
            splice=splice(base, after),
            digest=digest(after),
            state=canonical(edit.state(after)),
            state_before=None if state_before is None else canonical(state_before),
            n_sections=edit.n_sections(base),
            existed=before is not None if first is None else first.existed,
            directories=tuple(map(str, made)) if first is None else first.directories,
            has_backup=wrote_backup or (first is not None and first.has_backup),
        )
        records.keep(path, edit.kind, change)
        return _with_backup(outcome, path) if keeps_backup else outcome

    return _repeated(path, edit, attempt)


def undo(path: Path, edit: Edit, records: ChangeRecords, *, dry_run: bool, force: bool) -> EditOutcome:
    """Undoes the change. Raises the same errors as `apply`."""

    def attempt() -> EditOutcome:
        before, change = files.read(path), records.of(path, edit.kind)
        text = before or ""
        state = edit.state(text)
        if before is None or (state is None and (change is None or change.existed)):
            if change is not None and not dry_run:
                _settle(path, edit, records, change, is_exact=True)
            return EditOutcome(before=before, after=before)
        result: tuple[str, bool] | None = None
        if change is not None and (state is None or not edit.is_whole or _is_as_written(edit, text, change)):
            result = _undone(edit, text, change)
        if result is None and not force:
            return EditOutcome(before=before, after=before, is_kept=True)
        after, is_exact = result or (edit.without(text, state, _before(change), change.n_sections if change else 0), False)
        directories = None if change is None or change.existed or _has_content(after) else change.directories
        outcome = EditOutcome(before=before, after=after if directories is None else None)
        if dry_run:
            return outcome
        if directories is not None:
            files.remove(path, before, tuple(map(Path, directories)))
        elif after != before:
            files.replace(path, before, after)
        if change is not None:
            _settle(path, edit, records, change, is_exact=is_exact)
        return outcome if change is None else _with_backup(outcome, path)

    return _repeated(path, edit, attempt)


def _undone(edit: Edit, text: str, change: Change) -> tuple[str, bool] | None:
    """Returns the text without the change, and whether it is certainly the original; None if the change cannot be undone."""
    if digest(text) == change.digest:
        return change.splice.undone_at(text, change.splice.offset), True
    before = _before(change)
    at = change.splice.found_in(text)
    if at is not None:
        result = change.splice.undone_at(text, at)
        if _holds(edit, result, text, before):
            return result, True
    result = edit.without(text, msgspec.json.decode(change.state), before, change.n_sections)
    return (result, False) if _holds(edit, result, text, before) or not edit.is_whole else None


def _before(change: Change | None) -> object:
    return None if change is None or change.state_before is None else msgspec.json.decode(change.state_before)


def _holds(edit: Edit, result: str, text: str, before: object) -> bool:
    """Whether `result` and `text` differ only in our part, which is `before` in `result`."""
    try:
        return canonical(edit.rest(result)) == canonical(edit.rest(text)) and canonical(edit.state(result)) == canonical(before)
    except NotEditable:
        return False


def _is_as_written(edit: Edit, text: str, change: Change) -> bool:
    return digest(text) == change.digest or canonical(edit.state(text)) == change.state


def _settle(path: Path, edit: Edit, records: ChangeRecords, change: Change, *, is_exact: bool) -> None:
    """Deletes the record of a change, and the backup if the file is the original again."""
    if change.has_backup and is_exact:
        files.drop_backup(path)
    records.forget(path, edit.kind)


def _with_backup(outcome: EditOutcome, path: Path) -> EditOutcome:
    backup = files.backup_path(path)
    return msgspec.structs.replace(outcome, backup=backup if backup.exists() else None)


def _has_content(text: str) -> bool:
    return "".join(text.removeprefix(BOM).split()) not in ("", "{}")


def _repeated(path: Path, edit: Edit, attempt: Callable[[], EditOutcome]) -> EditOutcome:
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except files.Changed:
            continue
        except NotEditable as error:
            raise FileUnreadable(
                f"{path} is not valid {edit.format.upper()}, or not as expected: {error}. Nothing was changed. Correct the file, "
                f"or add the entry by hand: {edit.by_hand}",
                path=str(path),
            ) from error
    raise InvalidInput(f"{path} is being written by another program again and again. Close it and run again.", path=str(path))
