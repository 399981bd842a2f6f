"""A workspace served by the real actor over the real store: first requests, later ones, and failures."""

import mmap
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from codecompass.actors.messages import CancelJob, Query, StartJob
from codecompass.errors import DeadlineExceeded, IndexInProgress, IndexNotReady, IndexStale
from codecompass.protocol.requests import GetCodeContext, GetFileOutline, IndexStatus, LocateSymbol, SearchCode
from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.settings_sources import Sources, load_settings
from codecompass.store.registry import Registry
from tests.support.faults import held_workers
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

SECONDS = 60
TRUSTED_AFTER_NS = 50_000_000
IMPATIENT = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0, first_answer_wait_ms=0))


@pytest.fixture
def small(repository: TestWorkspace) -> TestWorkspace:
    repository.write({"a.py": "def alpha():\n    return 1\n", "pkg/b.py": "class Beta:\n    def gamma(self): pass\n"})
    repository.commit()
    return repository


@pytest.fixture
def large(repository: TestWorkspace) -> TestWorkspace:
    """Large enough for a job to take noticeable time."""
    repository.write({f"m{n}.py": "".join(f"def f{n}_{i}(x):\n    return x\n\n" for i in range(400)) for n in range(60)})
    repository.commit()
    return repository


def locate(name: str, **arguments) -> Query:
    return Query(request=LocateSymbol(name=name, **arguments))


def damage_facts(home: Path, damage: str) -> None:
    for path in home.rglob("facts.db"):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if damage == "truncated" else bytes(range(256)) * (len(content) // 256))
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)


def damage_texts(project: Path) -> None:
    for path in project.rglob("text/*/*"):
        if path.is_file():
            path.write_bytes(b"\0" * path.stat().st_size)


async def open_workspace(serving, workspace: TestWorkspace):
    return serving.server.supervisor.route(await serving.registry.run(Registry.register, workspace.root))


async def until_indexed(handle) -> None:
    with trio.fail_after(SECONDS):
        job = await handle.ask(StartJob(cause="test"))
        state = await job.wait_end()
        assert state.status == "published", state.error


async def until_watched(handle) -> None:
    """The watcher starts after the first job; a second scan closes the gap between the two."""
    await until(lambda: handle.observation.is_watched and handle.observation.freshness_status == "fresh", seconds=SECONDS)


async def until_evicted(serving, project_id: str) -> None:
    await until(lambda: serving.server.supervisor.evict(project_id), seconds=SECONDS)


@pytest.mark.invariant("An answer says that nothing was found only if everything was searched")
@pytest.mark.parametrize(
    "request_", [SearchCode(query="f1_1"), LocateSymbol(name="f1_1"), GetFileOutline(path="m1.py"), GetCodeContext(query="f1_1")]
)
async def test_a_first_question_that_may_not_wait_starts_the_index_and_says_when_to_come_back(request_, large, tmp_path):
    """Never an empty answer: no results and not indexed are different."""
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, large)

        with pytest.raises(IndexNotReady) as refused:
            await handle.ask(Query(request=request_))

        assert refused.value.data["retry_after_ms"] > 0
        assert refused.value.data["job_id"] == handle.observation.active_job.job_id
        assert "Call again" in refused.value.message


async def test_a_first_question_waits_for_its_answer_and_is_told_the_job(large, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, large)
        told = []

        with trio.fail_after(SECONDS):
            reply = await handle.ask(Query(request=LocateSymbol(name="f1_1"), tell_job=told.append))

        assert [result.path for result in reply.results] == ["m1.py"]
        assert reply.metadata.result_completeness == "complete"
        assert [job.state.cause for job in told] == ["first use"]


async def test_what_is_being_counted_is_said_to_those_who_cannot_wait(large, tmp_path):
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, large)
        job = await handle.ask(StartJob(cause="test"))
        with trio.fail_after(SECONDS):
            while not (state := job.state).progress.files_total:
                await job.wait_change(state)

        with pytest.raises(IndexNotReady) as refused:
            await handle.ask(locate("f1_1"))

        assert refused.value.data["files_total"] == 60
        assert 0 <= refused.value.data["files_indexed"] <= 60
        assert "of 60 files" in refused.value.message


async def test_fifty_first_questions_share_one_job_and_all_are_answered(small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        replies = []

        async def ask() -> None:
            replies.append(await handle.ask(locate("alpha")))

        with trio.fail_after(SECONDS):
            async with trio.open_nursery() as nursery:
                for _ in range(50):
                    nursery.start_soon(ask)

        assert {reply.results[0].path for reply in replies} == {"a.py"}
        status = await handle.ask(Query(request=IndexStatus()))
        assert [job.mode for job in status.recent_jobs] == ["full"]


@pytest.mark.parametrize(
    ("edit", "name", "expected"),
    [
        (lambda w: w.write({"a.py": "\n\ndef alpha_two(): pass\n"}), "alpha_two", [("a.py", 3)]),
        (lambda w: w.write({"new/deep/c.py": "def fresh_one(): pass\n"}), "fresh_one", [("new/deep/c.py", 1)]),
        (lambda w: (w.root / "a.py").unlink(), "alpha", []),
        (lambda w: (w.root / "a.py").rename(w.root / "z.py"), "alpha", [("z.py", 1)]),
        (lambda w: shutil.rmtree(w.root / "pkg"), "Beta", []),
        (lambda w: w.write({".gitignore": "pkg/\n"}) or w.git("rm", "-rq", "--cached", "pkg"), "Beta", []),
    ],
    ids=["edited", "created", "deleted", "renamed", "directory removed", "ignored"],
)
async def test_what_was_saved_before_a_question_is_in_its_answer(edit, name, expected, small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        edit(small)

        reply = await handle.ask(locate(name))

        assert [(result.path, result.line_start) for result in reply.results if result.name == name] == expected
        assert reply.metadata.freshness_status == "fresh"


async def test_answers_follow_a_switch_of_branches(small, tmp_path):
    small.git("checkout", "-q", "-b", "other")
    small.write({"a.py": "def on_other(): pass\n"})
    small.commit()
    small.git("checkout", "-q", "main")
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        assert (await handle.ask(locate("alpha"))).metadata.ref == "main"
        small.git("checkout", "-q", "other")

        reply = await handle.ask(locate("on_other"))

        assert [result.path for result in reply.results] == ["a.py"]
        assert reply.metadata.ref == "other"


async def test_a_change_of_the_projects_own_settings_is_followed(small, tmp_path):
    def settings_for(root: Path) -> Settings:
        return load_settings(Sources(environment={}, project_root=root)).settings

    async with open_serving(tmp_path / "home", settings_for=settings_for) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        small.write({".codecompass/config.toml": '[index]\nexclude = ["pkg/"]\n'})
        await until_indexed(handle)

        reply = await handle.ask(locate("Beta"))

        assert reply.results == ()


async def test_changes_are_taken_in_without_a_question(small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        before = handle.observation.generation

        small.write({"a.py": "def alpha_three(): pass\n"})

        await until(lambda: handle.observation.generation != before, seconds=SECONDS)
        reply = await handle.ask(locate("alpha_three", freshness_policy="best_effort"))
        assert [result.path for result in reply.results] == ["a.py"]


async def test_without_time_to_wait_an_edit_makes_the_answer_stale_and_never_fresh(small, tmp_path):
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        with held_workers():  # so that no job indexes the edit meanwhile
            small.write({"a.py": "def alpha_four(): pass\n"})
            reply = await handle.ask(locate("alpha"))

        assert (reply.metadata.freshness_status, reply.metadata.result_completeness) == ("stale", "partial")
        assert [result.name for result in reply.results] == ["alpha"], "answers come from the last whole generation"
        assert [result.stale for result in reply.results] == [True]
        assert any("1 file has changed" in warning and "a.py" in warning for warning in reply.metadata.warnings)


async def test_a_stale_answer_names_five_files_and_counts_the_others(small, tmp_path):
    small.write({f"n{number}.py": f"def new_{number}(): pass\n" for number in range(3)})
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        with held_workers():
            small.write({f"n{number}.py": f"def renewed_{number}(): pass\n" for number in range(8)})
            reply = await handle.ask(Query(request=GetCodeContext(query="Beta gamma new_1")))

        assert reply.metadata.result_completeness == "partial"
        warning = next(each for each in reply.metadata.warnings if "changed" in each)
        assert "8 files" in warning
        assert "n0.py, n1.py, n2.py, n3.py, n4.py, and 3 more" in warning
        assert {item.path: item.stale for item in reply.context_items} == {
            item.path: item.path.startswith("n") for item in reply.context_items
        }


@pytest.mark.invariant("An answer names the branch that its content is from")
async def test_an_answer_carries_the_branch_of_its_content_and_not_of_head(small, tmp_path):
    small.git("checkout", "-q", "-b", "other")
    small.write({"a.py": "def on_other(): pass\n"})
    small.commit()
    small.git("checkout", "-q", "main")
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        with held_workers():
            small.git("checkout", "-q", "other")
            reply = await handle.ask(locate("alpha"))

        assert [result.path for result in reply.results] == ["a.py"]
        assert (reply.metadata.ref, reply.metadata.result_completeness) == ("main", "partial")


async def test_what_has_only_been_touched_does_not_make_an_answer_stale(small, tmp_path):
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        with held_workers():  # so that no job indexes the new time meanwhile
            os.utime(small.root / "a.py")
            reply = await handle.ask(locate("alpha"))

        assert (reply.metadata.freshness_status, reply.metadata.result_completeness) == ("fresh", "complete")


async def test_a_write_through_a_name_outside_of_the_tree_is_seen(small, tmp_path):
    """There is no event for it; the file itself is checked before an answer is called fresh."""
    outside = tmp_path / "outside.py"
    outside.write_text("def linked_one(): pass\n")
    os.link(outside, small.root / "linked.py")
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        for number in range(3):
            with outside.open("w") as file:
                file.write(f"def linked_{number}_more(): pass\n")

            reply = await handle.ask(locate(f"linked_{number}_more"))

            assert [result.path for result in reply.results] == ["linked.py"]
            assert reply.metadata.freshness_status == "fresh"


async def test_a_write_through_a_mapping_is_seen_although_it_moves_no_time(small, tmp_path):
    """The kernel sets the time at the first store to a page, and reports the write only when the mapping ends."""
    small.write({"a.py": "def mapped_a(): pass\n" + "# filler\n" * 50})
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        with (small.root / "a.py").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
            mapping[4:12] = b"mapped_b"
            time_of_first_store = os.stat(file.fileno()).st_mtime_ns
            while time.time_ns() - time_of_first_store < TRUSTED_AFTER_NS:
                await until_indexed(handle)
            await until_indexed(handle)
            mapping[4:12] = b"mapped_c"

        reply = await handle.ask(locate("mapped_c"))

        assert [result.path for result in reply.results if result.name == "mapped_c"] == ["a.py"]
        assert reply.metadata.freshness_status == "fresh"


@pytest.mark.parametrize("wait_ms", [0, 60_000])
async def test_the_timeout_of_a_question_is_how_long_it_waits_for_changes(wait_ms, small, tmp_path):
    settings = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=wait_ms))
    async with open_serving(tmp_path / "home", settings=settings) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        reply = None
        for number in range(50):
            small.write({"a.py": f"def patience{number}(): pass\n"})
            # A busy machine may give it no thread in a millisecond.
            with suppress(DeadlineExceeded):
                reply = await handle.ask(Query(request=SearchCode(query="patience", timeout_ms=60_000 if wait_ms == 0 else 1)))
                break

        assert reply is not None
        assert reply.metadata.freshness_status == ("fresh" if wait_ms == 0 else "stale")


async def test_strict_refuses_what_is_stale_and_says_how_much(small, tmp_path):
    async with open_serving(tmp_path / "home", settings=IMPATIENT) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_watched(handle)
        with held_workers():
            small.write({"a.py": "def alpha_five(): pass\n"})
            with pytest.raises(IndexStale) as refused:
                await handle.ask(locate("alpha", freshness_policy="strict"))

        assert "sync_repo" in refused.value.message


async def test_strict_answers_where_the_change_lands_in_time(small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        small.write({"a.py": "def alpha_six(): pass\n"})

        reply = await handle.ask(locate("alpha_six", freshness_policy="strict"))

        assert reply.metadata.freshness_status == "fresh"
        assert len(reply.results) == 1


async def test_a_second_request_joins_the_running_job(large, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, large)
        first = await handle.ask(StartJob(cause="one"))

        second = await handle.ask(StartJob(cause="two"))

        assert second is first
        with trio.fail_after(SECONDS):
            assert (await first.wait_end()).status == "published"


async def test_forcing_while_an_incremental_job_runs_is_refused_with_its_id(large, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, large)
        await until_indexed(handle)
        large.write({f"m{n}.py": f"def changed_{n}(): pass\n" for n in range(60)})
        running = await handle.ask(StartJob(cause="one"))

        with pytest.raises(IndexInProgress) as refused:
            await handle.ask(StartJob(cause="two", force=True))

        assert refused.value.data["job_id"] == running.state.job_id


async def test_a_job_can_be_cancelled_and_the_old_index_stays(large, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, large)
        await until_indexed(handle)
        job = await handle.ask(StartJob(cause="test", force=True))

        assert await handle.ask(CancelJob(job_id=job.state.job_id))

        with trio.fail_after(SECONDS):
            assert (await job.wait_end()).status == "cancelled"
            reply = await handle.ask(locate("f1_1"))
        assert [result.path for result in reply.results] == ["m1.py"]
        status = await handle.ask(Query(request=IndexStatus()))
        assert {each.job_id: each.status for each in status.recent_jobs}[job.state.job_id] == "cancelled"


async def test_cancelling_a_job_that_is_not_there_is_no_error(small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)

        assert not await handle.ask(CancelJob(job_id="nothing"))


async def test_questions_are_answered_while_a_rebuild_runs(large, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, large)
        await until_indexed(handle)
        generation = handle.observation.generation
        with held_workers():
            job = await handle.ask(StartJob(cause="test", force=True))
            reply = await handle.ask(locate("f1_1", freshness_policy="best_effort"))
            assert not job.state.has_ended, "the job was over before the question was asked"

        assert reply.metadata.generation == generation
        assert reply.metadata.indexing_status == "indexing"
        assert [result.path for result in reply.results] == ["m1.py"]


@pytest.mark.parametrize("damage", ["truncated", "overwritten"])
async def test_a_damaged_index_is_rebuilt_and_the_question_answered(damage, small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        project_id = handle.project.project_id
        await until_evicted(serving, project_id)
        damage_facts(tmp_path / "home", damage)

        reply = await (await open_workspace(serving, small)).ask(locate("alpha"))

        assert [result.path for result in reply.results] == ["a.py"]


async def test_damage_to_one_workspace_leaves_another_undisturbed(small, tmp_path):
    other = TestWorkspace(tmp_path / "other", tmp_path / "home")
    other.write({"o.py": "def omega(): pass\n"})
    async with open_serving(tmp_path / "home") as serving:
        handle, neighbour = await open_workspace(serving, small), await open_workspace(serving, other)
        await until_indexed(handle)
        await until_indexed(neighbour)
        generation = neighbour.observation.generation
        damage_texts(tmp_path / "home" / "projects" / handle.project.project_id)

        await handle.ask(StartJob(cause="test", force=True))
        reply = await neighbour.ask(locate("omega"))

        assert [result.path for result in reply.results] == ["o.py"]
        assert (neighbour.observation.generation, neighbour.observation.restarts) == (generation, 0)


async def test_a_workspace_whose_directory_is_gone_says_so_and_comes_back_with_it(small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        away = small.root.with_name("away")
        small.root.rename(away)

        job = await handle.ask(StartJob(cause="test"))
        with trio.fail_after(SECONDS):
            state = await job.wait_end()
        assert state.status == "failed"
        assert "is gone" in state.error

        away.rename(small.root)
        small.write({"back.py": "def returned(): pass\n"})
        await until_indexed(handle)
        reply = await handle.ask(locate("returned"))
        assert [result.path for result in reply.results] == ["back.py"]


async def test_a_question_that_is_given_up_stops_working(large, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, large)
        await until_indexed(handle)

        with trio.move_on_after(0.02):
            await handle.ask(Query(request=SearchCode(query="(a|b|c)+x[0-9]*y", mode="regex")))

        assert handle.observation.queued == 0
        await until(lambda: not handle.observation.in_flight, seconds=SECONDS)
        with trio.fail_after(SECONDS):
            assert (await handle.ask(locate("f1_1"))).results


async def test_an_idle_workspace_ends_and_answers_again_when_asked(small, tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        supervisor = serving.server.supervisor
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        project_id = handle.project.project_id
        await until_evicted(serving, project_id)
        assert supervisor.find(project_id) is None

        reply = await handle.ask(locate("alpha"))

        assert [result.path for result in reply.results] == ["a.py"]
        assert supervisor.find(project_id) is not None
