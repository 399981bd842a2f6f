"""Projects by id, alias and path; several processes at once; a registry that is damaged, newer or read-only."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from codecompass.errors import DeadlineExceeded, IndexDamaged, InvalidInput, PermissionDenied, ProjectNotFound, StoreNewer
from codecompass.identity import project_id
from codecompass.jobs import JobOutcome
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.store.schema import REGISTRY_VERSION


@pytest.fixture
def home(tmp_path) -> HomeLayout:
    return HomeLayout(tmp_path / "home")


def test_a_registered_project_is_found_by_id_name_and_path(home):
    root = Path("/srv/shop")

    with open_registry(home) as registry:
        registered = registry.register(root)
        named = registry.adopt(registered.project_id, alias="web-shop")

        assert registered.project_id == project_id(root)
        assert (registered.name, named.name) == ("shop", "web-shop")
        assert named.schema_name == "project_web_shop"
        assert registry.find(registered.project_id) == registry.find("web-shop") == registry.at(root) == named


def test_what_was_registered_is_there_in_the_next_process(home):
    with open_registry(home) as registry:
        registry.register(Path("/srv/shop"))

    with open_registry(home) as registry:
        assert [project.root for project in registry.projects()] == [Path("/srv/shop")]


def test_registering_again_changes_nothing(home):
    with open_registry(home) as registry:
        first = registry.adopt(registry.register(Path("/srv/shop")).project_id, alias="shop")
        second = registry.register(Path("/srv/shop"), auto_discovered=True)

    assert second.alias == "shop"
    assert not second.is_auto_discovered
    assert second.created_at == first.created_at


def test_an_explicit_init_makes_a_discovered_project_a_registered_one(home):
    with open_registry(home) as registry:
        project = registry.register(Path("/srv/shop"), auto_discovered=True)
        assert project.is_auto_discovered

        assert not registry.adopt(project.project_id).is_auto_discovered


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/srv/shop", "/srv/shop"),
        ("/srv/shop/api/handlers", "/srv/shop/api"),
        ("/srv/shop/apis", "/srv/shop"),
        ("/srv/shopping", None),
        ("/srv", None),
        ("/", None),
    ],
)
def test_a_path_belongs_to_the_nearest_registered_directory_above_it(home, path, expected):
    """Compared by component: /srv/shopping is not inside /srv/shop."""
    with open_registry(home) as registry:
        registry.register(Path("/srv/shop"))
        registry.register(Path("/srv/shop/api"))

        found = registry.containing(Path(path))

    assert (None if found is None else str(found.root)) == expected


def test_a_root_that_is_not_utf8_is_kept_byte_by_byte(home):
    root = Path(os.fsdecode(b"/srv/caf\xe9"))

    with open_registry(home) as registry:
        registry.register(root)

        assert registry.at(root) is not None
        assert os.fsencode(registry.projects()[0].root) == b"/srv/caf\xe9"


def test_the_first_explicit_project_is_the_default_until_another_is_chosen(home):
    with open_registry(home) as registry:
        assert registry.default() is None
        ids = [registry.register(Path(f"/srv/{name}")).project_id for name in "abc"]
        assert registry.default() is None

        registry.adopt(ids[0])
        registry.adopt(ids[1])
        first = registry.default()
        registry.adopt(ids[2], as_default=True)
        chosen = registry.default()
        registry.remove(ids[2])

        assert first is not None
        assert first.project_id == ids[0]
        assert chosen is not None
        assert chosen.project_id == ids[2]
        assert registry.default() is None


@pytest.mark.parametrize("alias", ["a", "web-shop", "0", "a1-b2-c3", "x" * 50, "0123456789abcde", "0123456789abcdef0"])
def test_names_of_letters_digits_and_single_hyphens_are_taken(home, alias):
    with open_registry(home) as registry:
        project = registry.register(Path("/srv/shop"))

        assert registry.rename(project.project_id, alias).alias == alias


@pytest.mark.parametrize(
    "alias", ["", "A", "a_b", "-a", "a-", "a--b", "a\n", "\u0661", "x" * 51, "0123456789abcdef", "a b", "é", "a/b"]
)
def test_other_names_are_refused(home, alias):
    """Sixteen hex characters would look like an id, and a trailing newline is not part of a name."""
    with open_registry(home) as registry:
        project = registry.register(Path("/srv/shop"))

        with pytest.raises(InvalidInput) as caught:
            registry.rename(project.project_id, alias)

        assert caught.value.data["field"] == "project_id"
        assert registry.require(project.project_id).alias is None


def test_two_projects_cannot_share_a_name(home):
    with open_registry(home) as registry:
        one = registry.register(Path("/srv/one"))
        two = registry.register(Path("/srv/two"))
        registry.rename(one.project_id, "shop")

        with pytest.raises(InvalidInput, match="/srv/one is called 'shop' already"):
            registry.rename(two.project_id, "shop")

        registry.rename(one.project_id, "shop")
        registry.rename(one.project_id, None)
        assert registry.rename(two.project_id, "shop").alias == "shop"


def test_an_unknown_name_is_told_where_to_look(home):
    with open_registry(home) as registry, pytest.raises(ProjectNotFound, match="projects list"):
        registry.require("nowhere")


def test_using_a_project_moves_its_time_forward(home):
    with open_registry(home) as registry:
        before = registry.register(Path("/srv/shop"))
        registry.touch(before.project_id)

        assert registry.require(before.project_id).last_used_at > before.last_used_at


def test_only_the_user_can_read_what_is_registered(home):
    with open_registry(home) as registry:
        registry.register(Path("/srv/shop"))

        for path in (home.root, *home.root.iterdir()):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_nothing_is_left_beside_the_registry_but_its_reserve(home):
    with open_registry(home) as registry:
        registry.register(Path("/srv/shop"))

    assert sorted(path.name for path in home.root.iterdir()) == ["registry.db", "registry.reserve"]


def test_many_processes_that_start_together_all_get_their_project_in(home, tmp_path):
    """The first process creates the database: the others must not see it half-made, fail on a lock or lose an entry."""
    code = (
        "import sys, pathlib\n"
        "from codecompass.store.layout import HomeLayout\n"
        "from codecompass.store.registry import open_registry\n"
        "sys.stdin.readline()\n"
        "for n in range(5):\n"
        "    with open_registry(HomeLayout(pathlib.Path(sys.argv[1])), busy_timeout_ms=60_000) as registry:\n"
        "        registry.register(pathlib.Path(f'/srv/{sys.argv[2]}-{n}'))\n"
    )
    command = [sys.executable, "-c", code, str(home.root)]
    processes = [subprocess.Popen([*command, str(n)], stdin=subprocess.PIPE, stderr=subprocess.PIPE) for n in range(6)]

    outcomes = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in processes:
        _, complaint = process.communicate(timeout=120)
        outcomes.append((process.returncode, complaint.decode()))

    assert outcomes == [(0, "")] * 6
    with open_registry(home) as registry:
        assert len(registry.projects()) == 30


def test_a_registry_of_a_newer_program_is_refused_and_left_alone(home):
    with open_registry(home):
        pass
    connection = sqlite3.connect(home.registry)
    connection.execute(f"PRAGMA user_version = {REGISTRY_VERSION + 1}")
    connection.close()
    before = home.registry.read_bytes()

    with pytest.raises(StoreNewer) as caught, open_registry(home):
        pass

    assert "Upgrade this program" in caught.value.message
    assert caught.value.data["current_schema_version"] == REGISTRY_VERSION + 1
    assert home.registry.read_bytes() == before


def test_a_registry_of_the_first_release_is_taken_over_with_its_names(home):
    with open_registry(home) as registry:
        project = registry.register(Path("/srv/shop"))
        registry.adopt(project.project_id, alias="shop")
        JobLog(registry).create(project.project_id, "full", cause="cli", job_id="old")
    connection = sqlite3.connect(home.registry)
    connection.execute("ALTER TABLE jobs DROP COLUMN error_code")
    connection.execute("PRAGMA user_version = 1")
    connection.close()

    with open_registry(home) as registry:
        assert registry.require("shop").root == Path("/srv/shop")
        failed = JobLog(registry).finish("old", "failed", JobOutcome(error="gone", error_code="project_not_found"))
    # As programs of the versions 2 to 4 upgrade it.
    connection = sqlite3.connect(home.registry)
    connection.execute("ALTER TABLE jobs ADD COLUMN error_code TEXT NOT NULL DEFAULT ''")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with open_registry(home) as registry:
        upgraded = JobLog(registry).find("old")

    assert (failed.cause, failed.error_code) == ("cli", "project_not_found")
    assert upgraded == failed


@pytest.mark.parametrize("kind", ["text", "empty", "other tables", "torn"])
def test_a_file_that_is_no_registry_is_named_with_the_remedy(home, kind):
    home.root.mkdir()
    match kind:
        case "text":
            home.registry.write_text("hello, this is not a database at all, only text of some length\n" * 20)
        case "empty":
            home.registry.write_bytes(b"")
        case "other tables":
            connection = sqlite3.connect(home.registry)
            connection.execute("CREATE TABLE recipes (name TEXT)")
            connection.execute(f"PRAGMA user_version = {REGISTRY_VERSION}")
            connection.close()
        case _:
            home.registry.unlink(missing_ok=True)
            with open_registry(home) as registry:
                registry.register(Path("/srv/shop"))
            content = home.registry.read_bytes()
            home.registry.write_bytes(content[:100] + b"\xff" * (len(content) - 100))

    with pytest.raises(IndexDamaged) as caught, open_registry(home) as registry:
        registry.projects()

    assert str(home.registry) in caught.value.message
    assert str(caught.value.data["remediation"]).startswith("mv ")


def test_after_the_remedy_projects_have_their_old_ids(home):
    with open_registry(home) as registry:
        before = registry.register(Path("/srv/shop"))
    home.registry.rename(home.root / "registry.db.damaged")

    with open_registry(home) as registry:
        assert registry.register(Path("/srv/shop")).project_id == before.project_id


def test_a_registry_that_another_process_keeps_locked_is_waited_for_and_then_reported(home):
    with open_registry(home):
        pass
    other = sqlite3.connect(home.registry, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    try:
        with open_registry(home, busy_timeout_ms=1) as registry:
            assert registry.projects() == ()
            with pytest.raises(DeadlineExceeded, match="locked"):
                registry.register(Path("/srv/shop"))
    finally:
        other.close()


def test_a_failed_change_leaves_nothing_behind(home):
    with open_registry(home) as registry:
        registry.register(Path("/srv/shop"))

        def half_a_change() -> None:
            with registry.transaction() as connection:
                connection.execute("DELETE FROM projects")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            half_a_change()

        assert len(registry.projects()) == 1


@pytest.mark.parametrize("place", ["file", "file above"])
def test_a_data_directory_that_cannot_be_made_is_permission_denied(tmp_path, place):
    (tmp_path / "file").write_text("")
    root = tmp_path / "file" if place == "file" else tmp_path / "file" / "home"

    with pytest.raises(PermissionDenied) as caught, open_registry(HomeLayout(root)):
        pass

    assert caught.value.data["path"] == str(root)
    assert "CODECOMPASS_HOME" in caught.value.message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("is_new", [True, False])
def test_a_read_only_data_directory_is_permission_denied(home, is_new):
    home.root.mkdir()
    if not is_new:
        with open_registry(home):
            pass
        home.registry.chmod(0o400)
    home.root.chmod(0o500)

    try:
        with pytest.raises(PermissionDenied), open_registry(home) as registry:
            registry.register(Path("/srv/shop"))
    finally:
        home.root.chmod(0o700)


def test_a_full_disk_is_permission_denied_and_the_registry_stays_whole(home):
    """SQLite's page limit raises the same error as a full disk."""
    with open_registry(home) as registry:
        registry.register(Path("/srv/shop"))
        (pages,) = registry.rows("PRAGMA page_count")[0]
        registry.rows(f"PRAGMA max_page_count = {pages}")

        with pytest.raises(PermissionDenied, match="free disk space"):
            registry.register(Path("/srv/" + "x" * 100_000))

        assert len(registry.projects()) == 1
