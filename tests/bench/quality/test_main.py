"""The whole harness, on a repository of two files."""

import sys
from pathlib import Path

import pytest

from bench.quality.__main__ import main
from bench.quality.data import Answer, Repository, Target, Truth, read_lines, write_lines
from codecompass.query.words.retrieval import SIGNALS
from tests.conftest import tool

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


def test_searches_are_asked_again_without_each_signal(data, capsys, monkeypatch):
    monkeypatch.setattr("bench.quality.__main__.SIGNALS", SIGNALS[:2])  # each signal takes a process
    code = run(data, "--only", "search", "--ablate")

    table = capsys.readouterr().out.partition("NDCG@10 without each signal, mode root:")[2]
    rows = [line.split() for line in table.splitlines() if line]
    assert code == 0
    assert rows[0] == ["without", "overall", "semantic"]
    assert ["nothing", "1.000", "1.000"] in rows
    assert {row[0] for row in rows} >= set(SIGNALS[:2])


def test_ripgrep_is_asked_the_same_questions_in_the_same_run(data, capsys):
    code = run(data, "--ripgrep", tool("rg"))

    said = capsys.readouterr().out
    searches = said.partition("NDCG@10 of the same questions, mode root:")[2].partition("locate_symbol")[0].split()
    lookups = said.partition("success@1 of the same lookups:")[2].split()
    assert code == 0
    assert searches[-3:] == ["ripgrep", "1.000", "1.000"]
    assert lookups[lookups.index("ripgrep") + 1] == "1.000"


def test_another_engine_runs_in_an_environment_of_its_own(data, capsys):
    """Uses a stand-in for semble, which is not installed here, with the same interface."""
    package = data / "packages" / "semble"
    for module in ("index", ""):
        (package / module).mkdir(parents=True, exist_ok=True)
        (package / module / "__init__.py").write_text("")
    (data / "packages" / "numpy.py").write_text("")
    (package / "types.py").write_text("class ContentType:\n    CODE = 'code'\n")
    (package / "index" / "create.py").write_text(
        "def create_index_from_path(tree, **options):\n    return None, None, sorted(tree.rglob('*.py')), None\n"
    )
    (package / "index" / "index.py").write_text(
        "from types import SimpleNamespace as Row\n\n\nclass SembleIndex:\n"
        "    def __init__(self, model, bm25, vectors, chunks, path, root, content):\n"
        "        self.root, self.files = root, chunks\n\n"
        "    def search(self, query, top_k, alpha):\n"
        "        found = [path for path in self.files if query.split()[0][:4] in path.read_text().lower()]\n"
        "        return [Row(chunk=Row(file_path=path.relative_to(self.root), start_line=1, end_line=3)) for path in found]\n"
    )
    interpreter = data / "python"
    interpreter.write_text(f'#!/bin/sh\nPYTHONPATH="{data / "packages"}" exec "{sys.executable}" "$@"\n')
    interpreter.chmod(0o755)

    code = run(data, "--only", "search", "--semble", str(interpreter))

    (answer,) = read_lines(data / "out" / "semble_search_code.jsonl", Answer)
    assert code == 0
    assert [(hit.path, hit.line_start, hit.line_end) for hit in answer.results] == [("src/mail.py", 1, 3)]
    assert "semble without a model" in capsys.readouterr().out
