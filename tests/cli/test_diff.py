"""`diff` and `--changed-since`: readable output for people, the tool's answer for programs."""

import json

import pytest

from tests.cli.conftest import write
from tests.scan.trees import git


@pytest.fixture
def edited(cli, shop):
    """The shop on its own branch: one signature changed in a commit, one new file not committed."""
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "first")
    git(shop, "checkout", "--quiet", "-b", "side")
    money = (shop / "shop/money.py").read_text()
    write(shop, {"shop/money.py": money.replace("cents: int)", "cents: int, currency: str)")})
    git(shop, "commit", "--quiet", "--all", "--message", "second")
    write(shop, {"shop/rates.py": "def rate() -> int:\n    return 1\n"})
    return shop


def test_it_shows_definitions_with_the_lines_and_who_uses_them(cli, edited):
    done = cli("diff")

    assert done.code == 0
    first, *lines = done.out.splitlines()
    assert first.endswith("(where it left main) -> the working tree: 2 files +3 -1, 2 definitions")
    (heading,) = [line for line in lines if line.startswith("changed signature:")]
    assert heading.endswith("shop/money.py:2-3")
    assert "-2     def __init__(self, cents: int) -> None:" in lines
    assert "+2     def __init__(self, cents: int, currency: str) -> None:" in lines
    assert "A shop/rates.py +2 -0" in lines
    assert "may have to change too:" in lines
    assert cli("diff", "main").out.splitlines()[1:] == lines


def test_two_versions_of_one_definition(cli, edited):
    done = cli("diff", "main", "--symbol", "Money.__init__")

    assert "--- shop/money.py:2-3\n" in done.out
    assert "+2     def __init__(self, cents: int, currency: str) -> None:\n" in done.out


def test_json_is_what_the_tool_answers_and_says_both_sides(cli, edited):
    done = cli("diff", "HEAD~1", "--head", "HEAD", "--path", "shop/**", "--json")

    answer = json.loads(done.out)
    assert [(item["change"], item["name"]) for item in answer["items"]] == [("changed", "__init__")]
    assert (answer["base"]["name"], answer["head"]["name"]) == ("HEAD~1", "HEAD")
    assert answer["totals"] == {"files": 1, "lines_added": 1, "lines_removed": 1, "symbols": 1}


def test_search_and_locate_take_a_ref(cli, edited):
    assert [hit["path"] for hit in cli("search", "money", "--changed-since", "main", "--json").json["results"]] == [
        "shop/money.py"
    ]
    assert [hit["name"] for hit in cli("locate", "rate", "--changed-since", "main", "--json").json["results"]] == ["rate"]
    assert cli("locate", "Cart", "--changed-since", "main").code == 3


@pytest.mark.parametrize(
    ("words", "code"),
    [(("diff", "nowhere"), 3), (("diff", "--head", "a..b"), 2), (("search", "x", "--changed-since", "nowhere"), 3)],
)
def test_a_ref_that_is_none_is_refused_with_what_to_do(cli, edited, words, code):
    done = cli(*words)

    assert done.code == code
    assert "codecompass branches" in done.err
