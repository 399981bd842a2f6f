"""Who may talk to a server: headers that a browser cannot forge, compared with the address to which the server is bound."""

import pytest

from codecompass.transport.http.guards import guard, host_name

LOCAL = guard(bound=("127.0.0.1",), hosts=(), origins=())
PUBLIC = guard(bound=("0.0.0.0",), hosts=(), origins=())
NAMED = guard(bound=("0.0.0.0",), hosts=("Code.example", "code.example:9100"), origins=("https://App.example/",))


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:9100", "localhost:9100", "LOCALHOST", "localhost.:1", "[::1]:9100", "[::1]"],
)
def test_a_local_server_answers_to_the_names_of_this_machine(host):
    assert LOCAL.check(host, None) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:9100",
        "evil.example#localhost",
        "user@localhost",
        "localhost/x",
        "localhost:port",
        "2130706433",
        "[::1",
        "[::1]evil.example",
        "[::1]evil.example:80",
        "localhost:99999",
        "localhost:80:80",
        "localhost\\evil.example",
        "localhost\n",
        "",
        " ",
        None,
    ],
)
def test_a_local_server_answers_to_no_other_name(host):
    """A page that has rebound its domain to 127.0.0.1 (DNS rebinding) sends its own domain as the host."""
    assert LOCAL.check(host, None) == "host"


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443", "HTTP://LocalHost"])
def test_pages_of_this_machine_may_ask(origin):
    assert LOCAL.check("localhost", origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://localhost.evil.example",
        "vscode-webview://0a1b",
        "file://",
        "chrome-extension://localhost",
        "http://localhost@evil.example",
        "http://[::1",
        "http://[::1]evil.com",
        "http://[::1].evil.com:80",
        "http://localhost:evil",
        "http://localhost:evil.com",
        "http://localhost:80evil",
        "http://localhost:99999",
        "http://localhost:\N{ARABIC-INDIC DIGIT ONE}",
        "http://localhost/",
        "http://localhost\\@evil.com",
        "http://localhost\n",
        " http://localhost",
        "http:localhost",
    ],
)
def test_pages_from_elsewhere_may_not_ask(origin):
    assert LOCAL.check("localhost", origin) == "origin"
    assert PUBLIC.check("localhost", origin) == "origin"


def test_a_server_that_others_reach_takes_any_host_unless_some_are_named():
    assert PUBLIC.check("build-7.corp:9100", None) is None
    assert PUBLIC.check(None, None) is None
    assert NAMED.check("build-7.corp:9100", None) == "host"
    assert NAMED.check("CODE.example", None) is None
    assert NAMED.check("code.example:9100", None) is None
    assert NAMED.check("localhost:9100", None) is None


def test_an_allowed_origin_is_compared_as_browsers_write_it():
    assert NAMED.check("code.example", "https://app.example") is None
    assert NAMED.check("code.example", "http://app.example") == "origin"
    assert NAMED.check("code.example", "https://app.example.evil.example") == "origin"
    assert (
        guard(bound=("127.0.0.1",), hosts=(), origins=("vscode-webview://0a1b",)).check("localhost", "vscode-webview://0a1b")
        is None
    )


def test_only_loopback_is_local():
    assert LOCAL.is_local
    assert guard(bound=("127.0.0.1", "::1"), hosts=(), origins=()).is_local
    assert not PUBLIC.is_local
    assert not guard(bound=("127.0.0.1", "192.168.0.7"), hosts=(), origins=()).is_local
    assert not guard(bound=("::",), hosts=(), origins=()).is_local
    assert guard(bound=("127.8.8.8",), hosts=(), origins=()).is_local
    assert not guard(bound=("127.0.0.1.evil.example",), hosts=(), origins=()).is_local


def test_a_host_has_one_name():
    assert host_name("Example.COM.:80") == "example.com"
    assert host_name("[::1]:80") == "::1"
    assert host_name("a@b") is None
    assert host_name("a?b") is None
