"""Which endpoints are allowed, and where the key comes from."""

import pytest

from codecompass.errors import InvalidInput
from codecompass.semantic.target import semantic_target
from codecompass.settings import SemanticSettings


def target(url: str, environment=None, **settings):
    return semantic_target(SemanticSettings(endpoint=url, **{"model": "m", "dimensions": 8, **settings}), environment or {})


def test_nothing_is_asked_unless_an_endpoint_is_named():
    assert semantic_target(SemanticSettings(model="m", dimensions=8), {}) is None
    assert target("  ") is None


@pytest.mark.parametrize(
    ("url", "api", "wanted"),
    [
        ("http://127.0.0.1:11434", "ollama", "http://127.0.0.1:11434/api/embed"),
        ("http://localhost:11434/", "ollama", "http://localhost:11434/api/embed"),
        ("http://[::1]:8080/api", "ollama", "http://[::1]:8080/api/embed"),
        ("https://api.example.com", "openai", "https://api.example.com/v1/embeddings"),
        ("https://api.example.com/v1", "openai", "https://api.example.com/v1/embeddings"),
        ("https://example.com/openai/v1/embeddings/", "openai", "https://example.com/openai/v1/embeddings"),
    ],
)
def test_the_path_of_the_interface_is_put_behind_the_base(url, api, wanted):
    assert target(url, api=api).url == wanted


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1",
        "file:///etc/passwd",
        "127.0.0.1:11434",
        "http://",
        "http://127.0.0.1:0",
        "http://127.0.0.1:99999",
        "http://127.0.0.1/?key=1",
        "http://127.0.0.1/#x",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/\x00",
        "http://[::1",
    ],
)
def test_what_is_no_address_of_a_server_is_refused(url):
    with pytest.raises(InvalidInput, match="must be a URL"):
        target(url)


def test_a_password_in_a_url_is_refused_and_not_repeated():
    with pytest.raises(InvalidInput) as refused:
        target("https://user:hunter2@example.com")

    assert "hunter2" not in refused.value.message + str(refused.value.data)


@pytest.mark.parametrize("missing", [{"model": " "}, {"dimensions": 0}])
def test_an_endpoint_without_model_or_dimensions_is_refused(missing):
    with pytest.raises(InvalidInput, match=f"semantic.{next(iter(missing))} is not"):
        target("https://example.com", **missing)


def test_plain_http_to_another_machine_must_be_allowed():
    with pytest.raises(InvalidInput, match="allow_plain_http"):
        target("http://10.0.0.7:11434")

    allowed = target("http://10.0.0.7:11434", allow_plain_http=True)
    assert allowed is not None
    assert not allowed.is_loopback
    assert target("http://127.0.0.9:11434").is_loopback
    assert target("https://example.com").is_loopback is False


def test_a_name_that_begins_like_loopback_is_another_machine():
    with pytest.raises(InvalidInput, match="allow_plain_http"):
        target("http://127.0.0.1.example.com")
    with pytest.raises(InvalidInput, match="allow_plain_http"):
        target("http://localhost.example.com")


def test_the_key_comes_from_the_named_variable_alone():
    environment = {"MY_KEY": " s3cret \n", "OPENAI_API_KEY": "other"}

    named = target("https://example.com", environment, api_key_env="MY_KEY")
    unnamed = target("https://example.com", environment)
    unset = target("https://example.com", environment, api_key_env="NO_KEY")

    assert (named.key.reveal(), named.lacks_key) == ("s3cret", False)
    assert (unnamed.key.reveal(), unnamed.lacks_key) == ("", False)
    assert (unset.key.reveal(), unset.lacks_key) == ("", True)
    assert "s3cret" not in repr(named) + str(named)


def test_a_key_that_no_header_can_hold_is_none():
    found = target("https://example.com", {"K": "a\r\nX-Evil: 1"}, api_key_env="K")

    assert (found.key.reveal(), found.lacks_key) == ("", True)


def test_a_key_in_place_of_the_name_of_its_variable_is_refused_and_not_repeated():
    with pytest.raises(InvalidInput, match="must be the name of an environment variable") as refused:
        target("https://example.com", api_key_env="sk-proj-s3cret")

    assert "s3cret" not in refused.value.message + str(refused.value.data)
