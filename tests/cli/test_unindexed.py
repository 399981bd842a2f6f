"""Questions on the command line while another process makes the first index."""

import json

import pytest

from codecompass.identity import canonical_root, project_id
from codecompass.store.layout import HomeLayout, make_private_directory
from codecompass.store.lock import writer_lock


@pytest.fixture
def busy_shop(cli):
    """A project whose writer lock is held for the duration of the test."""
    root = canonical_root(cli.tree("shop"))
    layout = HomeLayout(canonical_root(cli.home)).project(project_id(root))
    assert cli("init", root).code == 0
    make_private_directory(layout.root)
    with writer_lock(layout, "another process"):
        yield root


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("locate", "add_item"), "shop/cart.py"),
        (("search", "rounding happens here and nowhere else"), "shop/cart.py"),
        (("search", "--mode", "literal", "cents = sum("), "shop/cart.py"),
        (("outline", "shop/money.py"), "Money"),
        (("refs", "Money"), "shop/cart.py"),
    ],
)
def test_a_command_answers_from_the_files_while_another_process_indexes_them(cli, busy_shop, command, expected):
    done = cli(*command, "--json")

    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert expected in done.out
    assert answer["metadata"]["indexing_status"] == "indexing"
    assert answer["metadata"]["result_completeness"] == "partial"
    assert "still indexing: answered from a scan of all" in answer["metadata"]["warnings"][0]


def test_a_strict_question_waits_for_the_other_process(cli, busy_shop):
    done = cli("search", "Money", "--freshness-policy", "strict", CODECOMPASS_QUERY_FIRST_ANSWER_WAIT_MS="100")

    assert done.code == 3
    assert "index" in done.err
