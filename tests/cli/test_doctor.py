"""`doctor`: a line for each thing that can be wrong, with the remedy."""

import os
import re
import sqlite3
import stat
import subprocess
import sys

import pytest

from codecompass.cli import doctor_checks
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.store.filesystem import FileSystem
from codecompass.store.layout import HomeLayout
from tests.scan.trees import git


def status_of(done, name: str) -> tuple[str, str]:
    found = next(check for check in done.json["checks"] if check["name"] == name)
    return found["status"], found["message"] + " " + found.get("remedy", "")


def test_a_healthy_installation_has_no_failure(cli, shop, indexed):
    done = cli("doctor", "--json")
    readable = cli("doctor")

    assert done.code == readable.code == 0
    assert done.json["ok"] is True
    assert {check["status"] for check in done.json["checks"]} <= {"ok", "warn"}
    assert "everything works" in readable.out
    assert str(shop) in readable.out


def test_the_grammars_of_all_languages_are_loaded(cli):
    assert status_of(cli("doctor", "--json"), "grammars")[0] == "ok"
    assert len(SYMBOL_LANGUAGES) == 121


def test_a_worker_that_does_not_work_fails(cli, monkeypatch):
    monkeypatch.setenv("PYTHONHOME", "/nonexistent")

    found = doctor_checks._worker()

    assert found.status == "fail"
    assert "status 1" in found.message


@pytest.mark.invariant("No module of a repository can replace one of ours")
def test_nothing_of_a_repository_is_run(cli):
    """`python -m`, which starts the worker, searches the current directory for modules first."""
    root = cli.tree(
        "trap", {"msgspec.py": "raise SystemExit('caught')\n", "codecompass/__init__.py": "raise SystemExit('caught')\n"}
    )

    done = subprocess.run(
        [sys.executable, "-P", "-m", "codecompass", "doctor", "--json"],
        cwd=root,
        env=cli.environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert "caught" not in done.stdout + done.stderr
    assert done.returncode == 0


def test_a_first_look_makes_nothing(cli):
    cli("doctor")

    assert not cli.home.exists()


def test_a_data_directory_that_others_can_read_is_pointed_out(cli, indexed):
    cli.home.chmod(0o755)

    status, text = status_of(cli("doctor", "--json"), "data directory")

    assert status == "warn"
    assert f"chmod 700 {cli.home}" in text
    assert stat.S_IMODE(cli.home.stat().st_mode) == 0o755


def test_a_data_directory_that_cannot_be_made_fails(cli):
    (cli.base / "file").write_text("")

    done = cli("doctor", "--json", CODECOMPASS_HOME=str(cli.base / "file" / "data"))

    assert done.code == 1
    assert done.json["ok"] is False
    assert status_of(done, "data directory")[0] == "fail"


def test_a_damaged_registry_fails_with_the_remedy(cli, indexed):
    (cli.home / "registry.db").write_text("nonsense " * 1000)

    done = cli("doctor", "--json")

    assert done.code == 1
    status, text = status_of(done, "registry")
    assert status == "fail"
    assert "mv " in text


def test_a_registry_of_a_newer_program_fails(cli, indexed):
    connection = sqlite3.connect(cli.home / "registry.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    assert "newer codecompass" in status_of(cli("doctor", "--json"), "registry")[1]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ('"schema_version":0', ("warn", "older codecompass")),
        ('"schema_version":99', ("fail", "newer codecompass")),
        ("gone", ("warn", "projects gc")),
    ],
)
def test_a_project_that_needs_attention_is_named(cli, shop, change, expected, indexed):
    (current,) = cli.home.glob("projects/*/CURRENT")
    if change == "gone":
        shop.rename(cli.base / "moved")
        cli.cwd = cli.user
    else:
        current.write_text(re.sub(r'"schema_version":\d+', change, current.read_text()))

    status, text = status_of(cli("doctor", "--json"), "project")

    assert status == expected[0]
    assert expected[1] in text
    assert str(shop) in text


def test_an_index_with_a_bit_that_the_disk_forgot_fails_and_is_built_anew(cli, indexed):
    (path, *_) = cli.home.glob("projects/*/epochs/*/text/*/*.store")
    status = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    verdict, text = status_of(cli("doctor", "--json"), "project")

    assert verdict == "fail"
    assert path.name in text
    assert "index --force" in text
    assert cli("index").code == 0
    assert status_of(cli("doctor", "--json"), "project")[0] == "ok"


def test_a_mistake_in_the_settings_is_the_first_finding(cli):
    done = cli("doctor", "--json", CODECOMPASS_SERVER_PORT="many")

    assert done.code == 1
    assert done.json["checks"][0]["name"] == "settings"
    assert "CODECOMPASS_SERVER_PORT" in done.json["checks"][0]["message"]


def test_a_missing_git_is_a_warning(cli, tmp_path):
    status, text = status_of(cli("doctor", "--json", PATH=str(tmp_path)), "git")

    assert status == "warn"
    assert "install git" in text


def test_a_repository_that_git_refuses_is_named(cli, shop, indexed):
    git(shop, "init", "--quiet")
    assert status_of(cli("doctor", "--json"), "git")[0] == "ok"
    (shop / ".git" / "config").write_text("[broken\n")

    status, text = status_of(cli("doctor", "--json"), "repository")

    assert status == "warn"
    assert "bad config line" in text
    assert "Ask the user" not in text


def test_a_store_on_a_network_file_system_is_refused(tmp_path, monkeypatch):
    """The test machine has no such file system; the mount tables of machines that do are tested in the store's tests."""
    monkeypatch.setattr(doctor_checks, "filesystem_of", lambda path: FileSystem("nfs4", "/home"))

    found = doctor_checks._filesystem(HomeLayout(tmp_path))

    assert found.status == "fail"
    assert "network file system (nfs4 at /home)" in found.message
    assert "CODECOMPASS_HOME" in found.remedy


def test_low_limits_of_watches_come_with_the_command_that_raises_them(tmp_path, monkeypatch):
    (tmp_path / "max_user_watches").write_text("8192\n")
    (tmp_path / "max_user_instances").write_text("128\n")
    monkeypatch.setattr(doctor_checks, "INOTIFY", tmp_path)

    found = doctor_checks._watches()

    assert found.status == "warn"
    assert found.remedy == "as root: sysctl -w fs.inotify.max_user_watches=65536"


def test_a_full_disk_fails_and_a_filling_one_warns(tmp_path, monkeypatch):
    monkeypatch.setattr(doctor_checks, "FULL_DISK_BYTES", 2**60)
    full = doctor_checks._disk_space(HomeLayout(tmp_path))
    monkeypatch.setattr(doctor_checks, "FULL_DISK_BYTES", 0)
    monkeypatch.setattr(doctor_checks, "LOW_DISK_BYTES", 2**60)
    low = doctor_checks._disk_space(HomeLayout(tmp_path))

    assert (full.status, low.status) == ("fail", "warn")
    assert "projects gc" in low.remedy
