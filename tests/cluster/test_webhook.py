"""Webhooks of git servers: which are accepted, and which repository they are about."""

import hashlib
import hmac
import json

import pytest

from codecompass.cluster.serving.webhook import MAX_MESSAGE_BYTES, is_genuine, pushed_urls
from codecompass.errors import InvalidInput

BODY = b'{"repository": {}}'
SECRET = "correct horse"


def signature(body: bytes = BODY, secret: str = SECRET, digest: str = "sha256") -> str:
    return hmac.new(secret.encode(), body, digest).hexdigest()


@pytest.mark.parametrize(
    "headers",
    [
        {"x-hub-signature-256": f"sha256={signature()}"},
        {"x-hub-signature-256": f"sha256={signature()}", "x-hub-signature": f"sha1={signature(digest='sha1')}"},
        {"x-gitea-signature": signature()},
        {"x-forgejo-signature": signature().upper()},
        {"x-hub-signature": f"sha256={signature()}"},
        {"x-gitlab-token": SECRET},
    ],
)
def test_whoever_knows_the_secret_is_believed(headers):
    assert is_genuine(SECRET, BODY, headers)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-hub-signature-256": ""},
        {"x-hub-signature-256": "sha256="},
        {"x-hub-signature-256": f"sha256={signature(secret='other')}"},
        {"x-hub-signature-256": f"sha256={signature(body=b'other')}"},
        {"x-hub-signature": f"sha1={signature(digest='sha1')}"},
        {"x-gitea-signature": "\udcff"},
        {"x-gitlab-token": ""},
        {"x-gitlab-token": SECRET + "x"},
        {"x-gitlab-token": signature()},
        {"authorization": SECRET},
    ],
)
def test_nobody_else_is(headers):
    assert not is_genuine(SECRET, BODY, headers)


def test_without_a_secret_nobody_is_believed():
    empty = hmac.new(b"", BODY, hashlib.sha256).hexdigest()

    assert not is_genuine("", BODY, {"x-hub-signature-256": f"sha256={empty}", "x-gitlab-token": ""})


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {
                "ref": "refs/heads/main",
                "repository": {
                    "id": 1,
                    "clone_url": "https://github.example/a/b.git",
                    "ssh_url": "git@github.example:a/b.git",
                    "html_url": "https://github.example/a/b",
                    "url": "https://api.github.example/repos/a/b",
                },
            },
            {"https://github.example/a/b.git", "git@github.example:a/b.git", "https://github.example/a/b"},
        ),
        (
            {
                "object_kind": "push",
                "project": {"git_http_url": "https://gitlab.example/a/b.git", "git_ssh_url": "git@gitlab.example:a/b.git"},
                "repository": {"git_http_url": "https://gitlab.example/a/b.git", "name": "b"},
            },
            {"https://gitlab.example/a/b.git", "git@gitlab.example:a/b.git"},
        ),
        (
            {"repository": {"full_name": "a/b", "links": {"html": {"href": "https://bitbucket.example/a/b"}}}},
            {"https://bitbucket.example/a/b"},
        ),
        ({"zen": "Keep it logically awesome.", "hook_id": 1}, set()),
        ({"repository": None, "project": None}, set()),
        ({"repository": {"clone_url": 3, "html_url": None, "links": [1], "ssh_url": {"x": 1}}}, set()),
    ],
)
def test_the_repository_of_a_push_is_found_whoever_sends_it(message, expected):
    assert set(pushed_urls(json.dumps(message).encode())) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"payload=%7B%7D",
        b"[]",
        b'"x"',
        b"{",
        b"\xff",
        b'{"repository": "x"}',
        b"[" * 100_000,
        b" " * (MAX_MESSAGE_BYTES + 1),
    ],
)
def test_what_is_no_push_is_said_to_be_none(body):
    with pytest.raises(InvalidInput):
        pushed_urls(body)
