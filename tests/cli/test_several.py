"""`--all` and `--in`: questions about several projects; and the groups of `projects`."""

import pytest


@pytest.fixture
def trees(cli):
    """Two projects; `till` imports from `shop`."""
    shop = cli.tree("shop", {"shop.py": "def settle(n):\n    return n\n"})
    till = cli.tree("till", {"till.py": "from shop import settle\n\n\ndef close_till():\n    return settle(1)\n"})
    for tree in (shop, till):
        assert cli("index", tree).code == 0
    return shop, till


def test_all_projects_are_searched_and_paths_are_whole(cli, trees):
    shop, till = trees
    done = cli("search", "--all", "settle", cwd=cli.base)

    assert done.code == 0
    assert f"{shop}/shop.py:1" in done.out
    assert f"{till}/till.py:" in done.out


def test_the_named_ones_are_asked_alone(cli, trees):
    answer = cli("search", "--in", "till", "settle", "--json")

    assert {hit["project"] for hit in answer.json["results"]} == {"till"}
    assert answer.json["metadata"]["n_projects"] == 1


def test_a_group_is_made_listed_used_and_forgotten(cli, trees):
    shop, till = trees
    made = cli("projects", "group", "money", shop, till, "--json")
    listed = cli("projects", "groups")
    found = cli("locate", "close_till", "--in", "money", "--json")
    forgotten = cli("projects", "ungroup", "money")
    again = cli("locate", "close_till", "--in", "money")

    group = {"name": "money", "projects": ["shop", "till"], "repo_roots": [str(shop), str(till)]}
    assert made.json == {"groups": [group]}
    assert "money" in listed.out
    assert str(till) in listed.out
    assert [hit["project"] for hit in found.json["results"]] == ["till"]
    assert forgotten.code == 0
    assert again.code == 3
    assert "no project or group is called 'money'" in again.err


def test_uses_are_listed_wherever_the_package_is_imported(cli, trees):
    done = cli("refs", "settle", "--all")

    assert done.code == 0
    assert "till:till.py" in done.out


@pytest.mark.parametrize("command", ["search", "locate"])
def test_nothing_found_has_the_usual_exit_code(cli, trees, command):
    done = cli(command, "--all", "zzqqxx")

    assert done.code == 3
    assert "nothing found for 'zzqqxx'" in done.err


def test_one_project_and_several_together_are_refused(cli, trees):
    done = cli("search", "--all", "--workspace", trees[0], "settle")

    assert done.code == 2
    assert "Leave out --workspace" in done.err


def test_an_index_that_another_project_lacks_is_said(cli, trees):
    new = cli.tree("new", {"new.py": "def settle():\n    pass\n"})
    cli("init", new)
    done = cli("search", "--all", "settle")

    assert done.code == 0
    assert "no answer from new: it has no index yet" in done.err
