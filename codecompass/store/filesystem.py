"""Finds the file system of a path, and measures the space that files take.

SQLite's WAL and our locks need reliable locks and shared memory mappings: over NFS, SMB or sshfs two processes can both hold a
lock, which damages an index sooner or later. Indexes of one repository share files by hard links (`forks.py`), so the sum of
their sizes is more than they take together.
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from stat import S_ISDIR
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.units import MIB

MOUNTS: Final = Path("/proc/self/mountinfo")
MOUNT_DEADLINE_SECONDS: Final = 5.0

FULL_DISK_BYTES: Final = 100 * MIB
"""With less free space than this an index may not be made or updated."""

NETWORK_TYPES: Final = frozenset(
    {
        "9p",
        "acfs",
        "afpfs",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "davfs",
        "davfs2",
        "fuse.ceph",
        "fuse.davfs",
        "fuse.glusterfs",
        "fuse.rclone",
        "fuse.s3fs",
        "fuse.smbnetfs",
        "fuse.sshfs",
        "fuse.vmhgfs-fuse",
        "glusterfs",
        "gpfs",
        "lustre",
        "macfuse",
        "nfs",
        "nfs4",
        "osxfuse",
        "prl_fs",
        "smb3",
        "smbfs",
        "vboxsf",
        "webdav",
    }
)

_ESCAPED: Final = lazy.pattern(r"\\([0-7]{3})")
_MACOS_MOUNT: Final = lazy.pattern(r".* on (?P<point>/.*) \((?P<type>[^,)]+)[,)]")


class FileSystem(Struct, frozen=True):
    """A mounted file system. `type` is the operating system's name for it, empty if unknown."""

    type: str
    mount_point: str

    @property
    def is_network(self) -> bool:
        """Whether other machines may write to it, or its locks are unreliable."""
        return self.type in NETWORK_TYPES


def filesystem_of(path: Path) -> FileSystem:
    """Returns the file system of `path`, or of its nearest existing parent directory. Never raises."""
    existing = next((directory for directory in (path, *path.parents) if directory.exists()), Path("/"))
    return innermost(mounts(), os.path.realpath(existing))


def innermost(mounted: Iterable[FileSystem], path: str) -> FileSystem:
    """Returns the last of the mounts with the longest mount point at or above `path`: later mounts hide earlier ones."""
    best = FileSystem("", "")
    for mount in mounted:
        is_above = path == mount.mount_point or path.startswith(mount.mount_point.rstrip("/") + "/")
        if is_above and len(mount.mount_point) >= len(best.mount_point):
            best = mount
    return best


def mounts() -> list[FileSystem]:
    """Returns the mounted file systems in the order of mounting; an empty list if they cannot be determined."""
    import subprocess

    if sys.platform != "linux":
        try:
            done = subprocess.run(["mount"], capture_output=True, text=True, timeout=MOUNT_DEADLINE_SECONDS, check=False)
        except (OSError, subprocess.SubprocessError):
            return []
        return parse_mount_output(done.stdout)
    try:
        return parse_mountinfo(MOUNTS.read_text("utf-8", "surrogateescape"))
    except OSError:
        return []


def parse_mountinfo(text: str) -> list[FileSystem]:
    """Parses Linux's mountinfo: the fifth field is the mount point, the type follows a lone hyphen."""
    found = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) > 4 and after:
            found.append(FileSystem(after.split(" ")[0], _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])))
    return found


def parse_mount_output(text: str) -> list[FileSystem]:
    """Parses the output of `mount` on macOS and the BSDs: `device on /point (type, options)`."""
    matches = (_MACOS_MOUNT.match(line) for line in text.splitlines())
    return [FileSystem(match["type"].strip(), match["point"]) for match in matches if match is not None]


class DiskSpace(Struct, frozen=True):
    """Bytes below a directory; a file with several links in it counts once.

    Deleting the directory would free `own`; the files of `shared` also have links elsewhere.
    """

    own: int
    shared: int

    @property
    def total(self) -> int:
        """Bytes of all files in the directory."""
        return self.own + self.shared


def disk_usage(*paths: Path) -> int:
    """Returns the bytes of the files at and below `paths`; a file with several links there counts once. Missing paths count 0."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for path in paths:
        for status in _statuses(path):
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_size
    return total


def disk_space(path: Path) -> DiskSpace:
    """Returns how many bytes deleting `path` would free, and how many it shares. Both are 0 if `path` is missing."""
    links: dict[tuple[int, int], int] = {}
    own = shared = 0
    statuses = list(_statuses(path))
    for status in statuses:
        key = status.st_dev, status.st_ino
        links[key] = links.get(key, 0) + 1
    for status in statuses:
        found = links.pop((status.st_dev, status.st_ino), 0)
        if found >= status.st_nlink:
            own += status.st_size
        elif found:
            shared += status.st_size
    return DiskSpace(own, shared)


def _statuses(path: Path) -> Iterator[os.stat_result]:
    pending = [str(path)]
    with contextlib.suppress(OSError):
        if not S_ISDIR((status := os.lstat(path)).st_mode):
            yield status
            return
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        yield entry.stat(follow_symlinks=False)
