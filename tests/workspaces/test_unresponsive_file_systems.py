"""One workspace is on a file system that never answers: it is refused, others are answered, and the server can be stopped."""

import os
import signal
from pathlib import Path

import pytest
import trio

from tests.support.dead_mounts import dead_mount
from tests.support.waiting import until
from tests.workspaces.machine import DEADLINE_SECONDS, word

pytestmark = [pytest.mark.interaction, pytest.mark.xdist_group("mounts")]

N_CALLS = 40
MAX_THREADS = 60


@pytest.fixture
def two(machine):
    healthy, lost = machine.project("healthy"), machine.project("lost")
    for root in (healthy, lost):
        machine.index(root)
    return healthy, lost


def n_threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


async def edit_and_ask(desk, root, name):
    (root / "src" / f"{name}.py").write_text(f"def {name}():\n    return 3\n")
    answer = await desk.find(name, workspace=root)
    assert answer.names == {name}, answer.text
    assert answer.metadata["freshness_status"] == "fresh"


@pytest.mark.invariant(
    "A file system that never answers blocks no shared threads: its workspace is refused, all others are answered, "
    "and the server still ends when told to"
)
async def test_one_that_does_not_answer_is_refused_and_all_others_are_answered_meanwhile(machine, two):
    healthy, lost = two
    link = machine.dev / "another-way"
    link.symlink_to(lost)
    refused = []

    async def ask(desk, **arguments):
        answer = await desk.find(word(lost), **arguments)
        assert answer.code == "workspace_busy", answer.text
        refused.append(answer.json["error"])

    async with machine.serve() as desk:
        await desk.ready(word(healthy), workspace=healthy)
        await desk.ready(word(lost), workspace=lost)
        with dead_mount(lost):
            async with trio.open_nursery() as nursery:
                for n in range(N_CALLS):
                    way = {"workspace": (lost, lost / "src", link / "src" / str(n), lost / str(n))[n % 4]}
                    nursery.start_soon(lambda way=way: ask(desk, **way))
                nursery.start_soon(lambda: ask(desk, project_id=machine.projects()[lost].project_id))
                for n in range(4):
                    await edit_and_ask(desk, healthy, f"meanwhile_{n}")
                busy = n_threads(desk.pid)
            await edit_and_ask(desk, healthy, "afterwards")
            await ask(desk, workspace=lost)
            health = await desk.health()
        recovered = await desk.until(
            lambda answer: not answer.code and answer.metadata["freshness_status"] == "fresh",
            "locate_symbol",
            name=word(lost),
            workspace=lost,
        )
        healed = await desk.until(
            lambda answer: all(each["index_status"] == "ready" for each in answer.json["projects"]), "health_check"
        )

    (named,) = [each for each in health["projects"] if each["repo_root"] == str(lost)]
    (other,) = [each for each in health["projects"] if each["repo_root"] == str(healthy)]
    assert len(refused) == N_CALLS + 2
    assert all("does not answer" in error["message"] and error["data"]["retry_after_ms"] for error in refused)
    assert named["index_status"] == "error"
    assert "does not answer" in named["last_error"]
    assert other["index_status"] != "error"
    assert busy < MAX_THREADS
    assert recovered.names == {word(lost)}
    assert healed.json["status"] == "ready"


@pytest.mark.invariant(of="test_one_that_does_not_answer_is_refused_and_all_others_are_answered_meanwhile")
async def test_one_that_stops_answering_while_it_is_indexed_keeps_no_other_from_being_indexed(machine):
    lost = machine.heavy("lost", 60)
    healthy = [machine.project(f"healthy-{n}") for n in range(3)]
    for root in (lost, *healthy):
        machine.register(root)
    async with machine.serve() as desk:
        await desk.call("index_repo", workspace=lost)
        await machine.wait_job(lost)
        with dead_mount(lost):
            for root in healthy:
                answer = await desk.ready(word(root), workspace=root)
                assert answer.names == {word(root)}
                await edit_and_ask(desk, root, "later")


@pytest.mark.invariant(of="test_one_that_does_not_answer_is_refused_and_all_others_are_answered_meanwhile")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_with_calls_in_it_ends_on_a_signal(machine, two, number):
    healthy, lost = two
    async with machine.serve() as desk:
        await desk.ready(word(healthy), workspace=healthy)
        await desk.ready(word(lost), workspace=lost)
        with dead_mount(lost):
            async with trio.open_nursery() as nursery:
                for n in range(8):
                    nursery.start_soon(lambda n=n: desk.find("any", workspace=lost / str(n)))
                await edit_and_ask(desk, healthy, "added")
                nursery.cancel_scope.cancel()
            pid = desk.pid
            os.kill(pid, number)
            await until(lambda: has_ended(pid), "the end of the server")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_one_that_waits_for_a_dead_file_system_before_it_serves(machine, tmp_path, number):
    place = tmp_path / "dead"
    place.mkdir()
    with dead_mount(place):
        process = machine.start("serve-mcp", "--workspace", place)
        try:
            assert process.poll() is None
            for _ in range(2):
                process.send_signal(number)
            process.wait(DEADLINE_SECONDS)
        finally:
            process.kill()
            process.wait()


def has_ended(pid):
    """Whether a process has exited or is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except FileNotFoundError:
        return True
