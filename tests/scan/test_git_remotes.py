"""Which repositories a work tree is a checkout of, as its configuration says."""

import subprocess
from pathlib import Path

import pytest

from codecompass.scan.git_remotes import MAX_CONFIG_BYTES, checked_out_repositories, parse_url

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
