"""Whether answers reflect the current tree: decided by content, not by times, and never `fresh` when it does not."""

import os

import pytest

from codecompass.errors import IndexStale
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import ScanCancelled, scan
from codecompass.store import drift
from codecompass.store.drift import find_drift, stale_error
from codecompass.store.manifest import find_changes, is_as_scanned
from tests.support.waiting import until
from tests.support.workspace import LIMITS, TestWorkspace

FILES = {"a.py": "x = 1\n", "b.py": "y = 2\n", "c/d.py": "z = 3\n", "logo.png": b"\x89PNG\0" + b"x" * 20_000}


def drift_of(workspace: TestWorkspace, rules: ScanRules = LIMITS.rules) -> drift.Drift:
    with workspace.index.snapshot() as snapshot:
        return find_drift(snapshot, str(workspace.root), rules, LIMITS.fingerprint)


async def test_an_index_of_just_now_is_fresh(repository):
    """The times of files written just before they were read are not trusted; their content shows that they are unchanged."""
    repository.write(FILES)
    await repository.sync()

    assert drift_of(repository).is_fresh


async def test_new_edited_deleted_and_renamed_files_each_make_it_stale(repository):
    repository.write(FILES)
    await repository.sync()
    seen = []

    for change in ("new", "edited", "deleted", "renamed"):
        match change:
            case "new":
                repository.write({"e.py": ""})
            case "edited":
                repository.write({"a.py": "x = 2\n"})
            case "deleted":
                (repository.root / "b.py").unlink()
            case _:
                (repository.root / "c").rename(repository.root / "moved")
        found = drift_of(repository)
        seen.append((found.is_fresh, found.n_files))
        await repository.sync()
        assert drift_of(repository).is_fresh, change

    assert seen == [(False, 1), (False, 1), (False, 1), (False, 2)]


async def test_an_edit_of_the_same_length_at_the_same_time_is_seen(repository):
    repository.write(FILES)
    await repository.sync()
    path = repository.root / "a.py"
    before = path.stat()

    repository.write({"a.py": "x = 9\n"})
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert not drift_of(repository).is_fresh


async def test_a_touched_file_is_the_same_file(repository):
    repository.write(FILES)
    await repository.sync()

    (repository.root / "a.py").touch()
    (repository.root / "logo.png").touch()

    assert drift_of(repository).is_fresh


async def test_many_touched_files_are_taken_for_changed(repository, monkeypatch):
    """Hashing a whole tree is left to a job."""
    repository.write(FILES)
    await repository.sync()
    monkeypatch.setattr(drift, "MAX_HASHED_FILES", 1)

    for name in ("a.py", "b.py"):
        (repository.root / name).touch()

    assert not drift_of(repository).is_fresh


async def test_a_file_that_became_something_else_is_a_change(repository):
    repository.write(FILES)
    await repository.sync()

    (repository.root / "a.py").unlink()
    os.mkfifo(repository.root / "a.py")

    assert not drift_of(repository).is_fresh


async def test_other_rules_make_it_stale_though_no_file_changed(repository):
    repository.write(FILES)
    await repository.sync()

    with repository.index.snapshot() as snapshot:
        found = find_drift(snapshot, str(repository.root), LIMITS.rules, "other rules")

    assert not found.is_fresh


async def test_the_branch_is_that_of_the_working_tree(repository):
    repository.write(FILES)
    repository.commit()
    await repository.sync()
    repository.git("switch", "-q", "-c", "other")

    found = drift_of(repository)

    assert (found.is_fresh, found.head.ref) == (True, "other")


async def test_a_refusal_says_what_differs(repository):
    repository.write(FILES)
    repository.commit()
    await repository.sync()
    repository.write({"e.py": ""})
    edited = refusal(repository)
    repository.commit()
    committed = refusal(repository)

    assert edited.data["changed_files"] == committed.data["changed_files"] == 1
    assert "last_indexed_commit" not in edited.data
    assert "Last indexed commit does not match HEAD" in committed.message
    assert committed.data["current_head"] == repository.git("rev-parse", "HEAD").strip()
    assert committed.data["last_indexed_commit"] == repository.git("rev-parse", "HEAD~").strip()


@pytest.mark.invariant(of="test_a_question_that_gets_no_thread_in_its_time_is_told_so")
async def test_a_comparison_whose_time_is_up_ends_before_the_manifest_is_read(repository):
    repository.write(FILES)
    await repository.sync()
    asked = []

    with repository.index.snapshot() as snapshot, pytest.raises(ScanCancelled):
        find_drift(
            snapshot,
            str(repository.root),
            LIMITS.rules,
            LIMITS.fingerprint,
            is_cancelled=lambda: len(asked) > 1 or asked.append(1),
        )

    assert len(asked) == 2, "after one file of the manifest"


def refusal(workspace: TestWorkspace) -> IndexStale:
    with workspace.index.snapshot() as snapshot:
        return stale_error(snapshot, find_drift(snapshot, str(workspace.root), LIMITS.rules, LIMITS.fingerprint))


SKIPPED = {"big.txt": "x" * (LIMITS.rules.max_file_bytes + 1), ".env": "TOKEN=1\n"}


async def test_a_tree_is_compared_at_once_and_file_by_file_with_the_same_result(repository):
    """At once is faster where nothing has changed, with files that are skipped for their names, sizes and kinds."""
    repository.write({**FILES, **SKIPPED})
    (repository.root / "link.py").symlink_to("a.py")
    await repository.sync()
    await until_trusted(repository)

    def both() -> tuple[bool, bool]:
        with repository.index.snapshot() as snapshot:
            found = scan(str(repository.root), LIMITS.rules)
            manifest = {row.path: drift.manifest_entry(row) for row in snapshot.facts.files()}
            return is_as_scanned(snapshot.facts, found), find_changes(manifest, found, rules_changed=False).is_empty

    assert both() == (True, True)
    for name, text in {"new.py": "", "a.py": "x = 7\n", "big.txt": "x" * (LIMITS.rules.max_file_bytes + 2)}.items():
        path = repository.root / name
        before = path.read_text() if path.exists() else None
        path.write_text(text)
        assert both() == (False, False), name
        if before is None:
            path.unlink()
            assert both() == (True, True), name
    (repository.root / "link.py").unlink()
    assert both() == (False, False)


async def until_trusted(workspace: TestWorkspace) -> None:
    """Indexes until the times of all files are old enough to be trusted."""

    async def is_trusted() -> bool:
        await workspace.sync()
        with workspace.index.snapshot() as snapshot:
            return all(row.mtime_ns for row in snapshot.facts.files() if row.status == "indexed")

    await until(is_trusted)
