"""What hands know from rg, grep and gh: options, paths behind the query, names of commands and values."""

import pytest

from codecompass.cli.grep_options import GrepOptions, line_arguments, split_paths, within

LINES = {
    "src/a.py": "one = 1\nTotal = 2\nthree = 3\nfour = 4\nfive = total_of(6)\nsix = total\n",
    "src/b.js": "// total\n",
    "tests/c.py": "total = 0\n",
}


@pytest.fixture
def tree(cli):
    return cli.tree("lines", LINES)


def lines_of(done) -> list[str]:
    assert done.code == 0, done
    return done.out.splitlines()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("-e", "^total"), ["tests/c.py:1:total = 0"]),
        (("-F", "total_of(", "src"), ["src/a.py:5:five = total_of(6)"]),
        (("-w", "total", "src"), ["src/a.py:6:six = total", "src/b.js:1:// total"]),
        (("-w", "-i", "total", "src/a.py"), ["src/a.py:2:Total = 2", "src/a.py:6:six = total"]),
        (("-i", "TOTAL =", "tests/"), ["tests/c.py:1:total = 0"]),
        (("-S", "Total"), ["src/a.py:2:Total = 2"]),
        (("-S", "total =", "src", "tests"), ["src/a.py:2:Total = 2", "tests/c.py:1:total = 0"]),
        (("-w", "total", "-t", "py"), ["src/a.py:6:six = total", "tests/c.py:1:total = 0"]),
        (("-w", "total", "-g", "*.py", "-g", "!tests/**"), ["src/a.py:6:six = total"]),
        (("-w", "total", "-g", "*.py", "src"), ["src/a.py:6:six = total"]),
        (("-e", "^three", "-e", "^four"), ["src/a.py:3:three = 3", "src/a.py:4:four = 4"]),
        (("-C", "1", "^Total"), ["src/a.py-1-one = 1", "src/a.py:2:Total = 2", "src/a.py-3-three = 3"]),
        (("-A1", "-F", "Total"), ["src/a.py:2:Total = 2", "src/a.py-3-three = 3"]),
        (("-B", "1", "-e", "^one|^six"), ["src/a.py:1:one = 1", "--", "src/a.py-5-five = total_of(6)", "src/a.py:6:six = total"]),
    ],
)
def test_options_of_rg_and_grep_mean_what_they_mean_there(cli, tree, words, expected):
    assert sorted(lines_of(cli("search", *words))) == sorted(expected)


@pytest.mark.parametrize("words", [("-m", "files", "-w", "total"), ("-C", "1", "total", "--json"), ("-C", "-1", "total")])
def test_options_that_contradict_each_other_are_wrong_usage(cli, tree, words):
    assert cli("search", *words).code == 2


@pytest.mark.parametrize(("command", "there"), [("search", "../tests"), ("locate", "."), ("refs", "../tests")])
def test_an_existing_path_behind_the_query_filters_from_wherever_one_is(cli, shop, command, there, indexed):
    inside = cli(command, "Cart", there, cwd=shop / "shop")
    outside = cli(command, "Cart", {".": "../tests", "../tests": "."}[there], cwd=shop / "shop")

    assert inside.code == 0
    assert ("test_cart.py" in inside.out) == (there == "../tests")
    assert "test_cart.py" not in outside.out


def test_a_bare_word_that_is_a_path_is_said_to_be_taken_as_one(cli, shop):
    done = cli("search", "Cart", "web")

    assert "only in web, which is a path" in done.err
    assert "web" not in cli("search", "web", "Cart").err


def test_only_the_last_words_are_paths_and_a_query_keeps_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "a.py").write_text("")

    assert split_paths(("src",)) == (("src",), ())
    assert split_paths(("how", "src", "a.py")) == (("how", "src"), ("a.py",))
    assert split_paths(("how", "./src", "a.py")) == (("how",), ("./src", "a.py"))
    assert split_paths(("how", "src", "a.py"), has_words=False) == (("how",), ("src", "a.py"))
    assert within((), ("*.py", None, "!x")) == "*.py,!x"
    assert within(("src",), ("*.py,!x",)) == f"{tmp_path.resolve()}/src/**/*.py,!x"


@pytest.mark.parametrize(
    ("query", "grep", "ignore_case", "expected"),
    [
        ("a b", GrepOptions(), False, {"query": "a b"}),
        ("a(", GrepOptions(is_fixed=True), False, {"query": "a(", "mode": "literal"}),
        ("a(", GrepOptions(is_fixed=True), True, {"query": "(?i)a\\(", "mode": "regex"}),
        ("a", GrepOptions(is_word=True), False, {"query": r"\b(?:a)\b", "mode": "regex"}),
        ("", GrepOptions(patterns=("a", "b")), False, {"query": "(?:a)|(?:b)", "mode": "regex"}),
        (r"\Wa", GrepOptions(smart_case=True), False, {"query": r"(?i)\Wa", "mode": "regex"}),
    ],
)
def test_the_request_that_the_options_make(query, grep, ignore_case, expected):
    assert line_arguments(query, grep, ignore_case=ignore_case, mode=None) == expected


@pytest.mark.parametrize(
    ("words", "suggested"),
    [
        (("find", "x"), "codecompass search QUERY"),
        (("grep", "x"), "codecompass search -e REGEX"),
        (("def", "x"), "codecompass locate NAME"),
        (("usages", "x"), "codecompass refs NAME"),
        (("serach", "x"), "'search'"),
        (("search", "x", "-k", "clas"), "did you mean 'class'?"),
        (("search", "x", "-m", "literl"), "did you mean 'literal'?"),
        (("search", "x", "-l", "pyton"), "did you mean 'python'?"),
    ],
)
def test_a_misspelt_or_foreign_word_gets_the_nearest(cli, shop, words, suggested):
    done = cli(*words)

    assert done.code in (2, 3)
    assert suggested in done.err


@pytest.mark.parametrize("words", [("search", "x", "-n", "0"), ("locate", "x", "--limit=-3"), ("refs", "x", "-n", "0")])
def test_a_limit_of_nothing_is_wrong_usage(cli, shop, words):
    done = cli(*words)

    assert done.code == 2
    assert "too low; at least 1" in done.err


def test_an_option_means_one_thing_in_every_command(cli, shop):
    """-p is a glob wherever it is listed, and --ref the commit that a question is about."""
    for command in ("search", "locate", "refs", "diff", "status", "callers"):
        shown = cli(command, "--help").out
        assert "-p, --path GLOB" in shown or "--path" not in shown, command
        assert "--head" not in shown
        assert "--ref REF" in shown
    cli("index")
    assert cli("status", "shop/cart.py").out == cli("status", "--path", "shop/cart.py").out
