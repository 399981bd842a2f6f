"""A project has one name, which every command shows and takes."""

import subprocess

import pytest

from codecompass.identity import project_id
from codecompass.store.project_names import directory_name, normalised_name
from tests.cli.conftest import SHOP


def test_the_name_of_the_directory_is_the_name_everywhere(cli, shop, indexed):
    (listed,) = cli("projects", "list", "--json").json["projects"]
    assert listed["name"] == "shop"
    assert cli("status", "--json", cwd=shop).json["metadata"]["project_id"] == "shop"
    assert cli("status").out.splitlines()[0] == f"{shop}  shop"
    for arguments in (("--in", "shop"), ("--project-id", "shop"), ("--project-id", project_id(shop)), ("--in", project_id(shop))):
        assert cli("locate", "Cart", *arguments, cwd=cli.user).code == 0, arguments
    assert cli("locate", "Cart", "--project-id", "shop", "--json", cwd=cli.user).json["metadata"]["schema_name"] == "project_shop"
    assert cli("projects", "remove", "shop", cwd=cli.user).out.startswith("removed shop, ")


def test_a_second_directory_of_a_name_has_its_parents_before_it_and_the_first_keeps_its_own(cli):
    first, second = cli.tree("work/My_App"), cli.tree("play/My_App")
    cli("index", first)
    cli("index", second)

    named = {each["name"]: each["repo_root"] for each in cli("projects", "list", "--json").json["projects"]}
    assert named == {"my-app": str(first), "play-my-app": str(second)}
    assert cli("projects", "remove", "My_App").code == 0
    assert [each["name"] for each in cli("projects", "list", "--json").json["projects"]] == ["play-my-app"]


def test_a_given_name_wins_over_that_of_a_directory_and_the_id_is_always_taken(cli, shop):
    other = cli.tree("other")
    cli("index", shop)

    done = cli("init", other, "--project-id", "shop")

    assert done.code == 0, done
    assert root_of(cli, "shop") == str(other)
    assert root_of(cli, project_id(shop)) == str(shop)
    names = {each["repo_root"]: each["name"] for each in cli("projects", "list", "--json").json["projects"]}
    assert names[str(shop)].endswith("-shop")


def root_of(cli, name: str) -> str:
    return cli("status", "--json", "--project-id", name, cwd=cli.user).json["repo_root"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("My_App", "my-app"),
        ("--a..b--", "a-b"),
        ("Stra\u00dfe caf\u00e9", "strae-cafe"),
        ("\u7528\u6237", ""),
        ("x" * 80, "x" * 50),
        ("v2.1", "v2-1"),
    ],
)
def test_names_are_lower_case_with_single_hyphens(text, name):
    assert normalised_name(text) == name


def test_a_directory_without_a_letter_or_like_an_id_gets_a_name_too(tmp_path):
    assert directory_name(tmp_path / "\u7528\u6237", ()) == "project"
    assert directory_name(tmp_path / "0123456789abcdef", ()).endswith("-0123456789abcdef")


def test_tab_completes_names_of_projects_and_groups(cli, indexed):
    cli("index", cli.tree("api", SHOP))
    cli("projects", "group", "everything", "api", "shop")
    script = cli("completion", "bash").out

    def completed(words: str) -> list[str]:
        code = (
            f"{script}\nCOMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); COMPREPLY=()\n"
            '_codecompass_completion codecompass; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", code], env=cli.environment, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert completed("codecompass search --project-id sh") == ["shop"]
    assert completed("codecompass search --in api,e") == ["api,everything"]
    assert completed("codecompass projects remove a") == ["api"]
