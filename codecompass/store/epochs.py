"""Reads and writes the file CURRENT: which epoch of a project is read, and whether this program can read it."""

import os
from typing import Literal

import msgspec
from msgspec import Struct

from codecompass import __version__
from codecompass.errors import REBUILD, IndexIncompatible, IndexNotReady, StoreNewer
from codecompass.store.layout import ProjectLayout, not_readable, replace_file
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION

SchemaStatus = Literal["compatible", "not_indexed", "reindex_required", "corrupt_manifest"]


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
        raise IndexNotReady("the project is not indexed yet. Call index_repo (on the command line: codecompass index)")
    if found.is_newer and found.current is not None:
        raise StoreNewer(
            f"the index was written by a newer codecompass ({found.current.program_version}; this is {__version__}). "
            "Upgrade this program, or set CODECOMPASS_HOME to a store of its own.",
            current_schema_version=found.current_schema_version,
            required_schema_version=found.required_schema_version,
            remediation="upgrade codecompass",
        )
    if found.refusal is not None:
        raise not_readable(layout.root, found.refusal) from found.refusal
    raise IndexIncompatible(
        f"the index on disk does not fit this program ({found.status}). {REBUILD}",
        current_schema_version=found.current_schema_version,
        required_schema_version=found.required_schema_version,
        remediation="codecompass index --force",
    )


def write_current(layout: ProjectLayout, epoch: str) -> None:
    """Makes `epoch` the epoch that readers use, atomically and durably."""
    current = Current(epoch=epoch, schema_version=SCHEMA_VERSION, parser_version=PARSER_VERSION, program_version=__version__)
    replace_file(layout.current, msgspec.json.encode(current))


def next_epoch(layout: ProjectLayout) -> str:
    """Returns a name for a new epoch: the highest number on disk plus one."""
    numbers = [0]
    if layout.epochs.is_dir():
        numbers += [int(entry.name) for entry in layout.epochs.iterdir() if entry.name.isdecimal()]
    return f"{max(numbers) + 1:06d}"
