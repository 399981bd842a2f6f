"""`init` and `projects`: names, the default project, removal, cleanup."""

import fcntl
import shutil

import pytest

from codecompass.identity import project_id


def names(cli) -> list[str]:
    return [project["name"] for project in cli("projects", "list", "--json").json["projects"]]


def test_init_registers_and_names_the_default(cli, shop):
    done = cli("init", "--project-id", "web-shop")
    again = cli("init", "--json")

    assert done.code == 0
    assert f"{shop} is registered as web-shop, the default project" in done.out
    assert "next: codecompass index" in done.err
    expected = {"project_id": project_id(shop), "name": "web-shop", "repo_root": str(shop), "is_default": True}
    assert again.json == expected


def test_init_writes_nothing_into_the_project(cli, shop):
    before = sorted(shop.rglob("*"))

    cli("init")
    cli("index")

    assert sorted(shop.rglob("*")) == before


def test_init_again_renames(cli, shop):
    cli("init", "--project-id", "one")
    cli("init", "--project-id", "two")

    assert names(cli) == ["two"]


def test_init_takes_a_directory_even_an_empty_one(cli, shop):
    empty = cli.base / "empty"
    empty.mkdir()

    assert cli("init", empty, "--json").json["repo_root"] == str(empty)
    assert cli("init", "--json", cwd=empty).json["repo_root"] == str(empty)


def test_the_default_stays_with_the_first_until_another_is_chosen(cli, shop):
    other = cli.tree("other", {"a.py": ""})
    cli("init", shop)

    assert cli("init", other, "--json").json["is_default"] is False
    assert cli("init", other, "--default", "--json").json["is_default"] is True
    assert cli("init", shop, "--json").json["is_default"] is False


@pytest.mark.parametrize("name", ["Web", "a_b", "0123456789abcdef", "a\n", ""])
def test_a_bad_name_is_refused_before_anything_is_registered(cli, shop, name):
    done = cli("init", "--project-id", name, "--json")

    assert done.code == 2
    assert done.json["error"]["data"]["field"] == "project_id"
    assert names(cli) == []


def test_a_taken_name_is_refused(cli, shop):
    cli("init", "--project-id", "shop")
    cli.tree("other", {"a.py": ""})

    done = cli("init", "--project-id", "shop")

    assert done.code == 2
    assert f"the project at {shop} is called 'shop' already" in done.err
    assert [project["name"] for project in cli("projects", "list", "--json").json["projects"]] == ["shop"]


def test_the_list_shows_state_size_and_directory(cli, shop):
    cli("init", "--project-id", "web-shop")
    before = cli("projects", "list").out
    cli("index")
    after = cli("projects", "list").out

    assert "not indexed" in before
    assert [word in after for word in ("web-shop *", "ready", "6", "KB", str(shop))] == [True] * 5


def test_an_empty_list_says_how_to_begin(cli):
    done = cli("projects", "list")

    assert (done.code, done.out) == (0, "")
    assert "codecompass index" in done.err


def test_a_project_is_renamed_by_name_id_or_directory(cli, shop):
    cli("init")

    assert cli("projects", "rename", project_id(shop), "one").code == 0
    assert cli("projects", "rename", "one", "two").code == 0
    assert cli("projects", "rename", ".", "three").out == f"{shop} is now called three\n"
    assert names(cli) == ["three"]
    assert cli("projects", "rename", "nobody", "four").code == 3


def test_removing_deletes_the_index_and_keeps_the_files(cli, shop, indexed):
    before = sorted(shop.rglob("*"))

    done = cli("projects", "remove", shop)

    assert done.code == 0
    assert f"{shop} is untouched" in done.out
    assert sorted(shop.rglob("*")) == before
    assert list((cli.home / "projects").iterdir()) == []
    assert names(cli) == []
    assert cli("search", "cart").code == 0


def test_an_index_that_is_being_written_is_not_removed(cli, shop, indexed):
    (lock,) = cli.home.glob("projects/*/writer.lock")

    with lock.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = cli("projects", "remove", shop, "--json")

    assert done.json["error"]["code"] == "index_in_progress"
    assert len(names(cli)) == 1


def test_cleaning_up_removes_what_has_no_directory_any_more(cli, shop, indexed):
    other = cli.tree("other", {"a.py": ""})
    cli("index")
    shutil.rmtree(other)
    cli.cwd = shop
    orphan = cli.home / "projects" / "0000000000000000"
    orphan.mkdir()
    (orphan / "facts.db").write_bytes(b"x" * 5000)

    planned = cli("projects", "gc", "--dry-run", "--json").json
    kept = len(names(cli))
    done = cli("projects", "gc")

    assert planned["projects"] == [str(other)]
    assert planned["leftovers"] == [str(orphan)]
    assert planned["freed_bytes"] > 5000
    assert kept == 2
    assert f"removed the index of {other}, which is gone" in done.out
    assert [path.name for path in (cli.home / "projects").iterdir()] == [project_id(shop)]
    assert cli("projects", "gc").out == "nothing to clean up\n"
    assert cli("search", "cart").code == 0


def test_uninstalling_asks_and_takes_no_for_an_answer(cli, indexed):
    unasked = cli("uninstall")
    machine = cli("uninstall", "--json")

    assert unasked.code == machine.code == 2
    assert "--yes" in unasked.err
    assert cli.home.exists()


def test_uninstalling_removes_the_data_and_nothing_else(cli, shop, indexed):
    (cli.home / "somebody-elses").write_text("")
    before = sorted(shop.rglob("*"))

    done = cli("uninstall", "--yes", "--json")

    assert done.code == 0
    assert done.json["projects"] == [str(shop)]
    assert [path.name for path in cli.home.iterdir()] == ["somebody-elses"]
    assert sorted(shop.rglob("*")) == before


def test_uninstalling_works_with_a_registry_that_cannot_be_read(cli, indexed):
    (cli.home / "registry.db").write_text("nonsense " * 1000)

    assert cli("search", "cart", "--json").json["error"]["code"] == "index_incompatible"
    assert cli("uninstall", "--yes").code == 0
    assert not cli.home.exists()
    assert cli("search", "cart").code == 0
