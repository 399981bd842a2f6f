"""The active project of a peer: valid and invalid answers, how long they are cached, and its precedence."""

import pytest
import structlog
import trio
import trio.testing
from structlog.testing import capture_logs

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.projects.active_project import ActiveProject
from codecompass.projects.detection import routing_rules
from codecompass.settings import ServerSettings
from codecompass.store.registry import Registry
from tests.projects.test_router import NAMES, ORDER_UNPINNED, set_up
from tests.support.active_peer import ANSWERS, running_peer
from tests.support.live import free_port
from tests.support.routing import Client


@pytest.fixture(scope="module")
def peer():
    with running_peer() as url:
        yield url


def at(url, timeout_ms=5_000):
    """Returns the rule of a setting; the timeout is the maximum, for busy machines."""
    settings = ServerSettings(active_project_url=url, active_project_timeout_ms=timeout_ms)
    return routing_rules(settings, environment={}, cwd=None).active_project


@pytest.fixture(autouse=True)
def every_level():
    """Resets the log: an earlier test may have left a logger that drops events below warning."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


async def outcome(url, timeout_ms=5_000):
    """Returns the result, and the log event and level of its only lookup."""
    with capture_logs() as entries:
        found = await ActiveProject(at(url, timeout_ms)).project_id()
    (entry,) = entries
    assert entry["event"] == "active_project_lookup"
    return found, entry["outcome"], entry["log_level"]


# Answers of a peer.


@pytest.mark.parametrize("base", ["/is/shop", "/is/shop/", "/more", "/chunked", "/until-closed", "/hints-first"])
async def test_a_peer_names_a_project(peer, base):
    assert await outcome(peer + base) == ("shop", "success", "debug")


async def test_a_peer_says_that_no_project_is_active(peer):
    assert await outcome(peer + "/null") == (None, "success", "debug")


INVALID = sorted(ANSWERS.keys() - {"/null", "/more", "/chunked", "/until-closed", "/hints-first"})


@pytest.mark.parametrize("base", INVALID)
async def test_what_was_not_agreed_on_names_no_project(peer, base):
    found, how, level = await outcome(peer + base)

    # A peer that closes with unread data resets the connection: then there is no answer to reject.
    assert found is None
    assert (how, level) in {("invalid_response", "error"), ("unavailable", "info")}
    assert how == "invalid_response" or base.startswith("/large")


@pytest.mark.parametrize("base", ["/silent", "/unfinished"])
async def test_a_peer_that_does_not_answer_in_time_names_no_project(peer, base):
    assert await outcome(peer + base, timeout_ms=100) == (None, "timeout", "warning")


async def test_a_peer_that_is_not_there_names_no_project():
    assert await outcome(f"http://127.0.0.1:{free_port()}") == (None, "unavailable", "info")


# Caching.


async def test_an_answer_holds_for_its_time(peer, mock_clock):
    active = ActiveProject(at(peer + "/counting/cached"))
    first = await active.project_id()

    mock_clock.jump(59)
    second = await active.project_id()
    mock_clock.jump(1)

    assert (first, second, await active.project_id()) == ("p-1", "p-1", "p-2")


async def test_that_there_was_no_answer_holds_as_long(peer, mock_clock):
    active = ActiveProject(at(peer + "/broken-first"))
    first = await active.project_id()

    mock_clock.jump(59)
    second = await active.project_id()
    mock_clock.jump(1)

    assert (first, second, await active.project_id()) == (None, None, "broken")


async def test_a_timeout_holds_as_long_too(peer):
    active = ActiveProject(at(peer + "/silent", timeout_ms=100))

    with capture_logs() as entries:
        assert [await active.project_id(), await active.project_id()] == [None, None]

    assert [entry["outcome"] for entry in entries] == ["timeout"]


async def test_one_lookup_serves_all_who_ask_at_once(peer):
    active = ActiveProject(at(peer + "/counting/shared"))
    found = []

    async def ask():
        found.append(await active.project_id())

    async with trio.open_nursery() as nursery:
        for _ in range(50):
            nursery.start_soon(ask)

    assert found == ["p-1"] * 50


async def test_who_waits_for_a_lookup_that_is_cancelled_looks_up_itself(peer, mock_clock):
    active = ActiveProject(at(peer + "/silent"))

    with capture_logs() as entries:
        async with trio.open_nursery() as nursery:
            first = trio.CancelScope()
            nursery.start_soon(cancelled_in, first, active)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(active.project_id)
            await trio.testing.wait_all_tasks_blocked()
            first.cancel()
            await trio.testing.wait_all_tasks_blocked()
            mock_clock.jump(5)

    assert [entry["outcome"] for entry in entries] == ["timeout"]


async def cancelled_in(scope, active):
    with scope:
        await active.project_id()
        raise AssertionError("nobody answers before it is cancelled")


# Configuration.


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000, "/api/v1/projects/active")),
        (" http://localhost/ ", ("localhost", 80, "/api/v1/projects/active")),
        ("http://[::1]:8001/base/", ("::1", 8001, "/base/api/v1/projects/active")),
    ],
)
def test_a_url_is_where_the_peer_is(url, address):
    rule = at(url)

    assert (rule.host, rule.port, rule.target) == address


def test_nobody_is_asked_unless_a_url_is_configured():
    assert at("") is at(" ") is None


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000",
        "https://localhost:8000",
        "file:///etc/passwd",
        "http://",
        "http://user:secret@localhost",
        "http://localhost?x=1",
        "http://localhost#x",
        "http://localhost:0",
        "http://localhost:99999",
        "http://a..b",
        "http://[::1",
        "http://local host",
        "http://localhost/\r\nX: y",
        "http://münchen",
    ],
)
def test_what_is_no_url_of_a_peer_is_refused_at_the_start(url):
    with pytest.raises(InvalidInput, match=r"server\.active_project_url"):
        at(url)


# Precedence.

STRONGER = ORDER_UNPINNED[: ORDER_UNPINNED.index("cwd")]
WEAKER = ("cwd", "default")


@pytest.mark.parametrize("present", [("pin",), *[(source,) for source in STRONGER]], ids=lambda value: value[0])
async def test_whatever_a_client_or_the_environment_names_decides_and_the_peer_is_not_asked(world, peer, present):
    rules, client, projects = await set_up(world, present)

    with capture_logs() as entries:
        routed = await world.route(client, active_project=at(peer + "/is/other"), **rules)

    assert (routed.project.root, routed.source) == (projects[present[0]], NAMES.get(present[0], present[0]))
    assert (routed.warnings, entries) == ((), [])


@pytest.mark.parametrize("field", ["project_id", "workspace"])
async def test_an_argument_decides_and_the_peer_is_not_asked(world, peer, field):
    project = await world.registry.run(Registry.register, world.repository("named"))
    given = {"project_id": project.project_id, "workspace": project.root}[field]

    with capture_logs() as entries:
        routed = await world.route(arguments={field: given}, active_project=at(peer + "/is/other"), cwd=world.repository("here"))

    assert (routed.project.project_id, entries) == (project.project_id, [])


async def test_the_peer_is_not_asked_whether_a_named_directory_is_where_the_client_stands(world, peer):
    here = world.repository("here")

    with capture_logs() as entries:
        routed = await world.route(arguments={"workspace": here}, active_project=at(peer + "/is/other"), cwd=here)

    assert (routed.project.root, entries) == (here, [])


async def test_the_active_project_decides_against_the_current_directory_which_is_named_and_the_default(world, peer):
    rules, client, projects = await set_up(world, WEAKER)
    shop = await world.registry.run(Registry.register, world.repository("shop"))
    await world.registry.run(Registry.rename, shop.project_id, "shop")

    for name in ("shop", shop.project_id):
        routed = await world.route(client, active_project=at(f"{peer}/is/{name}"), **rules)

        (warning,) = routed.warnings
        assert (routed.project.root, routed.source) == (shop.root, "active project")
        assert str(projects["cwd"]) in warning
        assert "named by active project" in warning
        assert routed.hint == ""


@pytest.mark.parametrize("base", ["/null", "/broken", "/cut-off"])
@pytest.mark.parametrize("present", [WEAKER, ("default",)], ids=["cwd", "default"])
async def test_without_an_active_project_the_next_source_decides(world, peer, base, present):
    rules, client, projects = await set_up(world, present)

    routed = await world.route(client, active_project=at(peer + base), **rules)

    assert (routed.project.root, routed.warnings) == (projects[present[0]], ())


async def test_an_active_project_that_is_not_registered_is_named_and_the_next_source_decides(world, peer):
    rules, client, projects = await set_up(world, ("default",))

    routed = await world.route(client, active_project=at(peer + "/is/unknown"), **rules)

    (warning,) = routed.warnings
    assert routed.project.root == projects["default"]
    assert "'unknown'" in warning
    assert "index_repository" in warning


async def test_where_nothing_else_decides_the_error_names_the_active_project_that_is_not_registered(world, peer):
    with pytest.raises(ProjectNotFound, match=r"'unknown' .* is not registered here"):
        await world.route(Client(transport="http"), active_project=at(peer + "/is/unknown"))


async def test_an_active_project_that_is_gone_is_an_error(world, peer):
    """The intended project is known: an answer from another one would look right."""
    shop = await world.registry.run(Registry.register, world.repository("shop"))
    rule = at(f"{peer}/is/{shop.project_id}")
    here = world.repository("here")

    shop.root.rename(world.top / "moved")
    with pytest.raises(ProjectNotFound, match="is gone"):
        await world.route(active_project=rule, cwd=here)


async def test_an_active_project_outside_of_the_allowed_roots_is_passed_over_like_an_unknown_one(world, peer):
    shop = await world.registry.run(Registry.register, world.repository("shop"))
    here = world.repository("here")

    routed = await world.route(active_project=at(f"{peer}/is/{shop.project_id}"), allowed_roots=(here,), cwd=here)
    unknown = await world.route(active_project=at(f"{peer}/is/unknown"), allowed_roots=(here,), cwd=here)

    assert routed.project.root == here
    assert [each.replace(shop.project_id, "unknown") for each in routed.warnings] == list(unknown.warnings) != []


async def test_an_evicted_active_project_comes_back(world, peer):
    shop, rule_roots = world.repository("shop"), (world.top,)
    router = world.router(auto_workspace=True, allowed_roots=rule_roots, max_auto_workspaces=1)
    project = (await world.ask(router, workspace=shop)).project
    await world.ask(router, workspace=world.repository("other"))
    assert await world.registry.run(Registry.find, project.project_id) is None

    routed = await world.route(
        active_project=at(f"{peer}/is/{project.project_id}"), allowed_roots=rule_roots, max_auto_workspaces=2
    )

    assert (routed.project.root, routed.source) == (shop, "active project")
