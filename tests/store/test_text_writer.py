"""Errors of the operating system while text is written are reported as such, not as damage to the index."""

import errno

import pytest

from codecompass.errors import IndexDamaged
from codecompass.store.text_reader import DamageGuard
from codecompass.store.text_writer import TextWriter
from tests.support.faults import small_file_system


@pytest.mark.invariant("An error of the operating system is not mistaken for a damaged index")
def test_a_full_disk_is_no_damage(tmp_path):
    disk = tmp_path / "disk"
    with small_file_system(disk, "64k"):
        (disk / "ballast").write_bytes(bytes(64 << 10))

        with pytest.raises(OSError, match="No space left") as caught:
            TextWriter(disk / "text", None)

    assert caught.value.errno == errno.ENOSPC


@pytest.mark.invariant(of="test_a_full_disk_is_no_damage")
@pytest.mark.parametrize(
    "message",
    [
        "Failed to open file for read: 'IoError { io_error: Os { code: 12, kind: OutOfMemory, message: \"Cannot allocate"
        ' memory" }, filepath: "/index/x.idx" }\'',
        "An IO error occurred: 'Cannot allocate memory (os error 12)'",
    ],
)
def test_too_little_memory_is_no_damage_however_the_library_words_it(tmp_path, message):
    with pytest.raises(OSError, match="Cannot allocate memory") as caught, DamageGuard(tmp_path):
        raise ValueError(message)

    assert caught.value.errno == errno.ENOMEM


def test_a_missing_file_is_damage(tmp_path):
    message = "Failed to open file for read: 'IoError { io_error: Os { code: 2, kind: NotFound, message: \"No such file\" } }'"

    with pytest.raises(IndexDamaged), DamageGuard(tmp_path):
        raise ValueError(message)
