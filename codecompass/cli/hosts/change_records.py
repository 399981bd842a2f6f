"""Records of what `setup` has changed in which file, kept until the change is undone.

A change is one place in a text, where `wrote` has replaced `replaced`. As long as the rest of the file is the same, putting
`replaced` back restores the file byte for byte, whatever its format. If the user has changed other parts since, the place is
found by its text, and `reversible_edit.py` verifies the result.
"""

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cli.hosts.files import write_atomically
from codecompass.errors import PermissionDenied
from codecompass.store.layout import HomeLayout, make_private_directory, not_writable

_CONTEXT: Final = 60
"""Characters kept on either side, to tell a short insertion from the same text elsewhere."""

_MADE: Final = "directories"
"""The file that lists the directories created for the records, outermost first."""


class Splice(Struct, frozen=True, kw_only=True):
    """`wrote` at `offset` (in characters) of a text, in place of `replaced`; `before` and `behind` are the text around it."""

    offset: int
    wrote: str
    replaced: str
    before: str
    behind: str

    def undone_at(self, text: str, offset: int) -> str:
        """Returns the text with `replaced` put back; `offset` is where `wrote` begins."""
        return text[:offset] + self.replaced + text[offset + len(self.wrote) :]

    def found_in(self, text: str) -> int | None:
        """Returns the offset of `wrote` in a text that has changed since, None if it is not found or ambiguous."""
        for length in (_CONTEXT, _CONTEXT // 4, 0):
            front = self.before[max(0, len(self.before) - length) :]
            wanted = front + self.wrote + self.behind[:length]
            if self.wrote and text.count(wanted) == 1:
                return text.index(wanted) + len(front)
        return None


class Change(Struct, frozen=True, kw_only=True):
    """What was done to one file. "State" is the value at the place of the change, as canonical JSON."""

    path: str
    splice: Splice
    digest: str
    """SHA-256 of the whole text after the change."""
    state: str
    """State after the change."""
    state_before: str | None
    n_sections: int
    """How many of the objects that enclose the place existed before."""
    existed: bool
    """False if setup created the file."""
    directories: tuple[str, ...] = ()
    """Directories that setup created, outermost first."""
    has_backup: bool = False


def splice(before: str, after: str) -> Splice:
    """Returns the one place at which two texts differ."""
    start = _n_common(before, after)
    end = _n_common(before[start:][::-1], after[start:][::-1])
    stop = len(after) - end
    return Splice(
        offset=start,
        wrote=after[start:stop],
        replaced=before[start : len(before) - end],
        before=after[max(0, start - _CONTEXT) : start],
        behind=after[stop : stop + _CONTEXT],
    )


def _n_common(left: str, right: str) -> int:
    """Returns how many characters two texts have in common at their beginning."""
    return next(
        (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other), min(len(left), len(right))
    )


def digest(text: str) -> str:
    """Returns the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


class ChangeRecords:
    """The changes that are not undone yet, one JSON file each. `kind` distinguishes several changes of one file."""

    def __init__(self, home: HomeLayout) -> None:
        self._directory = home.hosts

    def of(self, path: Path, kind: str) -> Change | None:
        """Returns the change of a file, None if there is no readable record."""
        try:
            return msgspec.json.decode(self._place(path, kind).read_bytes(), type=Change)
        except (OSError, msgspec.DecodeError):
            return None

    def open(self) -> None:
        """Creates the directory of the records. Raises PermissionDenied if it cannot be written."""
        made = [str(each) for each in reversed((self._directory, *self._directory.parents)) if not each.exists()]
        make_private_directory(self._directory)
        if not os.access(self._directory, os.W_OK):
            raise PermissionDenied(
                f"{self._directory} cannot be written, so the change could not be undone. Make it writable and run again.",
                path=str(self._directory),
            )
        if made:
            write_atomically(self._directory / _MADE, msgspec.json.encode(made).decode())

    def keep(self, path: Path, kind: str, change: Change) -> None:
        """Records the change of a file, replacing an earlier record. Raises PermissionDenied."""
        self.open()
        try:
            write_atomically(self._place(path, kind), msgspec.json.encode(change).decode())
        except OSError as error:
            raise not_writable(self._directory, error) from error

    def forget(self, path: Path, kind: str) -> None:
        """Deletes the record of a file, and after the last one the directories created for them. Raises PermissionDenied."""
        try:
            self._place(path, kind).unlink(missing_ok=True)
        except OSError as error:
            raise not_writable(self._directory, error) from error
        if self.paths():
            return
        made, list_of_made = [str(self._directory)], self._directory / _MADE
        with contextlib.suppress(OSError, msgspec.DecodeError):
            made = msgspec.json.decode(list_of_made.read_bytes(), type=list[str])
        with contextlib.suppress(OSError):  # not empty
            list_of_made.unlink(missing_ok=True)
            for directory in reversed(made):
                Path(directory).rmdir()

    def paths(self) -> tuple[str, ...]:
        """Returns the files that contain a change of ours, none if a record cannot be read."""
        try:
            names = sorted(self._directory.glob("*.json"))
            return tuple(sorted({msgspec.json.decode(name.read_bytes(), type=Change).path for name in names}))
        except (OSError, msgspec.DecodeError):
            return ()

    def _place(self, path: Path, kind: str) -> Path:
        name = hashlib.sha256(f"{kind}\0{os.path.realpath(path)}".encode(errors="surrogateescape")).hexdigest()[:24]
        return self._directory / f"{name}.json"
