"""Which server a bridge connects to, and which project it names."""

import os
from pathlib import Path

import pytest

from codecompass.errors import InvalidInput
from codecompass.projects.detection import RoutingRules
from codecompass.transport.bridge.target import bridge_target


@pytest.mark.parametrize(
    ("address", "host", "port", "is_encrypted", "resource", "url"),
    [
        ("http://127.0.0.1:9100", "127.0.0.1", 9100, False, "/ws", "http://127.0.0.1:9100"),
        ("127.0.0.1:9100", "127.0.0.1", 9100, False, "/ws", "http://127.0.0.1:9100"),
        ("http://localhost:9100/mcp", "localhost", 9100, False, "/ws", "http://localhost:9100"),
        ("ws://localhost:9100/ws", "localhost", 9100, False, "/ws", "http://localhost:9100"),
        ("http://[::1]:9100/", "::1", 9100, False, "/ws", "http://[::1]:9100"),
        ("https://code.example", "code.example", 443, True, "/ws", "https://code.example"),
        ("wss://code.example/compass/ws", "code.example", 443, True, "/compass/ws", "https://code.example/compass"),
        ("https://code.example/compass/", "code.example", 443, True, "/compass/ws", "https://code.example/compass"),
    ],
)
def test_an_address_is_taken_as_people_have_it(address, host, port, is_encrypted, resource, url):
    target = bridge_target(address, RoutingRules())

    assert (target.host, target.port, target.is_encrypted) == (host, port, is_encrypted)
    assert (target.resource, target.url) == (resource, url)


@pytest.mark.parametrize(
    "address",
    ["", "http://", "ftp://host", "http://host:port", "http://u:p@host", "http://host?x=1", "http://host#x", "http://[::1"],
)
def test_what_is_no_address_is_refused_with_an_example(address):
    with pytest.raises(InvalidInput, match=r"http://127\.0\.0\.1:9100"):
        bridge_target(address, RoutingRules())


def rules(here: Path, **more) -> RoutingRules:
    return RoutingRules(cwd=here, never=frozenset({Path("/"), Path("~").expanduser()}), **more)


def test_the_project_is_pinned_or_of_the_environment_or_around_the_current_directory(tmp_path):
    (tmp_path / "project" / "src").mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    here = tmp_path / "project" / "src"
    environment = (("CODECOMPASS_PROJECT", "/one"), ("CLAUDE_PROJECT_DIR", "/two"))

    around = bridge_target("host", rules(here))
    named = bridge_target("host", rules(here, environment=environment))
    pinned = bridge_target("host", rules(here, environment=environment, pinned=(Path("/pin"),)))

    assert (around.project, around.source) == (str(here.parent), "current directory")
    assert (named.project, named.source) == ("/one", "CODECOMPASS_PROJECT")
    assert (pinned.project, pinned.source, pinned.is_pinned) == ("/pin", "--workspace", True)


def test_a_directory_that_is_no_project_counts_only_where_that_is_wanted(tmp_path):
    here = tmp_path / "somewhere"
    here.mkdir()

    assert bridge_target("host", rules(here)).project is None
    assert bridge_target("host", rules(here, project_from_cwd=True)).project == str(here)
    assert bridge_target("host", RoutingRules(cwd=here, never=frozenset({here}), project_from_cwd=True)).project is None


def test_a_path_of_any_bytes_reaches_the_server_as_it_is():
    path = os.fsdecode(b"/tmp/caf\xc3\xa9 \xff&?#")

    target = bridge_target("host", RoutingRules(pinned=(Path(path),)))

    assert target.resource == "/ws?project_path=/tmp/caf%C3%A9%20%FF%26%3F%23"
