"""Epochs that are kept beside the current one, so that a branch that was checked out before is not indexed again.

    epochs/<epoch>/parked       which commit the epoch is of and by which versions it was written (JSON); its modification time is
                                when the epoch was last of use

A parked epoch is read by nobody but by who forks it. Losing one costs time and nothing else. An epoch without the file, and
that CURRENT does not name, is a half-made one.
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
"""Epochs of one project; the least recently used goes."""

MAX_PARKED_SHARE: Final = 2.0
"""What all epochs of a project may take beyond the current one, as a share of that; links count once."""

LEAST_PARKED_BYTES: Final = 16 * MIB
"""What they may take in any case."""


class ParkedEpoch(Struct, frozen=True):
    """An epoch that is kept. `used_at` in seconds since 1970."""

    epoch: str
    commit: str
    used_at: float


class _Note(Struct, frozen=True, kw_only=True):
    """The content of the file `parked`."""

    commit: str
    schema_version: int
    parser_version: int


def park(layout: ProjectLayout, epoch: str, commit: str) -> None:
    """Keeps an epoch, which is of `commit`, in place of an earlier one of the same commit. The caller holds the writer lock.

    Raises OSError.
    """
    note = _Note(commit=commit, schema_version=SCHEMA_VERSION, parser_version=PARSER_VERSION)
    replace_file(_note_path(layout, epoch), msgspec.json.encode(note))


def note_use(layout: ProjectLayout, epoch: str) -> None:
    """Notes that a parked epoch was of use just now."""
    with suppress(OSError):
        os.utime(_note_path(layout, epoch))


def parked_epochs(layout: ProjectLayout) -> tuple[ParkedEpoch, ...]:
    """Returns the epochs that are kept and that this program can read, the most recently used first. Never raises."""
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
    """Returns which epochs beside `current` stay: the most recently used within the bounds, one for each commit."""
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
