"""A worker's files: bounded, shared with other workers, and removed when they are not needed."""

import os
from pathlib import Path

import pytest

from codecompass.cluster.indexing.home import WorkerHome
from codecompass.errors import IndexInProgress
from codecompass.store.housekeeping import remove_everything
from codecompass.store.layout import HomeLayout

A, B, C = ("a" * 16, "b" * 16, "c" * 16)


@pytest.fixture
def home(tmp_path) -> WorkerHome:
    return WorkerHome(HomeLayout(tmp_path), "codecompass")


def fill(home: WorkerHome, repo_id: str, n_bytes: int = 1000, *, used_at: float = 0.0) -> Path:
    with home.locked(repo_id, "test"):
        path = home.mirror(repo_id) / ".git" / "objects" / "pack"
        path.mkdir(parents=True)
        (path / "x.pack").write_bytes(b"x" * n_bytes)
    os.utime(home.project(repo_id).lock, (used_at, used_at))
    return home.project(repo_id).root


def test_what_was_worked_on_longest_ago_makes_room(home):
    roots = {repo_id: fill(home, repo_id, used_at=at) for repo_id, at in ((A, 2.0), (B, 1.0), (C, 3.0))}

    freed = home.trim(2500)

    assert freed >= 1000
    assert [repo_id for repo_id, root in roots.items() if root.exists()] == [A, C]


def test_what_a_process_is_at_stays_and_the_next_one_goes(home):
    first, second = fill(home, A, used_at=1.0), fill(home, B, used_at=2.0)

    with home.locked(A, "worker"):
        home.trim(1500)

        assert first.exists()
        assert not second.exists()


def test_without_a_limit_everything_stays(home):
    root = fill(home, A)

    assert home.trim(0) == 0
    assert root.exists()


def test_what_is_not_known_any_more_goes_unless_a_process_is_at_it(home):
    gone, kept, busy = fill(home, A), fill(home, B), fill(home, C)

    with home.locked(C, "worker"):
        assert home.forget_all_but({B}) >= 1000

    assert (gone.exists(), kept.exists(), busy.exists()) == (False, True, True)


def test_one_process_at_a_time_is_at_a_repository(home):
    with home.locked(A, "process 1"), pytest.raises(IndexInProgress, match="process 1"), home.locked(A, "process 2"):
        pass


def test_an_index_is_there_once_one_of_its_commits_is(home):
    fill(home, A)
    assert not home.has(A)

    (home.project(A).refs / ("0" * 40)).mkdir(parents=True)
    assert home.has(A)


def test_removing_everything_takes_it_too_and_spares_a_worker_at_work(home, tmp_path):
    root = fill(home, A)

    with home.locked(A, "worker"), pytest.raises(IndexInProgress):
        remove_everything(HomeLayout(tmp_path))
    assert root.exists()
    remove_everything(HomeLayout(tmp_path))

    assert not tmp_path.exists()
