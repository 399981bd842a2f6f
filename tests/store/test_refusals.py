"""Why the store cannot be written: the code, the class and the advice for each error of the system."""

import errno
import os
from pathlib import Path

import pytest

from codecompass.errors import PermissionDenied, StoreRefused
from codecompass.hints import for_people
from codecompass.store.databases import temporary_directory
from codecompass.store.layout import not_readable, not_writable
from tests.support.processes import run_python

DESCRIPTORS = """
import os, resource, sqlite3, sys
from pathlib import Path
from codecompass.store.databases import refusal
error = sqlite3.OperationalError("unable to open database file")
error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
path = Path(sys.argv[1]) / "x.db"
refusal(error, path)
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
taken = []
try:
    while True:
        taken.append(os.open(os.devnull, os.O_RDONLY))
except OSError:
    pass
lacking = refusal(error, path)
for each in taken:
    os.close(each)
enough = refusal(error, path)
print(lacking.errno, lacking.strerror, enough.errno, enough.strerror, sep="|")
"""


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


def test_a_lack_of_descriptors_is_found_behind_what_sqlite_says(tmp_path):
    done = run_python(DESCRIPTORS, str(tmp_path))

    assert done.stdout.split("|") == [
        str(errno.EMFILE),
        os.strerror(errno.EMFILE),
        str(errno.EACCES),
        "unable to open database file\n",
    ], done.stderr


def test_an_index_that_cannot_be_read_for_lack_of_descriptors_is_not_said_to_be_unreadable():
    error = not_readable(Path("/home"), OSError(errno.EMFILE, os.strerror(errno.EMFILE)))

    assert "ulimit -n" in error.message
    assert "readable," not in error.message


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
