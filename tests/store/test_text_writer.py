"""Errors of the operating system while text is written are reported as such, not as damage to the index."""

import errno

import pytest

from codecompass.store.text_writer import TextWriter
from tests.support.faults import small_file_system


def test_a_full_disk_is_no_damage(tmp_path):
    disk = tmp_path / "disk"
    with small_file_system(disk, "64k"):
        (disk / "ballast").write_bytes(bytes(64 << 10))

        with pytest.raises(OSError, match="No space left") as caught:
            TextWriter(disk / "text", None)

    assert caught.value.errno == errno.ENOSPC
