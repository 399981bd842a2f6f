"""Finds the file system of a path. SQLite's WAL and our locks need reliable locks and shared memory mappings.

Over NFS, SMB or sshfs two processes can both hold a lock, which damages an index sooner or later.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

MOUNTS: Final = Path("/proc/self/mountinfo")
MOUNT_DEADLINE_SECONDS: Final = 5.0

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

_ESCAPED: Final = re.compile(r"\\([0-7]{3})")
_MACOS_MOUNT: Final = re.compile(r".* on (?P<point>/.*) \((?P<type>[^,)]+)[,)]")


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
