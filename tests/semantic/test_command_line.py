"""Search by meaning on the command line: `index`, `search`, `status` and `doctor` with an endpoint and without one."""

import json
import subprocess
import sys

import pytest

from tests.cli.conftest import CommandLine
from tests.support.embedding_peer import DIMENSIONS, EmbeddingPeer

FILES = {
    "accounts.py": "def delete_account(account_id):\n    table.discard(account_id)\n",
    "trees.py": "def parse_tree(text):\n    return Tree(text)\n",
    "guide.md": "# Guide\n\nHow to rename things.\n",
}


@pytest.fixture
def cli(tmp_path) -> CommandLine:
    made = CommandLine(tmp_path)
    made.cwd = made.tree("project", FILES)
    return made


def name_endpoint(cli: CommandLine, peer: EmbeddingPeer, **settings) -> None:
    """Names the endpoint in the user's configuration file."""
    values = {
        "endpoint": peer.url,
        "model": "words",
        "dimensions": DIMENSIONS,
        "question_timeout_ms": 10_000,
        "requests_per_second": 1000,
        **settings,
    }
    path = cli.user / "config" / "codecompass" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[semantic]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))


def finding(done, ending: str = "") -> dict:
    found = [check for check in done.json["checks"] if check["name"] == "by meaning"]
    return found[-1 if ending else 0]


def test_index_makes_the_vectors_and_search_uses_them(cli, peer):
    name_endpoint(cli, peer)

    indexed = cli("index")
    found = cli("search", "erase a customer", "--json", "--ranking-explain-level", "basic")
    again = cli("sync")
    status = cli("status")

    assert f"sending what is new to 127.0.0.1:{peer.port}" in indexed.err
    assert "3 texts can be found by meaning" in indexed.err
    assert found.json["results"][0]["name"] == "delete_account"
    assert found.json["metadata"]["ranking_reasons"][0]["near_in_meaning"] > 0.2
    assert len(peer.texts) == 3 + 1, "sync sent something again"
    assert again.code == 0
    assert f"by meaning  3 texts by words at 127.0.0.1:{peer.port}" in status.out


def test_a_failing_endpoint_fails_no_command(cli, peer):
    name_endpoint(cli, peer)
    peer.behaviour = "server_error"

    indexed = cli("index")
    found = cli("search", "rename things")

    assert indexed.code == found.code == 0
    assert "semantic: unavailable (server_error: status 500)" in indexed.err
    assert "guide.md" in found.out
    assert found.err.count("semantic: unavailable (no_vectors") == 1


def test_a_setting_that_cannot_be_used_is_named(cli, peer):
    name_endpoint(cli, peer, endpoint="http://192.0.2.1:11434")

    found = cli("search", "rename things")
    looked = cli("doctor", "--json")

    assert found.code == 2
    assert "semantic.allow_plain_http" in found.err
    assert finding(looked)["status"] == "fail"


def test_a_repository_cannot_name_an_endpoint(cli, peer):
    """A clone must not cause anything to be sent."""
    config = cli.cwd / ".codecompass" / "config.toml"
    config.parent.mkdir()
    config.write_text(f'[semantic]\nendpoint = "{peer.url}"\nmodel = "m"\ndimensions = {DIMENSIONS}\n')

    done = cli("index")

    assert done.code == 2
    assert "a project's own file cannot set semantic." in done.err
    assert peer.connections == 0


def test_doctor_says_that_nothing_is_sent(cli, peer):
    cli("index")

    done = cli("doctor", "--json", "--semantic")

    assert finding(done) == {
        "name": "by meaning",
        "status": "ok",
        "message": "off: nothing is sent anywhere (semantic.endpoint is empty)",
    }
    assert peer.connections == 0


def test_doctor_says_what_is_sent_where_and_sends_nothing_by_itself(cli, peer):
    name_endpoint(cli, peer, api_key_env="MY_KEY")
    cli.environment["MY_KEY"] = "s3cret"
    cli("index")
    peer.forget()

    done = cli("doctor", "--json")
    n_sent = len(peer.texts)
    asked = cli("doctor", "--json", "--semantic")

    message = finding(done)["message"]
    assert message.startswith(
        f"on: texts of your files and questions are sent to 127.0.0.1:{peer.port} (on this machine), openai,"
    )
    assert "the key in MY_KEY is set" in message
    of_project = finding(done, "project")["message"]
    assert "2 definitions and 1 chunk of other text sent" in of_project
    assert "3 have vectors" in of_project
    assert n_sent == 0
    assert peer.texts == ["codecompass asks for one vector"]
    assert "it answered in" in finding(asked)["message"]
    assert "s3cret" not in done.out + done.err + asked.out + asked.err


def test_doctor_names_a_key_that_is_not_set_and_an_endpoint_that_fails(cli, peer):
    name_endpoint(cli, peer, api_key_env="MY_KEY")
    unset = finding(cli("doctor", "--json", "--semantic"))
    cli.environment["MY_KEY"] = "s3cret"
    peer.behaviour = "key_refused"
    refused = cli("doctor", "--json", "--semantic")

    assert (unset["status"], unset["remedy"]) == ("warn", "set the variable MY_KEY")
    assert finding(refused)["status"] == "fail"
    assert "check the key in the variable MY_KEY" in finding(refused)["message"]
    assert refused.code == 1
    assert "s3cret" not in refused.out + refused.err


@pytest.mark.invariant(of="test_without_the_lane_the_same_question_does_not_find_it_and_nothing_is_connected")
def test_nothing_of_the_lane_is_loaded_while_it_is_off(cli):
    cli("index")
    code = (
        "import sys; from codecompass.cli.main import main; main(['search', 'rename', 'things']); "
        "import codecompass.transport.server; print(*sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cli.cwd, env=cli.environment, capture_output=True, text=True, check=True
    )

    loaded = done.stdout.split("\n")[-2].split()
    assert "codecompass.query.search" in loaded
    assert [each for each in loaded if each in ("apsw", "sqlite_vec", "httpx2") or each.startswith("codecompass.semantic.")] == []
    assert "codecompass.store.vectors" not in loaded


def test_a_server_does_not_start_with_settings_that_cannot_be_used(cli, peer):
    name_endpoint(cli, peer, model="")

    done = cli("serve-mcp")

    assert done.code == 2
    assert "semantic.model is not" in done.err
