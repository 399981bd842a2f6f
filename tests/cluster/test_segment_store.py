"""A store of segments: objects are whole or not there, and one that is away has lost nothing; the same for all kinds."""

import errno
import os
import subprocess
import sys

import pytest
from msgspec.structs import replace

from codecompass.cluster.engine.schema import FORMAT
from codecompass.cluster.stores.directory import DirectoryStore
from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.s3 import S3Store
from codecompass.cluster.stores.segment_store import CHECKED, UNFINISHED, ObjectMissing, StoreUnavailable
from codecompass.errors import InvalidInput
from codecompass.settings import ClusterSettings
from tests.cluster.kept_stores import KeptDirectory

REPO = "0123456789abcdef"
KEY = f"{REPO}/a1/5f"
TOP = f"p-v{FORMAT}"


@pytest.fixture
def store(kept):
    return open_store(kept.settings)


@pytest.fixture
def directory(tmp_path):
    """A store in a directory, and that directory."""
    return open_store(KeptDirectory(tmp_path / "shared").settings), tmp_path / "shared"


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "file"
    made.write_bytes(b"content" * 300_000)
    return made


def content(store, key):
    return b"".join(store.blocks(key))


def test_what_was_put_is_there_until_it_is_removed(store, file):
    store.put(KEY, file)

    assert content(store, KEY) == file.read_bytes()
    assert store.size(KEY) == file.stat().st_size
    assert abs(store.written_at(KEY) - file.stat().st_mtime) < 60
    assert store.keys(REPO) == [KEY]
    assert store.repositories() == [REPO]

    store.remove(KEY)
    store.remove(KEY)

    assert store.size(KEY) is store.written_at(KEY) is None
    assert store.keys(REPO) == store.repositories() == []
    with pytest.raises(ObjectMissing):
        content(store, KEY)


def test_keys_are_of_one_repository_and_sorted(store, file):
    keys = [f"{repo}/{generation}/{name}" for repo in ("r1", "r10", "r2") for generation in ("a", "b") for name in ("0", "1")]
    for key in reversed(keys):
        store.put(key, file)

    assert store.keys("r1") == [key for key in keys if key.startswith("r1/")]
    assert store.repositories() == ["r1", "r10", "r2"]


def test_two_organisations_share_a_store_by_their_prefixes(kept, store, file):
    store.put(KEY, file)

    other = open_store(replace(kept.settings, prefix="q"))

    assert other.repositories() == []
    assert other.size(KEY) is None


def test_an_object_that_was_put_again_is_the_new_one(store, file, tmp_path):
    store.put(KEY, file)
    (tmp_path / "other").write_bytes(b"other")

    store.put(KEY, tmp_path / "other")

    assert content(store, KEY) == b"other"


def test_an_object_without_content_is_an_object(store, tmp_path):
    (tmp_path / "empty").touch()

    store.put(KEY, tmp_path / "empty")

    assert content(store, KEY) == b""
    assert store.size(KEY) == 0


def test_a_file_that_cannot_be_read_is_not_taken_for_a_store_that_is_away(store, tmp_path):
    with pytest.raises(FileNotFoundError):
        store.put(KEY, tmp_path / "absent")

    assert store.size(KEY) is None


def test_what_a_check_writes_is_no_repository(store, file):
    store.put(f"{CHECKED}/a/b", file)

    assert store.repositories() == []
    assert store.keys(CHECKED) == [f"{CHECKED}/a/b"]


@pytest.mark.parametrize("key", ["../a1/5f", "r/../5f", "r/a1/..", "r/a1/.new-1", "r//5f", "r/a1/a b", f"r/a1/{'5' * 201}"])
def test_a_key_never_leads_out_of_the_store(store, file, key):
    with pytest.raises(ValueError, match="no part of a key"):
        store.put(key, file)
    with pytest.raises(ValueError, match="no part of a key"):
        content(store, key)


def test_a_store_that_is_away_says_so_and_has_lost_nothing(kept, store, file):
    store.put(KEY, file)
    kept.go_away()

    for use in (
        lambda: content(store, KEY),
        lambda: store.put(KEY, file),
        lambda: store.keys(REPO),
        store.repositories,
    ):
        with pytest.raises(StoreUnavailable, match=r"Whoever runs this server can (check that the directory|start it)"):
            use()

    kept.come_back()
    assert content(store, KEY) == file.read_bytes()


# A directory.


def test_what_a_writer_could_not_finish_is_never_an_object(directory, file, monkeypatch):
    store, _ = directory

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("codecompass.cluster.stores.directory.os.fsync", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        store.put(KEY, file)

    assert store.size(KEY) is None
    assert store.keys(REPO) == []


def test_a_file_that_a_killed_writer_left_is_removed_with_the_others(directory, file):
    store, root = directory
    store.put(KEY, file)
    left = root / TOP / REPO / "a1" / f"{UNFINISHED}7"
    left.write_bytes(b"part")

    for key in store.keys(REPO):
        store.remove(key)

    assert list((root / TOP).iterdir()) == []


def test_the_empty_directory_under_a_missing_mount_is_not_taken_for_a_store_without_the_object(directory):
    store, _ = directory

    with pytest.raises(StoreUnavailable):
        content(store, KEY)


# Settings.


def test_the_setting_names_a_directory_or_a_bucket(tmp_path):
    keys = {"s3_access_key_file": str(tmp_path / "key"), "s3_secret_key_file": str(tmp_path / "key")}
    (tmp_path / "key").write_text("k\n")

    assert isinstance(open_store(ClusterSettings(segments=str(tmp_path))), DirectoryStore)
    opened = open_store(ClusterSettings(segments="s3://code/a/b", s3_endpoint="http://127.0.0.1:9", **keys))
    assert isinstance(opened, S3Store)
    assert opened.address == "s3://code/a/b at http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ({}, "CODECOMPASS_CLUSTER_SEGMENTS"),
        ({"segments": "shared"}, "absolute path of a directory, or s3://"),
        ({"segments": "s3://"}, "s3://BUCKET"),
        ({"segments": "s3://Upper"}, "s3://BUCKET"),
        ({"segments": "s3://code/../x"}, "s3://BUCKET"),
        ({"segments": "s3://code//x"}, "s3://BUCKET"),
        ({"segments": "s3://code", "s3_endpoint": "minio:9000"}, "cluster.s3_endpoint must be"),
        ({"segments": "s3://code", "s3_endpoint": "https://u:HIDDEN@minio"}, "not minio"),
        ({"segments": "s3://code", "s3_access_key_file": "/k"}, "set cluster.s3_secret_key_file too"),
        ({"segments": "s3://code", "s3_access_key_file": "/absent", "s3_secret_key_file": "/absent"}, "/absent cannot be read"),
        ({"segments": "s3://code", "s3_ca_file": "/absent"}, "/absent cannot be read"),
        ({"segments": "s3://code", "s3_ca_file": __file__}, "has no certificate in PEM form"),
        ({"segments": "s3://code", "s3_access_key_file": os.devnull, "s3_secret_key_file": os.devnull}, "key in its first line"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(given, advice):
    with pytest.raises(InvalidInput) as raised:
        open_store(ClusterSettings(**given))

    assert advice in raised.value.message
    assert "HIDDEN" not in raised.value.message


def test_the_client_of_s3_is_loaded_for_a_bucket_alone(tmp_path):
    code = (
        "import sys; from codecompass.cluster.stores.opening import open_store; import codecompass.cluster.serving.http_routes\n"
        "from codecompass.settings import ClusterSettings\n"
        f"open_store(ClusterSettings(segments={str(tmp_path)!r})); assert 'obstore' not in sys.modules\n"
        "sys.modules['obstore'] = None\n"
        "open_store(ClusterSettings(segments='s3://code'))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "pip install 'codecompass[cluster]'" in done.stderr
