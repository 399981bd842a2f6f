"""Keeps epochs beside the current one, so that a branch that is checked out again need not be indexed again.

    epochs/<epoch>/parked       the commit of the epoch and the versions that wrote it (JSON); its modification time is when the
                                epoch was last used

A parked epoch is only read to fork it. Losing one costs only time. An epoch without the file that CURRENT does not name is
incomplete.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.store.disk_space import disk_usage
from codecompass.store.layout import ProjectLayout, replace_file
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from codecompass.units import MIB

MAX_PARKED: Final = 4
"""How many parked epochs a project keeps; the least recently used is removed first."""

MAX_PARKED_SHARE: Final = 2.0
"""The space that parked epochs may take in addition to the current one, as a share of its size; links count once."""

LEAST_PARKED_BYTES: Final = 16 * MIB
"""The space that they may take in any case."""


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
