"""The report of a finished job."""

import os

import msgspec
from structlog.testing import capture_logs

from tests.support.workspace import LIMITS

FILES = {"a.py": "def a(): pass\n", "b.py": "def b(): pass\n", "c/d.py": "def d(): pass\n", "logo.png": b"\x89PNG\0"}


async def test_files_that_are_only_looked_at_again_are_no_changes(workspace):
    """Their times are in the future, so they are never trusted and always hashed again."""
    workspace.write(FILES)
    for path in FILES:
        os.utime(workspace.root / path, (4e9, 4e9))
    assert (await workspace.sync()).files_changed == len(FILES)

    assert (await workspace.sync()).files_changed == 0


async def test_a_file_that_is_touched_is_no_change(workspace):
    workspace.write(FILES)
    await workspace.sync()

    for path in FILES:
        os.utime(workspace.root / path, (1e9, 1e9))

    assert (await workspace.sync()).files_changed == 0


async def test_new_edited_and_removed_files_are_changes_once_each(workspace):
    workspace.write(FILES)
    await workspace.sync()

    workspace.write({"a.py": "def other(): pass\n", "new.py": "", "new.png": b"\0", "c/d.py": b"\0"})
    (workspace.root / "b.py").unlink()

    assert (await workspace.sync()).files_changed == 5
    assert (await workspace.sync()).files_changed == 0


async def test_a_first_build_in_two_passes_counts_each_file_once(workspace):
    workspace.write(FILES)

    report = await workspace.sync(limits=msgspec.structs.replace(LIMITS, text_first_bytes=0))

    assert report.files_changed == len(FILES)


async def test_a_file_that_becomes_too_large_is_a_change(workspace):
    workspace.write(FILES)
    await workspace.sync()

    workspace.write({"a.py": "x" * (2 << 20)})

    assert (await workspace.sync()).files_changed == 1
    assert (await workspace.sync()).files_changed == 0


async def test_what_the_scan_could_not_use_is_reported_and_logged(repository):
    repository.write({**FILES, "c/.gitignore": b"x" * (1 << 19)})

    with capture_logs() as logs:
        report = await repository.sync()

    (warning,) = report.warnings
    assert warning.startswith("c/.gitignore was not used")
    assert [log["warning"] for log in logs if log["event"] == "scan_warning"] == [warning]


async def test_git_that_fails_is_reported_and_the_files_are_indexed(repository):
    repository.write(FILES)
    repository.commit()
    (repository.root / ".git" / "index").write_bytes(b"no index")

    report = await repository.sync()

    assert "nothing counts as tracked" in report.warnings[0]
    assert ("a.py", "a") in repository.names()
