"""Copies of published segments answer like the index that was published, whatever happens to the store or to the copies."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from codecompass.cluster.indexing.publishing import WORDS, NewGeneration, write_generation
from codecompass.cluster.indexing.sweeping import remove_segments
from codecompass.cluster.repositories.manifests import FACTS_FILE, Manifest
from codecompass.cluster.serving.segment_cache import FETCHES, SegmentCache
from codecompass.cluster.stores.segment_store import StoreUnavailable
from codecompass.errors import IndexDamaged
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query.locate import locate_symbol
from codecompass.query.search import search_code
from codecompass.store.facts import FactsReader
from codecompass.store.snapshot import Snapshot
from codecompass.units import GIB
from tests.cluster.kept_stores import CountingStore
from tests.support.workspace import TestWorkspace

REPO = "0123456789abcdef"
FILES = {
    f"pkg/module_{number}.py": f"class Wheel{number}:\n    def turn(self, axle):\n        return axle.spin({number})\n"
    for number in range(60)
}
QUESTIONS = (
    SearchCode(query="where is the wheel turned"),
    SearchCode(query="axle.spin(7)", mode="literal"),
    SearchCode(query=r"class \w+3\b", mode="regex"),
    SearchCode(query="module_1*.py", mode="files"),
    LocateSymbol(name="Wheel12"),
)


@pytest.fixture
def store(kept) -> CountingStore:
    return CountingStore(kept.settings)


@pytest.fixture
async def workspace(tmp_path) -> TestWorkspace:
    made = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    made.write(FILES)
    await made.sync()
    return made


@pytest.fixture
def cache(store, tmp_path) -> Iterator[SegmentCache]:
    made = SegmentCache(store, tmp_path / "copies", GIB)
    yield made
    made.close()


def published(store, workspace, generation="a1", previous: Manifest | None = None, repo_id=REPO) -> Manifest:
    new = NewGeneration(
        repo_id=repo_id,
        generation=generation,
        layout=workspace.layout,
        project_id=workspace.project_id,
        previous=previous,
    )
    return write_generation(store, new).manifest


def answers(snapshot: Snapshot) -> list[object]:
    state = AnswerState(workspace="/w", project_id=snapshot.project_id, ref="")
    return [
        (locate_symbol if isinstance(request, LocateSymbol) else search_code)(snapshot, request, state) for request in QUESTIONS
    ]


def read(cache: SegmentCache, manifest: Manifest) -> list[object]:
    """Returns the answers from a copy."""
    with cache.opened(manifest) as (segments, facts):
        return answers(
            Snapshot(
                project_id=manifest.project_id,
                generation=manifest.meta.generation,
                facts=FactsReader(facts.connection),
                text=segments.text,
                meta=manifest.meta,
                tables=segments.tables,
            )
        )


def expected(workspace: TestWorkspace) -> list[object]:
    with workspace.index.snapshot() as snapshot:
        return answers(snapshot)


async def test_a_copy_gives_the_answers_of_the_index(store, cache, workspace):
    manifest = published(store, workspace)

    assert read(cache, manifest) == expected(workspace)


async def test_of_the_next_generation_only_what_differs_is_written_and_fetched_and_each_answers_its_own(store, cache, workspace):
    first = published(store, workspace)
    before = expected(workspace)
    assert read(cache, first) == before
    workspace.write({"pkg/module_7.py": "class Changed:\n    pass\n"})
    await workspace.sync()
    reads = store.reads.total()

    second = published(store, workspace, "a2", first)

    new = [file for file in second.segments if file.key.startswith(f"{REPO}/a2/")]
    shared = [file for file in second.segments if file not in new]
    assert shared
    assert sum(file.size for file in shared) > 0
    assert read(cache, second) == expected(workspace) != before
    assert read(cache, first) == before
    assert store.reads.total() - reads == len([file for file in new if file.name != WORDS])


@pytest.mark.invariant("Segments are removed only if no head needs them, by the holder of the repository's lease")
async def test_what_no_kept_generation_has_is_removed_and_what_it_shares_stays(store, cache, workspace):
    first = published(store, workspace)
    workspace.write({"pkg/module_7.py": "class Changed:\n    pass\n"})
    await workspace.sync()
    second = published(store, workspace, "a2", first)
    confirmed = []

    n_removed = remove_segments(store, REPO, second.segments, lambda: confirmed.append(True), lambda: None)

    assert n_removed == len({file.key for file in first.segments} - {file.key for file in second.segments}) > 0
    assert store.keys(REPO) == sorted({file.key for file in second.segments})
    assert read(cache, second) == expected(workspace)
    assert confirmed == [True]
    assert remove_segments(store, REPO, second.segments, lambda: confirmed.append(True), lambda: None) == 0
    assert confirmed == [True], "nothing to remove, so the lease need not be confirmed"


async def test_objects_that_were_lost_are_written_again_with_the_next_generation(store, cache, workspace):
    first = published(store, workspace)
    lost = next(file for file in first.segments if file.name.endswith(".store"))
    store.remove(lost.key)

    second = published(store, workspace, "a2", first)

    assert [file.name for file in second.segments if file.key.startswith(f"{REPO}/a2/")] == [lost.name]
    assert read(cache, second) == expected(workspace)


async def test_questions_that_come_together_fetch_a_generation_once(store, cache, workspace):
    manifest = published(store, workspace)
    store.is_open.clear()

    with ThreadPoolExecutor(8) as threads:
        waiting = [threads.submit(read, cache, manifest) for _ in range(8)]
        store.is_open.set()
        found = [each.result() for each in waiting]

    assert found == [expected(workspace)] * 8
    assert set(store.reads.values()) == {1}


@pytest.mark.parametrize("content", [b"", b"something else", None], ids=["empty", "short", "one bit"])
async def test_an_object_that_was_read_wrongly_is_fetched_again(store, cache, workspace, content):
    manifest = published(store, workspace)
    file = max(manifest.segments, key=lambda each: each.size)
    right = b"".join(store.behind.blocks(file.key))
    store.wrong[file.key] = [content if content is not None else right[:-1] + bytes([right[-1] ^ 1])]

    assert read(cache, manifest) == expected(workspace)
    assert store.reads[file.key] == 2


@pytest.mark.invariant(
    "A published file is compared with its checksum before it is used, and what is wrong or gone is never answered from"
)
async def test_an_object_that_is_wrong_or_gone_is_never_answered_from_until_it_is_right_again(store, cache, workspace):
    manifest = published(store, workspace)
    file = max(manifest.segments, key=lambda each: each.size)
    store.wrong[file.key] = [b"wrong"] * FETCHES

    with pytest.raises(IndexDamaged, match=r"is not what was written.*--rebuild"):
        read(cache, manifest)
    assert not cache.is_here(manifest)

    store.remove(file.key)
    with pytest.raises(IndexDamaged, match="is gone from the store"):
        read(cache, manifest)

    published(store, workspace)
    assert read(cache, manifest) == expected(workspace)


async def test_without_the_store_what_is_here_is_answered_and_the_rest_after_it_is_back(kept, store, cache, workspace):
    here, away = published(store, workspace), published(store, workspace, "b1", repo_id="fedcba9876543210")
    assert read(cache, here) == expected(workspace)
    kept.go_away()

    assert read(cache, here) == expected(workspace)
    with pytest.raises(StoreUnavailable) as raised:
        read(cache, away)
    assert raised.value.is_retryable

    kept.come_back()
    assert read(cache, away) == expected(workspace)


async def test_copies_take_bounded_space_and_the_least_recently_used_go_first(store, tmp_path, workspace):
    manifests = [published(store, workspace, "a1", repo_id=f"{number:016x}") for number in range(4)]
    manifests = [Manifest(**{**_fields(each), "generation": f"g{number}"}) for number, each in enumerate(manifests)]
    size = sum(file.size for file in manifests[0].segments if file.name != WORDS)
    cache = SegmentCache(store, tmp_path / "few", 2 * size)

    for manifest in (*manifests[:2], manifests[0], manifests[2]):
        cache.fetch(manifest)

    assert [cache.is_here(each) for each in manifests] == [True, False, True, False]
    assert cache.n_bytes <= 2 * size
    assert read(cache, manifests[1]) == expected(workspace)
    cache.close()


async def test_the_size_of_the_copies_is_what_they_take_on_disk_with_files_that_generations_share(
    store, cache, workspace, tmp_path
):
    first = published(store, workspace)
    workspace.write({"pkg/module_7.py": "class Changed:\n    pass\n"})
    await workspace.sync()
    second = published(store, workspace, "a2", first)
    other = published(store, workspace, "b1", repo_id="f" * 16)

    steps = (
        lambda: cache.fetch(first),
        lambda: cache.fetch(second),
        lambda: cache.fetch(other),
        lambda: cache.discard("a1"),
        lambda: cache.fetch(first),
        lambda: cache.discard("a2"),
        lambda: cache.discard("b1"),
        lambda: cache.discard("a1"),
    )

    for step in steps:
        step()
        files = {path.stat().st_ino: path.stat().st_size for path in (tmp_path / "copies").rglob("*") if path.is_file()}
        assert cache.n_bytes == sum(files.values())


async def test_what_a_question_reads_is_not_evicted_meanwhile(store, tmp_path, workspace):
    first = published(store, workspace)
    second = Manifest(**{**_fields(published(store, workspace, "b1", repo_id="fedcba9876543210")), "generation": "g2"})
    cache = SegmentCache(store, tmp_path / "few", 1)

    with cache.opened(first) as (_, facts):
        cache.fetch(second)
        assert cache.is_here(first)
        assert facts.connection.execute("SELECT count(*) FROM files").fetchone() == (len(FILES),)
    cache.fetch(Manifest(**{**_fields(second), "generation": "g3"}))
    assert not cache.is_here(first)
    cache.close()


async def test_a_copy_that_is_damaged_here_is_discarded_and_fetched_again(store, cache, workspace, tmp_path):
    manifest = published(store, workspace)
    cache.fetch(manifest)
    facts = tmp_path / "copies" / manifest.generation / FACTS_FILE
    facts.write_bytes(b"\0" * facts.stat().st_size)

    with pytest.raises(IndexDamaged):
        read(cache, manifest)
    assert cache.discard(manifest.generation)
    assert not cache.discard(manifest.generation)

    assert read(cache, manifest) == expected(workspace)


async def test_what_a_killed_server_left_is_not_used(store, workspace, tmp_path):
    manifest = published(store, workspace)
    left = tmp_path / "copies" / manifest.generation
    left.mkdir(parents=True)
    (left / FACTS_FILE).write_bytes(b"half")

    cache = SegmentCache(store, tmp_path / "copies", GIB)

    assert not cache.is_here(manifest)
    assert read(cache, manifest) == expected(workspace)
    cache.close()
    assert not (tmp_path / "copies").exists()


def _fields(manifest: Manifest) -> dict[str, object]:
    return {name: getattr(manifest, name) for name in manifest.__struct_fields__}
