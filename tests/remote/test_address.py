"""What is an address of a service, and which services are on this machine."""

import pytest

from codecompass.remote.address import Address, Secret, is_loopback, parse_address, without_user


def test_an_address_is_taken_apart():
    found = parse_address("https://Code.example:8443/base/")

    assert found == Address("https", "code.example", 8443, "Code.example:8443", "/base")
    assert found.with_path("/mcp") == "https://Code.example:8443/mcp"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "code.example",
        "ftp://code.example",
        "http://",
        "http://host:port",
        "http://host:0",
        "http://host:65536",
        "http://user:password@host",
        "http://host?",
        "http://host#",
        "http://host/a b",
        "http://host/\r\nX: y",
        "http://[::1",
        "http://a..b",
        "http://münchen",
    ],
)
def test_anything_else_is_none(url):
    assert parse_address(url) is None


def test_schemes_and_names_in_other_scripts_may_be_allowed():
    found = parse_address("ws://münchen/ws", ("ws", "wss"), is_ascii=False)

    assert found == Address("ws", "münchen", None, "münchen", "/ws")
    assert parse_address("http://host", ("ws", "wss")) is None


def test_a_refused_address_is_shown_without_its_password():
    assert without_user("https://user:p@ss@host/x") == "host/x"
    assert without_user("host") == "host"


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("127.0.0.1.example", False),
        ("", False),
    ],
)
def test_this_machine_has_loopback_names_and_addresses(host, wanted):
    assert is_loopback(host) is wanted


def test_a_key_is_not_shown():
    assert "s3cret" not in repr(Secret("s3cret")) + str(Secret("s3cret"))
    assert (Secret("s3cret").reveal(), Secret().reveal(), repr(Secret())) == ("s3cret", "", "Secret()")
