"""Parsing the mount tables of operating systems, and finding the mount that contains a path."""

import pytest

from codecompass.store.filesystem import (
    FileSystem,
    filesystem_of,
    innermost,
    parse_mount_output,
    parse_mountinfo,
)

LINUX = """\
22 27 0:21 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:30 / /home rw,relatime shared:1 - nfs4 server:/export rw
31 30 0:31 / /home/ann/my\\040disk rw - fuse.sshfs host:/ rw
32 30 0:32 / /home/ann/local rw master:2 propagate_from:1 - xfs /dev/sdb1 rw
33 22 0:33 / /mnt/c rw - 9p drvfs rw
"""

MACOS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//ann@server/share on /Volumes/share (smbfs, nodev, nosuid, mounted by ann)
/dev/disk5 on /Volumes/Backup (old) (hfs, local)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
"""


@pytest.mark.parametrize(
    ("path", "type_", "is_network"),
    [
        ("/srv", "ext4", False),
        ("/home/ann", "nfs4", True),
        ("/homes", "ext4", False),
        ("/home/ann/my disk/x", "fuse.sshfs", True),
        ("/home/ann/local", "xfs", False),
        ("/mnt/c/Users", "9p", True),
    ],
)
def test_the_innermost_mount_of_linux_counts(path, type_, is_network):
    found = innermost(parse_mountinfo(LINUX), path)

    assert (found.type, found.is_network) == (type_, is_network)


@pytest.mark.parametrize(
    ("path", "type_", "is_network"),
    [
        ("/Users/ann", "apfs", False),
        ("/Volumes/share/x", "smbfs", True),
        ("/Volumes/Backup (old)/x", "hfs", False),
    ],
)
def test_the_innermost_mount_of_macos_counts(path, type_, is_network):
    found = innermost(parse_mount_output(MACOS), path)

    assert (found.type, found.is_network) == (type_, is_network)


def test_a_later_mount_hides_an_earlier_one_at_the_same_place():
    mounted = [FileSystem("ext4", "/"), FileSystem("nfs", "/data"), FileSystem("tmpfs", "/data")]

    assert innermost(mounted, "/data/x").type == "tmpfs"


def test_a_path_that_does_not_exist_yet_lies_where_its_parent_does(tmp_path):
    assert filesystem_of(tmp_path / "a" / "b") == filesystem_of(tmp_path)
    assert filesystem_of(tmp_path).type


@pytest.mark.parametrize("text", ["", "nonsense", "1 2 3 - ", "a - b - c"])
def test_a_table_that_cannot_be_read_says_nothing(text):
    assert parse_mountinfo(text) == []
    assert not innermost(parse_mount_output(text), "/x").is_network
