import errno
import os
from pathlib import Path

import pytest

from codecompass.scan.files import read_regular_file


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
    """A pipe without a writer would block whoever opens it."""
    path = tmp_path / kind
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    n_open = len(os.listdir("/dev/fd"))

    with pytest.raises(OSError, match=kind) as raised:
        read_regular_file(str(path), 9)

    assert raised.value.errno == errno.EINVAL
    # Fewer where the garbage of an earlier test was collected meanwhile.
    assert len(os.listdir("/dev/fd")) <= n_open
