"""The index of a commit equals that of a fresh checkout; it is built once, completely or not at all."""

import random

import msgspec
import pytest
import trio

from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.commits import built_index
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import IndexInProgress, RefNotIndexed
from codecompass.scan.git_repository import find_repository
from codecompass.scan.git_revisions import resolve_commit
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.lock import writer_lock
from codecompass.store.publication import Step
from tests.support.dump import dump, hits
from tests.support.random_tree import RandomTree
from tests.support.workspace import LIMITS, TestWorkspace

FORKING = msgspec.structs.replace(LIMITS, fork_from_files=1, known_from_files=1)
"""Forks and reuses known contents for any number of files."""


def named(workspace, name):
    return resolve_commit(find_repository(str(workspace.root)), name)


async def build(workspace, name, *, limits=LIMITS, force=False, on_step=None, on_progress=None):
    async with open_worker_pool(1) as pool:
        return await CommitJob(
            JobContext(
                root=workspace.root, layout=workspace.layout, pool=pool, limits=limits, on_step=on_step, on_progress=on_progress
            ),
            JobOrder(job_id="test", force=force),
            named(workspace, name),
        ).run()


def index_of(workspace, name):
    return WorkspaceIndex(workspace.layout.commit(named(workspace, name).commit), workspace.project_id)


def content(index):
    found = dump(index)
    found["meta"] = [item for item in found["meta"] if item[0] not in ("ref", "commit")]
    return found


@pytest.mark.invariant("The index of a commit equals that of a fresh checkout, and is published whole or not at all")
@pytest.mark.slow
@pytest.mark.parametrize("limits", [LIMITS, FORKING], ids=["from nothing", "from the nearest"])
@pytest.mark.parametrize("seed", range(3))
async def test_the_index_of_a_commit_equals_that_of_a_fresh_checkout(tmp_path, repository, seed, limits):
    """Compares every table and hit over a random history in several languages; the project's id goes into both."""
    tree = RandomTree(repository, random.Random(seed), git=True)
    for _ in range(4):
        for _ in range(12):
            tree.step()
        repository.git("add", "-A")
        repository.git("commit", "-q", "--allow-empty", "-m", "step")
    commits = repository.git("rev-list", "-n", "4", "HEAD").split()

    n_taken_over = 0
    for commit in commits:
        report = await build(repository, commit, limits=limits)
        n_taken_over += max(0, report.file_count - report.files_changed)
        found = index_of(repository, commit)
        # In the same place, because symbol ids depend on it.
        repository.git("stash", "--include-untracked", "--quiet")
        repository.git("checkout", "-q", "--detach", commit)
        repository.git("clean", "-q", "-x", "-d", "-f")
        await repository.sync(force=True)

        assert content(found) == content(repository.index), f"seed {seed}, commit {commit}"
        for word in ("alpha", "thing", "config", "fmt"):
            assert hits(found, word) == hits(repository.index, word)
    assert (n_taken_over > 0) is (limits is FORKING)


async def test_a_commit_is_built_once_and_found_afterwards(repository):
    repository.write({"a.py": "def one(): pass\n"})
    repository.commit()

    first = await build(repository, "main")
    second = await build(repository, "HEAD")

    assert (first.files_changed, second.files_changed) == (1, 0)
    assert second.counts.rows_written == 0
    assert first.generation == second.generation == 1


async def test_other_rules_make_another_index(repository):
    """An index built with other settings must not be used."""
    repository.write({"a.py": "def one(): pass\n", "b.py": "def two(): pass\n"})
    repository.commit()
    await build(repository, "main")
    others = msgspec.structs.replace(LIMITS, rules=msgspec.structs.replace(LIMITS.rules, extra_excludes=("b.py",)))

    report = await build(repository, "main", limits=others)

    assert report.file_count == 1
    assert built_index(repository.layout.commit(report.commit), named(repository, "main"), LIMITS) is None


async def test_contents_come_in_groups_that_are_smaller_than_the_commit(repository, monkeypatch):
    """A commit is never completely in memory."""
    monkeypatch.setattr("codecompass.actors.commit_indexing.GROUP_BYTES", 1000)
    repository.write({f"m{n:03}.py": f"def function_{n}(): pass\n" * 10 for n in range(120)})
    repository.commit()

    report = await build(repository, "main")

    assert (report.file_count, report.symbol_count) == (120, 1200)


@pytest.mark.invariant(of="test_the_index_of_a_commit_equals_that_of_a_fresh_checkout")
@pytest.mark.parametrize("at", ["commit", "publication"])
async def test_a_build_that_ends_early_publishes_nothing_and_the_next_one_does(repository, at):
    repository.write({"a.py": "def one(): pass\n"})
    repository.commit()

    def crash(step: Step) -> None:
        if step == at:
            raise RuntimeError("the process ends here")

    with pytest.raises(RuntimeError):
        await build(repository, "main", on_step=crash)
    own = repository.layout.commit(named(repository, "main").commit)
    assert compatibility(own).status == "not_indexed"

    report = await build(repository, "main")

    assert report.file_count == 1
    assert len(list(own.epochs.iterdir())) == 1


async def test_a_cancelled_build_publishes_nothing(repository):
    repository.write({f"m{n}.py": "def one(): pass\n" for n in range(300)})
    repository.commit()

    with trio.CancelScope() as scope:
        await build(repository, "main", on_progress=lambda progress: scope.cancel() if progress.files_indexed else None)

    assert scope.cancelled_caught
    assert compatibility(repository.layout.commit(named(repository, "main").commit)).status == "not_indexed"


async def test_a_second_process_is_told_that_the_first_one_builds(repository):
    repository.write({"a.py": "def one(): pass\n"})
    repository.commit()

    own = repository.layout.commit(named(repository, "main").commit)
    with writer_lock(own, "somebody else"), pytest.raises(IndexInProgress, match="somebody else"):
        await build(repository, "main")


async def test_content_that_is_missing_is_an_error_and_no_index(repository, tmp_path):
    """A partial clone; one file is present, as after checking it out."""
    repository.write({"a.py": "def one(): pass\n", "b.py": "def two(): pass\n"})
    repository.commit()
    repository.git("config", "uploadpack.allowFilter", "true")
    partial = TestWorkspace(tmp_path / "partial", tmp_path / "home")
    partial.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository.root}", ".")
    partial.git("checkout", "-q", "HEAD", "--", "a.py")

    with pytest.raises(RefNotIndexed, match="git fetch --refetch"):
        await build(partial, "main")

    assert compatibility(partial.layout.commit(named(partial, "main").commit)).status == "not_indexed"
