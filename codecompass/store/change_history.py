"""Keeps which files changed together (`scan/git_change_history.py`) in a small file beside a project's index.

It is derived from git and may be missing, old or damaged: then nothing is known. 2,000 commits take about 50 kB.
"""

from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory
from codecompass.store.layout import ProjectLayout, replace_file

VERSION: Final = 2


class _Kept(Struct, frozen=True, array_like=True):
    version: int
    history: ChangeHistory


def keep_history(layout: ProjectLayout, history: ChangeHistory) -> None:
    """Replaces what is kept for a project. Raises OSError."""
    replace_file(layout.changes, msgspec.msgpack.encode(_Kept(VERSION, history)))


def kept_history(layout: ProjectLayout) -> ChangeHistory:
    """Returns what is kept for a project, NO_HISTORY if that is nothing. Never raises."""
    with suppress(OSError, msgspec.DecodeError):
        kept = msgspec.msgpack.decode(layout.changes.read_bytes(), type=_Kept)
        if kept.version == VERSION and all(
            0 <= place < len(kept.history.paths) for each in kept.history.commits for place in each
        ):
            return kept.history
    return NO_HISTORY
