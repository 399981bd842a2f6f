"""Which project a command uses if none, or more than one, is named."""

import pytest

from codecompass.identity import project_id
from tests.cli.conftest import write


def root_of(done) -> str:
    assert done.code in (0, 3), done
    return done.json["repo_root"]


def test_below_a_registered_project_that_project_is_meant(cli, shop):
    cli("init")

    assert root_of(cli("status", "--json", cwd=shop / "shop")) == str(shop)


def test_a_repository_inside_a_registered_project_is_its_own(cli, shop):
    cli("init")
    inner = shop / "vendor" / "lib"
    write(inner, {"src/a.py": ""})
    cli.git(inner, "init", "-q")

    assert root_of(cli("status", "--json", cwd=inner / "src")) == str(inner)
    assert root_of(cli("status", "--json", "--workspace", inner / "src")) == str(inner)


def test_an_unregistered_directory_goes_up_to_its_repository(cli, shop):
    write(shop, {"web/package.json": "{}"})

    assert root_of(cli("status", "--json", cwd=shop / "web")) == str(shop)


def test_without_a_repository_the_nearest_build_file_counts(cli):
    root = cli.tree("plain", {"Cargo.toml": "", "src/deep/a.rs": ""}, git=False)

    assert root_of(cli("status", "--json", cwd=root / "src" / "deep")) == str(root)


def test_a_directory_with_files_and_no_marker_is_taken_as_it_is(cli):
    root = cli.tree("notes", {"a.md": "# A\n"}, git=False)

    assert root_of(cli("status", "--json")) == str(root)


@pytest.mark.parametrize("where", ["home", "root", "empty"])
def test_home_root_and_empty_directories_are_no_projects(cli, where):
    """Even if the home directory is a git repository of dotfiles."""
    write(cli.user, {".bashrc": "", "package.json": "{}"})
    cli.git(cli.user, "init", "-q")
    empty = cli.base / "empty"
    empty.mkdir()

    done = cli("search", "x", "--json", cwd={"home": cli.user, "root": "/", "empty": empty}[where])

    assert done.code == 3
    assert done.json["error"]["code"] == "project_not_found"
    assert "--workspace" in done.json["error"]["message"]


def test_a_named_directory_is_not_walked_up_from(cli, shop):
    write(shop, {"web/package.json": "{}"})

    assert root_of(cli("status", "--json", "--workspace", shop / "web" / "app.ts")) == str(shop / "web")


def test_a_named_directory_in_a_registered_project_means_that_project(cli, shop):
    cli("init")

    assert root_of(cli("status", "--json", "--workspace", "web")) == str(shop)


def test_a_link_to_a_project_is_the_project(cli, shop):
    link = cli.base / "link"
    link.symlink_to(shop)

    assert root_of(cli("status", "--json", "--workspace", link)) == str(shop)
    assert root_of(cli("status", "--json", cwd=link)) == str(shop)


def test_a_project_is_found_by_name_and_by_id_from_anywhere(cli, shop):
    cli("init", "--project-id", "web-shop")

    assert root_of(cli("status", "--json", "--project-id", "web-shop", cwd=cli.user)) == str(shop)
    assert root_of(cli("status", "--json", "--project-id", project_id(shop), cwd=cli.user)) == str(shop)


def test_two_different_projects_at_once_are_refused(cli, shop):
    cli("init", "--project-id", "web-shop")
    elsewhere = cli.tree("elsewhere", {"a.py": ""})

    same = cli("status", "--json", "--project-id", "web-shop", "--workspace", shop / "web")
    different = cli("status", "--json", "--project-id", "web-shop", "--workspace", elsewhere)

    assert root_of(same) == str(shop)
    assert different.code == 2
    assert different.json["error"]["code"] == "invalid_input"


def test_a_project_whose_directory_is_gone_says_how_to_clean_up(cli, shop):
    cli("init", "--project-id", "web-shop")
    shop.rename(cli.base / "moved")

    done = cli("search", "x", "--project-id", "web-shop", cwd=cli.user)

    assert done.code == 3
    assert "codecompass projects gc" in done.err


def test_looking_registers_nothing(cli, shop):
    cli("status")
    cli("config", "show")
    cli("doctor")

    assert cli("projects", "list", "--json").json == {"projects": []}


@pytest.mark.parametrize(("directory", "kind"), [("/", "the root of the disk"), ("~", "your home directory")])
@pytest.mark.parametrize("command", ["search", "locate"])
def test_a_question_alone_never_indexes_a_whole_disk_or_home(cli, shop, command, directory, kind):
    """`search x --workspace /` would read for hours and keep everything it finds."""
    done = cli(command, "x", "--workspace", directory)

    assert done.code == 3
    assert kind in done.err
    assert "codecompass index" in done.err
    assert cli("projects", "list", "--json").json == {"projects": []}


def test_a_misspelt_name_of_a_project_is_recognised(cli, shop):
    cli("init", "--project-id", "web-shop")

    assert "Did you mean 'web-shop'?" in cli("search", "x", "--project-id", "webshop").err
