"""Which unregistered workspaces a server admits and which it refuses: allowed roots, discovery, the first index of an editor."""

import os
from functools import partial

import pytest
import trio

from codecompass.errors import (
    CodeCompassError,
    InvalidInput,
    ProjectNotFound,
    WorkspaceLimitExceeded,
    WorkspaceNotAllowed,
    WorkspaceNotRegistered,
)
from codecompass.identity import project_id
from codecompass.store.layout import make_private_directory
from codecompass.store.lock import lock_for_reading, writer_lock
from codecompass.store.registry import Registry
from tests.support.routing import Client, open_world


@pytest.fixture
async def world(tmp_path):
    async with open_world(tmp_path) as world:
        world.root = world.directory("dev")
        world.auto = {"allowed_roots": (world.root,), "auto_workspace": True}
        yield world


async def refusal(world, client=None, *, tool="search_code", arguments=None, **rules):
    given = {"query": "x", **(arguments or {})} if tool == "search_code" else arguments
    with pytest.raises(CodeCompassError) as caught:
        await world.route(client, tool=tool, arguments=given, **rules)
    return caught.value


# allowed roots

OUTSIDE = {
    "absolute": "{top}/secret",
    "file": "{top}/secret/canary.txt",
    "missing": "{top}/no-such-place",
    "dot dot": "{root}/../secret",
    "dot dot through a missing directory": "{root}/missing/../../secret",
    "many dots": "{root}/a/../../../../../../../../../../../../etc/passwd",
    "prefix sibling": "{root}-evil",
    "prefix sibling, missing": "{root}-none",
    "link": "{root}/link-out",
    "link to a file": "{root}/link-to-file",
    "chain of links": "{root}/chain-1",
    "below a linked parent": "{root}/link-out/inner",
    "link up": "{root}/link-up/secret",
    "double slashes": "//{top}//secret",
    "proc": "/proc/self/root{top}/secret",
    "root of the disk": "/",
    "relative": "../../../../../../../../../../etc",
    "null device": "/dev/null",
    "other home": "~root/x",
    "long": "/" + "a/" * 4096,
    "new line": "{top}/secret\n",
    "encoded": "{top}/%73ecret",
    "other case": "{TOP}/SECRET",
    "look-alike slash": "{top}\N{DIVISION SLASH}secret",
    "look-alike dots": "{top}/\N{FULLWIDTH FULL STOP}\N{FULLWIDTH FULL STOP}/secret",
    "surrogate": "{top}/\ud800",
    "parent of the root": "{top}",
}


def plant(world):
    secret = world.repository("secret")
    (secret / "canary.txt").write_text("canary")
    world.directory("secret/inner")
    world.repository("dev-evil")
    (world.root / "link-out").symlink_to(secret)
    (world.root / "link-to-file").symlink_to(secret / "canary.txt")
    (world.root / "chain-1").symlink_to("chain-2")
    (world.root / "chain-2").symlink_to(secret)
    (world.root / "link-up").symlink_to("..")
    return secret


@pytest.mark.parametrize("how", ["argument", "repo_path", "roots", "project_path", "environment"])
@pytest.mark.parametrize("shape", OUTSIDE)
async def test_nothing_outside_of_the_allowed_roots_is_taken_however_it_is_named(world, shape, how, monkeypatch):
    plant(world)
    monkeypatch.chdir(world.root)
    monkeypatch.setenv("HOME", str(world.user))
    path = OUTSIDE[shape].format(top=world.top, root=world.root, TOP=str(world.top).upper())
    before = await world.registry.run(Registry.projects)

    if how == "argument":
        error = await refusal(world, arguments={"workspace": path}, **world.auto)
    elif how == "repo_path":
        error = await refusal(world, tool="index_repository", arguments={"repo_path": path}, **world.auto)
    elif how == "roots":
        error = await refusal(world, Client(roots=[path]), **world.auto)
    elif how == "project_path":
        error = await refusal(world, Client(transport="http", project_path=path), **world.auto)
    else:
        error = await refusal(world, **world.auto, environment=(("CODECOMPASS_PROJECT", path),))

    expected = {"workspace_not_allowed"}
    if not path.startswith(("/", "~/")) and how in ("repo_path", "project_path"):
        expected = {"invalid_input"}  # relative paths are refused before the disk is accessed
    if shape == "long" and how in ("argument", "repo_path"):
        expected = {"invalid_input"}  # longer than any valid path
    if shape == "other home" and how in ("argument", "roots", "environment"):
        expected = {"workspace_not_registered", "project_not_found"}  # a directory called ~root in the allowed root
    assert error.code in expected
    assert "canary" not in error.message.replace("canary.txt", "")
    assert await world.registry.run(Registry.projects) == before


async def test_a_refusal_says_the_same_whether_or_not_there_is_anything(world):
    plant(world)
    (world.top / "open").mkdir()
    paths = ("secret", "no-such", "open", "secret/canary.txt", "secret/inner/none")

    errors = [await refusal(world, arguments={"workspace": world.top / path}, **world.auto) for path in paths]
    errors += [await refusal(world, arguments={"workspace": world.top / path}, allowed_roots=(world.root,)) for path in paths]

    texts = {error.message.replace(str(world.top / path), "PATH") for error, path in zip(errors, paths * 2, strict=True)}
    assert len(texts) == 1
    assert {error.code for error in errors} == {"workspace_not_allowed"}
    assert all(set(error.data) == {"workspace"} for error in errors)


async def test_a_refusal_does_not_say_where_a_link_leads(world):
    plant(world)

    error = await refusal(world, arguments={"workspace": world.root / "chain-1"}, **world.auto)

    assert "secret" not in error.message + str(error.data)


async def test_known_projects_outside_of_the_allowed_roots_do_not_exist(world):
    """Narrowing the allowed roots takes effect at a restart. The answers are those about a project that was never registered."""
    secret, unknown = world.repository("secret"), world.repository("unknown")
    project = await world.registry.run(Registry.register, secret)

    for known, other in (
        ({"workspace": secret}, {"workspace": unknown}),
        ({"project_id": project.project_id}, {"project_id": "un"}),
    ):
        errors = [await refusal(world, arguments=arguments, **world.auto) for arguments in (known, other)]
        assert errors[0].code == errors[1].code
        told, untold = (str(value) for arguments in (known, other) for value in arguments.values())
        assert errors[0].message.replace(told, "X") == errors[1].message.replace(untold, "X")


async def test_a_project_registered_above_the_allowed_roots_does_not_exist_for_a_directory_within(world):
    await world.registry.run(Registry.register, world.top)
    inside = world.repository("dev/inside")

    routed = await world.route(arguments={"workspace": inside}, **world.auto)

    assert routed.project.root == inside


async def test_pinned_workspaces_and_the_default_project_count_as_allowed(world):
    pin, default = world.repository("pin"), world.repository("default")
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, default)).project_id, as_default=True)
    router = world.router(**world.auto, pinned=(pin,))
    await router.register_pinned()

    assert (await world.ask(router)).project.root == pin
    assert (await world.ask(router, workspace=default)).project.root == default
    assert (await world.ask(world.router(**world.auto), Client(transport="http"))).project.root == default


async def test_a_root_never_widens_the_allowed_roots(world):
    outside = world.repository("outside")

    assert (await refusal(world, Client(roots=[outside]), **world.auto)).code == "workspace_not_allowed"
    error = await refusal(world, Client(roots=[outside]), tool="index_repo", **world.auto)
    assert error.code == "workspace_not_allowed"


async def test_walking_up_to_a_marker_stops_at_the_allowed_roots(world):
    world.repository("")  # the parent directory of the allowed root is a repository
    inside = world.directory("dev/inside")

    routed = await world.route(Client(roots=[inside]), **world.auto)

    assert routed.project.root == inside


# discovery


async def test_an_unknown_workspace_within_the_roots_is_registered_as_discovered(world):
    shop = world.repository("dev/shop")

    routed = await world.route(arguments={"workspace": shop}, **world.auto)

    assert routed.project.root == shop
    assert routed.project.is_auto_discovered
    assert (await world.registry.run(Registry.at, shop)) == routed.project


async def test_without_discovery_allowed_roots_only_restrict(world):
    shop = world.repository("dev/shop")

    error = await refusal(world, Client(transport="http"), arguments={"workspace": shop}, allowed_roots=(world.root,))

    assert isinstance(error, WorkspaceNotRegistered)


@pytest.mark.parametrize("source", ["argument", "roots", "environment"])
async def test_the_home_directory_and_the_disk_are_never_discovered(world, source):
    rules = {"auto_workspace": True, "allowed_roots": (world.top.parents[-1],)}
    for place in (world.user, world.top.parents[-1]):
        if source == "argument":
            error = await refusal(world, arguments={"workspace": place}, **rules)
        elif source == "roots":
            error = await refusal(world, Client(roots=[place]), tool="index_repo", **rules)
        else:
            error = await refusal(world, environment=(("CODECOMPASS_PROJECT", str(place)),), **rules)
        assert isinstance(error, WorkspaceNotRegistered)


async def test_fifty_first_requests_register_a_workspace_once(world):
    shop = world.repository("dev/shop")
    router = world.router(**world.auto)
    routed = []

    async def first():
        routed.append(await world.ask(router, workspace=shop))

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(first)

    assert len({each.project for each in routed}) == 1
    assert len(await world.registry.run(Registry.projects)) == 1


# the first index of an editor


@pytest.mark.parametrize("tool", ["index_repo", "index_repository"])
async def test_over_stdio_an_explicit_index_registers_where_the_client_stands(world, tool):
    by_root, by_cwd = world.repository("by-root"), world.repository("by-cwd")
    key = "workspace" if tool == "index_repo" else "repo_path"

    named = await world.route(Client(roots=[by_root]), tool=tool, arguments={key: str(by_root)})
    assert named.project.root == by_root
    if tool == "index_repo":
        assert (await world.route(cwd=world.directory("by-cwd/src"), tool=tool)).project.root == by_cwd
    else:
        assert (await world.route(cwd=by_cwd, tool=tool, arguments={key: str(by_cwd)})).project.root == by_cwd
    assert not any(project.is_auto_discovered for project in await world.registry.run(Registry.projects))


@pytest.mark.parametrize(
    ("client", "tool", "arguments", "rules"),
    [
        (lambda shop, other: Client(roots=[shop]), "sync_repo", {}, {}),
        (lambda shop, other: Client(roots=[shop]), "search_code", {"query": "x"}, {}),
        (lambda shop, other: Client(roots=[shop]), "index_status", {}, {}),
        (lambda shop, other: Client(), "search_code", {"query": "x"}, {"environment": "shop"}),
        (lambda shop, other: Client(), "index_repo", {}, {"environment": "shop"}),
        (lambda shop, other: Client(roots=[other]), "index_repo", {"workspace": "shop"}, {}),
        (lambda shop, other: Client(), "index_repo", {"workspace": "shop"}, {}),
        (lambda shop, other: Client(roots=[shop]), "index_repo", {"workspace": "shop"}, {"pinned": "other"}),
    ],
)
async def test_over_stdio_the_surroundings_register_and_so_does_an_index_that_is_asked_for(world, client, tool, arguments, rules):
    """A new user's editor works the first time: its first question registers the directory that the editor is working in."""
    shop, other = world.repository("shop"), world.repository("other")
    arguments, rules = placed(arguments, rules, shop, other)

    routed = await world.route(client(shop, other), tool=tool, arguments=arguments, **rules)

    assert routed.project.root == shop
    assert not routed.project.is_auto_discovered


@pytest.mark.parametrize(
    ("client", "tool", "arguments", "rules"),
    [
        (lambda shop, other: Client(transport="http", roots=[shop]), "index_repo", {}, {}),
        (lambda shop, other: Client(transport="http"), "index_repo", {"workspace": "shop"}, {}),
        (lambda shop, other: Client(transport="http", roots=[shop]), "search_code", {"query": "x"}, {}),
        (lambda shop, other: Client(transport="http", roots=[other]), "search_code", {"query": "x", "workspace": "shop"}, {}),
    ],
)
async def test_in_all_other_cases_nothing_is_registered(world, client, tool, arguments, rules):
    shop, other = world.repository("shop"), world.repository("other")
    arguments, rules = placed(arguments, rules, shop, other)

    with pytest.raises(WorkspaceNotRegistered):
        await world.route(client(shop, other), tool=tool, arguments=arguments, **rules)

    assert await world.registry.run(Registry.at, shop) is None


def placed(arguments, rules, shop, other):
    """Returns the arguments and rules with placeholders replaced by the directories."""
    places = {"shop": shop, "other": other}
    arguments = {key: places.get(value, value) for key, value in arguments.items()}
    if "pinned" in rules:
        rules = {"pinned": (places[rules["pinned"]],)}
    elif "environment" in rules:
        rules = {"environment": (("CODECOMPASS_PROJECT", str(places[rules["environment"]])),)}
    return arguments, rules


# index_repository


async def test_a_directory_gets_its_name_with_its_first_index(world):
    shop = world.repository("dev/shop")
    router = world.router(**world.auto)
    index = partial(world.ask, router, tool="index_repository")

    routed = await index(repo_path=shop, project_id="client-a")
    again = await index(repo_path=shop, project_id="client-a")
    unnamed = await index(repo_path=shop)

    assert (routed.project.alias, routed.project.schema_name, routed.names_project) == ("client-a", "project_client_a", True)
    assert again.project == routed.project
    assert (unnamed.project, unnamed.names_project) == (routed.project, False)
    assert (await world.ask(router, project_id="client-a")).project.root == shop
    assert (await index(repo_path=shop, project_id=project_id(shop))).project == routed.project


async def test_a_name_is_one_project_s_for_good(world):
    shop, other = world.repository("dev/shop"), world.repository("dev/other")
    router = world.router(**world.auto)
    index = partial(world.ask, router, tool="index_repository")
    await index(repo_path=shop, project_id="client-a")

    for arguments in (
        {"repo_path": other, "project_id": "client-a"},
        {"repo_path": shop, "project_id": "client-b"},
        {"repo_path": other, "project_id": "0123456789abcdef"},
        {"repo_path": other, "workspace": shop},
    ):
        with pytest.raises(InvalidInput) as caught:
            await index(**arguments)
        assert caught.value.data["field"] in ("project_id", "workspace")

    assert await world.registry.run(Registry.at, other) is None
    assert (await world.registry.run(Registry.at, shop)).alias == "client-a"


@pytest.mark.parametrize("path", ["relative", "./x", "~root/x"])
async def test_a_repo_path_is_absolute(world, path):
    error = await refusal(world, tool="index_repository", arguments={"repo_path": path}, **world.auto)

    assert error.message == f"repo_path must be absolute, got: {path}"


# eviction


async def discovered(world, router, n, first=0):
    projects = []
    for number in range(first, first + n):
        root = world.repository(f"dev/w{number}")
        projects.append((await world.ask(router, workspace=root)).project)
        make_private_directory(world.home.project(projects[-1].project_id).root)
    return projects


async def test_the_workspace_that_was_longest_unused_makes_room(world, monkeypatch):
    router = world.router(**world.auto, max_auto_workspaces=3)
    clock = iter(range(1000))
    monkeypatch.setattr("time.time", lambda: 1e9 + next(clock))
    projects = await discovered(world, router, 3)
    await world.registry.run(Registry.touch, projects[0].project_id)

    (new,) = await discovered(world, router, 1, first=3)

    assert world.workspaces.evicted == [projects[1].project_id]
    kept = {project.project_id for project in await world.registry.run(Registry.projects)}
    assert kept == {projects[0].project_id, projects[2].project_id, new.project_id}
    assert not world.home.project(projects[1].project_id).root.exists()
    assert world.home.project(projects[0].project_id).root.exists()


async def test_a_busy_pinned_registered_or_default_workspace_never_makes_room(world):
    router = world.router(**world.auto, max_auto_workspaces=4)
    busy, default, registered, idle = await discovered(world, router, 4)
    world.workspaces.busy.add(busy.project_id)
    await world.registry.run(Registry.adopt, registered.project_id, as_default=False)
    pinned_router = world.router(**world.auto, max_auto_workspaces=3, pinned=(default.root,))

    await discovered(world, pinned_router, 1, first=10)

    assert world.workspaces.evicted == [idle.project_id]
    world.workspaces.busy.add((await world.registry.run(Registry.at, world.top / "dev/w10")).project_id)
    with pytest.raises(WorkspaceLimitExceeded) as caught:
        await discovered(world, pinned_router, 1, first=11)
    assert caught.value.data == {"limit": 3}
    assert caught.value.is_retryable
    assert await world.registry.run(Registry.at, world.top / "dev/w11") is None


async def test_a_workspace_that_another_process_writes_never_makes_room(world):
    router = world.router(**world.auto, max_auto_workspaces=1)
    (project,) = await discovered(world, router, 1)

    with writer_lock(world.home.project(project.project_id), "another process"), pytest.raises(WorkspaceLimitExceeded):
        await discovered(world, router, 1, first=1)

    assert await world.registry.run(Registry.at, project.root) is not None
    assert world.home.project(project.project_id).root.exists()


@pytest.mark.parametrize("how", ["workspace", "id", "alias"])
async def test_an_evicted_workspace_is_found_again_however_it_is_asked_for(world, how):
    router = world.router(**world.auto, max_auto_workspaces=1)
    shop = world.repository("dev/shop")
    project = (await world.ask(router, tool="index_repository", repo_path=shop, project_id="shop")).project
    await discovered(world, router, 1)
    assert await world.registry.run(Registry.at, shop) is None
    arguments = {"workspace": {"workspace": shop}, "id": {"project_id": project.project_id}, "alias": {"project_id": "shop"}}

    routed = await world.ask(router, **arguments[how])

    assert routed.project.root == shop
    assert routed.project.is_auto_discovered
    if how == "alias":
        assert (await world.ask(router, project_id="shop")).project.alias == "shop"


@pytest.mark.parametrize("how", ["workspace", "inside", "id", "alias"])
async def test_an_evicted_workspace_is_found_again_by_a_server_that_did_not_evict_it_and_discovers_nothing(world, how):
    shop = world.repository("dev/shop")
    inside = world.directory("dev/shop/src/deep")
    router = world.router(**world.auto, max_auto_workspaces=1)
    project = (await world.ask(router, tool="index_repository", repo_path=shop, project_id="shop")).project
    await discovered(world, router, 1)
    arguments = {
        "workspace": {"workspace": shop},
        "inside": {"workspace": inside},
        "id": {"project_id": project.project_id},
        "alias": {"project_id": "shop"},
    }

    routed = await world.route(arguments=arguments[how])

    assert (routed.project.root, routed.project.alias) == (shop, "shop")
    assert routed.project.is_auto_discovered


async def test_allowed_roots_hold_for_what_was_evicted_too(world):
    shop = world.repository("dev/shop")
    router = world.router(**world.auto, max_auto_workspaces=1)
    project = (await world.ask(router, workspace=shop)).project
    await discovered(world, router, 1)

    allowed = (world.directory("elsewhere"),)
    for name, value, code in (
        ("workspace", shop, "workspace_not_allowed"),
        ("project_id", project.project_id, "project_not_found"),
    ):
        error = await refusal(world, arguments={name: value}, allowed_roots=allowed)
        assert error.code == code


async def test_a_workspace_that_another_process_has_open_never_makes_room(world):
    router = world.router(**world.auto, max_auto_workspaces=1)
    (project,) = await discovered(world, router, 1)
    reading = lock_for_reading(world.home.project(project.project_id))

    with pytest.raises(WorkspaceLimitExceeded):
        await discovered(world, router, 1, first=1)
    assert world.home.project(project.project_id).root.exists()

    os.close(reading)
    await discovered(world, router, 1, first=1)
    assert not world.home.project(project.project_id).root.exists()


async def test_a_pinned_workspace_was_registered_by_that(world):
    (project,) = await discovered(world, world.router(**world.auto), 1)

    (pinned,) = await world.router(pinned=(project.root,)).register_pinned()

    assert pinned.project_id == project.project_id
    assert not pinned.is_auto_discovered
    assert not pinned.is_default


async def test_a_question_that_comes_during_an_eviction_waits_and_finds_the_workspace_again(world):
    router = world.router(**world.auto, max_auto_workspaces=1)
    (old,) = await discovered(world, router, 1)
    new = world.repository("dev/new")
    routed = []
    evict = world.workspaces.evict

    async def evict_while_asked(project_id):
        world.workspaces.evict = evict
        nursery.start_soon(ask_old)
        for _ in range(20):
            await world.registry.run(Registry.projects)  # each await advances the question by one step
        assert routed == []
        return await evict(project_id)

    async def ask_old():
        routed.append(await world.ask(router, workspace=old.root))

    world.workspaces.evict = evict_while_asked
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(world.ask, router, workspace=new))

    assert [each.project.root for each in routed] == [old.root]
    assert await world.registry.run(Registry.at, old.root) is not None


async def test_a_workspace_that_somebody_registers_during_its_eviction_stays(world):
    router = world.router(**world.auto, max_auto_workspaces=1)
    (old,) = await discovered(world, router, 1)

    async def register_meanwhile(project_id):
        await world.registry.run(Registry.adopt, project_id, as_default=False)
        return True

    world.workspaces.evict = register_meanwhile
    with pytest.raises(WorkspaceLimitExceeded):
        await discovered(world, router, 1, first=1)

    assert (await world.registry.run(Registry.at, old.root)).is_auto_discovered is False
    assert world.home.project(old.project_id).root.exists()


async def test_a_swapped_parent_does_not_lead_out(world):
    """The check uses the real path, so a component that is replaced after the first check is checked again."""
    secret = plant(world)
    world.repository("dev/a/shop")
    await world.route(arguments={"workspace": world.top / "dev/a/shop"}, **world.auto)
    os.rename(world.top / "dev/a", world.top / "dev/b")
    (world.top / "dev/a").symlink_to(secret)
    world.repository("secret/shop")

    with pytest.raises(WorkspaceNotAllowed):
        await world.route(arguments={"workspace": world.top / "dev/a/shop"}, **world.auto)
    with pytest.raises((WorkspaceNotAllowed, ProjectNotFound)):
        await world.route(arguments={"project_id": project_id(world.top / "dev/a/shop")}, **world.auto)
