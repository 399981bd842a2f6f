"""What ripgrep finds, ranked in the order in which an agent would read it."""

import pytest

from bench.quality import ripgrep
from bench.quality.data import Question
from tests.conftest import tool


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "cart.py").write_text("def checkout():\n    pass\n\n\ncheckout()\n# a cart holds items\n")
    (tmp_path / "app.py").write_text("# the cart\ncheckout()\ncheckout()\nrecheckout()\n")
    (tmp_path / "mail.py").write_text("# mail and cart and mail\n")
    return tmp_path


def test_files_with_more_distinct_words_come_first_then_those_with_more_matches(tree):
    answer = ripgrep.search(tool("rg"), tree, "src/", Question("shop", "How does the cart checkout items?"))

    assert [hit.path for hit in answer.results] == ["src/cart.py", "src/app.py", "src/mail.py"]


def test_lines_that_define_a_name_come_before_those_that_use_it(tree):
    answer = ripgrep.lookup(tool("rg"), tree, "", Question("shop", "checkout"))

    assert [(hit.path, hit.line_start) for hit in answer.results] == [
        ("cart.py", 1),
        ("app.py", 2),
        ("app.py", 3),
        ("cart.py", 5),
    ]


def test_a_question_of_nothing_but_short_words_finds_nothing(tree):
    assert ripgrep.search(tool("rg"), tree, "", Question("shop", "is it so")).results == ()
