"""Checkouts during a job: it publishes the contents of one commit under that commit's name, or nothing."""

import os
import time

import pytest
import trio

from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.tree_scan import TreeScan
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import WorkspaceBusy
from codecompass.scan.checkout import LOCK_PATIENCE_SECONDS, Checkout, read_checkout
from codecompass.scan.git_repository import Head
from codecompass.scan.rules import ScanRules
from codecompass.store.drift import find_drift
from tests.support.dump import dump
from tests.support.workspace import LIMITS

pytestmark = pytest.mark.invariant(of="test_no_answer_mixes_two_commits_or_names_one_that_it_is_not_of")


@pytest.fixture
def two(repository):
    """Branches `one` and `two`, which differ in every file; `one` is checked out, and nothing is indexed."""
    repository.git("checkout", "-q", "-b", "one")
    for branch in ("one", "two"):
        if branch == "two":
            repository.git("checkout", "-q", "-b", "two")
        repository.write({f"m{n:03}.py": f"def {branch}_{n}(): return {n}\n" for n in range(150)})
        repository.commit()
    repository.git("checkout", "-q", "one")
    return repository


def described(workspace):
    with workspace.index.snapshot() as snapshot:
        return snapshot.meta.ref, snapshot.meta.commit, {name.partition("_")[0] for _, name in workspace.names()}


def switching_once(workspace, at, branch):
    """Returns an `on_progress` that checks out `branch` the first time a job reaches stage `at`."""
    left = [branch]

    def on_progress(progress):
        if left and progress.stage == at and (at != "parsing" or progress.files_parsed):
            workspace.git("checkout", "-q", left.pop())

    return on_progress


@pytest.mark.parametrize("stage", ["discovery", "parsing", "finalizing"])
async def test_a_checkout_during_a_first_job_leaves_an_index_of_one_branch_under_its_name(two, stage):
    await two.sync(on_progress=switching_once(two, stage, "two"))

    assert described(two) == ("two", two.git("rev-parse", "two").strip(), {"two"})


@pytest.mark.parametrize("stage", ["discovery", "parsing", "finalizing"])
async def test_a_checkout_during_an_update_as_well(two, stage):
    """The update begins on `two`, and ends on `one` again."""
    await two.sync()
    two.git("checkout", "-q", "two")

    report = await two.sync(on_progress=switching_once(two, stage, "one"))

    assert described(two) == ("one", two.git("rev-parse", "one").strip(), {"one"})
    assert report.ref == "one"


async def test_what_a_job_over_two_branches_leaves_equals_a_fresh_index(two):
    await two.sync()
    two.git("checkout", "-q", "two")
    await two.sync(on_progress=switching_once(two, "parsing", "one"))
    updated = dump(two.index)

    await two.sync(force=True)

    assert updated == dump(two.index)


async def test_a_commit_of_what_is_there_costs_no_second_job_and_gives_its_name(two):
    """HEAD moves, but no file is written."""
    two.write({"m000.py": "def one_edited(): pass\n"})
    seen = []

    def commit(progress):
        if progress.stage == "finalizing" and not seen:
            seen.append(progress)
            two.git("commit", "-q", "-a", "-m", "edited")

    await two.sync(on_progress=commit)

    assert described(two)[:2] == ("one", two.git("rev-parse", "HEAD").strip())
    assert ("m000.py", "one_edited") in two.names()


async def test_a_tree_that_is_switched_all_the_time_is_given_up_and_the_old_index_stays(two, monkeypatch):
    await two.sync()
    monkeypatch.setattr("codecompass.actors.indexing.SWITCHING_SECONDS", 0.0)
    two.git("checkout", "-q", "two")
    branches = ["one", "two"] * 50

    def on_progress(progress):
        if progress.stage == "finalizing":
            two.git("checkout", "-q", branches.pop(0))

    with pytest.raises(WorkspaceBusy, match="ref"):
        await two.sync(on_progress=on_progress)

    assert described(two) == ("one", two.git("rev-parse", "one").strip(), {"one"})


async def test_a_job_waits_for_the_lock_of_git_and_then_looks_at_everything(two, tmp_path):
    """A checkout writes more than the watcher had reported before."""
    await two.sync()
    lock = two.root / ".git" / "index.lock"
    lock.touch()
    order = []

    async def release():
        await trio.sleep(0.05)  # the job polls the lock, so nothing tells when it has seen it
        order.append("released")
        lock.unlink()
        two.git("checkout", "-q", "two")

    async with open_worker_pool(1) as pool, trio.open_nursery() as nursery:
        nursery.start_soon(release)
        job = IndexJob(
            JobContext(
                root=two.root,
                layout=two.layout,
                pool=pool,
                limits=LIMITS,
                on_progress=lambda progress: order.append("told"),
            ),
            JobOrder(job_id="test"),
        )
        await job.run()

    assert order[0] == "released"
    assert "told" in order
    assert len(described(two)[2]) == 1


async def test_a_lock_that_was_left_behind_is_not_waited_for(two):
    lock = two.root / ".git" / "index.lock"
    lock.touch()
    old = time.time() - 2 * LOCK_PATIENCE_SECONDS
    os.utime(lock, (old, old))

    await two.sync()

    assert described(two) == ("one", two.git("rev-parse", "one").strip(), {"one"})


async def test_files_that_are_written_under_an_old_lock_are_not_named(two):
    """During a very long checkout the lock is old, and files change while they are read."""
    from codecompass.actors.blocking_calls import BlockingCalls

    lock = two.root / ".git" / "index.lock"
    lock.touch()
    old = time.time() - 2 * LOCK_PATIENCE_SECONDS
    os.utime(lock, (old, old))
    limits = IndexLimits(rules=ScanRules())
    tree = TreeScan(
        two.root, limits, BlockingCalls(), previous=None, changed_directories=None, changed_files=frozenset(), lend=()
    )
    before = await tree.checkout()
    scanned = await tree.scan(lambda _count: None)

    resting = await tree.checkout_of(before, scanned)
    two.write({"m001.py": "def two_1(): return 1\n"})
    moving = await tree.checkout_of(before, scanned)

    assert resting is not None
    assert resting.head.ref == "one"
    assert moving is None


def test_a_look_sees_head_index_and_lock(two):
    before = read_checkout(str(two.root))
    two.git("checkout", "-q", "two")
    after = read_checkout(str(two.root))
    (two.root / ".git" / "index.lock").touch()
    locked = read_checkout(str(two.root))

    assert (before.head.ref, after.head.ref) == ("one", "two")
    assert before.index != after.index
    assert not after.is_same(before)
    assert after.is_same(read_checkout(str(two.root))) is False  # the lock is held now
    assert locked.may_be_under_way
    assert not after.may_be_under_way


@pytest.mark.parametrize("ahead", [86_400, -86_400])
async def test_a_clock_that_was_set_keeps_no_job_waiting(two, ahead):
    """The git index and an abandoned lock have times of tomorrow or yesterday."""
    lock = two.root / ".git" / "index.lock"
    lock.touch()
    for path in (lock, two.root / ".git" / "index"):
        os.utime(path, (time.time() + ahead, time.time() + ahead))

    with trio.fail_after(60):
        await two.sync()

    assert described(two)[0] == "one"


def test_head_may_follow_a_fresh_index_whatever_the_clock_says():
    head = Head("main", "1" * 40)

    assert Checkout(head=head, index_age=10.0).head_may_follow == 0
    assert Checkout(head=head, index_age=0.01).head_may_follow > 0
    assert 0 < Checkout(head=head, index_age=-1e9).head_may_follow < 1
    assert Checkout(head=head).head_may_follow == 0


def test_a_directory_without_git_is_always_the_same(tmp_path):
    assert read_checkout(str(tmp_path)).is_same(read_checkout(str(tmp_path)))


async def test_a_comparison_during_which_the_tree_is_switched_is_not_fresh(two, monkeypatch):
    """The compared files may come from both branches."""
    await two.sync()
    from codecompass.store import drift

    real = drift.scan

    def switch_meanwhile(*arguments, **options):
        found = real(*arguments, **options)
        two.git("checkout", "-q", "two")
        return found

    with two.index.snapshot() as snapshot:
        assert find_drift(snapshot, str(two.root), LIMITS.rules, LIMITS.fingerprint).is_fresh
        monkeypatch.setattr(drift, "scan", switch_meanwhile)
        assert not find_drift(snapshot, str(two.root), LIMITS.rules, LIMITS.fingerprint).is_fresh
