"""The workspace that a request means: every way to name one, alone and combined, with all errors."""

import pytest

from codecompass.errors import (
    CodeCompassError,
    InvalidInput,
    ProjectNotFound,
    WorkspaceNotAllowed,
    WorkspaceNotRegistered,
)
from codecompass.identity import project_id
from codecompass.projects.router import HINT
from codecompass.store.registry import Registry
from tests.support.routing import Client

# Precedence.

SOURCES = ("pin", "roots", "project_path", "CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR", "cwd", "default")
NAMES = {
    "pin": "--workspace",
    "roots": "client roots",
    "cwd": "current directory",
    "default": "default project",
}

ORDER_UNPINNED = ("roots", "project_path", "CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR", "cwd", "default")
ORDER_PINNED = ("project_path", "pin")

CASES = [
    *[(present, winner) for n, winner in enumerate(ORDER_UNPINNED) for present in [ORDER_UNPINNED[n:], (winner,)]],
    (("pin",), "pin"),
    (("pin", "project_path"), "project_path"),
    (("pin", "roots", "CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR", "cwd", "default"), "pin"),
    (SOURCES, "project_path"),
    (("roots", "default"), "roots"),
    (("CLAUDE_PROJECT_DIR", "default"), "CLAUDE_PROJECT_DIR"),
]


async def set_up(world, present, *, transport="stdio"):
    """Registers a project for each source of `present`; returns the rules, the client and the roots."""
    projects = {source: world.repository(f"p-{source}") for source in present}
    for source in present:
        await world.registry.run(Registry.register, projects[source])
    if "default" in present:
        await world.registry.run(Registry.adopt, project_id(projects["default"]), as_default=True)
    variables = ("CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR")
    rules = {
        "pinned": (projects["pin"],) if "pin" in present else (),
        "environment": tuple((name, str(projects[name])) for name in variables if name in present),
        "cwd": projects.get("cwd"),
    }
    path = str(projects["project_path"]) if "project_path" in present else None
    roots = (projects["roots"],) if "roots" in present else ()
    return rules, Client(transport=transport, roots=roots, project_path=path), projects


@pytest.mark.parametrize(("present", "winner"), CASES, ids=lambda value: "+".join(value) if isinstance(value, tuple) else value)
async def test_the_strongest_source_decides(world, present, winner):
    rules, client, projects = await set_up(world, present)

    routed = await world.route(client, **rules)

    assert routed.project.root == projects[winner]
    assert routed.source == NAMES.get(winner, winner)


@pytest.mark.parametrize(("present", "winner"), CASES, ids=lambda value: "+".join(value) if isinstance(value, tuple) else value)
async def test_an_argument_decides_against_all_of_them_and_nothing_is_said(world, present, winner):
    rules, client, _ = await set_up(world, present)
    named = world.repository("named")
    await world.registry.run(Registry.register, named)

    by_path = await world.route(client, arguments={"workspace": named}, **rules)
    by_id = await world.route(client, arguments={"project_id": project_id(named)}, **rules)

    assert by_path.project.root == by_id.project.root == named
    assert by_path.warnings == by_id.warnings == ()
    assert (by_path.names_project, by_id.names_project) == (False, True)


@pytest.mark.parametrize(("present", "winner"), CASES, ids=lambda value: "+".join(value) if isinstance(value, tuple) else value)
async def test_weaker_sources_that_disagree_are_named(world, present, winner):
    rules, client, projects = await set_up(world, present)

    routed = await world.route(client, **rules)

    disagreeing = []
    if "pin" not in present:
        disagreeing = [source for source in ORDER_UNPINNED if source in present and source not in (winner, "default")]
    assert len(routed.warnings) == len(disagreeing)
    for warning, source in zip(routed.warnings, disagreeing, strict=True):
        assert str(projects[source]) in warning
        assert str(projects[winner]) in warning


async def test_sources_that_name_the_same_project_in_different_ways_agree(world, shop):
    deep = world.directory("shop/src/deep")
    (world.top / "link").symlink_to(shop)
    await world.registry.run(Registry.register, shop)

    routed = await world.route(
        Client(roots=[deep], project_path=str(world.top / "link")), environment=(("CODECOMPASS_PROJECT", str(shop)),), cwd=deep
    )

    assert (routed.project.root, routed.source, routed.warnings) == (shop, "client roots", ())


async def test_a_weaker_source_that_is_broken_does_not_spoil_the_answer(world, shop):
    await world.registry.run(Registry.register, shop)

    routed = await world.route(Client(roots=[shop]), environment=(("CODECOMPASS_PROJECT", str(world.top / "gone")),))

    assert (routed.project.root, routed.warnings) == (shop, ())


async def test_nothing_to_go_by_is_said_in_the_words_of_the_contract(world):
    for client in (Client(), Client(transport="http")):
        with pytest.raises(ProjectNotFound) as caught:
            await world.route(client, cwd=world.directory("plain"))

        words = "No project detected. Set CODECOMPASS_PROJECT or use --project-from-cwd."
        assert caught.value.message.startswith(words)
        assert "pass workspace" in caught.value.message, "who can do neither is told what it can"


async def test_blank_arguments_are_as_good_as_absent_and_never_the_current_directory(world, monkeypatch, shop, other):
    await world.registry.run(Registry.register, other)
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, shop)).project_id, as_default=True)
    monkeypatch.chdir(other)

    for blank in ("", "  ", "\n"):
        routed = await world.route(Client(transport="http"), arguments={"workspace": blank})
        assert routed.source == "default project"


# The hint.


async def test_the_hint_is_given_once_a_session_and_only_where_environment_or_directory_decided(world, shop):
    await world.registry.run(Registry.register, shop)
    client = Client()
    by_cwd = world.router(cwd=shop)
    by_variable = world.router(environment=(("CLAUDE_PROJECT_DIR", str(shop)),))

    hints = [(await world.ask(by_cwd, client)).hint for _ in range(2)]

    assert HINT == "Tip: Use Claude Code for automatic project detection"
    assert hints == [HINT, ""]
    assert (await world.ask(by_variable, client)).hint == ""
    assert (await world.ask(by_variable, Client())).hint == HINT
    assert (await world.ask(by_cwd, Client(roots=[shop]))).hint == ""
    assert (await world.ask(by_cwd, Client(), workspace=shop)).hint == ""


# Client roots.


async def test_the_first_root_that_is_a_directory_decides_and_missing_ones_are_skipped(world):
    first, second = world.repository("first"), world.repository("second")
    (world.top / "file").write_text("")
    await world.registry.run(Registry.register, first)
    await world.registry.run(Registry.register, second)

    routed = await world.route(Client(roots=[world.top / "gone", world.top / "file", "nonsense\0", second, first]))

    assert routed.project.root == second


async def test_roots_that_are_all_missing_leave_it_to_the_next_source(world, shop):
    await world.registry.run(Registry.register, shop)

    routed = await world.route(Client(roots=[world.top / "gone"]), environment=(("CODECOMPASS_PROJECT", str(shop)),))

    assert routed.source == "CODECOMPASS_PROJECT"


async def test_a_root_walks_up_to_its_repository(world):
    mono = world.repository("mono")
    package = world.directory("mono/packages/web", marker="package.json")
    await world.registry.run(Registry.register, mono)

    assert (await world.route(Client(roots=[package]))).project.root == mono


async def test_an_unregistered_root_is_registered_by_the_first_question_and_no_other_source_is_tried(world, shop, other):
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, other)).project_id, as_default=True)

    routed = await world.route(Client(roots=[world.directory("shop/src")]))

    assert (routed.project.root, routed.project.is_auto_discovered) == (shop, False)


async def test_an_unregistered_root_of_a_client_that_is_not_alone_is_named_with_what_to_do(world, shop, other):
    """Over HTTP, clients may be other users; only the user who runs the server adds projects."""
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, other)).project_id, as_default=True)

    with pytest.raises(WorkspaceNotRegistered) as caught:
        await world.route(Client(transport="http", roots=[world.directory("shop/src")]))

    assert caught.value.message.startswith(f"Project detected at {shop} but not indexed. Run codecompass index {shop} first. ")
    assert "health_check" in caught.value.message


@pytest.mark.parametrize("name", ["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"])
async def test_a_variable_registers_what_it_names_within_the_allowed_roots(world, name):
    shop = world.repository("dev/shop")

    routed = await world.route(environment=((name, str(shop)),), allowed_roots=(world.top / "dev",))

    assert routed.project.root == shop
    with pytest.raises(WorkspaceNotAllowed):
        await world.route(environment=((name, str(world.repository("elsewhere"))),), allowed_roots=(world.top / "dev",))


async def test_the_variable_of_an_editor_walks_up_to_the_project_around_it(world):
    package = world.directory("shop/packages/web")
    world.repository("shop")

    routed = await world.route(environment=(("CLAUDE_PROJECT_DIR", str(package)),))

    assert routed.project.root == world.top / "shop"


async def test_a_question_that_names_the_project_around_its_client_registers_it_for_good(world, shop):
    routed = await world.route(Client(roots=[shop]), arguments={"workspace": shop})

    assert (routed.project.root, routed.project.is_auto_discovered) == (shop, False)


# A question about another repository.


@pytest.mark.parametrize("rules", ["alone", "pinned", "discovery"])
async def test_a_question_about_another_repository_takes_it_up_at_the_first_call(world, rules, shop, other):
    await world.registry.run(Registry.register, shop)
    given = {
        "alone": {},
        "pinned": {"pinned": (shop,)},
        "discovery": {"auto_workspace": True, "allowed_roots": (world.top,)},
    }[rules]
    client = Client(transport="http" if rules == "discovery" else "stdio")

    routed = await world.route(client, tool="search_code", arguments={"query": "x", "workspace": other}, **given)

    assert (routed.project.root, routed.project.is_auto_discovered) == (other, True)


@pytest.mark.parametrize("named", ["other/src/a", "other/src/a/x.py", "other"])
@pytest.mark.parametrize("marker", [".git", "pyproject.toml"])
async def test_anything_inside_of_another_repository_means_the_repository(world, named, marker):
    other = world.repository("other") if marker == ".git" else world.directory("other", marker=marker)
    (world.directory("other/src/a") / "x.py").write_text("")

    assert (await world.route(arguments={"workspace": world.top / named})).project.root == other


@pytest.mark.parametrize("name", ["other", " other "])
async def test_another_repository_is_found_by_its_name_beside_those_that_are_known(world, name):
    shop, other = world.repository("code/shop"), world.repository("code/other")
    world.repository("elsewhere/third")
    await world.registry.run(Registry.register, shop)

    assert (await world.route(arguments={"workspace": name})).project.root == other
    for unknown in ("third", "gone", "src"):
        with pytest.raises(WorkspaceNotRegistered, match="does not exist"):
            await world.route(arguments={"workspace": unknown})
    with pytest.raises(WorkspaceNotRegistered):
        await world.route(Client(transport="http"), arguments={"workspace": "third"})


async def test_a_name_below_an_allowed_root_is_found_and_one_outside_is_not(world):
    shop, outside = world.repository("dev/shop"), world.repository("private/secret")
    await world.registry.run(Registry.register, outside)
    rules = {"allowed_roots": (world.top / "dev",)}
    world.repository("private/other")

    assert (await world.route(arguments={"workspace": "shop"}, **rules)).project.root == shop
    with pytest.raises(WorkspaceNotAllowed):
        await world.route(arguments={"workspace": "other"}, **rules)


async def test_a_name_of_two_repositories_is_refused_with_both(world):
    for place in ("one", "two"):
        await world.registry.run(Registry.register, world.repository(f"{place}/shop"))
        world.repository(f"{place}/other")

    with pytest.raises(InvalidInput) as caught:
        await world.route(arguments={"workspace": "other"})

    assert str(world.top / "one/other") in caught.value.message
    assert str(world.top / "two/other") in caught.value.message


async def test_the_name_of_a_directory_is_taken_as_project_id_too(world, shop):
    await world.registry.run(Registry.register, shop)

    assert (await world.route(arguments={"project_id": "shop"})).project.root == shop


async def test_a_directory_that_is_no_project_is_only_registered_by_an_order_and_the_error_says_which(world):
    plain = world.directory("plain")

    with pytest.raises(WorkspaceNotRegistered) as caught:
        await world.route(arguments={"workspace": plain})

    assert f'index_repo with workspace: "{plain}"' in caught.value.message
    assert f"codecompass index {plain}" in caught.value.message
    assert await world.registry.run(Registry.at, plain) is None
    assert (await world.route(tool="index_repo", arguments={"workspace": plain})).project.root == plain


@pytest.mark.parametrize("source", ["roots", "CODECOMPASS_PROJECT", "auto"])
async def test_a_large_directory_without_a_marker_is_registered_by_an_order_alone_and_the_error_names_it(world, source):
    root = world.directory("downloads")
    for number in range(4):
        (root / f"{number}.txt").write_text("")
    client = Client(roots=(str(root),)) if source == "roots" else Client(transport="stdio")
    rules = {"max_unmarked_files": 3}
    if source == "CODECOMPASS_PROJECT":
        rules["environment"] = ((source, str(root)),)
    arguments = {}
    if source == "auto":
        rules |= {"auto_workspace": True, "allowed_roots": (world.top,)}
        arguments = {"workspace": root}

    with pytest.raises(WorkspaceNotRegistered) as refused:
        await world.route(client, arguments=arguments, **rules)

    assert "more than 3 files" in refused.value.message
    assert f'index_repo with workspace: "{root}"' in refused.value.message
    assert await world.registry.run(Registry.projects) == ()
    assert (await world.route(client, tool="index_repo", arguments={"workspace": root}, **rules)).project.root == root


async def test_where_no_call_of_the_client_helps_one_error_says_which_command_or_flag_does(world):
    shop = world.repository("dev/shop")
    client = Client(transport="http")

    messages = set()
    for tool in ("index_status", "index_repo", "sync_repo"):
        with pytest.raises(WorkspaceNotRegistered) as caught:
            await world.route(client, tool=tool, arguments={"workspace": shop})
        messages.add(caught.value.message)

    assert messages == {
        f"{shop} is not registered. No call of this client can change that. Who runs this server can: codecompass index {shop}, "
        f"or start it with --auto-workspace --allowed-root {world.top / 'dev'}."
    }


@pytest.mark.parametrize(("transport", "is_taken"), [("stdio", True), ("http", False)])
async def test_index_repo_takes_up_what_it_is_told_to_over_stdio_alone(world, transport, is_taken, shop):
    client = Client(transport=transport)

    try:
        routed = await world.route(client, tool="index_repo", arguments={"workspace": shop})
    except WorkspaceNotRegistered:
        assert not is_taken
    else:
        assert is_taken
        assert not routed.project.is_auto_discovered
    with pytest.raises(WorkspaceNotRegistered, match="home directory"):
        await world.route(client, tool="index_repo", arguments={"workspace": world.user})


# The environment.


@pytest.mark.parametrize("name", ["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"])
async def test_a_variable_that_names_nothing_is_an_error_and_no_other_project_answers(world, name):
    other = world.repository("other")
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, other)).project_id, as_default=True)

    with pytest.raises(ProjectNotFound) as caught:
        await world.route(environment=((name, str(world.top / "gone")),), cwd=other)

    assert name in caught.value.message
    assert "gone" in caught.value.message


async def test_a_variable_names_a_directory_as_it_is_and_a_file_by_its_directory(world):
    mono = world.repository("mono")
    package = world.directory("mono/package")
    (package / "setup.py").write_text("")

    for value in (package, package / "setup.py"):
        routed = await world.route(environment=(("CODECOMPASS_PROJECT", str(value)),))
        assert routed.project.root == package
    await world.registry.run(Registry.remove, project_id(package))
    await world.registry.run(Registry.register, mono)
    routed = await world.route(environment=(("CODECOMPASS_PROJECT", str(package)),))
    assert routed.project.root == mono


# The current directory.


@pytest.mark.parametrize(
    ("transport", "flag", "where", "outcome"),
    [
        ("stdio", False, "marked", "detected"),
        ("stdio", False, "plain", "nothing"),
        ("stdio", False, "home", "nothing"),
        ("stdio", False, "top", "nothing"),
        ("stdio", False, "below registered", "registered"),
        ("stdio", True, "plain", "detected"),
        ("stdio", True, "home", "nothing"),
        ("stdio", True, "top", "nothing"),
        ("http", False, "marked", "nothing"),
        ("http", False, "below registered", "nothing"),
        ("http", True, "marked", "detected"),
        ("http", True, "plain", "detected"),
        ("websocket", True, "below registered", "registered"),
    ],
)
async def test_the_current_directory_counts_where_it_is_a_project(world, transport, flag, where, outcome):
    registered = world.directory("registered")
    await world.registry.run(Registry.register, registered)
    places = {
        "marked": world.directory("marked", marker="pyproject.toml"),
        "plain": world.directory("plain"),
        "home": world.user,
        "top": world.top.parents[-1],
        "below registered": world.directory("registered/src"),
    }

    try:
        result = (await world.route(Client(transport=transport), cwd=places[where], project_from_cwd=flag)).project.root
    except CodeCompassError as error:
        result = error.code

    expected = {"nothing": "project_not_found", "registered": registered}
    if outcome == "detected":
        # Over stdio the client runs in it, so the first request registers it.
        assert result == (places[where] if transport == "stdio" else "workspace_not_registered")
    else:
        assert result == expected[outcome]


async def test_the_home_directory_counts_once_somebody_has_registered_it(world):
    await world.registry.run(Registry.register, world.user)

    assert (await world.route(cwd=world.directory("user/notes"))).project.root == world.user


async def test_a_current_directory_that_is_gone_is_only_an_error_for_those_who_asked_for_it(world):
    gone = world.top / "gone"

    with pytest.raises(ProjectNotFound, match="No project detected"):
        await world.route(cwd=gone)
    with pytest.raises(ProjectNotFound, match="is gone"):
        await world.route(cwd=gone, project_from_cwd=True)


# ?project_path=


@pytest.mark.parametrize("path", ["relative/path", ".", "", "/no/such/place", "~/x"])
async def test_a_project_path_that_is_relative_or_missing_is_an_error_and_never_another_project(world, path):
    other = world.repository("other")
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, other)).project_id, as_default=True)

    for pinned in ((), (other,)):
        with pytest.raises(InvalidInput) as caught:
            await world.route(Client(transport="http", project_path=path), pinned=pinned)
        assert caught.value.message == f"Project path does not exist: {path}"
        with pytest.raises(InvalidInput):
            await world.router(pinned=pinned).check_project_path(path)


async def test_a_project_path_that_exists_is_taken(world, shop):
    await world.registry.run(Registry.register, shop)
    router = world.router()

    await router.check_project_path(str(shop))

    assert (await world.ask(router, Client(transport="http", project_path=str(shop)))).source == "project_path"


# Arguments.


async def test_workspace_and_project_id_may_both_be_given_if_they_mean_the_same(world, shop, other):
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, shop)).project_id, alias="web-shop")
    await world.registry.run(Registry.register, other)
    router = world.router()

    for name in ("web-shop", project_id(shop)):
        assert (await world.ask(router, workspace=shop, project_id=name)).project.root == shop
        assert (await world.ask(router, workspace=world.directory("shop/src"), project_id=name)).project.root == shop
        with pytest.raises(InvalidInput) as caught:
            await world.ask(router, workspace=other, project_id=name)
        assert caught.value.data["field"] == "workspace"


async def test_an_unknown_project_id_is_not_found_and_nothing_else_answers(world, shop):
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, shop)).project_id, as_default=True)

    for name in ("no-such", "0123456789abcdef"):
        with pytest.raises(ProjectNotFound, match=name):
            await world.route(arguments={"project_id": name})


async def test_a_directory_inside_a_project_means_that_project_and_a_repository_inside_it_is_its_own(world):
    mono = world.repository("mono")
    await world.registry.run(Registry.register, mono)
    inner = world.repository("mono/vendor/lib")
    router = world.router()

    assert (await world.ask(router, workspace=world.directory("mono/src/a"))).project.root == mono
    with pytest.raises(WorkspaceNotRegistered, match="vendor/lib is not registered"):
        await world.ask(router, Client(transport="http"), workspace=world.directory("mono/vendor/lib/src"))
    assert (await world.ask(router, workspace=world.directory("mono/vendor/lib/src"))).project.root == inner


async def test_the_nearest_registered_directory_answers(world):
    outer, inner = world.directory("outer"), world.directory("outer/inner")
    await world.registry.run(Registry.register, outer)
    await world.registry.run(Registry.register, inner)

    assert (await world.route(arguments={"workspace": world.directory("outer/inner/x")})).project.root == inner
    assert (await world.route(arguments={"workspace": world.directory("outer/other")})).project.root == outer


async def test_a_file_means_its_directory(world, shop):
    await world.registry.run(Registry.register, shop)
    (shop / "a.py").write_text("")

    assert (await world.route(arguments={"workspace": shop / "a.py"})).project.root == shop


async def test_an_unknown_workspace_is_refused_and_nothing_is_registered(world, shop):
    before = await world.registry.run(Registry.projects)

    with pytest.raises(WorkspaceNotRegistered) as caught:
        await world.route(Client(transport="http"), arguments={"workspace": shop})
    with pytest.raises(WorkspaceNotRegistered, match="does not exist"):
        await world.route(arguments={"workspace": world.top / "gone"})

    assert f"codecompass index {shop}" in caught.value.message
    assert "--auto-workspace" in caught.value.message
    assert await world.registry.run(Registry.projects) == before


async def test_a_relative_workspace_is_taken_from_where_the_server_stands(world, monkeypatch, shop):
    await world.registry.run(Registry.register, shop)
    monkeypatch.chdir(world.top)

    assert (await world.route(arguments={"workspace": "shop/../shop/./src/.."})).project.root == shop


async def test_a_tilde_is_the_home_of_the_server_and_of_nobody_else(world, monkeypatch):
    shop = world.repository("user/shop")
    await world.registry.run(Registry.register, shop)
    monkeypatch.setenv("HOME", str(world.user))

    assert (await world.route(arguments={"workspace": "~/shop"})).project.root == shop
    with pytest.raises(WorkspaceNotRegistered, match="does not exist"):
        await world.route(arguments={"workspace": "~root"})


@pytest.mark.parametrize("name", ["f\udcfcr", "日本語", "emoji-😀", "new\nline", "back\\slash", " space "])
async def test_names_of_any_characters_are_directories_like_others(world, name):
    shop = world.repository(name)
    await world.registry.run(Registry.register, shop)

    assert (await world.route(arguments={"workspace": shop})).project.root == shop
    with pytest.raises(WorkspaceNotRegistered) as caught:
        await world.route(Client(transport="http"), arguments={"workspace": world.repository(name + "2")})
    assert caught.value.data["workspace"]


@pytest.mark.parametrize(
    "hostile", ["\ud800", "a" * 5000, "/" + "x/" * 3000, "/proc/self/root/\udcff", "//", "/dev/null", "-", "*"]
)
async def test_no_path_crashes_the_router(world, hostile):
    for client, arguments in ((Client(), {"workspace": hostile}), (Client(roots=[hostile], project_path=hostile), {})):
        with pytest.raises(CodeCompassError) as caught:
            await world.route(client, arguments=arguments)
        assert caught.value.code in ("workspace_not_registered", "invalid_input", "project_not_found")


# Missing directories.


async def test_a_project_whose_directory_is_gone_is_said_to_be_and_nothing_else_answers(world, shop, other):
    await world.registry.run(Registry.register, shop)
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, other)).project_id, as_default=True)
    shop.rename(world.top / "moved")

    with pytest.raises(ProjectNotFound, match="gone"):
        await world.route(arguments={"project_id": project_id(shop)})
    with pytest.raises(WorkspaceNotRegistered, match="does not exist"):
        await world.route(arguments={"workspace": shop})


async def test_a_project_that_became_a_link_to_elsewhere_does_not_answer_for_what_is_there(world):
    shop, secret = world.repository("shop"), world.repository("secret")
    await world.registry.run(Registry.register, shop)
    shop.rename(world.top / "moved")
    shop.symlink_to(secret)

    with pytest.raises(ProjectNotFound):
        await world.route(arguments={"project_id": project_id(shop)})


async def test_a_default_project_that_is_gone_is_an_error(world, shop):
    await world.registry.run(Registry.adopt, (await world.registry.run(Registry.register, shop)).project_id, as_default=True)
    shop.rename(world.top / "moved")

    with pytest.raises(ProjectNotFound, match="gone"):
        await world.route(Client(transport="http"))


# Pinned workspaces.


async def test_pinned_workspaces_are_registered_and_the_first_one_answers(world):
    first, second = world.repository("first"), world.directory("second")
    router = world.router(pinned=(first, second))

    projects = await router.register_pinned()

    assert [project.root for project in projects] == [first, second]
    assert not any(project.is_auto_discovered for project in projects)
    assert (await world.ask(router)).project.root == first
    assert (await world.ask(router, workspace=second)).project.root == second


async def test_a_pinned_workspace_is_taken_however_it_is_named_before_it_is_registered(world):
    """The registration runs concurrently with the first requests of a new server."""
    first, second = world.repository("first"), world.directory("second")
    router = world.router(pinned=(first, second))

    assert (await world.ask(router, Client(transport="http", project_path=str(second)))).project.root == second
    assert (await world.ask(router, workspace=first)).project.root == first


async def test_a_pinned_workspace_that_somebody_removed_from_the_registry_is_registered_again(world):
    first = world.repository("first")
    router = world.router(pinned=(first,))
    await router.register_pinned()
    await world.registry.run(Registry.remove, project_id(first))

    assert (await world.ask(router)).project.root == first


async def test_a_project_that_was_not_used_for_a_while_is_noted_as_used(world, monkeypatch, shop):
    registered = await world.registry.run(Registry.register, shop)
    router = world.router()

    await world.ask(router, workspace=shop)
    assert (await world.registry.run(Registry.at, shop)).last_used_at == registered.last_used_at
    later = registered.last_used_at + 3600
    monkeypatch.setattr("time.time", lambda: later)
    await world.ask(router, workspace=shop)

    assert (await world.registry.run(Registry.at, shop)).last_used_at == later
