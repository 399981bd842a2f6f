"""The questions that are drawn from a repository, and when an answer to them is right."""

from pathlib import Path

import pytest

from bench.agent.busy import Line, Question, Repository, is_right
from bench.client import Said
from tests.conftest import tool

POOL = """import os


class ConnectionPool:
    def checkout_connection(self):
        return os.environ["POOL_MAX_IDLE"]

    def close_all_connections(self):
        raise ValueError("the pool is too small for this many")
"""
WEB = """from lib.pool import ConnectionPool


def serve_requests():
    return ConnectionPool().checkout_connection()
"""
FILES = {"lib/pool.py": POOL, "lib/web.py": WEB}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_questions_are_drawn_from_the_repository_and_always_the_same_ones(tree):
    ripgrep = tool("rg")

    questions = Repository(tree, ripgrep, 1).questions()

    assert questions == Repository(tree, ripgrep, 1).questions()
    by_kind = {question.kind: question for question in questions}
    assert by_kind["token"].arguments == {"query": "POOL_MAX_IDLE"}
    assert by_kind["token"].lines == (Line("lib/pool.py", 6, POOL.splitlines()[5]),)
    assert by_kind["message"].arguments == {"query": "the pool is too small for this many"}
    assert by_kind["outline"].names == ("ConnectionPool", "checkout_connection", "close_all_connections")
    assert len({str(question.arguments) for question in questions if question.kind == "definition"}) == 2


TOKEN = Question(kind="token", tool="search_code", arguments={"query": "x"}, lines=(Line("a.py", 3), Line("b.py", 9)))
USES = Question(
    kind="references", tool="find_references", arguments={"symbol_name": "x"}, lines=(Line("a.py", 3), Line("b.py", 9))
)
OUTLINE = Question(kind="outline", tool="get_file_outline", arguments={"path": "a.py"}, names=("Alpha", "beta"))


@pytest.mark.parametrize(
    ("question", "text", "right"),
    [
        (TOKEN, "b.py\n9:x\n", True),
        (TOKEN, "c.py\n1:y\n\nb.py\n9:x\n", False),
        (USES, "a.py\n3:x\n", True),
        (USES, "c.py\n3:x\n", False),
        (OUTLINE, "a.py python\n1-4 class Alpha\n  2-3 def beta(self)\n", True),
        (OUTLINE, "a.py python\n1-4 class Alpha\n  2-3 def beta_two(self)\n", False),
    ],
)
def test_an_answer_is_right_if_it_shows_the_truth(question, text, right):
    assert is_right(question, Said(0.1, text, is_error=False)) is right
    assert not is_right(question, Said(0.1, text, is_error=True))
