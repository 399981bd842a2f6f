"""Opening files of an untrusted repository, and when a file's times prove that it has not been written since."""

import errno
import os
import tracemalloc
from pathlib import Path

import pytest

from codecompass.scan.files import GROWTH_BYTES, read_regular_file, trusted_mtime
from codecompass.units import NANOSECONDS_PER_MILLISECOND as MS
from codecompass.units import NANOSECONDS_PER_SECOND as S

WRITTEN = 1_790_000_000 * S


def status(tmp_path, *, mtime_ns: int, ctime_ns: int) -> os.stat_result:
    fields = list(os.stat(tmp_path))
    return os.stat_result(fields, {"st_mtime_ns": mtime_ns, "st_ctime_ns": ctime_ns})


@pytest.mark.invariant("A modification time is trusted only if a later write must have another")
@pytest.mark.parametrize(
    ("fraction", "read_after", "is_trusted"),
    [
        (123 * MS, 1 * MS, False),  # within one tick of the kernel's clock
        (123 * MS, 19 * MS, False),
        (123 * MS, 25 * MS, True),
        (123 * MS, -5 * S, False),  # a time in the future proves nothing
        (0, 25 * MS, False),  # whole seconds: a file system that knows no finer ones, two of them on FAT
        (0, 1_990 * MS, False),
        (0, 2_100 * MS, True),
    ],
)
def test_a_time_is_trusted_once_a_later_write_must_have_another(tmp_path, fraction, read_after, is_trusted):
    written = WRITTEN + fraction
    seen = status(tmp_path, mtime_ns=written, ctime_ns=written)

    assert trusted_mtime(seen, written + read_after) == (written if is_trusted else 0)


def test_the_kernels_own_time_decides_where_a_program_has_set_the_other(tmp_path):
    """`cp -p`, `tar` and `touch -r` set the time of another file."""
    fresh = status(tmp_path, mtime_ns=WRITTEN - 3600 * S, ctime_ns=WRITTEN + 7 * MS)
    settled = status(tmp_path, mtime_ns=WRITTEN, ctime_ns=WRITTEN + 7 * MS)

    assert trusted_mtime(fresh, WRITTEN + 8 * MS) == 0
    assert trusted_mtime(settled, WRITTEN + 100 * MS) == WRITTEN


def test_a_file_is_read_up_to_the_limit(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"12345")

    assert read_regular_file(str(tmp_path / "a"), 3) == b"123"
    assert read_regular_file(str(tmp_path / "a"), 100) == b"12345"


def test_a_link_is_followed_only_on_request(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"12345")
    os.symlink("a", tmp_path / "link")

    assert read_regular_file(str(tmp_path / "link"), 9, follows_link=True) == b"12345"
    with pytest.raises(OSError, match="link") as raised:
        read_regular_file(str(tmp_path / "link"), 9)
    assert raised.value.errno == errno.ELOOP


@pytest.mark.parametrize("kind", ["pipe", "directory"])
def test_nothing_else_is_read(kind: str, tmp_path: Path):
    """A pipe without a writer would block the process that opens it."""
    path = tmp_path / kind
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    n_open = len(os.listdir("/dev/fd"))

    with pytest.raises(OSError, match=kind) as raised:
        read_regular_file(str(path), 9)

    assert raised.value.errno == errno.EINVAL
    # Fewer if garbage of an earlier test was collected meanwhile.
    assert len(os.listdir("/dev/fd")) <= n_open


@pytest.mark.invariant(of="test_an_address_space_of_600_megabytes_answers_every_question")
@pytest.mark.parametrize("size", [0, 10, 3 * GROWTH_BYTES])
def test_memory_is_taken_for_what_a_file_holds_and_not_for_the_limit(tmp_path, size):
    """A limit of 1 GiB, reserved before reading, failed in every smaller address space."""
    path = tmp_path / "index"
    path.write_bytes(b"x" * size)
    tracemalloc.start()
    try:
        content = read_regular_file(str(path), 1 << 30)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert content == b"x" * size
    assert most < 2 * size + 3 * GROWTH_BYTES


def test_no_more_than_the_limit_is_read(tmp_path):
    path = tmp_path / "long"
    path.write_bytes(b"x" * 3 * GROWTH_BYTES)

    assert [len(read_regular_file(str(path), limit)) for limit in (0, 1, 5, 2 * GROWTH_BYTES + 7)] == [
        0,
        1,
        5,
        2 * GROWTH_BYTES + 7,
    ]
