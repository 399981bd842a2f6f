"""`search` with `type:commit` and `type:diff`: for people, for programs, of several projects, and where there is no git."""

import pytest

from tests.cli.conftest import write
from tests.scan.trees import git


@pytest.fixture
def edited(cli, shop):
    """The shop with three commits."""
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "first")
    money = (shop / "shop/money.py").read_text()
    write(shop, {"shop/money.py": money.replace("cents: int)", "cents: int, currency: str)"), "docs/a.md": "currency\n"})
    git(shop, "add", "--all")
    git(shop, "commit", "--quiet", "--message", "Money has a currency\n\nAs the shops abroad need it.")
    return shop


def test_messages_and_changed_lines_are_shown_with_their_places(cli, edited):
    commit = git(edited, "rev-parse", "HEAD").decode().strip()[:12]

    messages = cli("search", "type:commit", "abroad")
    lines = cli("search", "type:diff currency file:shop/")

    assert (messages.code, lines.code) == (0, 0)
    heading, line = messages.out.splitlines()
    assert heading.startswith(f"{commit} 20")
    assert heading.endswith(": Money has a currency")
    assert line == "  message:3: As the shops abroad need it."
    assert lines.out.splitlines()[0] == heading
    assert [each.partition("+")[0] for each in lines.out.splitlines()[1:]] == ["  shop/money.py:2:"]


def test_nothing_is_indexed_or_registered_for_it(cli, edited):
    assert cli("search", "type:commit").code == 0

    assert cli("projects", "list", "--json").json["projects"] == []


def test_programs_get_what_the_tool_answers(cli, edited):
    answer = cli("search", "type:diff", "currency", "--json", "-n", "1").json

    (hit,) = answer["commits"]
    assert (hit["subject"], hit["commit"]) == ("Money has a currency", git(edited, "rev-parse", "HEAD").decode().strip())
    assert [(line["path"], line["side"]) for line in hit["changed_lines"]] == [("docs/a.md", "+"), ("shop/money.py", "+")]
    assert (answer["results"], answer["unit"], answer["total_candidates"]) == ([], "commit", 1)
    assert answer["metadata"]["result_completeness"] == "complete"


def test_a_ref_a_limit_and_nothing_found(cli, edited):
    assert [hit["subject"] for hit in cli("search", "type:commit", "--ref", "HEAD~1", "--json").json["commits"]] == ["first"]
    assert "more with -n" in cli("search", "type:commit", "-n", "1").err
    nothing = cli("search", "type:commit", "absent")
    assert (nothing.code, "no commit found" in nothing.err) == (3, True)


def test_several_projects_are_merged_newest_first(cli, edited):
    other = cli.tree("other")
    git(other, "add", "--all")
    git(other, "commit", "--quiet", "--message", "later", "--date", "2030-01-01T00:00:00Z")
    for root in (edited, other):
        assert cli("index", root).code == 0

    done = cli("search", "type:commit", "--all")

    assert done.code == 0
    assert {line.partition(":")[0] for line in done.out.splitlines() if "20" in line and line[0] != " "} == {"shop", "other"}
    assert [hit["subject"] for hit in cli("search", "type:commit later repo:other", "--json").json["commits"]] == ["later"]
    assert cli("search", "type:commit first repo:other").code == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("type:commit since:soon",), 2, "2024-05-01"),
        (("type:diff /a(/",), 2, "regular expression"),
        (("type:commit x", "--ref", "nowhere"), 3, "codecompass branches"),
        (("type:commit x", "--why-not", "a.py"), 2, "why_not"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_to_do(cli, edited, words, code, said):
    done = cli("search", *words)

    assert (done.code, said in done.err) == (code, True), done.err


def test_a_directory_without_git_says_so(cli):
    plain = cli.cwd / "plain"
    write(plain, {"a.py": "x = 1\n"})

    done = cli("search", "type:commit x", cwd=plain)

    assert done.code == 2
    assert "needs a git repository" in done.err


def test_without_git_it_says_so(cli, edited):
    cli.environment["PATH"] = str(cli.cwd / "nothing")

    done = cli("search", "type:commit", "x")

    assert done.code == 2
    assert "git cannot be run" in done.err
    assert "Install git" in done.err
