"""`status`: what is indexed and why a file is not; it changes nothing and never needs an index."""

import re

import pytest

from tests.cli.conftest import write


def test_a_project_that_is_not_indexed_is_exit_code_3_and_says_what_to_do(cli, shop):
    readable = cli("status")
    machine = cli("status", "--json")

    assert readable.code == machine.code == 3
    assert "not indexed, on main" in readable.out
    assert "next: codecompass index" in readable.err
    reply = machine.json
    assert (reply["index_status"], reply["schema_status"], reply["active_job"]) == ("not_indexed", "not_indexed", None)
    assert reply["metadata"]["indexing_status"] == "not_indexed"


def test_an_indexed_project_shows_counts_languages_and_jobs(cli, shop):
    write(shop, {"logo.png": b"\x89PNG\0\0"})
    cli("index")
    cli("sync")

    readable = cli("status")
    reply = cli("status", "--json").json

    assert readable.code == 0
    assert "ready, fresh, on main" in readable.out
    assert "python 4, markdown 1, typescript 1" in readable.out
    assert "binary 1" in readable.out
    assert "full        published in" in readable.out
    assert (reply["file_count"], reply["skipped"], reply["ref"]) == (6, {"binary": 1}, "main")
    assert reply["languages"] == {"python": 4, "markdown": 1, "typescript": 1}
    assert reply["last_indexed_at"].endswith("Z")


def test_a_changed_tree_is_stale_until_it_is_synchronised(cli, shop, indexed):
    cli("sync")
    write(shop, {"shop/tax.py": "RATE = 0.19\n"})

    stale = cli("status", "--json").json
    readable = cli("status")
    cli("sync")

    assert stale["metadata"]["freshness_status"] == "stale"
    assert "ready, stale" in readable.out
    assert "1 file changed" in readable.err
    assert cli("status", "--json").json["metadata"]["freshness_status"] == "fresh"


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("shop/cart.py", 0, "it is indexed"),
        ("logo.png", 3, "it is binary"),
        ("x.log", 3, "left out by `*.log` (.gitignore:1)"),
        ("node_modules/a/b.js", 3, "node_modules"),
        (".env", 3, "secret"),
        ("nowhere.py", 3, "there is no such file"),
        ("../other.py", 3, "outside the workspace"),
    ],
)
def test_one_file_is_explained(cli, shop, path, code, said):
    write(shop, {"logo.png": b"\x89PNG\0", ".gitignore": "*.log\n", "x.log": "", "node_modules/a/b.js": "", ".env": "KEY=1"})
    write(cli.base, {"other.py": ""})
    cli("index")

    done = cli("status", "--path", path)

    assert done.code == code
    assert said in done.out


def test_a_file_that_is_new_is_said_to_be_missing_yet(cli, shop, indexed):
    write(shop, {"shop/tax.py": "RATE = 0.19\n"})

    done = cli("status", "--path", "tax.py", cwd=shop / "shop")

    assert done.code == 3
    assert "not in it yet" in done.out
    assert "codecompass sync" in done.err


def test_a_file_is_part_of_the_json_answer(cli, indexed):
    file = cli("status", "--path", "shop/cart.py", "--json").json["file"]

    assert (file["path"], file["status"], file["language"]) == ("shop/cart.py", "indexed", "python")


def test_the_state_of_a_ref_is_that_of_its_own_index(cli, shop):
    cli.git(shop, "add", "-A")
    cli.git(shop, "commit", "-q", "-m", "all")
    assert cli("status", "--ref", "nope", "--json").json["error"]["code"] == "ref_not_indexed"
    before = cli("status", "--ref", "main", "--json").json
    cli("locate", "Cart", "--ref", "main")
    after = cli("status", "--ref", "main", "--json").json

    assert (before["ref"], before["index_status"], before["file_count"]) == ("main", "not_indexed", 0)
    assert after["index_status"] == "ready"
    assert after["file_count"] > 0


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        ('"schema_version":0', "reindex_required", "of an older version; the next question rebuilds it, or: codecompass index"),
        ("nonsense", "corrupt_manifest", "corrupt manifest; next: codecompass index --force"),
    ],
)
def test_an_index_that_cannot_be_used_says_how_to_rebuild_it_and_a_question_does(cli, content, status, said, indexed):
    (current,) = cli.home.glob("projects/*/CURRENT")
    text = current.read_text()
    current.write_text(re.sub(r'"schema_version":\d+', content, text) if "schema" in content else content)

    reply = cli("status", "--json").json
    readable = cli("status")

    assert (reply["index_status"], reply["schema_status"]) == ("failed", status)
    assert said in readable.out
    assert cli("search", "cart").code == 0
    assert cli("status").code == 0


def test_damaged_data_is_a_state_and_not_a_crash(cli, indexed):
    for facts in cli.home.glob("projects/*/epochs/*/facts.db"):
        facts.write_bytes(b"garbage" * 1000)

    reply = cli("status", "--json")

    assert reply.code == 0
    assert reply.json["index_status"] == "failed"
    assert "index --force" in reply.json["metadata"]["warnings"][0]
    assert cli("search", "cart", "--json").json["error"]["code"] == "index_incompatible"
    assert cli("index", "--force").code == 0
    assert cli("search", "cart").code == 0
