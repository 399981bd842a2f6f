"""A project that a server registered by itself and whose first index came to nothing is forgotten."""

import pytest
import trio

from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.store.job_log import JobLog
from codecompass.store.lock import writer_lock
from codecompass.store.registry import Registry, set_project_group
from tests.support.routing import open_world

pytestmark = pytest.mark.invariant(of="test_a_first_index_that_fails_leaves_nothing_registered_and_the_next_question_begins_anew")


@pytest.fixture
async def world(tmp_path):
    async with open_world(tmp_path) as world:
        yield world


@pytest.fixture
def own(world):
    return OwnRegistrations(world.registry, world.home)


async def registered(world, project) -> bool:
    return await world.registry.run(Registry.at, project.root) is not None


async def test_neither_the_entry_nor_the_empty_directory_is_left(world, own):
    project = await own.register(world.repository("shop"), auto_discovered=True)
    layout = world.home.project(project.project_id)
    layout.epochs.mkdir(parents=True)
    await world.registry.run_jobs(JobLog.create, project.project_id, "full", cause="test", job_id="j1")
    await world.registry.run_jobs(JobLog.finish, "j1", "failed")

    assert await own.forget(project.project_id)

    assert not await registered(world, project)
    assert not layout.root.exists()
    assert own.is_forgotten(project)


async def test_what_was_registered_before_stays(world, own):
    project = await world.registry.run(Registry.register, world.repository("shop"))
    again = await own.register(project.root, auto_discovered=True)

    assert not await own.forget(again.project_id)
    assert await registered(world, project)


@pytest.mark.parametrize(
    "claim",
    [
        lambda registry, project: registry.adopt(project.project_id, as_default=False),
        lambda registry, project: registry.adopt(project.project_id, as_default=True),
        lambda registry, project: registry.rename(project.project_id, "mine"),
        lambda registry, project: set_project_group(registry, "ours", (project,)),
        lambda registry, project: JobLog(registry).create(project.project_id, "full", cause="of another process"),
    ],
    ids=["init", "default", "name", "group", "job"],
)
async def test_what_somebody_has_claimed_since_stays(world, own, claim):
    project = await own.register(world.repository("shop"))
    await world.registry.run(lambda registry: claim(registry, project))

    assert not await own.forget(project.project_id)
    assert await registered(world, project)
    assert not own.is_forgotten(project)


@pytest.mark.parametrize("commit", [None, "a" * 40])
async def test_what_was_published_stays(world, own, commit):
    project = await own.register(world.repository("shop"))
    layout = world.home.project(project.project_id)
    published = layout if commit is None else layout.commit(commit)
    published.root.mkdir(parents=True)
    published.current.write_text("{}")

    assert not await own.forget(project.project_id)
    assert await registered(world, project)
    assert published.current.exists()


async def test_what_another_process_writes_stays(world, own):
    project = await own.register(world.repository("shop"))
    layout = world.home.project(project.project_id)
    layout.root.mkdir(parents=True)
    with writer_lock(layout, "another process"):
        assert not await own.forget(project.project_id)

    assert await registered(world, project)
    assert await own.forget(project.project_id)


async def test_it_can_be_registered_again(world, own):
    project = await own.register(world.repository("shop"))
    await own.forget(project.project_id)

    again = await own.register(project.root)

    assert (own.is_forgotten(project), own.is_forgotten(again)) == (False, False)
    assert await own.forget(again.project_id)


async def test_an_entry_that_a_person_makes_meanwhile_is_not_the_forgotten_one(world, own):
    project = await own.register(world.repository("shop"))
    await own.forget(project.project_id)

    again = await world.registry.run(Registry.register, project.root)

    assert (own.is_forgotten(project), own.is_forgotten(again)) == (True, False)


async def test_questions_in_the_pause_after_a_failure_register_nothing(world):
    root = world.repository("shop")
    router, own = world.router_and_registrations()
    project = (await world.ask(router, tool="search_code", query="x", workspace=root)).project
    await own.forget(project.project_id, paused_until=trio.current_time() + 1000)

    again = await world.ask(router, tool="search_code", query="x", workspace=root)

    assert again.project == project
    assert not await registered(world, project)


async def test_a_question_after_the_pause_registers_it_again_and_one_about_its_state_does_not(world):
    root = world.repository("shop")
    router, own = world.router_and_registrations()
    project = (await world.ask(router, tool="search_code", query="x", workspace=root)).project
    await own.forget(project.project_id, paused_until=trio.current_time())

    assert (await world.ask(router, workspace=root)).project == project
    assert not await registered(world, project)
    assert (await world.ask(router, tool="search_code", query="x", workspace=root)).project != project
    assert await registered(world, project)


@pytest.mark.parametrize("tool", ["index_repo", "sync_repo"])
async def test_who_orders_an_index_does_not_wait_for_the_pause(world, tool):
    root = world.repository("shop")
    router, own = world.router_and_registrations()
    project = (await world.ask(router, workspace=root)).project
    await own.forget(project.project_id, paused_until=trio.current_time() + 10)

    await world.ask(router, tool=tool, workspace=root)

    assert await registered(world, project)


async def test_an_evicted_project_that_comes_back_is_not_forgotten(world):
    root = world.repository("shop")
    router, own = world.router_and_registrations()
    project = (await world.ask(router, workspace=root)).project
    await world.registry.run(lambda registry: registry.evict(project.project_id))

    await world.ask(router, workspace=root)

    assert not await own.forget(project.project_id)
    assert await registered(world, project)
