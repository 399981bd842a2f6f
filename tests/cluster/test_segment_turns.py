"""Workers publish segments: of each head all of them are in the store, and of nothing else, whatever happens to the store."""

import pytest
from msgspec.structs import replace

from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.segment_store import SegmentStore
from tests.cluster.git_remote import GitRemote
from tests.cluster.working import MANY, has, keys_of, names_in, until, working

pytestmark = pytest.mark.cluster


@pytest.fixture
def store(engine, kept) -> SegmentStore:
    return open_store(replace(kept.settings, prefix=engine.names.prefix))


@pytest.fixture
def remote(tmp_path) -> GitRemote:
    made = GitRemote(tmp_path / "origin")
    made.push(MANY)
    return made


def is_swept(repository: Repository | None, commit: str) -> bool:
    return has(repository, commit) and repository.lease is None and not repository.is_pending and not repository.retired


async def test_the_store_has_the_newest_generation_and_nothing_else(
    engine, repositories, remote, generations, store, kept, tmp_path
):
    added = repositories.add(remote.url).repository

    async with working(engine, tmp_path / "home", store=kept.settings):
        first = await until(repositories, added.repo_id, lambda now: now is not None and bool(now.heads))
        assert names_in(generations, first) == {f"f{number}" for number in range(60)}
        before = keys_of(engine, first)
        commit = remote.push({"b.py": "def two():\n    pass\n", "pkg/m7.py": None})
        second = await until(repositories, added.repo_id, lambda now: is_swept(now, commit))

    after = keys_of(engine, second)
    assert names_in(generations, second) == {"two", *(f"f{number}" for number in range(60) if number != 7)}
    assert store.keys(added.repo_id) == after
    assert set(before) & set(after), "a commit writes only what differs"


async def test_a_repository_that_is_removed_or_unknown_leaves_no_segments(engine, repositories, remote, store, kept, tmp_path):
    added = repositories.add(remote.url).repository
    left = tmp_path / "left"
    left.write_bytes(b"of a worker that was paused while its repository was removed")
    store.put("0123456789abcdef/a1/5f", left)

    async with working(engine, tmp_path / "home", store=kept.settings):
        await until(repositories, added.repo_id, lambda now: now is not None and bool(now.heads))
        assert store.keys(added.repo_id)
        repositories.remove(remote.url)
        await until(repositories, added.repo_id, lambda now: now is None)
        await until(repositories, "0123456789abcdef", lambda now: now is None and not store.repositories())

    assert store.repositories() == []


async def test_while_the_store_is_away_a_worker_keeps_what_is_published_and_goes_on_afterwards(
    engine, repositories, remote, generations, kept, tmp_path
):
    added = repositories.add(remote.url).repository
    async with working(engine, tmp_path / "home", store=kept.settings):
        first = await until(repositories, added.repo_id, lambda now: now is not None and bool(now.heads) and now.lease is None)
        assert names_in(generations, first)
        kept.go_away()
        commit = remote.push({"b.py": "def two():\n    pass\n"})
        failing = await until(repositories, added.repo_id, lambda now: now is not None and now.failures > 0)
        assert failing.heads == first.heads
        assert "the store of segments" in failing.trouble.message
        assert names_in(generations, failing) == {f"f{number}" for number in range(60)}, "copies are here"

        kept.come_back()
        second = await until(repositories, added.repo_id, lambda now: is_swept(now, commit))

    assert "two" in names_in(generations, second)
    assert second.trouble is None
