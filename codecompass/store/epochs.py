"""The epochs of a project: which one is read (the file CURRENT), whether this program can read it, and which others are kept.

    CURRENT                     the current epoch and the versions that wrote it (JSON)
    epochs/<epoch>/parked       the commit of an epoch and the versions that wrote it (JSON); its modification time is when the
                                epoch was last used

Epochs are parked beside the current one, so that a branch that is checked out again need not be indexed again. A parked epoch is
only read to fork it. Losing one costs only time. An epoch without the file that CURRENT does not name is incomplete.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import __version__, hints
from codecompass.errors import REBUILD, IndexIncompatible, IndexNotReady, StoreNewer
from codecompass.protocol.metadata import SchemaStatus
from codecompass.store.filesystem import disk_usage
from codecompass.store.layout import ProjectLayout, not_readable, replace_file
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from codecompass.units import MIB

MAX_PARKED: Final = 4
"""How many parked epochs a project keeps; the least recently used is removed first."""

MAX_PARKED_SHARE: Final = 2.0
"""The space that parked epochs may take in addition to the current one, as a share of its size; links count once."""

LEAST_PARKED_BYTES: Final = 16 * MIB
"""The space that they may take in any case."""


class Current(Struct, frozen=True, kw_only=True):
    """The content of CURRENT. Its fields never change, so that every version of the program can read the versions."""

    epoch: str
    schema_version: int
    parser_version: int
    program_version: str


class Compatibility(Struct, frozen=True):
    """Whether this program can read an index on disk. `current` is None unless CURRENT could be read.

    `refusal` is set if only permissions are missing, so that the index need not be rebuilt. `is_newer` says that a newer program
    wrote it.
    """

    status: SchemaStatus
    current: Current | None = None
    is_newer: bool = False
    refusal: PermissionError | None = None

    @property
    def needs_build(self) -> bool:
        """Whether an index has to be built before this program can answer from it: there is none, or one that it cannot read and
        may replace."""
        return self.status != "compatible" and not self.is_newer and self.refusal is None

    @property
    def current_schema_version(self) -> int:
        """The schema version of the index on disk, 0 if there is none."""
        return 0 if self.current is None else self.current.schema_version

    @property
    def required_schema_version(self) -> int:
        """The schema version that this program reads and writes."""
        return SCHEMA_VERSION


def compatibility(layout: ProjectLayout) -> Compatibility:
    """Reads CURRENT and compares its versions. Never raises: an index that cannot be read is `corrupt_manifest`."""
    try:
        content = layout.current.read_bytes()
    except FileNotFoundError:
        return Compatibility("not_indexed")
    except PermissionError as error:
        return Compatibility("corrupt_manifest", refusal=error)
    except OSError:
        return Compatibility("corrupt_manifest")
    try:
        current = msgspec.json.decode(content, type=Current)
    except msgspec.DecodeError:
        return Compatibility("corrupt_manifest")
    if "/" in current.epoch or current.epoch in ("", ".", ".."):
        return Compatibility("corrupt_manifest")
    found, required = (current.schema_version, current.parser_version), (SCHEMA_VERSION, PARSER_VERSION)
    if found != required:
        return Compatibility("reindex_required", current, is_newer=found > required)
    try:
        os.stat(layout.facts(current.epoch))
    except PermissionError as error:
        return Compatibility("corrupt_manifest", current, refusal=error)
    except OSError:
        return Compatibility("corrupt_manifest", current)
    return Compatibility("compatible", current)


def require_compatible(layout: ProjectLayout) -> Current:
    """Returns CURRENT of an index that this program can read.

    Raises IndexNotReady if there is no index, StoreNewer if a newer program wrote it, PermissionDenied if read permission is
    missing, otherwise IndexIncompatible.
    """
    found = compatibility(layout)
    if found.status == "compatible" and found.current is not None:
        return found.current
    if found.status == "not_indexed":
        raise IndexNotReady(f"the project is not indexed yet. Call {hints.INDEX}")
    _require_replaceable(layout, found)
    raise IndexIncompatible(
        f"the index on disk does not fit this program ({found.status}). {REBUILD}",
        current_schema_version=found.current_schema_version,
        required_schema_version=found.required_schema_version,
        remediation="codecompass index --force",
    )


def require_replaceable(layout: ProjectLayout, *, is_forced: bool = False) -> Compatibility:
    """Returns whether there is an index that a job may continue; the job replaces what is not compatible.

    Raises StoreNewer if a newer program wrote it, PermissionDenied if read permission is missing and no rebuild was asked for
    (`is_forced`): once it can be read again, that index is as good as before.
    """
    found = compatibility(layout)
    if found.is_newer or not is_forced:
        _require_replaceable(layout, found)
    return found


def _require_replaceable(layout: ProjectLayout, found: Compatibility) -> None:
    if found.is_newer and found.current is not None:
        raise StoreNewer(
            f"the index was written by a newer codecompass ({found.current.program_version}, format "
            f"{found.current.schema_version}.{found.current.parser_version}; this is {__version__}, format "
            f"{SCHEMA_VERSION}.{PARSER_VERSION}). "
            "Upgrade this program, or set CODECOMPASS_HOME to a store of its own.",
            current_schema_version=found.current_schema_version,
            required_schema_version=found.required_schema_version,
            remediation="upgrade codecompass",
        )
    if found.refusal is not None:
        raise not_readable(layout.root, found.refusal) from found.refusal


def may_be_current(layout: ProjectLayout, epoch: str) -> bool:
    """Returns whether CURRENT names `epoch`, or cannot be read and may name it."""
    try:
        content = layout.current.read_bytes()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        return msgspec.json.decode(content, type=Current).epoch == epoch
    except msgspec.DecodeError:
        return False


def write_current(layout: ProjectLayout, epoch: str) -> None:
    """Makes `epoch` the epoch that readers use, atomically and durably.

    Raises OSError; `may_be_current` then says whether readers use it, although a crash may still undo that.
    """
    current = Current(epoch=epoch, schema_version=SCHEMA_VERSION, parser_version=PARSER_VERSION, program_version=__version__)
    replace_file(layout.current, msgspec.json.encode(current))


def next_epoch(layout: ProjectLayout) -> str:
    """Returns a name for a new epoch: the highest number on disk plus one."""
    numbers = [0]
    if layout.epochs.is_dir():
        numbers += [int(entry.name) for entry in layout.epochs.iterdir() if entry.name.isdecimal()]
    return f"{max(numbers) + 1:06d}"


class ParkedEpoch(Struct, frozen=True):
    """An epoch that is kept beside the current one. `used_at` is in seconds since 1970."""

    epoch: str
    commit: str
    used_at: float


class _Note(Struct, frozen=True, kw_only=True):
    """The content of the file `parked`."""

    commit: str
    schema_version: int
    parser_version: int


def park(layout: ProjectLayout, epoch: str, commit: str) -> None:
    """Marks an epoch as parked. It replaces an earlier one of the same `commit`. The caller holds the writer lock.

    Raises OSError.
    """
    note = _Note(commit=commit, schema_version=SCHEMA_VERSION, parser_version=PARSER_VERSION)
    replace_file(_note_path(layout, epoch), msgspec.json.encode(note))


def note_use(layout: ProjectLayout, epoch: str) -> None:
    """Notes that a parked epoch was used just now."""
    with suppress(OSError):
        os.utime(_note_path(layout, epoch))


def parked_epochs(layout: ProjectLayout) -> tuple[ParkedEpoch, ...]:
    """Returns the parked epochs that this program can read, most recently used first. Never raises."""
    found = []
    with suppress(OSError):
        for name in os.listdir(layout.epochs):
            path = _note_path(layout, name)
            with suppress(OSError, msgspec.DecodeError):
                used_at = path.stat().st_mtime
                note = msgspec.json.decode(path.read_bytes(), type=_Note)
                if (note.schema_version, note.parser_version) == (SCHEMA_VERSION, PARSER_VERSION):
                    found.append(ParkedEpoch(name, note.commit, used_at))
    return tuple(sorted(found, key=lambda each: (-each.used_at, each.epoch)))


def kept_epochs(layout: ProjectLayout, current: str) -> frozenset[str]:
    """Returns the epochs to keep beside `current`: the most recently used within the bounds, one for each commit."""
    commits: set[str] = set()
    kept: list[str] = []
    largest = 0
    for each in parked_epochs(layout):
        if each.epoch == current or each.commit in commits:
            continue
        commits.add(each.commit)
        paths = [layout.epochs / name for name in (current, *kept, each.epoch)]
        largest = largest or max(LEAST_PARKED_BYTES, int(MAX_PARKED_SHARE * disk_usage(paths[0]))) + disk_usage(paths[0])
        if len(kept) >= MAX_PARKED or disk_usage(*paths) > largest:
            break
        kept.append(each.epoch)
    return frozenset(kept)


def _note_path(layout: ProjectLayout, epoch: str) -> Path:
    return layout.epochs / epoch / "parked"
