"""Why the store cannot be written: the code, the class and the advice for each error of the system."""

import errno
import os
from pathlib import Path

import pytest

from codecompass.errors import PermissionDenied, StoreRefused
from codecompass.hints import for_people
from codecompass.store.databases import temporary_directory
from codecompass.store.layout import not_writable


@pytest.mark.parametrize(
    ("number", "advice", "is_refused"),
    [
        (errno.ENOSPC, "free disk space there", True),
        (errno.EDQUOT, "disk quota", True),
        (errno.EROFS, "mount that disk for writing", True),
        (errno.EACCES, "make the directory writable", True),
        (errno.EIO, "have that disk checked", True),
        (errno.EMFILE, "ulimit -n", False),
        (errno.ENOTDIR, "move the file away", False),
        (errno.EFBIG, "free disk space", False),
    ],
)
def test_the_advice_fits_the_cause(number, advice, is_refused):
    error = not_writable(Path("/home"), OSError(number, os.strerror(number)))

    assert error.code == "permission_denied"
    assert isinstance(error, PermissionDenied)
    assert isinstance(error, StoreRefused) == is_refused
    assert advice in str(error.data["suggested_action"])
    assert f"Ask the user to {error.data['suggested_action']}" in error.message
    assert "the user" not in for_people(error.message)


def test_the_number_that_a_library_in_rust_writes_is_understood():
    error = not_writable(Path("/home"), OSError("An IO error occurred: 'No space left on device (os error 28)'"))

    assert isinstance(error, StoreRefused)
    assert "free disk space" in error.message


def test_a_temporary_directory_is_made_where_there_is_room(tmp_path, monkeypatch):
    for name in ("small", "large"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "small"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "large"))
    usage = type("Usage", (), {})

    def disk_usage(place):
        found = usage()
        found.free = 10 if str(place).endswith("small") else 1000
        return found

    monkeypatch.setattr("shutil.disk_usage", disk_usage)

    with temporary_directory() as anywhere, temporary_directory(100) as roomy:
        assert anywhere.parent == tmp_path / "small"
        assert roomy.parent == tmp_path / "large"
