"""Changes a file of the user's, and undoes the change: as text, with the ledger to know what was ours.

    apply   with our change of before taken back first, so that a second run is one change, not two
    undo    1. nothing else changed since     the file as it was, to the byte
            2. other parts changed            our part taken out of it; the rest and its layout stay
            3. written anew by the host       our values taken out, by the edit; its layout stays
    refused where our part itself has been changed: that is the user's by now

A file or directory that was made for the change goes with it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from codecompass.cli.hosts import files
from codecompass.cli.hosts.ledger import Change, Ledger, canonical, digest, splice
from codecompass.errors import InvalidInput

ATTEMPTS: Final = 5
"""How often a change is made anew where the host has written its file in between."""


class Done(Struct, frozen=True, kw_only=True):
    """A text that was changed. `changes` and `kept` say what of the user's; `replaced` is what was taken out for ours."""

    text: str
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: object = None


class Edit(Protocol):
    """One way to change a text. All raise FileUnreadable where the text is not what the edit is for.

    `kind` names it in the ledger. `is_whole` says that a change of its place by the user makes all of it the user's.
    """

    kind: str
    is_whole: bool

    def done(self, text: str, base: str) -> Done:
        """Returns the text with the change. `base` is the text without an earlier one, the same where there is none."""
        ...

    def state(self, text: str) -> object:
        """Returns what stands in the place, None for nothing."""
        ...

    def rest(self, text: str) -> object:
        """Returns everything but that, without empty sections: what no undo may change."""
        ...

    def n_sections(self, text: str) -> int:
        """Returns how many sections on the way to the place are there."""
        ...

    def without(self, text: str, state: object, before: object, n_sections: int) -> str:
        """Returns the text with `before` in the place of `state`, and no empty section beyond the first `n_sections`."""
        ...


class Outcome(Struct, frozen=True, kw_only=True):
    """What was done to a file, or would be. `is_kept` says that the user's changes forbid an undo."""

    before: str | None
    after: str | None
    done: Done
    backup: Path | None = None
    is_kept: bool = False
    is_unknown: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether anything was, or would be, different."""
        return self.before != self.after


def apply(path: Path, edit: Edit, ledger: Ledger, *, is_shared: bool, dry_run: bool, has_backup: bool = True) -> Outcome:
    """Makes the change. Raises what the edit raises, PermissionDenied, and InvalidInput where the file keeps changing."""

    def attempt() -> Outcome:
        before = files.read(path)
        text = before or ""
        change = ledger.of(path, edit.kind)
        original = None if change is None or not _is_as_written(edit, text, change) else _undone(edit, text, change)
        is_ours = original is not None
        base = text if original is None else original[0]
        done = edit.done(text, base)
        if done.text == text and before is not None:
            return Outcome(before=before, after=before, done=done)
        outcome = Outcome(before=before, after=done.text, done=done)
        if dry_run:
            return outcome
        ledger.open()
        made = files.replace(path, before, done.text, is_shared=is_shared)
        kept = change if is_ours else None
        keeps_backup = has_backup and before is not None and (kept is None or kept.existed)
        wrote_backup = keeps_backup and files.keep_backup(path, base)
        ledger.keep(
            path,
            edit.kind,
            Change(
                path=str(path),
                splice=splice(base, done.text),
                digest=digest(done.text),
                state=canonical(edit.state(done.text)),
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


def undo(path: Path, edit: Edit, ledger: Ledger, *, dry_run: bool, force: bool) -> Outcome:
    """Takes the change back. Raises as `apply` does."""

    def attempt() -> Outcome:
        before = files.read(path)
        change = ledger.of(path, edit.kind)
        text = before or ""
        state = edit.state(text)
        if before is None or (state is None and (change is None or change.existed)):
            if change is not None and not dry_run:
                _settle(path, edit, ledger, change, is_exact=True)
            return Outcome(before=before, after=before, done=Done(text=text))
        result: tuple[str, bool] | None = None
        if change is not None and (state is None or not edit.is_whole or _is_as_written(edit, text, change)):
            result = _undone(edit, text, change)
        if result is None and not force:
            return Outcome(before=before, after=before, done=Done(text=text), is_kept=True, is_unknown=change is None)
        if result is None:
            had = None if change is None or change.state_before is None else msgspec.json.decode(change.state_before)
            result = edit.without(text, state, had, 0 if change is None else change.n_sections), False
        after, is_exact = result
        is_gone = not _has_content(after) and change is not None and not change.existed
        outcome = Outcome(before=before, after=None if is_gone else after, done=Done(text=after))
        if dry_run:
            return outcome
        if is_gone:
            assert change is not None
            files.remove(path, before, tuple(Path(each) for each in change.directories))
        elif after != before:
            files.replace(path, before, after)
        if change is not None:
            _settle(path, edit, ledger, change, is_exact=is_exact)
        backup = files.backup_path(path)
        return msgspec.structs.replace(outcome, backup=backup if change is not None and backup.exists() else None)

    return _repeated(path, attempt)


def _undone(edit: Edit, text: str, change: Change) -> tuple[str, bool] | None:
    """The text without the change, and whether that is certain to be what was there; None where it cannot be had."""
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
    """Whether nothing but our part is different."""
    from codecompass.errors import CodeCompassError

    try:
        return canonical(edit.rest(result)) == canonical(edit.rest(text)) and canonical(edit.state(result)) == canonical(before)
    except CodeCompassError:
        return False


def _is_as_written(edit: Edit, text: str, change: Change) -> bool:
    return digest(text) == change.digest or canonical(edit.state(text)) == change.state


def _settle(path: Path, edit: Edit, ledger: Ledger, change: Change, *, is_exact: bool) -> None:
    """Forgets a change. The backup goes where it holds nothing that the file does not."""
    if change.has_backup and is_exact:
        files.drop_backup(path)
    ledger.forget(path, edit.kind)


def _has_content(text: str) -> bool:
    return "".join(text.removeprefix("\ufeff").split()) not in ("", "{}")


def _repeated(path: Path, attempt: Callable[[], Outcome]) -> Outcome:
    for _ in range(ATTEMPTS):
        try:
            return attempt()
        except files.Changed:
            continue
    raise InvalidInput(f"{path} is being written by another program again and again. Close it and run again.", path=str(path))
