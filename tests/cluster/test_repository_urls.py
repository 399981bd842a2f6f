"""Addresses of repositories: which are the same, which are refused, and that no password is kept or shown."""

import pytest

from codecompass.errors import InvalidInput
from codecompass.scan.git_remotes import parse_url, without_credentials

SAME = (
    "https://git.example.org/shop/api",
    "https://git.example.org/shop/api.git",
    "https://git.example.org/shop/api/",
    "https://git.example.org//shop/./api.git/",
    "https://GIT.example.org:443/shop/api",
    "https://alice@git.example.org/shop/api",
    "git@git.example.org:shop/api.git",
    "git.example.org:shop/api",
    "git@git.example.org:/shop/api",
    "ssh://git@git.example.org/shop/api.git",
    "ssh://git@git.example.org:22/shop/api",
    "git://git.example.org/shop/api",
    " https://git.example.org/shop/api\n",
)

OTHERS = (
    "https://git.example.org/shop/API",
    "https://git.example.org/shop/api2",
    "https://git.example.com/shop/api",
    "https://git.example.org:8443/shop/api",
    "https://git.example.org/api",
)


def test_addresses_of_the_same_place_are_the_same_repository():
    assert {parse_url(url).repo_id for url in SAME} == {parse_url(SAME[0]).repo_id}
    assert len(parse_url(SAME[0]).repo_id) == 16


def test_addresses_of_other_places_are_other_repositories():
    assert len({parse_url(url).repo_id for url in (SAME[0], *OTHERS)}) == 1 + len(OTHERS)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://git.example.org/pallets/flask.git", "pallets/flask"),
        ("git@git.example.org:group/sub group/api".replace(" ", "%20"), "sub-group/api"),
        ("ssh://git@git.example.org/api", "git.example.org/api"),
    ],
)
def test_a_repository_is_called_by_the_last_two_parts_of_its_path(url, name):
    assert parse_url(url).name == name


@pytest.mark.parametrize(
    "url",
    [
        "",
        "   ",
        "api",
        "/srv/git/api",
        "../api",
        "file:///srv/git/api",
        "http://git.example.org/api",
        "ext::sh -c id",
        "ext::id",
        "git.example.org::api",
        "ftp://git.example.org/api",
        "-oProxyCommand=id:api",
        "ssh://-oProxyCommand=id/api",
        "https://git.example.org",
        "https://git.example.org/",
        "https://git.example.org/../api",
        "https://git.example.org/a b",
        "https://git.example.org/api?x=1",
        "https://git.example.org/api#x",
        "https://git.example.org:port/api",
        "https://git.example.org/" + "a" * 1000,
        "git@host:a\nb",
    ],
)
def test_what_is_no_address_of_an_allowed_protocol_is_refused(url):
    with pytest.raises(InvalidInput):
        parse_url(url)


def test_a_protocol_is_allowed_by_naming_it():
    assert parse_url("file:///srv/git/api.git", ("file",)).name == "git/api"
    with pytest.raises(InvalidInput, match="CODECOMPASS_CLUSTER_PROTOCOLS=https,file"):
        parse_url("file:///srv/git/api", ("https",))
    with pytest.raises(InvalidInput):
        parse_url("git@git.example.org:api", ("https",))
    with pytest.raises(InvalidInput):
        parse_url("file://host/srv/git/api", ("file",))


def test_a_password_is_refused_and_not_repeated():
    with pytest.raises(InvalidInput, match="credential helper") as refused:
        parse_url("https://alice:s3cret@git.example.org/shop/api")

    assert "s3cret" not in refused.value.message
    assert "s3cret" not in str(refused.value.data)


def test_a_name_in_an_address_of_the_web_is_not_kept_because_it_may_be_a_token():
    assert parse_url("https://ghp_token@git.example.org/shop/api").url == "https://git.example.org/shop/api"
    assert parse_url("git@git.example.org:shop/api").url == "git@git.example.org:shop/api"
    assert parse_url("ssh://git@git.example.org/shop/api").url == "ssh://git@git.example.org/shop/api"


@pytest.mark.parametrize(
    "text",
    ["fatal: https://u:p@h/x not found", "https://u:p@ss@h/x", "https://p@h/x and https://u:p:p@h/y"],
)
def test_credentials_are_taken_out_of_every_text(text):
    cleaned = without_credentials(text)

    assert "@" not in cleaned
    assert "https://h/" in cleaned
