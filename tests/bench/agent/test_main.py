"""The whole command, on a repository of two files with a real server."""

import json

import pytest

from bench.agent.__main__ import main
from bench.agent.asking import Asked
from bench.quality.data import Repository, read_lines, write_lines
from tests.conftest import tool

CART = "class Cart:\n    def checkout(self):\n        raise ValueError('a cart without anything in it')\n"
MAIL = "def send_mail(address):\n    return address\n"


@pytest.fixture
def data(tmp_path):
    tree = tmp_path / "trees" / "shop"
    tree.mkdir(parents=True)
    (tree / "cart.py").write_text(CART)
    (tree / "mail.py").write_text(MAIL)
    truth = tmp_path / "truth"
    write_lines(truth / "repos.jsonl", [Repository("shop", "", "python"), Repository("gone", "", "go")])
    put(truth, "messages", "verbatim", "a cart without anything in it", {"path": "cart.py", "line_start": 3, "line_end": 3})
    put(truth, "nav", "unique", "checkout", {"path": "cart.py", "start_line": 2, "end_line": 3})
    put(truth, "commits", "named", "Let send_mail return", {"path": "mail.py", "line_start": 1, "line_end": 2})
    return tmp_path


def put(truth, name, category, query, target):
    file = truth / "dev" / f"{name}.jsonl"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"id": name, "repo": "shop", "category": category, "query": query, "relevant": [target]}))


def run(data, *arguments):
    directories = ["--trees", str(data / "trees"), "--truth", str(data / "truth"), "--out", str(data / "out")]
    return main([*directories, *arguments])


@pytest.mark.slow
def test_one_command_gives_one_table_and_every_answer(data, capsys):
    tool("rg")

    code = run(data, "--only", "messages,nav,commits,first", "--runs", "1")

    said = capsys.readouterr()
    rows = read_lines(data / "out" / "tasks.jsonl", Asked)
    first = read_lines(data / "out" / "first.jsonl", Asked)
    assert code == 0
    assert "left out: gone" in said.err
    assert [(row.set, row.system, row.rank) for row in rows] == [
        (name, system, 1) for system in ("codecompass", "rg") for name in ("messages", "nav", "commits")
    ]
    assert all(row.calls == 1 and row.characters > row.useful_bytes > 0 and row.same_places for row in rows[:3])
    assert rows[3].text == "cart.py:3:        raise ValueError('a cart without anything in it')\n"
    assert first[0].right_ms is not None
    assert "| messages, verbatim | codecompass | 1 | 1.000 | 1.000 |" in said.out
    assert "| first question, verbatim | codecompass | 1 |" in said.out
