"""Workers on a real engine: what is pushed is answered, whatever fails, and nothing incomplete is visible."""

import random
import shutil
import socket
import time
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
import trio
from msgspec.structs import replace
from structlog.testing import capture_logs

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.home import WorkerHome
from codecompass.cluster.indexing.sweeping import sweep
from codecompass.cluster.repositories.leases import LeaseLost
from codecompass.cluster.repositories.repository import Repository
from codecompass.errors import IndexDamaged, IndexNotReady
from codecompass.store.layout import HomeLayout
from tests.cluster.git_remote import GitRemote
from tests.cluster.working import MANY, TIMES, has, keys_of, names_in, until, worker_process, working

pytestmark = pytest.mark.cluster


@pytest.fixture
def remote(tmp_path) -> GitRemote:
    made = GitRemote(tmp_path / "origin")
    made.push({"a.py": "def one():\n    pass\n"})
    return made


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


def is_idle(repository: Repository | None) -> bool:
    return repository is not None and not repository.is_pending and repository.lease is None


def manifests_in(engine: Engine, repo_id: str) -> set[str]:
    engine.refresh(engine.names.manifests)
    return {each.id for each in engine.documents(engine.names.manifests, {"term": {"repo_id": repo_id}})}


def written(logs: list, field: str = "files_changed") -> list[int]:
    return [each[field] for each in logs if each["event"] == "generation_written"]


async def test_what_is_added_answers_and_what_is_pushed_answers_soon(engine, repositories, remote, generations, home):
    remote.push(MANY)
    added = repositories.add(remote.url).repository

    with capture_logs() as logs:
        async with working(engine, home):
            first = await until(repositories, added.repo_id, is_idle)
            assert "f7" in names_in(generations, first)

            commit = remote.push({"b.py": "def two():\n    pass\n", "a.py": None})
            second = await until(repositories, added.repo_id, lambda now: has(now, commit))

    assert first.default_ref == "main"
    assert names_in(generations, second) == {"two", *(f"f{number}" for number in range(60))}
    assert written(logs) == [61, 2]
    first_bytes, update_bytes = written(logs, "bytes_written")
    assert update_bytes < first_bytes


async def test_refs_come_and_go_and_those_of_one_commit_share_what_is_written(engine, repositories, remote, generations, home):
    remote.push({"r.py": "def release():\n    pass\n"}, "release/1")
    remote.git("tag", "-a", "v1", "-m", "v1", "release/1")
    remote.git("push", "-q", "origin", "v1")
    added = repositories.add(remote.url, refs=["HEAD", "release/*", "v1", "nope"]).repository

    async with working(engine, home):
        first = await until(repositories, added.repo_id, is_idle)
        assert set(first.heads) == {"main", "release/1", "v1"}
        assert first.heads["v1"] == first.heads["release/1"]
        assert names_in(generations, first) == {"one"}
        assert names_in(generations, first, "v1") == {"one", "release"}
        assert "nope" in first.trouble.message
        assert first.failures == 0

        remote.git("push", "-q", "--delete", "origin", "release/1")
        second = await until(repositories, added.repo_id, lambda now: "release/1" not in now.heads)

    assert set(second.heads) == {"main", "v1"}
    assert names_in(generations, second, "v1") == {"one", "release"}


async def test_a_forced_push_replaces_what_was_there(engine, repositories, remote, generations, home):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        await until(repositories, added.repo_id, is_idle)

        commit = remote.push({"a.py": "def rewritten():\n    pass\n"}, amends=True)
        now = await until(repositories, added.repo_id, lambda now: has(now, commit))

    assert names_in(generations, now) == {"rewritten"}


async def test_a_fork_on_the_same_machine_is_not_parsed_again(engine, repositories, remote, tmp_path, home):
    remote.push(MANY)
    fork = GitRemote(tmp_path / "fork")
    fork.push({**MANY, "a.py": "def one():\n    pass\n", "fork.py": "def mine():\n    pass\n"})

    with capture_logs() as logs:
        async with working(engine, home):
            first = repositories.add(remote.url).repository
            await until(repositories, first.repo_id, is_idle)
            second = repositories.add(fork.url).repository
            await until(repositories, second.repo_id, is_idle)

    assert written(logs) == [61, 1]


async def test_a_remote_that_fails_is_named_and_costs_the_others_nothing(engine, repositories, remote, tmp_path, home):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = repositories.add(f"http://127.0.0.1:{silent.getsockname()[1]}/a/b").repository
        gone = repositories.add(f"file://{tmp_path}/nowhere").repository
        empty = repositories.add(GitRemote(tmp_path / "empty").url).repository
        good = repositories.add(remote.url).repository
        async with working(engine, home):
            assert (await until(repositories, good.repo_id, is_idle)).heads
            assert "nothing came" in (await until(repositories, hanging.repo_id, lambda now: now.failures > 1)).trouble.message
            assert "cluster remove" in (await until(repositories, gone.repo_id, lambda now: now.failures > 1)).trouble.message
            assert "no commit yet" in (await until(repositories, empty.repo_id, is_idle)).trouble.message

            late = GitRemote(tmp_path, "nowhere")
            late.bare.rename(tmp_path / "nowhere")
            late.git("remote", "set-url", "origin", f"file://{tmp_path}/nowhere")
            commit = late.push({"late.py": ""})
            recovered = await until(repositories, gone.repo_id, lambda now: has(now, commit) and is_idle(now))

    assert recovered.trouble is None


async def test_what_is_removed_leaves_nothing_in_the_engine_the_store_and_the_machine(engine, repositories, remote, store, home):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        await until(repositories, added.repo_id, is_idle)

        repositories.remove(remote.url)
        await until(repositories, added.repo_id, lambda now: now is None)

    assert store.keys(added.repo_id) == []
    assert manifests_in(engine, added.repo_id) == set()
    local = WorkerHome(HomeLayout(home), engine.names.prefix)
    local.forget_all_but(())
    assert not local.project(added.repo_id).root.exists()


@pytest.mark.invariant(of="test_what_an_abandoned_publication_wrote_is_never_seen")
async def test_what_a_worker_writes_that_was_stopped_during_the_removal_goes_too(
    engine, repositories, remote, store, tmp_path, home
):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        await until(repositories, added.repo_id, is_idle)
        repositories.remove(remote.url)
        await until(repositories, added.repo_id, lambda now: now is None)
        # A resumed worker writes before it learns that its lease is lost.
        (tmp_path / "stray").write_bytes(b"x")
        store.put(f"{added.repo_id}/a1/5f", tmp_path / "stray")
        manifest = msgspec.json.encode({"repo_id": added.repo_id, "made_at": 1.0, "data": ""})
        engine.put(engine.names.manifests, "a1", manifest, expected=None)

        await until(repositories, added.repo_id, lambda now: now is not None and now.is_removed)
        await until(repositories, added.repo_id, lambda now: now is None)
    assert store.keys(added.repo_id) == []
    assert manifests_in(engine, added.repo_id) == set()


async def test_what_is_added_again_while_nobody_knows_it_has_its_name_and_is_indexed(engine, repositories, remote, home):
    repo_id = repositories.add(remote.url).repository.repo_id
    repositories.delete(repo_id, lambda old: True)
    assert repositories.add_tombstone(repo_id)
    assert not repositories.add_tombstone(repo_id), "there is one"

    added = repositories.add(remote.url).repository
    async with working(engine, home):
        now = await until(repositories, repo_id, is_idle)

    assert added.name != repo_id
    assert now.name == added.name
    assert now.heads


async def test_what_is_replaced_is_removed_after_the_grace_and_what_answers_stays(
    engine, repositories, remote, generations, store, home
):
    remote.push(MANY)
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        for number in range(4):
            commit = remote.push({"b.py": f"def b{number}():\n    pass\n"})
            repositories.note_changed(added.repo_id)
            await until(repositories, added.repo_id, lambda now, commit=commit: has(now, commit))
        now = await until(repositories, added.repo_id, lambda now: is_idle(now) and not now.retired)

    head = now.heads["main"].generation
    assert manifests_in(engine, added.repo_id) == {head}
    assert store.keys(added.repo_id) == keys_of(engine, now)
    assert "b3" in names_in(generations, now)


async def test_a_rebuild_uses_nothing_of_what_is_there(engine, repositories, remote, generations, home):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        first = await until(repositories, added.repo_id, is_idle)
        repositories.note_changed(added.repo_id, rebuild=True)
        second = await until(repositories, added.repo_id, is_idle)
        repositories.note_changed(added.repo_id)
        third = await until(repositories, added.repo_id, is_idle)

    assert all(key.split("/")[1] == second.heads["main"].generation for key in keys_of(engine, second))
    assert first.heads["main"].generation != second.heads["main"].generation
    assert third.heads == second.heads
    assert names_in(generations, second) == {"one"}


async def test_a_worker_that_has_lost_its_disk_goes_on(engine, repositories, remote, generations, home):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        await until(repositories, added.repo_id, is_idle)
    shutil.rmtree(home)
    commit = remote.push({"b.py": "def two():\n    pass\n"})
    async with working(engine, home):
        now = await until(repositories, added.repo_id, lambda now: has(now, commit))

    assert names_in(generations, now) == {"one", "two"}


async def test_a_mirror_whose_objects_are_damaged_is_made_anew(engine, repositories, remote, generations, home):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        await until(repositories, added.repo_id, is_idle)
        mirror = WorkerHome(HomeLayout(home), engine.names.prefix).mirror(added.repo_id)
        for path in mirror.rglob("*.pack"):
            path.chmod(0o600)
            path.write_bytes(b"x")
        commit = remote.push({"b.py": "def two():\n    pass\n"})
        now = await until(repositories, added.repo_id, lambda now: has(now, commit))

    assert names_in(generations, now) == {"one", "two"}


async def test_workers_share_the_work_and_do_none_of_it_twice(engine, repositories, tmp_path):
    remotes = [GitRemote(tmp_path / f"origin{number}") for number in range(6)]
    for number, each in enumerate(remotes):
        each.push({f"m{number}.py": f"def f{number}():\n    pass\n"})
    added = [repositories.add(each.url).repository for each in remotes]

    # A busy machine does not renew them in time.
    times = replace(TIMES, lease=120)
    with capture_logs() as logs:
        async with working(engine, tmp_path / "home1", times=times), working(engine, tmp_path / "home2", jobs=2, times=times):
            for each in added:
                await until(repositories, each.repo_id, is_idle)

    assert len(written(logs)) == len(remotes)


async def test_two_workers_may_share_a_home(engine, repositories, tmp_path, home):
    remotes = [GitRemote(tmp_path / f"origin{number}") for number in range(4)]
    commits = [each.push({"m.py": f"def f{number}():\n    pass\n"}) for number, each in enumerate(remotes)]
    added = [repositories.add(each.url).repository for each in remotes]

    async with working(engine, home), working(engine, home):
        for each, commit in zip(added, commits, strict=True):
            await until(repositories, each.repo_id, lambda now, commit=commit: has(now, commit) and is_idle(now))


async def test_a_worker_gives_back_what_it_holds_when_it_is_told_to_stop(engine, engine_cluster, repositories, remote, home):
    added = repositories.add(remote.url).repository
    with worker_process(engine_cluster.urls[0], engine.names.prefix, home) as worker:
        await trio.to_thread.run_sync(worker.wait_for, "repository_claimed")
        code = await trio.to_thread.run_sync(worker.stop)

    assert code == 0
    assert repositories.get(added.repo_id).lease is None


@pytest.mark.invariant(
    "A worker that has lost its lease (dead, stalled or still running) makes nothing visible and removes nothing that answers"
)
async def test_a_stalled_worker_is_replaced_and_can_make_nothing_visible_when_it_goes_on(
    engine, engine_cluster, repositories, remote, generations, tmp_path
):
    commit = remote.push(MANY)
    added = repositories.add(remote.url).repository
    with worker_process(
        engine_cluster.urls[0], engine.names.prefix, tmp_path / "home1", pauses_at="repository_claimed"
    ) as stalled:
        await trio.to_thread.run_sync(stalled.wait_for, "paused")
        token = repositories.get(added.repo_id).lease.token
        assert not repositories.get(added.repo_id).heads
        async with working(engine, tmp_path / "home2"):
            taken = await until(repositories, added.repo_id, lambda now: has(now, commit) and is_idle(now))
            assert any(token in entry for entry in taken.retired)

            stalled.resume()
            await trio.to_thread.run_sync(stalled.wait_for, "lease_lost")
            assert repositories.get(added.repo_id).heads == taken.heads

            newer = remote.push({"b.py": "def two():\n    pass\n"})
            now = await until(repositories, added.repo_id, lambda now: has(now, newer) and is_idle(now) and not now.retired)

    assert "two" in names_in(generations, now)


@pytest.mark.invariant(of="test_a_stalled_worker_is_replaced_and_can_make_nothing_visible_when_it_goes_on")
@pytest.mark.slow
async def test_workers_that_are_killed_at_any_moment_leave_nothing_half_seen(
    engine, engine_cluster, repositories, remote, generations, store, tmp_path
):
    """Each round pushes, and kills the only worker at random: answers are whole, finally the newest, and nothing else remains."""
    seed = random.randrange(10**9)
    print("seed", seed)
    draw = random.Random(seed)
    remote.push(MANY)
    added = repositories.add(remote.url).repository
    seen = set()
    for number in range(6):
        commit = remote.push(
            {f"pkg/m{number}.py": f"def changed{number}():\n    pass\n", f"n{number}.py": f"def n{number}(): pass\n"}
        )
        with worker_process(engine_cluster.urls[0], engine.names.prefix, tmp_path / "home") as worker:
            await trio.to_thread.run_sync(worker.wait_for, "repository_claimed")
            ends_at = time.monotonic() + draw.uniform(0, 2.5)
            while time.monotonic() < ends_at:
                now = repositories.get(added.repo_id)
                for head in now.heads.values():
                    # Replaced and removed between the two reads; servers ask again, too.
                    with suppress(IndexNotReady, IndexDamaged):
                        seen.add((head.commit, frozenset(names_in(generations, now))))
                await trio.sleep(0.02)
            worker.kill()
    async with working(engine, tmp_path / "home"):
        now = await until(repositories, added.repo_id, lambda now: has(now, commit) and is_idle(now) and not now.retired)

    assert {f"n{number}" for number in range(6)} | {f"changed{number}" for number in range(6)} <= names_in(generations, now)
    assert len({commit for commit, _ in seen}) == len(seen)
    assert manifests_in(engine, added.repo_id) == {now.heads["main"].generation}
    assert store.keys(added.repo_id) == keys_of(engine, now)


@pytest.mark.invariant(of="test_a_stalled_worker_is_replaced_and_can_make_nothing_visible_when_it_goes_on")
async def test_a_sweep_whose_lease_is_lost_meanwhile_removes_nothing_that_another_worker_has_published(
    engine, repositories, remote, generations, store, home
):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        now = await until(repositories, added.repo_id, is_idle)

    def lost() -> None:
        raise LeaseLost

    with pytest.raises(LeaseLost):
        # Like a worker stopped before the publication, which knows of no generation.
        sweep(engine, store, added.repo_id, (), confirm=lost)

    assert names_in(generations, now) == {"one"}


@pytest.mark.slow
async def test_a_worker_goes_on_while_a_node_is_gone(breakable_cluster, repositories, engine, remote, generations, home):
    added = repositories.add(remote.url).repository
    async with working(engine, home):
        await until(repositories, added.repo_id, is_idle)

        # On a busy machine copies may be missing, and what has no copy is lost with its node.
        await trio.to_thread.run_sync(breakable_cluster.wait, "green", 3)
        await trio.to_thread.run_sync(breakable_cluster.nodes[0].kill)
        commit = remote.push({"b.py": "def two():\n    pass\n"})
        now = await until(repositories, added.repo_id, lambda now: has(now, commit) and is_idle(now))

        assert names_in(generations, now) == {"one", "two"}
