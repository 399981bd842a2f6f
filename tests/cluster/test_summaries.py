"""Summaries are fetched once, kept on disk by digest, bounded, and compared with their digests wherever they come from."""

import pytest

from codecompass.cluster.indexing.publishing import WORDS
from codecompass.cluster.serving.summaries import UNFINISHED, SummaryCache
from tests.cluster.kept_stores import CountingStore, KeptDirectory
from tests.cluster.test_segment_cache import published
from tests.support.workspace import TestWorkspace


@pytest.fixture
def store(tmp_path) -> CountingStore:
    return CountingStore(KeptDirectory(tmp_path / "shared").settings)


@pytest.fixture
async def manifests(tmp_path, store):
    found = []
    for number in range(3):
        workspace = TestWorkspace(tmp_path / f"tree{number}", tmp_path / f"home{number}")
        workspace.write({f"wheel_{number}.py": f"class Wheel{number}:\n    pass\n"})
        await workspace.sync()
        found.append(published(store, workspace, f"a{number}", repo_id=f"{number}" * 16))
    return found


def words_of(manifest):
    return next(each for each in manifest.segments if each.name == WORDS)


def known(cache):
    found = cache.known({"zero": "a0", "one": "a1", "two": "a2", "none": "a9"})
    return {
        key: [number for number in range(3) if summary.document_frequency("name", f"wheel{number}")]
        for key, summary in found.items()
    }


async def test_a_summary_is_fetched_once_and_read_from_disk_by_the_next_server(store, manifests, tmp_path):
    cache = SummaryCache(store, tmp_path / "kept")
    assert cache.missing(["a0", "a1", "a2"]) == ["a0", "a1", "a2"]

    assert cache.fetch(manifests) == []
    assert cache.fetch(manifests) == []

    assert known(cache) == {"zero": [0], "one": [1], "two": [2]}
    assert cache.missing(["a0", "a1", "a2"]) == []
    again = SummaryCache(store, tmp_path / "kept")
    assert again.fetch(manifests) == []
    assert known(again) == known(cache)
    assert set(store.reads.values()) == {1}


async def test_a_file_that_was_damaged_is_fetched_again(store, manifests, tmp_path):
    SummaryCache(store, tmp_path / "kept").fetch(manifests)
    files = sorted((tmp_path / "kept").iterdir())
    content = files[0].read_bytes()
    files[0].write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    files[1].unlink()

    cache = SummaryCache(store, tmp_path / "kept")

    assert cache.fetch(manifests) == []
    assert known(cache) == {"zero": [0], "one": [1], "two": [2]}
    assert sorted(store.reads.values()) == [1, 2, 2]


async def test_what_the_store_does_not_have_as_it_was_written_is_not_known_and_the_others_are(store, manifests, tmp_path):
    keys = [words_of(manifest).key for manifest in manifests]
    store.wrong[keys[0]] = [b"something else"]
    store.remove(keys[1])
    cache = SummaryCache(store, tmp_path / "kept")

    assert cache.fetch(manifests) == ["a0", "a1"]
    assert known(cache) == {"two": [2]}
    assert cache.fetch(manifests) == ["a1"]
    assert known(cache) == {"zero": [0], "two": [2]}


async def test_memory_and_disk_are_bounded_and_what_no_head_names_is_forgotten(store, manifests, tmp_path):
    size = max(words_of(manifest).size for manifest in manifests)
    cache = SummaryCache(store, tmp_path / "kept", memory_bytes=2 * size)

    cache.fetch(manifests)

    assert set(known(cache)) == {"one", "two"}
    cache.keep_only(["a2", "a7"])
    assert set(known(cache)) == {"two"}
    (tmp_path / "kept" / f"half{UNFINISHED}").write_bytes(b"1")
    SummaryCache(store, tmp_path / "kept", disk_bytes=2 * size)
    assert len(list((tmp_path / "kept").iterdir())) == 2


async def test_a_disk_that_cannot_be_written_costs_the_copies_alone(store, manifests, tmp_path):
    cache = SummaryCache(store, tmp_path / "kept")
    (tmp_path / "kept").rmdir()

    assert cache.fetch(manifests) == []
    assert set(known(cache)) == {"zero", "one", "two"}
