"""Ports in use, invalid addresses, and a server on all addresses of a name."""

import socket

import pytest

from codecompass.errors import InvalidInput
from codecompass.transport.http.server import bound_url, open_sockets


@pytest.fixture
def taken():
    """A port on which another socket listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def closed(sockets):
    for each in sockets:
        each.close()


def test_a_port_in_use_is_said_in_the_words_of_the_contract(taken):
    with pytest.raises(InvalidInput) as caught:
        open_sockets("127.0.0.1", taken)

    assert caught.value.message == f"Port {taken} is already in use. Choose a different port with --port."
    assert caught.value.data == {"field": "port", "value": taken}


def test_a_port_that_was_in_use_a_moment_ago_can_be_taken_again():
    first = open_sockets("127.0.0.1", 0)
    port = first[0].getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as client, first[0].accept()[0]:
        closed(first)
        again = open_sockets("127.0.0.1", port)
        assert client.getsockname()
    closed(again)


def test_all_addresses_of_a_name_get_the_same_port():
    sockets = open_sockets("localhost", 0)

    assert len({each.getsockname()[1] for each in sockets}) == 1
    assert all(each.getsockname()[0] in ("127.0.0.1", "::1") for each in sockets)
    closed(sockets)


@pytest.mark.parametrize("bind", ["no.such.name.invalid", "999.1.1.1", "192.0.2.1", "a" * 300, "\0"])
def test_an_address_that_is_not_of_this_machine_is_refused_with_what_to_do(bind):
    with pytest.raises(InvalidInput, match=r"Use 127\.0\.0\.1"):
        open_sockets(bind, 0)


def test_the_address_is_said_as_people_type_it():
    sockets = open_sockets("127.0.0.1", 0)

    assert bound_url(sockets) == f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    closed(sockets)


def test_an_address_of_version_6_is_bracketed_and_accepted_with_brackets():
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")
    try:
        sockets = open_sockets("[::1]", 0)
    except InvalidInput:
        pytest.skip("no IPv6 loopback here")

    assert bound_url(sockets) == f"http://[::1]:{sockets[0].getsockname()[1]}"
    closed(sockets)
