"""Whether the kernel reports every change below a root: which file systems are mounted there, and when that changes.

inotify reports neither that something was mounted over a watched directory nor that a bind mount went away. The mount table does:
its file becomes readable "with priority" after each change (proc(5), /proc/pid/mountinfo).
"""

import os
import select
from collections.abc import Container
from typing import Final

from msgspec import Struct

from codecompass.store.filesystem import MOUNTS, parse_mountinfo

LOCAL_TYPES: Final = frozenset(
    {"bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "nilfs2", "overlay", "ramfs", "tmpfs", "vfat", "xfs"}
)
"""File systems where every change passes through this kernel. Left out on purpose: network file systems and FUSE, where others
write unseen; virtiofs and 9p, where the host does; ZFS, whose rollback changes files under a mounted tree."""


class _Mount(Struct, frozen=True):
    # The identity is the mount's id and device: a second disk at the same place is another mount.
    identity: tuple[str, ...]
    type: str
    point: str


class MountTable:
    """The mounts that a root depends on. `root` is absolute, without symbolic links.

    Owns one descriptor. Without a mount table (no /proc) every file system is unknown.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._mounts: tuple[_Mount, ...] = ()
        self._poll = select.poll()
        self._descriptor = -1
        try:
            self._descriptor = os.open(MOUNTS, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        self._poll.register(self._descriptor, select.POLLPRI)
        self._mounts = self._read()

    def has_changed(self) -> bool:
        """Whether a mount that the root depends on came or went since the last call. Takes 1 us without a change."""
        # Polling also acknowledges the change, so it comes before reading: a change in between is seen next time.
        if self._descriptor < 0 or not self._poll.poll(0):
            return False
        before = self._mounts
        self._mounts = self._read()
        return self._mounts != before

    def shortfall(self, directories: Container[str]) -> str:
        """Returns why changes in these directories (relative to the root) may go unreported; empty if they cannot."""
        if not self._mounts:
            return "the type of the file system is unknown, so changes may go unreported"
        for mount in self._mounts:
            relative = _below(self._root, mount.point)
            if relative is None or relative in directories:
                if mount.type not in LOCAL_TYPES:
                    return f"{mount.point} is of type {mount.type}, where changes may go unreported"
            elif os.path.dirname(relative) in directories and not os.path.isdir(mount.point):
                # A write to such a file is reported in the directory of its other name.
                return f"{mount.point} is a file that is mounted, whose changes go unreported"
        return ""

    def close(self) -> None:
        """Closes the descriptor. May be called again."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> tuple[_Mount, ...]:
        try:
            text = MOUNTS.read_text("utf-8", "surrogateescape")
        except OSError:
            return ()
        around: _Mount | None = None
        below: list[_Mount] = []
        for line in text.splitlines():
            for parsed in parse_mountinfo(line):
                fields = line.split(" ", 3)
                mount = _Mount((fields[0], fields[2]), parsed.type, parsed.mount_point)
                if _below(self._root, mount.point) is not None:
                    below.append(mount)
                elif _below(mount.point, self._root) is not None and (around is None or len(mount.point) >= len(around.point)):
                    around = mount
        if around is None or any(mount.point == self._root for mount in below):
            return tuple(below)
        return (around, *below)


def _below(directory: str, path: str) -> str | None:
    """Returns `path` relative to `directory`; None if it is neither that directory nor below it."""
    if path == directory:
        return ""
    prefix = directory.rstrip("/") + "/"
    return path[len(prefix) :] if path.startswith(prefix) else None
