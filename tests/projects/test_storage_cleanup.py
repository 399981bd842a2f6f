"""What the store removes automatically, what it never removes, and the reports if it is over its quota."""

import os
import time

import pytest
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.errors import WorkspaceLimitExceeded
from codecompass.projects.eviction import FULL, AutoWorkspaces
from codecompass.projects.storage_cleanup import GONE_SECONDS, HALF_MADE_SECONDS, StorageCleanup
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import lock_for_reading, writer_lock
from codecompass.store.registry import Registry
from codecompass.units import KIB, MIB
from tests.support.routing import open_world

SIZE = 1000 * KIB


@pytest.fixture
async def world(tmp_path):
    async with open_world(tmp_path) as world:
        world.rules = replace(world.rules, auto_workspace=True, allowed_roots=(world.directory("dev"),), max_auto_workspaces=100)
        yield world


def fill(layout: ProjectLayout, *, age: float = 0.0, is_whole: bool = True) -> ProjectLayout:
    layout.facts("000001").parent.mkdir(parents=True)
    layout.facts("000001").write_bytes(b"x" * SIZE)
    if is_whole:
        layout.current.write_text("{}")
    for path in (layout.epochs, layout.current, layout.root):
        if path.exists():
            os.utime(path, (time.time() - age,) * 2)
    return layout


async def taken_up(world, name, *, age: float = 0.0, is_discovered: bool = True):
    """Registers a project with an index, last used `age` seconds ago."""
    root = world.repository(f"dev/{name}")
    project = await world.registry.run(Registry.register, root, auto_discovered=is_discovered)
    fill(world.home.project(project.project_id))
    await world.registry.run(lambda registry: age_project(registry, project.project_id, age))
    return project


def age_project(registry, project_id, age):
    with registry.transaction() as connection:
        connection.execute("UPDATE projects SET last_used_at = ? WHERE project_id = ?", (time.time() - age, project_id))


def care(world, *, max_bytes: int = 0) -> StorageCleanup:
    auto = AutoWorkspaces(world.rules, world.registry, OwnRegistrations(world.registry, world.home), world.workspaces, world.home)
    return StorageCleanup(world.registry, auto, world.home, world.rules, max_bytes=max_bytes, blocking=BlockingCalls())


@pytest.mark.invariant(of="test_a_project_with_a_name_is_refused_any_other_in_the_same_words")
async def test_the_report_of_a_full_store_names_no_project_outside_of_the_allowed_roots(world):
    shop = await taken_up(world, "shop", is_discovered=False)
    vault = await world.registry.run(Registry.register, world.repository("outside/vault"))
    fill(world.home.project(vault.project_id))

    state = await care(world, max_bytes=MIB).clean_up()

    assert f"The largest: {shop.name}" in state.report
    assert vault.name not in state.report


async def evicted(world, project):
    return await world.registry.run(lambda registry: registry.find_or_evicted_root(project.project_id))


async def left(world) -> set[str]:
    return {path.name for path in (world.home.root / "projects").iterdir()}


async def test_leftovers_of_removals_and_of_first_indexes_that_nobody_finished_go(world):
    kept = await taken_up(world, "kept")
    old = 2 * HALF_MADE_SECONDS
    fill(world.home.project(".removed-abc-1"))
    fill(world.home.project("half"), age=old, is_whole=False)
    fill(world.home.project("fresh"), is_whole=False)
    fill(world.home.project("lost"), age=old)
    written, read = fill(world.home.project("written"), is_whole=False), fill(world.home.project("read"), is_whole=False)
    reading = lock_for_reading(read)

    with writer_lock(written, "job"):
        for layout in (written, read):
            for path in (layout.epochs, layout.lock, layout.readers, layout.root):
                if path.exists():
                    os.utime(path, (time.time() - old,) * 2)
        await care(world).clean_up()
    os.close(reading)

    assert await left(world) == {kept.project_id, "fresh", "lost", "written", "read"}


async def test_a_discovered_workspace_whose_directory_is_gone_for_long_is_given_up_and_no_other(world):
    old, recent = 2 * GONE_SECONDS, GONE_SECONDS / 2
    projects = {
        "gone": await taken_up(world, "gone", age=old),
        "gone just now": await taken_up(world, "just-now", age=recent),
        "registered": await taken_up(world, "registered", age=old, is_discovered=False),
        "there": await taken_up(world, "there", age=old),
    }
    for name in ("gone", "just-now", "registered"):
        (world.top / "dev" / name).rename(world.top / f"moved-{name}")

    await care(world).clean_up()

    assert await left(world) == {projects[name].project_id for name in ("gone just now", "registered", "there")}
    assert await evicted(world, projects["gone"]) == (None, projects["gone"].root)


async def test_over_the_quota_the_longest_unused_make_room_until_it_fits(world):
    oldest, middle, newest = [await taken_up(world, f"w{age}", age=age) for age in (300, 200, 100)]
    registered = await taken_up(world, "registered", age=1000, is_discovered=False)

    state = await care(world, max_bytes=3 * SIZE).clean_up()

    assert await left(world) == {newest.project_id, registered.project_id}
    assert (state.used_bytes <= 3 * SIZE, state.report) == (True, "")
    assert await evicted(world, oldest) == (None, oldest.root)
    assert await evicted(world, middle) == (None, middle.root)


async def test_an_index_that_lost_its_project_goes_first_but_only_over_the_quota_and_once_it_is_old(world):
    project = await taken_up(world, "w")
    fill(world.home.project("lost"), age=2 * GONE_SECONDS)
    fill(world.home.project("fresh"))

    await care(world, max_bytes=10 * MIB).clean_up()
    assert await left(world) == {project.project_id, "lost", "fresh"}
    await care(world, max_bytes=3 * SIZE).clean_up()

    assert await left(world) == {project.project_id, "fresh"}


async def test_what_is_busy_pinned_registered_default_written_or_read_stays_and_the_rest_is_told(world):
    busy, pinned, _registered, default, written, read = [
        await taken_up(world, name, age=100, is_discovered=name != "registered")
        for name in ("busy", "pinned", "registered", "default", "written", "read")
    ]
    world.workspaces.busy.add(busy.project_id)
    await world.registry.run(lambda registry: make_default(registry, default.project_id))
    world.rules = replace(world.rules, pinned=(pinned.root,))
    watcher = care(world, max_bytes=SIZE)
    reading = lock_for_reading(world.home.project(read.project_id))

    with writer_lock(world.home.project(written.project_id), "another process"):
        state = await watcher.clean_up()
    os.close(reading)

    assert len(await left(world)) == 6
    assert state.used_bytes > state.max_bytes == SIZE
    assert "storage.max_size" in state.report
    assert "codecompass projects remove" in state.report
    with pytest.raises(WorkspaceLimitExceeded) as refused:
        await watcher._auto.admit(world.repository("dev/new"))
    assert refused.value.message == FULL


async def test_once_there_is_room_workspaces_are_taken_up_again(world):
    project = await taken_up(world, "registered", is_discovered=False)
    watcher = care(world, max_bytes=SIZE // 2)
    assert (await watcher.clean_up()).report
    (world.home.project(project.project_id).facts("000001")).unlink()

    assert not (await watcher.clean_up()).report

    assert (await watcher._auto.admit(world.repository("dev/new"))).is_auto_discovered


async def test_without_a_quota_nothing_is_too_much(world):
    await taken_up(world, "w", age=100)

    state = await care(world, max_bytes=0).clean_up()

    assert (state.used_bytes > SIZE, state.report, len(await left(world))) == (True, "", 1)


def make_default(registry, project_id):
    with registry.transaction() as connection:
        connection.execute("UPDATE projects SET is_default = 1 WHERE project_id = ?", (project_id,))
