"""The harness as a whole, over a repository of two files."""

from pathlib import Path

import pytest

from bench.quality.__main__ import main
from bench.quality.data import Answer, Repository, Target, Truth, read_lines, write_lines
from codecompass.store.query.plan import SIGNALS

CART = "class Cart:\n    '''Holds what a customer wants to buy.'''\n\n    def checkout(self):\n        return 1\n"
MAIL = "def send_mail(address):\n    '''Delivers a message to an address.'''\n    return address\n"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    tree = tmp_path / "trees" / "shop" / "src"
    tree.mkdir(parents=True)
    (tree / "cart.py").write_text(CART)
    (tree / "mail.py").write_text(MAIL)
    truth = tmp_path / "truth"
    write_lines(truth / "repos.jsonl", [Repository("shop", "", "python", "src"), Repository("gone", "", "go")])
    write_lines(
        truth / "dev" / "semble.jsonl",
        [
            Truth(
                id="s1",
                repo="shop",
                language="python",
                query="deliver a message to an address",
                category="semantic",
                relevant=(Target(path="src/mail.py"),),
            )
        ],
    )
    write_lines(
        truth / "dev" / "nav.jsonl",
        [
            Truth(
                id="n1",
                repo="shop",
                language="python",
                query="checkout",
                category="unique",
                relevant=(Target(path="src/cart.py", start_line=4, end_line=5),),
            )
        ],
    )
    return tmp_path


def run(data: Path, *arguments: str) -> int:
    out = str(data / "out")
    return main(["--trees", str(data / "trees"), "--truth", str(data / "truth"), "--out", out, *arguments])


def test_a_run_answers_from_the_sub_tree_and_scores_with_paths_of_the_repository(data, capsys):
    code = run(data)

    said = capsys.readouterr().out
    searches = read_lines(data / "out" / "search_code.jsonl", Answer)
    lookups = read_lines(data / "out" / "locate_symbol.jsonl", Answer)
    assert code == 0
    assert "no work tree, left out: gone" in said
    assert searches[0].results[0].path == "src/mail.py"
    assert (lookups[0].results[0].path, lookups[0].results[0].line_start) == ("src/cart.py", 4)
    assert "overall          1.000" in said


def test_a_later_run_is_compared_with_an_earlier_one(data, capsys):
    run(data, "--only", "nav")
    capsys.readouterr()

    code = run(data, "--only", "nav", "--reuse", "--diff", str(data / "out"))

    assert code == 0
    assert "The first right hit of every query stands where it stood." in capsys.readouterr().out


def test_searches_are_asked_again_without_each_signal(data, capsys):
    code = run(data, "--only", "search", "--ablate")

    table = capsys.readouterr().out.partition("NDCG@10 without each signal, mode root:")[2]
    rows = [line.split() for line in table.splitlines() if line]
    assert code == 0
    assert rows[0] == ["without", "overall", "semantic"]
    assert ["nothing", "1.000", "1.000"] in rows
    assert {row[0] for row in rows} >= set(SIGNALS)


def test_without_any_work_tree_it_fails_and_says_so(data, capsys):
    code = run(data, "--repos", "gone")

    assert code == 1
    assert "nothing to measure" in capsys.readouterr().err
