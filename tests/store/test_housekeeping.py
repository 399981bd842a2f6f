"""What is removed from the store and what is kept."""

import os
from pathlib import Path

import pytest

from codecompass.errors import IndexInProgress
from codecompass.store.filesystem import disk_usage
from codecompass.store.housekeeping import (
    busy_projects,
    orphans,
    remove_everything,
    remove_orphan,
    remove_project,
)
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.lock import lock_for_reading, writer_lock


@pytest.fixture
def home(tmp_path) -> HomeLayout:
    return HomeLayout(tmp_path / "home")


def fill(layout: ProjectLayout, n_bytes: int = 1000) -> None:
    layout.facts("1").parent.mkdir(parents=True)
    layout.facts("1").write_bytes(b"x" * n_bytes)


def test_files_that_generations_share_count_once(home):
    layout = home.project("a")
    fill(layout, 1000)
    os.link(layout.facts("1"), layout.root / "link")

    assert disk_usage(layout.root) == 1000
    assert disk_usage(home.root / "nowhere") == 0


def test_a_removed_project_leaves_nothing(home):
    fill(home.project("a"))
    fill(home.project("b"))

    freed = remove_project(home.project("a"))

    assert freed >= 1000
    assert [path.name for path in (home.root / "projects").iterdir()] == ["b"]
    assert remove_project(home.project("a")) == 0


def test_a_project_that_is_being_written_is_not_removed(home):
    fill(home.project("a"))

    with writer_lock(home.project("a"), "job 1 pid 2"), pytest.raises(IndexInProgress, match="job 1 pid 2"):
        remove_project(home.project("a"))

    assert home.project("a").facts("1").exists()


def test_directories_of_no_known_project_are_orphans(home):
    for name in ("known", "old", ".removed-x-1", "busy"):
        fill(home.project(name))

    with writer_lock(home.project("busy"), "job"):
        found = orphans(home, frozenset({"known"}))

    assert [(orphan.path.name, orphan.n_bytes, orphan.kind) for orphan in found] == [
        (".removed-x-1", 1000, "removed"),
        ("old", 1000, "half-made"),
    ]
    remove_orphan(found[0])
    assert not found[0].path.exists()
    assert orphans(HomeLayout(home.root / "nowhere"), frozenset()) == ()


def test_everything_of_ours_goes_and_nothing_else(home):
    """The data directory can be any directory, even one that contains other files."""
    fill(home.project("a"))
    for name in ("registry.db", "registry.db-wal", "registry.db-shm", "registry-abc.new", "registry.txt", "notes"):
        (home.root / name).write_text("")

    remove_everything(home)

    assert sorted(path.name for path in home.root.iterdir()) == ["notes", "registry.txt"]


def test_a_data_directory_of_ours_alone_goes_itself(home):
    fill(home.project("a"))

    remove_everything(home)
    remove_everything(home)

    assert not home.root.exists()


def test_nothing_goes_while_something_is_written(home):
    fill(home.project("a"))
    fill(home.project("b"))

    with writer_lock(home.project("b"), "job"):
        assert busy_projects(home) == ("b",)
        with pytest.raises(IndexInProgress):
            remove_everything(home)

    assert home.project("a").facts("1").exists()


def test_links_in_the_store_are_removed_and_not_followed(home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x" * 5000)
    fill(home.project("a"))
    Path(home.project("a").root / "link").symlink_to(outside)

    assert disk_usage(home.project("a").root) < 5000
    remove_project(home.project("a"))

    assert (outside / "kept").exists()


# what is still being read


def test_an_index_that_is_open_is_spared_by_those_who_ask_for_that(home):
    layout = home.project("a")
    fill(layout)
    reading = lock_for_reading(layout)

    with pytest.raises(IndexInProgress, match="in use"):
        remove_project(layout, spare_readers=True)
    assert layout.facts("1").exists()
    assert orphans(home, frozenset()) == ()

    os.close(reading)
    assert remove_project(layout, spare_readers=True) >= 1000


def test_a_leftover_that_comes_into_use_stays(home):
    layout = home.project("a")
    fill(layout)
    (orphan,) = orphans(home, frozenset())
    reading = lock_for_reading(layout)

    assert remove_orphan(orphan) == 0
    assert layout.facts("1").exists()

    os.close(reading)
    assert remove_orphan(orphan) >= 1000


def test_an_index_without_a_project_is_told_from_one_that_was_never_finished(home):
    fill(home.project("whole"))
    home.project("whole").current.write_text("{}")
    os.utime(home.project("whole").current, (2e9, 2e9))
    fill(home.project("half"))

    found = {orphan.path.name: orphan for orphan in orphans(home, frozenset())}

    assert {name: orphan.kind for name, orphan in found.items()} == {"whole": "unknown", "half": "half-made"}
    assert found["whole"].used_at == 2e9
