"""Many workspaces in one server, few of them live: retired ones answer again and leave nothing behind."""

import contextlib
import os
from pathlib import Path

import pytest
import trio

from codecompass.store.registry import open_registry
from codecompass.units import MIB
from tests.workspaces.machine import word

pytestmark = pytest.mark.interaction

N_REGISTERED = 200
N_ACTIVE = 30
MAX_LIVE = 8
ROUNDS = 4
MORE_THREADS = 16
"""The number of threads varies with the work, within limits; a leak would add one for each workspace that is queried again."""


def handles(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def watchers(pid: int) -> int:
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # closed meanwhile
            count += "inotify" in os.readlink(f"/proc/{pid}/fd/{name}")
    return count


def status_of(pid: int, key: str) -> int:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(key))
    return int(line.split()[1])


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="reads /proc")
async def test_two_hundred_known_thirty_asked_in_turn_and_eight_live_leak_nothing(machine):
    roots = [machine.project(f"w{number:03}") for number in range(N_REGISTERED)]
    with open_registry(machine.home) as registry:
        for root in roots:
            registry.register(root)
    held: list[tuple[int, int, int]] = []
    async with machine.serve("--no-prewarm", CODECOMPASS_SERVER_MAX_LIVE_WORKSPACES=str(MAX_LIVE)) as desk:
        for _ in range(ROUNDS):
            for root in roots[:N_ACTIVE]:
                found = await desk.ready(word(root), workspace=root)
                assert found.names == {word(root)}
            await desk.until(lambda answer: n_live(answer) <= MAX_LIVE, "health_check")
            held.append((handles(desk.pid), status_of(desk.pid, "Threads"), status_of(desk.pid, "VmRSS") * 1024))
        health = await desk.health()
        n_watchers = watchers(desk.pid)

    assert health["total_projects"] == N_REGISTERED
    first, last = held[0], held[-1]
    # The number of idle connections varies by a few.
    assert last[0] <= first[0] + 12, held
    assert last[1] <= first[1] + MORE_THREADS, held
    assert last[2] <= first[2] + 24 * MIB, held
    # One for directories and one for files.
    assert n_watchers <= 2 * (MAX_LIVE + 1)


def n_live(answer) -> int:
    return sum(project["residency"] == "live" for project in answer.json["projects"])


async def test_a_workspace_that_was_closed_answers_again_from_disk_and_is_not_indexed_again(machine):
    first, second = machine.project("first"), machine.project("second")
    for root in (first, second):
        machine.register(root)
    async with machine.serve("--no-prewarm", CODECOMPASS_SERVER_MAX_LIVE_WORKSPACES="1") as desk:
        for root in (first, second, first, second, first):
            found = await desk.ready(word(root), workspace=root)
            assert found.names == {word(root)}
            health = await desk.until(lambda answer: n_live(answer) == 1, "health_check")
        jobs = await desk.jobs(workspace=first)

    residency = {project["repo_root"]: project["residency"] for project in health.json["projects"]}
    assert residency == {str(first): "live", str(second): "on_disk"}
    assert [job["mode"] for job in jobs] == ["full"]


async def test_a_workspace_that_nobody_asks_for_is_closed_and_answers_when_it_is_asked_again(machine):
    root = machine.project("shop")
    machine.register(root)
    async with machine.serve("--no-prewarm", CODECOMPASS_SERVER_IDLE_SECONDS="1") as desk:
        await desk.ready(word(root), workspace=root)
        await desk.until(lambda answer: n_live(answer) == 0, "health_check")
        again = await desk.find(word(root), workspace=root)

    assert again.names == {word(root)}


async def test_memory_counts_too(machine):
    """A limit below the server's own memory use keeps one workspace live: the one being queried."""
    roots = [machine.project(f"w{number}") for number in range(4)]
    for root in roots:
        machine.register(root)
    async with machine.serve("--no-prewarm", CODECOMPASS_SERVER_MAX_MEMORY=str(MIB)) as desk:
        for root in roots * 2:
            assert (await desk.ready(word(root), workspace=root)).names == {word(root)}
        health = await desk.until(lambda answer: n_live(answer) <= 1, "health_check")

    assert health.json["total_projects"] == 4


async def test_where_few_files_may_be_open_few_workspaces_are_live(machine):
    roots = [machine.project(f"w{number}") for number in range(12)]
    for root in roots:
        machine.register(root)
    limited = ("/bin/sh", "-c", 'ulimit -n 160; exec "$@"', "sh", *machine.program)
    async with machine.serve("--no-prewarm", program=limited) as desk:
        for root in roots * 2:
            assert (await desk.ready(word(root), workspace=root)).names == {word(root)}

        async def ask(root: Path) -> None:
            assert (await desk.find(word(root), workspace=root)).names == {word(root)}

        async with trio.open_nursery() as nursery:
            for root in roots:
                nursery.start_soon(ask, root)
        await desk.until(lambda answer: n_live(answer) <= 4, "health_check")
        assert handles(desk.pid) < 160
