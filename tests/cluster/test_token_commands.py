"""Tokens and the server from the command line: tokens are stored as hashes, and refused once revoked."""

import signal
from datetime import datetime
from pathlib import Path

import pytest
import trio

from codecompass.cluster.access.tokens import token_id
from codecompass.cluster.engine.client import Engine
from tests.cli.conftest import CommandLine, Program
from tests.cluster.git_remote import GitRemote
from tests.cluster.test_commands import DEADLINE_SECONDS, cli, until
from tests.transport.http.client import ask, call
from tests.transport.http.command import http_command

__all__ = ("cli",)

pytestmark = pytest.mark.cluster


def engine_of(cli: CommandLine) -> Engine:
    return Engine(cli.environment["CODECOMPASS_CLUSTER_URL"].split(","), prefix=cli.environment["CODECOMPASS_CLUSTER_PREFIX"])


def test_a_token_is_shown_once_and_kept_as_a_hash(cli):
    text = cli("cluster", "token", "add", "ada", "--group", "web", "--group", "api", "--days", "30").out.strip()
    made = cli("cluster", "token", "add", "root", "--admin", "--no-expiry", "--json").json
    listed = cli("cluster", "token", "list", "--json")
    shown = cli("cluster", "token", "list")

    assert text.startswith("cct_")
    assert (made["name"], made["token"].startswith("cct_")) == ("root", True)
    entries = {each["name"]: each for each in listed.json["tokens"]}
    assert entries["ada"]["groups"] == ["api", "web"]
    assert entries["ada"]["id"] == token_id(text)
    assert entries["ada"]["expires_at"]
    assert (entries["ada"]["scope"], "last_used_at" in entries["ada"]) == (["questions", "metrics"], False)
    assert entries["root"]["is_admin"]
    assert "expires_at" not in entries["root"]
    assert "all (administrator)" in shown.out
    kept = engine_of(cli).get(engine_of(cli).names.access, token_id(text))
    assert kept is not None
    for where in (listed.out, shown.out, kept.source.decode()):
        assert text not in where


def days_of(entry: dict) -> int:
    made, ended = (datetime.fromisoformat(entry[key]) for key in ("created_at", "expires_at"))
    return round((ended - made).total_seconds() / 86_400)


def test_a_token_expires_unless_that_is_not_wanted(cli):
    cli("cluster", "token", "add", "usual", "--group", "web")
    cli("cluster", "token", "add", "short", "--group", "web", "--days", "7")
    both = cli("cluster", "token", "add", "both", "--group", "web", "--days", "7", "--no-expiry")
    entries = {each["name"]: each for each in cli("cluster", "token", "list", "--json").json["tokens"]}

    assert {name: days_of(entry) for name, entry in entries.items()} == {"usual": 90, "short": 7}
    assert both.code == 2
    assert "exclude each other" in both.err


def test_a_rotated_token_has_a_successor_for_the_same_and_ends_itself(cli):
    old = cli("cluster", "token", "add", "ada", "--group", "web", "--days", "7", "--scope", "questions").out.strip()
    done = cli("cluster", "token", "rotate", "ada")
    new = done.out.strip()
    several = cli("cluster", "token", "rotate", "ada")
    at_once = cli("cluster", "token", "rotate", token_id(new)[:12], "--grace-hours", "0", "--json").json["token"]
    entries = {each["id"]: each for each in cli("cluster", "token", "list", "--json").json["tokens"]}

    assert new.startswith("cct_")
    assert new != old
    assert [days_of(entries[token_id(text)]) for text in (old, new, at_once)] == [1, 0, 7]
    assert [entries[token_id(text)].get("has_expired", False) for text in (old, new, at_once)] == [False, True, False]
    assert {tuple(each["groups"]) for each in entries.values()} == {("web",)}
    assert {tuple(each["scope"]) for each in entries.values()} == {("questions",)}
    assert several.code == 2
    assert token_id(new)[:12] in several.err


def test_tokens_are_revoked_by_name_or_by_id(cli):
    texts = [cli("cluster", "token", "add", "ada", "--group", "web").out.strip() for _ in range(3)]
    one = cli("cluster", "token", "revoke", token_id(texts[0])[:12], "--json").json
    rest = cli("cluster", "token", "revoke", "ada")
    again = cli("cluster", "token", "revoke", "ada")

    assert [each["id"] for each in one["revoked"]] == [token_id(texts[0])]
    assert sorted(rest.out.splitlines()) == sorted(f"revoked ada ({token_id(text)[:12]})" for text in texts[1:])
    assert again.code == 2
    assert "token list" in again.err
    assert cli("cluster", "token", "list", "--json").json == {"tokens": []}


@pytest.mark.parametrize(
    "arguments",
    [
        ("ada",),
        ("ada", "--group", "no, group"),
        ("ada", "--group", "web", "--days", "0"),
        ("ada", "--scope", "questions"),
        ("", "--group", "web"),
        ("a\tb", "--group", "web"),
    ],
)
def test_a_token_that_could_not_be_meant_is_refused(cli, arguments):
    done = cli("cluster", "token", "add", *arguments)

    assert done.code == 2
    assert done.out == ""


def test_from_a_remote_to_an_answer(cli, tmp_path):
    """End to end: a repository is added, indexed by a worker, and queried with a token of its group."""
    remote = GitRemote(tmp_path / "origin", "shop")
    commit = remote.push({"a.py": "def one():\n    pass\n"})
    cli("cluster", "add", remote.url, "--group", "web")
    tokens = {group: cli("cluster", "token", "add", f"for-{group}", "--group", group).out.strip() for group in ("web", "other")}
    with Program(cli).start("cluster", "worker") as worker:
        try:
            until(lambda: cli("cluster", "list", "--json"), lambda done: done.json["repositories"][0]["state"] == "ready")
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=DEADLINE_SECONDS)

    async def answers() -> dict:
        home = Path(cli.environment["CODECOMPASS_HOME"])
        async with http_command(home, "--store", "opensearch", environment=cli.environment) as command:
            body = call("locate_symbol", {"name": "one"})
            found = {
                group: await ask(command.port, "POST", "/", body, authorization=f"Bearer {text}")
                for group, text in tokens.items()
            }
            return found | {"nobody": await ask(command.port, "POST", "/", body)}

    found = trio.run(answers)

    assert found["web"].said()["results"][0]["name"] == "one"
    assert found["web"].said()["metadata"]["commit"] == commit
    assert found["other"].said()["error"]["code"] == "project_not_found"
    assert found["nobody"].status == 401
    assert {
        each["name"]: bool(each.get("last_used_at")) for each in cli("cluster", "token", "list", "--json").json["tokens"]
    } == {
        "for-web": True,
        "for-other": True,
    }
    left = Path(cli.environment["CODECOMPASS_HOME"]).glob("organisation/*/*")
    assert [path.name for path in left] == ["summaries"], "copies are gone, and the next start need not fetch summaries"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--store", "opensearch"), "--transport http"),
        (("--store", "opensearch", "--transport", "http", "--cluster-url", ""), "CODECOMPASS_CLUSTER_URL"),
        (("--store", "opensearch", "--transport", "http", "--cluster-url", "engine:9200"), "http://"),
    ],
)
def test_a_server_that_could_not_work_does_not_start(cli, options, said):
    cli.environment.pop("CODECOMPASS_CLUSTER_URL")

    done = cli("serve-mcp", *options, "--port", "0") if "http" in options else cli("serve-mcp", *options)

    assert done.code == 2
    assert said in done.err
