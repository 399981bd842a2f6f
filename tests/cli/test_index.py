"""`index` and `sync`: what they do and print, and what they leave behind if they are stopped."""

import fcntl
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from tests.cli.conftest import CommandLine, write
from tests.support.processes import run_python


def test_a_project_is_indexed_and_registered_on_first_contact(cli, shop):
    done = cli("index")

    assert done.code == 0
    assert done.out.startswith(f"{shop}: indexed 6 files, ")
    assert [project["repo_root"] for project in cli("projects", "list", "--json").json["projects"]] == [str(shop)]


def test_the_finished_job_is_printed_for_programs(cli, shop):
    done = cli("index", "--json")

    job = done.json
    assert done.code == 0
    assert (job["status"], job["mode"], job["ref"]) == ("published", "full", "main")
    assert (job["file_count"], job["changed_files"], job["repo_root"]) == (6, 6, str(shop))
    assert job["symbol_count"] == job["symbols_written"] > 5
    assert job["created_at"] <= job["finished_at"]
    assert cli("status", "--json").json["recent_jobs"][0]["job_id"] == job["job_id"]


def test_indexing_again_takes_in_only_what_changed(cli, shop, indexed):
    write(shop, {"shop/money.py": "class Money:\n    currency = 'EUR'\n", "shop/tax.py": "RATE = 0.19\n"})
    (shop / "README.md").unlink()

    job = cli("index", "--json").json

    assert (job["mode"], job["changed_files"], job["files_written"], job["files_removed"]) == ("incremental", 3, 2, 1)


def test_force_builds_from_nothing(cli, indexed):
    assert cli("index", "--force", "--json").json["mode"] == "full"
    assert cli("sync", "--force", "--json").json["mode"] == "full"


def test_sync_says_when_nothing_has_changed(cli, indexed):
    cli("sync")  # files written just before the index read them are read again

    done = cli("sync")

    assert done.code == 0
    assert "nothing has changed (6 files, " in done.out


def test_sync_indexes_what_is_not_indexed_yet(cli, shop):
    assert cli("sync", "--json").json["mode"] == "full"


def test_a_directory_can_be_named(cli, shop):
    cli.tree("elsewhere", {"b.py": ""})

    assert cli("index", shop).out.startswith(f"{shop}: indexed")
    assert cli("index", "--workspace", shop).code == 0
    assert cli("index", shop, "--workspace", shop).code == 2


def test_a_directory_that_does_not_exist_is_not_found(cli, shop):
    done = cli("index", shop / "nowhere")

    assert done.code == 3
    assert done.err.startswith(f"error: the directory {shop / 'nowhere'} does not exist")


def test_a_dry_run_lists_files_and_changes_nothing(cli, shop):
    write(
        shop,
        {".gitignore": "*.log\nbuild/\n", "x.log": "", "build/y.py": "", "logo.png": b"\x89PNG\0", "big.txt": "x" * 2**20 + "y"},
    )

    done = cli("index", "--dry-run")

    listed = done.out.splitlines()
    assert "shop/cart.py" in listed
    assert ".gitignore" in listed
    assert not {"x.log", "build/y.py", "logo.png", "big.txt"} & set(listed)
    assert "7 files" in done.err
    assert "left out: 1 binary, 1 too_large" in done.err
    assert "ignored: 1 file and 1 directory" in done.err
    assert cli("projects", "list", "--json").json == {"projects": []}


def test_a_dry_run_lists_exactly_what_is_then_indexed(cli, shop):
    """The content is read too: a name does not show whether a file is binary, minified or in another encoding."""
    write(
        shop,
        {
            "a.min.js": "x" * 30_000,
            "latin.txt": "caf\u00e9\n".encode("latin-1"),
            "odd.txt": b"\xc0\xaf",
            "wide.txt": "\ufeffwide\n".encode("utf-16-le"),
        },
    )

    plan = cli("index", "--dry-run", "--json").json
    status = cli("index", "--json") and cli("status", "--json").json

    assert len(plan["files"]) == status["file_count"] == 8
    reasons = sorted(item["reason"] for item in plan["skipped"])
    assert {reason: reasons.count(reason) for reason in reasons} == status["skipped"] == {"minified": 1, "not_utf8": 1}


def test_a_bare_repository_is_answered_from_its_head(cli, shop, tmp_path):
    bare = tmp_path / "shop.git"
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "add", "-A"], cwd=shop, check=True)
    subprocess.run(["git", *identity, "commit", "-qm", "first"], cwd=shop, check=True)
    subprocess.run(["git", "clone", "-q", "--bare", str(shop), str(bare)], check=True)
    place = ("--workspace", str(bare))

    plan = cli(*place, "index", "--dry-run", "--json").json
    found = cli(*place, "search", "cart", "--json").json

    assert found["metadata"]["workspace"] == str(bare)
    assert "shop/cart.py" in {hit["path"] for hit in found["results"]}
    assert {file["path"] for file in plan["files"]} == set(
        subprocess.run(["git", "ls-files"], cwd=shop, capture_output=True, text=True, check=True).stdout.split()
    )
    assert cli(*place, "status", "--json").json["file_count"] == len(plan["files"])
    assert cli(*place, "status", "--path", "shop/cart.py").out.startswith("shop/cart.py: it is indexed from HEAD")
    assert cli(*place, "status", "--path", "HEAD").code == 3


def test_the_projects_own_settings_count(cli, shop):
    write(shop, {".codecompass/config.toml": "[index]\nexclude = ['tests/']\nmax_file_size = 300\n"})

    files = {item["path"] for item in cli("index", "--dry-run", "--json").json["files"]}

    assert "tests/test_cart.py" not in files
    assert "shop/cart.py" not in files
    assert "shop/money.py" in files


def test_a_mistake_in_the_settings_stops_before_anything_is_written(cli, shop):
    write(shop, {".codecompass/config.toml": "[index]\nmax_file_sise = 300\n"})

    done = cli("index")

    assert done.code == 2
    assert "did you mean index.max_file_size?" in done.err


@pytest.mark.parametrize("command", ["index", "sync"])
def test_an_index_that_is_being_written_is_waited_for(cli, program, command, indexed):
    (lock,) = cli.home.glob("projects/*/writer.lock")

    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        process = program.start(command, "--json")
        said = process.stderr.readline()
        statuses = [job["status"] for job in cli("status", "--json").json["recent_jobs"]]
    out, _ = process.communicate(timeout=60)

    assert said.startswith(b"another process is writing this index")
    assert b"waiting for it" in said
    assert statuses == ["published"]
    assert process.returncode == 0
    assert json.loads(out)["changed_files"] == 0


def large_tree(cli: CommandLine) -> Path:
    """A tree that takes a few seconds to index, so that other commands run during the job."""
    functions = "".join(f"def f{n}(a, b):\n    return a + b\n\n\n" for n in range(300))
    return cli.tree("large", {f"m{n}.py": functions for n in range(300)}, git=False)


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_leaves_no_traceback(cli, program):
    """What a first index leaves can be continued, but makes nothing a project; and the next run succeeds."""
    root = large_tree(cli)
    process = program.start("index", "-v")
    job = None
    while job is None:
        assert process.poll() is None, process.communicate()
        job = cli("status", "--json").json["active_job"] if (cli.home / "registry.db").exists() else None

    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    status = cli("status", "--json").json
    assert (b"begins again" if status["index_status"] == "not_indexed" else b"run codecompass index to continue") in err
    assert status["active_job"] is None
    assert cli("projects", "list", "--json").json == {"projects": []}
    assert cli("index", "--json").json["file_count"] == len(list(root.iterdir()))


@pytest.mark.slow
def test_a_killed_job_is_reported_until_the_next_one_succeeds(cli, program):
    large_tree(cli)
    process = program.start("index")
    status = None
    while status != "running":
        assert process.poll() is None, process.communicate()
        active = cli("status", "--json").json["active_job"] if (cli.home / "registry.db").exists() else None
        status = None if active is None else active["status"]

    process.send_signal(signal.SIGKILL)
    process.communicate()

    report = cli("status", "--json").json["interrupted_recovery_report"]
    assert (report["detected"], report["interrupted_jobs"]) == (True, 1)
    assert "Run: codecompass sync" in cli("status").err
    assert cli("sync").code == 0
    assert "interrupted_recovery_report" not in cli("status", "--json").json


def test_a_store_that_cannot_be_made_is_permission_denied(cli, shop):
    (cli.base / "file").write_text("")

    done = cli("index", "--json", CODECOMPASS_HOME=str(cli.base / "file" / "data"))

    assert done.code == 1
    assert done.json["error"]["code"] == "permission_denied"
    assert done.json["error"]["data"]["path"] == str(cli.base / "file" / "data")
    assert "CODECOMPASS_HOME" in done.json["error"]["message"]


@pytest.mark.parametrize("command", [("search", "cart"), ("locate", "Cart"), ("status",)])
def test_a_store_that_cannot_be_written_is_read_all_the_same_and_stays_as_it_is(cli, shop, command, indexed):
    cli("locate", "Cart")
    before = content_of(cli.home)
    for path in (cli.home, *cli.home.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)

    code = "import sys; from codecompass.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = run_python(code, *command, "--json", "--workspace", str(shop), environment=cli.environment)

    assert done.returncode == 0, done
    assert json.loads(done.stdout)["metadata"]["freshness_status"] == "fresh"
    assert content_of(cli.home) == before


@pytest.mark.parametrize("command", [("index",), ("sync",)])
def test_a_store_that_cannot_be_written_is_permission_denied_and_stays_as_it_is(cli, shop, command, indexed):
    before = content_of(cli.home)
    for path in (cli.home, *cli.home.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)

    code = "import sys; from codecompass.cli.main import main; sys.exit(main(sys.argv[1:]))"
    done = run_python(code, *command, "--json", "--workspace", str(shop), environment=cli.environment)

    assert done.returncode == 1, done
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "permission_denied"
    assert error["data"]["suggested_action"]
    assert content_of(cli.home) == before
    for path in (cli.home, *cli.home.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    assert cli("locate", "Cart").code == 0


def content_of(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_an_index_of_a_newer_program_is_refused_and_kept(cli, indexed):
    (current,) = cli.home.glob("projects/*/CURRENT")
    newer = re.sub(r'"schema_version":\d+', '"schema_version":99', current.read_text())
    assert "99" in newer
    current.write_text(newer)

    done = cli("index", "--json")

    assert done.code == 1
    assert done.json["error"]["code"] == "index_incompatible"
    assert current.read_text() == newer
    refused = cli("search", "cart", "--json").json["error"]
    assert refused["code"] == "index_incompatible"
    assert f"format 99.{PARSER_VERSION}" in refused["message"]
    assert f"format {SCHEMA_VERSION}.{PARSER_VERSION}" in refused["message"]
    status = cli("status").out
    assert "written by a newer codecompass; next: upgrade this program" in status
    assert "--force" not in status
    assert cli("projects", "list", "--json").json["projects"][0]["state"] == "newer"


def test_file_names_that_are_not_utf8_break_nothing(cli, shop):
    (shop / os.fsdecode(b"caf\xe9.py")).write_text("x = 1\n")

    done = cli("index")
    plan = cli("index", "--dry-run")

    assert (done.code, plan.code) == (0, 0)
    assert cli("status", "--json").json["skipped"] == {"path_not_utf8": 1}
