"""The engine's client over TLS, with a password from a file and with a certificate of its own."""

import base64
import ssl
from collections.abc import Iterator

import pytest

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.engine.login import EngineLogin
from codecompass.errors import InvalidInput
from tests.cluster.strange_node import Node
from tests.support.certificates import self_signed


@pytest.fixture
def certificates(tmp_path):
    """Returns the key and certificate of the node, and those of a client."""
    return self_signed(tmp_path, "node"), self_signed(tmp_path, "client")


@pytest.fixture
def node(certificates) -> Iterator[Node]:
    """A node that only talks to clients with the certificate that it knows."""
    (key, certificate), (_, known) = certificates
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(known)
    context.verify_mode = ssl.CERT_REQUIRED
    made = Node(context)
    made.says(200, {"status": "green"})
    yield made
    made.stop()


def asked(node: Node, **login: str) -> None:
    engine = Engine([node.url], login=EngineLogin(**login), patience=0)
    try:
        engine.search("i", {})
    finally:
        engine.close()


def test_a_password_and_certificates_are_read_from_files(node, certificates, tmp_path):
    (_, trusted), (key, shown) = certificates
    password = tmp_path / "password"
    password.write_text("s3cret word\nnot this\n")

    asked(
        node,
        user="search",
        password_file=str(password),
        ca_file=str(trusted),
        client_certificate=str(shown),
        client_key=str(key),
    )

    assert base64.b64decode(node.authorization.removeprefix("Basic ")).decode() == "search:s3cret word"


def test_an_engine_with_an_unknown_certificate_gets_nothing(node, certificates, tmp_path):
    _, (key, shown) = certificates
    password = tmp_path / "password"
    password.write_text("s3cret")

    with pytest.raises(EngineUnavailable, match=r"cluster\.ca_file"):
        asked(node, user="search", password_file=str(password), client_certificate=str(shown), client_key=str(key))

    assert node.authorization == ""


@pytest.mark.parametrize(
    ("login", "advice"),
    [
        ({"user": "search"}, "set cluster.password_file too"),
        ({"password_file": "/nonexistent/password"}, "set cluster.user too"),
        ({"user": "search", "password_file": "/nonexistent/password"}, "cannot be read"),
        ({"ca_file": "/nonexistent/ca.pem"}, "cluster.ca_file"),
    ],
)
def test_a_login_that_cannot_work_says_what_is_missing(login, advice):
    with pytest.raises(InvalidInput, match=advice):
        Engine(["https://127.0.0.1:9"], login=EngineLogin(**login))


def test_a_password_file_that_is_empty_is_refused_and_never_shown(tmp_path):
    file = tmp_path / "password"
    file.write_text("\ns3cret\n")

    with pytest.raises(InvalidInput, match="first line") as refused:
        Engine(["https://127.0.0.1:9"], login=EngineLogin(user="search", password_file=str(file)))

    assert "s3cret" not in refused.value.message


def test_a_password_in_an_address_is_not_repeated():
    with pytest.raises(InvalidInput) as refused:
        Engine(["ftp://admin:s3cret@127.0.0.1"])

    assert "s3cret" not in f"{refused.value.message} {refused.value.data}"
