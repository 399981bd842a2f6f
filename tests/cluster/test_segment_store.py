"""A store of segments in a shared directory: objects are whole or not there, and one that is away has lost nothing."""

import errno
import os

import pytest

from codecompass.cluster.segment_store import UNFINISHED, DirectoryStore, ObjectMissing, StoreUnavailable, open_store
from codecompass.errors import InvalidInput
from codecompass.settings import ClusterSettings

KEY = "0123456789abcdef/a1/5f"


@pytest.fixture
def root(tmp_path):
    made = tmp_path / "shared"
    made.mkdir()
    return made


@pytest.fixture
def store(root):
    return DirectoryStore(root, "p")


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "file"
    made.write_bytes(b"content" * 300_000)
    return made


def content(store, key):
    return b"".join(store.blocks(key))


def test_what_was_put_is_there_until_it_is_removed(store, root, file):
    store.put(KEY, file)

    assert content(store, KEY) == file.read_bytes()
    assert store.size(KEY) == file.stat().st_size
    assert store.keys("0123456789abcdef") == [KEY]
    assert store.repositories() == ["0123456789abcdef"]

    store.remove(KEY)
    store.remove(KEY)

    assert store.size(KEY) is None
    assert store.keys("0123456789abcdef") == store.repositories() == []
    with pytest.raises(ObjectMissing):
        content(store, KEY)


def test_two_organisations_share_a_directory_by_their_prefixes(store, root, file):
    store.put(KEY, file)

    other = DirectoryStore(root, "q")

    assert other.repositories() == []
    assert other.size(KEY) is None


def test_an_object_that_was_put_again_is_the_new_one(store, file, tmp_path):
    store.put(KEY, file)
    (tmp_path / "other").write_bytes(b"other")

    store.put(KEY, tmp_path / "other")

    assert content(store, KEY) == b"other"


def test_what_a_writer_could_not_finish_is_never_an_object(store, root, file, monkeypatch):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("codecompass.cluster.segment_store.os.fsync", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        store.put(KEY, file)

    assert store.size(KEY) is None
    assert store.keys("0123456789abcdef") == []


def test_a_file_that_a_killed_writer_left_is_removed_with_the_others(store, root, file):
    store.put(KEY, file)
    left = root / "p" / "0123456789abcdef" / "a1" / f"{UNFINISHED}7"
    left.write_bytes(b"part")

    for key in store.keys("0123456789abcdef"):
        store.remove(key)

    assert list((root / "p").iterdir()) == []


@pytest.mark.parametrize("key", ["../a1/5f", "r/../5f", "r/a1/..", "r/a1/.new-1", "r//5f", "r/a1/a b", f"r/a1/{'5' * 201}"])
def test_a_key_never_leads_out_of_the_store(store, file, key):
    with pytest.raises(ValueError, match="no part of a key"):
        store.put(key, file)
    with pytest.raises(ValueError, match="no part of a key"):
        content(store, key)


def test_a_store_that_is_away_says_so_and_has_lost_nothing(store, root, file):
    store.put(KEY, file)
    root.rename(root.with_name("elsewhere"))

    for use in (
        lambda: content(store, KEY),
        lambda: store.put(KEY, file),
        lambda: store.keys("0123456789abcdef"),
        store.repositories,
    ):
        with pytest.raises(StoreUnavailable, match="check that the directory is mounted"):
            use()

    root.with_name("elsewhere").rename(root)
    assert content(store, KEY) == file.read_bytes()


def test_the_empty_directory_under_a_missing_mount_is_not_taken_for_a_store_without_the_object(store, root):
    with pytest.raises(StoreUnavailable):
        content(store, KEY)


def test_the_setting_names_an_absolute_directory(root):
    with pytest.raises(InvalidInput, match="CODECOMPASS_CLUSTER_SEGMENTS"):
        open_store(ClusterSettings())
    assert isinstance(open_store(ClusterSettings(segments=str(root))), DirectoryStore)
    with pytest.raises(InvalidInput, match="absolute path"):
        open_store(ClusterSettings(segments="shared"))
