"""Routes that are kept: a session's usual question resolves no path, and whatever could lead elsewhere makes it resolve again."""

import shutil

import pytest

from codecompass.errors import CodeCompassError
from codecompass.identity import project_id
from codecompass.projects import kept_routes, path_resolution
from codecompass.store.job_log import JobLog
from codecompass.store.registry import Registry, open_registry
from tests.support.routing import Client


@pytest.fixture
def inspected(monkeypatch):
    """The paths whose facts are read, in order."""
    paths = []
    inspect_path = path_resolution.inspect_path

    def noted(path, *arguments):
        paths.append(path)
        return inspect_path(path, *arguments)

    monkeypatch.setattr(path_resolution, "inspect_path", noted)
    return paths


async def registered(world, name):
    root = world.repository(name)
    await world.registry.run(Registry.register, root)
    return root


async def outcome(world, router, client, arguments):
    """What a client sees of a route: its project and warnings, or the error."""
    try:
        routed = await world.ask(router, client, **arguments)
    except CodeCompassError as error:
        return type(error)
    return routed.project.root, routed.project.name, routed.source, routed.warnings


WAYS = {
    "the client's root": lambda root: ({"roots": [root / "src"]}, {}),
    "a path": lambda root: ({}, {"workspace": root / "src"}),
    "a link": lambda root: ({}, {"workspace": root.parent / "link"}),
    "an id": lambda root: ({}, {"project_id": project_id(root)}),
    "?project_path=": lambda root: ({"transport": "http", "project_path": str(root / "src")}, {}),
}


@pytest.mark.parametrize("way", WAYS)
async def test_the_second_question_of_a_session_resolves_no_path(world, inspected, way):
    shop = await registered(world, "shop")
    world.directory("shop/src")
    (world.top / "link").symlink_to(shop)
    of_client, arguments = WAYS[way](shop)
    router, client = world.router(), Client(**of_client)
    first = await outcome(world, router, client, arguments)
    inspected.clear()

    assert await outcome(world, router, client, arguments) == first
    assert first[0] == shop
    assert inspected == []


async def test_the_use_of_projects_and_jobs_of_any_process_drop_no_route(world, inspected):
    shop, other = await registered(world, "shop"), await registered(world, "other")
    router, client = world.router(), Client(roots=[shop])
    await outcome(world, router, client, {})
    inspected.clear()

    with open_registry(world.home) as process:
        process.touch(project_id(other))
        JobLog(process).create(project_id(shop), "full", cause="test")

    assert (await outcome(world, router, client, {}))[0] == shop
    assert inspected == []


def repository_between(world):
    world.directory("shop/src", git=True)


def project_between(world):
    with open_registry(world.home) as process:
        process.register(world.top / "shop" / "src")


def root_gone(world):
    shutil.rmtree(world.top / "shop")


def root_moved_and_linked(world):
    (world.top / "shop").rename(world.top / "moved")
    (world.top / "shop").symlink_to(world.top / "moved")


def directory_above_linked(world):
    (world.top / "elsewhere").mkdir()
    (world.top / "group").rename(world.top / "elsewhere" / "group")
    (world.top / "group").symlink_to(world.top / "elsewhere" / "group")


def link_elsewhere(world):
    (world.top / "link").unlink()
    (world.top / "link").symlink_to(world.top / "other")


def renamed(world):
    with open_registry(world.home) as process:
        process.rename(project_id(world.top / "shop"), "another-name")


def removed(world):
    with open_registry(world.home) as process:
        process.remove(project_id(world.top / "shop"))


CHANGES = (repository_between, project_between, root_gone, root_moved_and_linked, link_elsewhere, renamed, removed)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("way", WAYS)
async def test_after_any_change_a_kept_route_leads_where_a_new_one_does(world, way, change):
    shop = await registered(world, "shop")
    await registered(world, "other")
    world.directory("shop/src")
    (world.top / "link").symlink_to(shop)
    of_client, arguments = WAYS[way](shop)
    router = world.router(auto_workspace=True, allowed_roots=(world.top,))
    assert (await outcome(world, router, Client(**of_client), arguments))[0] == shop

    change(world)

    kept = await outcome(world, router, Client(**of_client), arguments)
    new = world.router(auto_workspace=True, allowed_roots=(world.top,))
    assert kept == await outcome(world, new, Client(**of_client), arguments)


async def test_a_directory_above_that_became_a_link_out_of_the_allowed_roots_is_noticed(world):
    world.directory("group/shop", git=True)
    shop = world.top / "group" / "shop"
    await world.registry.run(Registry.register, shop)
    router = world.router(allowed_roots=(world.top / "group",))
    assert (await outcome(world, router, None, {"workspace": shop}))[0] == shop

    directory_above_linked(world)

    assert await outcome(world, router, None, {"workspace": shop}) is not None
    assert await outcome(world, router, None, {"project_id": project_id(shop)}) == await outcome(
        world, world.router(allowed_roots=(world.top / "group",)), None, {"project_id": project_id(shop)}
    )


async def test_a_current_directory_that_becomes_a_project_is_noticed(world):
    shop = await registered(world, "shop")
    here = world.directory("here")
    router, client = world.router(cwd=here), Client(roots=[shop])
    assert (await outcome(world, router, client, {}))[3] == ()

    world.directory("here", git=True)

    assert str(here) in (await outcome(world, router, client, {}))[3][0]


async def test_a_root_that_appears_before_the_one_that_counted_counts(world):
    shop = await registered(world, "shop")
    router, client = world.router(), Client(roots=[world.top / "later", shop])
    assert (await outcome(world, router, client, {}))[0] == shop

    later = await registered(world, "later")

    assert (await outcome(world, router, client, {}))[0] == later


async def test_routes_that_were_used_least_lately_make_room(world, inspected, monkeypatch):
    monkeypatch.setattr(kept_routes, "MAX_ROUTES", 2)
    roots = [await registered(world, f"p{number}") for number in range(3)]
    router = world.router()
    for root in roots:
        await outcome(world, router, None, {"workspace": root})
    inspected.clear()

    for root in reversed(roots):
        await outcome(world, router, None, {"workspace": root})

    assert inspected == [str(roots[0])]


async def test_an_order_to_index_a_directory_is_about_that_directory(world):
    shop, other = await registered(world, "shop"), world.repository("other")
    router, client = world.router(), Client(roots=[shop])
    assert (await outcome(world, router, client, {}))[0] == shop

    routed = await world.ask(router, client, tool="index_repository", repo_path=other)

    assert routed.project.root == other
    assert (await outcome(world, router, client, {}))[0] == shop
