"""Addresses of repositories: which are the same, which are refused, that no password is kept or shown; and which repositories a
work tree is a checkout of, as its configuration says."""

import subprocess
from pathlib import Path

import pytest

from codecompass.errors import InvalidInput
from codecompass.scan.git_remotes import MAX_CONFIG_BYTES, checked_out_repositories, parse_url, without_credentials

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


@pytest.mark.invariant("No password of a remote is stored, logged or shown")
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


# Work trees.

FLASK = parse_url("https://github.com/pallets/flask").repo_id
CLICK = parse_url("https://github.com/pallets/click").repo_id


def ids(top: str) -> set[str]:
    return {each.repo_id for each in checked_out_repositories(top)}


def tree(root: Path, config: str | bytes) -> str:
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (root / ".git" / "config").write_bytes(config.encode() if isinstance(config, str) else config)
    return str(root)


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/pallets/flask",
        "https://github.com/pallets/flask.git",
        "https://ada:ghp_secret@github.com/pallets/flask.git",
        "http://GitHub.com/pallets/flask/",
        "git@github.com:pallets/flask.git",
        "ssh://git@github.com/pallets/flask",
        "git://github.com:9418/pallets/flask",
        '"https://github.com/pallets/flask.git"',
        "https://github.com/pallets/flask.git ; mine",
        "https://github.com/pallets/flask.git # mine",
    ],
)
def test_all_addresses_of_a_repository_mean_it(tmp_path, address):
    root = tree(tmp_path, f'[core]\n\tbare = false\n[remote "origin"]\n\tfetch = +refs/heads/*\n\turl = {address}\n')

    assert ids(root) == {FLASK}


@pytest.mark.parametrize(
    ("remotes", "wanted"),
    [
        ({"origin": "flask", "upstream": "click"}, {FLASK, CLICK}),
        ({"origin": "flask", "vendored": "click"}, {FLASK}),
        ({"upstream": "flask", "ada": "click"}, {FLASK}),
        ({"ada": "flask"}, {FLASK}),
        ({"ada": "flask", "bob": "click"}, set()),
        ({}, set()),
    ],
)
def test_remotes_by_other_names_count_only_where_they_are_the_only_one(tmp_path, remotes, wanted):
    config = "".join(f'[remote "{name}"]\n\turl = https://github.com/pallets/{path}\n' for name, path in remotes.items())

    assert ids(tree(tmp_path, config)) == wanted


@pytest.mark.parametrize(
    "config",
    [
        "",
        "\0\0\0",
        b"\xff\xfe[remote \xff",
        '[remote "origin"]\n\turl = /srv/git/flask.git\n',
        '[remote "origin"]\n\turl = ext::sh -c x\n',
        '[remote "origin"]\n\turl =\n',
        '[branch "origin"]\n\turl = https://github.com/pallets/flask\n',
        'url = https://github.com/pallets/flask\n[remote "origin"]\n',
        "#" * MAX_CONFIG_BYTES + '\n[remote "origin"]\n\turl = https://github.com/pallets/flask\n',
        "[" * 100_000,
        '[remote "' + "\\" * 100_001,
    ],
)
def test_what_names_no_known_address_is_a_checkout_of_nothing(tmp_path, config):
    assert ids(tree(tmp_path, config)) == set()


def test_sections_may_be_written_in_any_way_that_git_reads(tmp_path):
    root = tree(tmp_path, '  [REMOTE "origin"] url = https://github.com/pallets/flask\n[user]\n\turl = https://a.example/b/c\n')

    assert ids(root) == {FLASK}


def test_a_directory_within_a_checkout_is_none_itself(tmp_path):
    root = tree(tmp_path / "flask", '[remote "origin"]\n\turl = https://github.com/pallets/flask\n')
    (tmp_path / "flask" / "src").mkdir()

    assert ids(str(tmp_path / "flask" / "src")) == set()
    assert ids(str(tmp_path)) == set()
    assert ids(root) == {FLASK}


def test_a_linked_worktree_is_one_of_the_same_repository(tmp_path):
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path / "main", check=True, capture_output=True)

    (tmp_path / "main").mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    git("remote", "add", "origin", "git@github.com:pallets/flask.git")
    git("worktree", "add", "-q", "../linked")

    assert ids(str(tmp_path / "linked")) == {FLASK}
