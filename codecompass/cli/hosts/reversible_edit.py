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
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from codecompass.cli.hosts import files
from codecompass.cli.hosts.change_records import Change, ChangeRecords, canonical, digest, splice
from codecompass.errors import CodeCompassError, InvalidInput

ATTEMPTS: Final = 5
"""How often a change is tried if the host writes the file at the same time."""


class EditResult(Struct, frozen=True, kw_only=True):
    """A changed text. `changes` and `kept` are those of a `Revision`; `replaced` is the value that ours replaces."""

    text: str
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: object = None


class Edit(Protocol):
    """One way to change a text. All methods raise FileUnreadable for a text that the edit cannot parse.

    `kind` names the edit in the records. With `is_whole`, any change by the user at its place makes all of it the user's.
    """

    kind: str
    is_whole: bool

    def apply(self, text: str, base: str) -> EditResult:
        """Returns the text with the change. `base` is the text without our earlier change, if there is one."""
        ...

    def state(self, text: str) -> object:
        """Returns the value at the place of the change, None if there is none."""
        ...

    def rest(self, text: str) -> object:
        """Returns everything but that value, without empty sections: what an undo must not change."""
        ...

    def n_sections(self, text: str) -> int:
        """Returns how many of the sections that enclose the place exist."""
        ...

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        """Returns the text with `before` in place of `state`, and no empty section beyond the first `n_sections`."""
        ...


class EditOutcome(Struct, frozen=True, kw_only=True):
    """What was, or would be, done to a file. With `is_kept` the user's changes prevent an undo. Texts are None for no file."""

    before: str | None
    after: str | None
    result: EditResult
    backup: Path | None = None
    is_kept: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether the file was, or would be, changed."""
        return self.before != self.after


def apply(
    path: Path, edit: Edit, records: ChangeRecords, *, is_shared: bool, dry_run: bool, has_backup: bool = True
) -> EditOutcome:
    """Makes and records the change. Raises what the edit raises, PermissionDenied, InvalidInput if the file keeps changing."""

    def attempt() -> EditOutcome:
        before = files.read(path)
        text = before or ""
        change = records.of(path, edit.kind)
        original = None if change is None or not _is_as_written(edit, text, change) else _undone(edit, text, change)
        is_ours = original is not None
        base = text if original is None else original[0]
        result = edit.apply(text, base)
        if result.text == text and before is not None:
            return EditOutcome(before=before, after=before, result=result)
        outcome = EditOutcome(before=before, after=result.text, result=result)
        if dry_run:
            return outcome
        records.open()
        made = files.replace(path, before, result.text, is_shared=is_shared)
        kept = change if is_ours else None
        keeps_backup = has_backup and before is not None and (kept is None or kept.existed)
        wrote_backup = keeps_backup and files.keep_backup(path, base)
        records.keep(
            path,
            edit.kind,
            Change(
                path=str(path),
                splice=splice(base, result.text),
                digest=digest(result.text),
                state=canonical(edit.state(result.text)),
                state_before=None if edit.state(base) is None else canonical(edit.state(base)),
                n_sections=edit.n_sections(base),
                existed=before is not None if kept is None else kept.existed,
                directories=tuple(str(each) for each in made) if kept is None else kept.directories,
                has_backup=wrote_backup or (kept is not None and kept.has_backup),
            ),
        )
        backup = files.backup_path(path)
        return msgspec.structs.replace(outcome, backup=backup if keeps_backup and backup.exists() else None)

    return _repeated(path, attempt)


def undo(path: Path, edit: Edit, records: ChangeRecords, *, dry_run: bool, force: bool) -> EditOutcome:
    """Undoes the change. Raises the same errors as `apply`."""

    def attempt() -> EditOutcome:
        before = files.read(path)
        change = records.of(path, edit.kind)
        text = before or ""
        state = edit.state(text)
        if before is None or (state is None and (change is None or change.existed)):
            if change is not None and not dry_run:
                _settle(path, edit, records, change, is_exact=True)
            return EditOutcome(before=before, after=before, result=EditResult(text=text))
        result: tuple[str, bool] | None = None
        if change is not None and (state is None or not edit.is_whole or _is_as_written(edit, text, change)):
            result = _undone(edit, text, change)
        if result is None and not force:
            return EditOutcome(before=before, after=before, result=EditResult(text=text), is_kept=True)
        if result is None:
            had = None if change is None or change.state_before is None else msgspec.json.decode(change.state_before)
            result = edit.without(text, state, had, 0 if change is None else change.n_sections), False
        after, is_exact = result
        is_gone = not _has_content(after) and change is not None and not change.existed
        outcome = EditOutcome(before=before, after=None if is_gone else after, result=EditResult(text=after))
        if dry_run:
            return outcome
        if is_gone:
            assert change is not None
            files.remove(path, before, tuple(Path(each) for each in change.directories))
        elif after != before:
            files.replace(path, before, after)
        if change is not None:
            _settle(path, edit, records, change, is_exact=is_exact)
        backup = files.backup_path(path)
        return msgspec.structs.replace(outcome, backup=backup if change is not None and backup.exists() else None)

    return _repeated(path, attempt)


def _undone(edit: Edit, text: str, change: Change) -> tuple[str, bool] | None:
    """Returns the text without the change, and whether it is certainly the original; None if the change cannot be undone."""
    if digest(text) == change.digest:
        return change.splice.undone_at(text, change.splice.offset), True
    before = None if change.state_before is None else msgspec.json.decode(change.state_before)
    at = change.splice.found_in(text)
    if at is not None:
        result = change.splice.undone_at(text, at)
        if _holds(edit, result, text, before):
            return result, True
    state = msgspec.json.decode(change.state)
    result = edit.without(text, state, before, change.n_sections)
    return (result, False) if _holds(edit, result, text, before) or not edit.is_whole else None


def _holds(edit: Edit, result: str, text: str, before: object) -> bool:
    """Whether `result` and `text` differ only in our part, which is `before` in `result`."""

    try:
        return canonical(edit.rest(result)) == canonical(edit.rest(text)) and canonical(edit.state(result)) == canonical(before)
    except CodeCompassError:
        return False


def _is_as_written(edit: Edit, text: str, change: Change) -> bool:
    return digest(text) == change.digest or canonical(edit.state(text)) == change.state


def _settle(path: Path, edit: Edit, records: ChangeRecords, change: Change, *, is_exact: bool) -> None:
    """Deletes the record of a change, and the backup if the file is the original again."""
    if change.has_backup and is_exact:
        files.drop_backup(path)
    records.forget(path, edit.kind)


def _has_content(text: str) -> bool:
    return "".join(text.removeprefix("\ufeff").split()) not in ("", "{}")


def _repeated(path: Path, attempt: Callable[[], EditOutcome]) -> EditOutcome:
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except files.Changed:
            continue
    raise InvalidInput(f"{path} is being written by another program again and again. Close it and run again.", path=str(path))
