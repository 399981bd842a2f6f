"""What is counted of the store of segments and of the copies of a server."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from codecompass.cluster.indexing.publishing import WORDS
from codecompass.cluster.repositories.manifests import FACTS_FILE
from codecompass.cluster.serving.segment_cache import SegmentCache
from codecompass.cluster.stores.directory import DirectoryStore
from codecompass.cluster.stores.measures import MeasuredStore, StoreMeasures, watch_store
from codecompass.cluster.stores.segment_store import ObjectMissing, StoreUnavailable
from codecompass.errors import IndexDamaged
from codecompass.settings import ClusterSettings
from codecompass.transport.http.exposition import Exposition, Family
from codecompass.units import GIB
from tests.cluster.kept_stores import CountingStore
from tests.cluster.test_segment_cache import FILES, REPO, published, read
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace
from tests.transport.http.test_metrics import samples

KEY = f"{REPO}/a1/aa"
OTHER = f"{REPO}/a1/bb"


def values(families: tuple[Family, ...]) -> dict:
    page = Exposition()
    for each in families:
        page.family(each.name, each.kind, each.text, each.samples)
    return {
        name.removeprefix("codecompass_") + ("" if labels is None else f"{{{labels}}}"): value
        for (name, labels), value in samples(page.page().decode()).items()
    }


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    root = tmp_path / "shared"
    root.mkdir()
    return root


@pytest.fixture
def store(shared: Path) -> CountingStore:
    return CountingStore(ClusterSettings(segments=str(shared), prefix="p"))


@pytest.fixture
def cache(store: CountingStore, tmp_path: Path) -> Iterator[SegmentCache]:
    made = SegmentCache(store, tmp_path / "copies", GIB)
    yield made
    made.close()


@pytest.fixture
async def workspace(tmp_path: Path) -> TestWorkspace:
    made = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    made.write(FILES)
    await made.sync()
    return made


def unmount(shared: Path) -> None:
    shared.rename(shared.with_name("unmounted"))


def mount(shared: Path) -> None:
    shared.with_name("unmounted").rename(shared)


def test_bytes_are_counted_and_every_use_that_the_store_does_not_answer(shared: Path, tmp_path: Path):
    measures = StoreMeasures()
    counted = MeasuredStore(DirectoryStore(shared, "p"), measures)
    (tmp_path / "file").write_bytes(b"x" * 700)

    counted.put(KEY, tmp_path / "file")
    assert b"".join(counted.blocks(KEY)) == b"x" * 700
    assert (counted.size(KEY), counted.keys(REPO), counted.repositories()) == (700, [KEY], [REPO])
    with pytest.raises(ObjectMissing):
        list(counted.blocks(OTHER))
    before = values(measures.metrics())
    unmount(shared)
    for use in (
        lambda: counted.put(OTHER, tmp_path / "file"),
        lambda: list(counted.blocks(KEY)),
        lambda: counted.keys(REPO),
        counted.repositories,
        counted.look,
    ):
        with pytest.raises(StoreUnavailable):
            use()
    mount(shared)
    counted.remove(KEY)

    assert before["store_written_bytes_total"] == before["store_read_bytes_total"] == 700
    assert [value for name, value in before.items() if name.startswith("store_errors")] == [0] * 5
    assert {name: value for name, value in values(measures.metrics()).items() if name.startswith("store_errors")} == {
        'store_errors_total{operation="write"}': 1,
        'store_errors_total{operation="read"}': 1,
        'store_errors_total{operation="list"}': 2,
        'store_errors_total{operation="remove"}': 0,
        'store_errors_total{operation="look"}': 1,
    }
    assert not counted.keys(REPO)


async def test_the_loss_of_the_store_and_its_return_are_known_without_a_question(shared: Path, monkeypatch):
    monkeypatch.setattr("codecompass.cluster.stores.measures.LOOK_SECONDS", 0.001)
    measures = StoreMeasures()

    def is_available() -> float | None:
        return values(measures.metrics()).get("store_available")

    assert is_available() is None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_store, MeasuredStore(DirectoryStore(shared, "p"), measures), measures)
        await until(lambda: is_available() == 1)
        found = values(measures.metrics())
        unmount(shared)
        await until(lambda: is_available() == 0)
        mount(shared)
        await until(lambda: is_available() == 1)
        nursery.cancel_scope.cancel()

    assert 0 < found["store_free_bytes"] < found["store_bytes"]


async def test_a_store_that_hangs_is_away_and_takes_one_thread(shared: Path, monkeypatch):
    monkeypatch.setattr("codecompass.cluster.stores.measures.LOOK_SECONDS", 0.001)
    monkeypatch.setattr("codecompass.cluster.stores.measures.PATIENCE_SECONDS", 0.01)
    goes_on, asked = threading.Event(), []

    class Hanging(DirectoryStore):
        def free(self):
            asked.append(True)
            goes_on.wait()
            return super().free()

    measures = StoreMeasures()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch_store, MeasuredStore(Hanging(shared, "p"), measures), measures)
        await until(lambda: values(measures.metrics()).get("store_available") == 0)
        n_asked = len(asked)
        goes_on.set()
        await until(lambda: values(measures.metrics())["store_available"] == 1)
        nursery.cancel_scope.cancel()

    assert n_asked == 1


async def test_copies_are_counted_by_where_they_came_from(store, cache, workspace):
    manifest = published(store, workspace)

    read(cache, manifest)
    read(cache, manifest)
    found = values(cache.metrics())

    assert found['cache_uses_total{files="fetched"}'] == 1
    assert found['cache_uses_total{files="here"}'] == 1
    assert found["cache_fetch_seconds_total"] > 0
    assert (found["cache_bytes"], found["cache_limit_bytes"]) == (
        sum(each.size for each in manifest.segments if each.name != WORDS),
        GIB,
    )
    assert found["cache_evictions_total"] == found["cache_damaged_total"] == 0


async def test_copies_that_go_for_others_are_counted(store: CountingStore, workspace, tmp_path: Path):
    manifests = [published(store, workspace, f"a{number}", repo_id=f"{number:016x}") for number in range(3)]
    size = sum(file.size for file in manifests[0].segments if file.name != WORDS)
    few = SegmentCache(store, tmp_path / "few", size)

    for each in (*manifests, manifests[0]):
        few.fetch(each)

    assert values(few.metrics())["cache_evictions_total"] == 3
    few.close()


async def test_damage_of_what_was_read_and_of_what_is_here_is_counted(store, cache, workspace, shared: Path, tmp_path: Path):
    manifest = published(store, workspace)
    file = max(manifest.segments, key=lambda each: each.size)
    store.wrong[file.key] = [b"wrong"]
    cache.fetch(manifest)
    facts = tmp_path / "copies" / manifest.generation / FACTS_FILE
    facts.write_bytes(b"\0" * facts.stat().st_size)

    with pytest.raises(IndexDamaged):
        read(cache, manifest)
    cache.discard(manifest.generation)
    unmount(shared)
    with pytest.raises(StoreUnavailable):
        cache.fetch(manifest)
    found = values(cache.metrics())

    assert found["cache_damaged_total"] == 2
    assert found['cache_uses_total{files="failed"}'] == 1
