"""What `diff_context` says of files that do not differ: the tests that validate a change, and what else may have to change."""

import pytest
import trio
from msgspec.structs import replace

from codecompass.actors.change_upkeep import history_of_head
from codecompass.actors.differences import with_differences
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.protocol.requests import SearchCode
from codecompass.protocol.text import render
from codecompass.query import search_code
from codecompass.query.options import QueryOptions
from codecompass.scan.git_roots import ANYWHERE
from tests.actors.test_differences import STATE, answers
from tests.support.workspace import LIMITS

FILES = {
    "shop/prices.py": "def total(items):\n    return sum(items)\n",
    "shop/baskets.py": "from shop.prices import total\n\n\ndef amount(basket):\n    return total(basket)\n",
    "shop/mail.py": "def send(letter):\n    return letter\n",
    "tests/test_prices.py": "from shop.prices import total\n\n\ndef test_total():\n    assert total([1]) == 1\n",
    "tests/test_mail.py": "from shop.mail import send\n\n\ndef test_send():\n    assert send(1) == 1\n",
    "tests/test_shop.py": "def test_nothing():\n    pass\n",
    "tests/data/prices.json": "[1]\n",
    "docs/changes.md": "# Changes\n",
}
CHANGED = "def total(items):\n    return sum(item for item in items if item)\n"


@pytest.fixture
def shop(repository):
    repository.write(FILES)
    repository.commit("first")
    return repository


def changed_together(workspace, *paths: str) -> None:
    workspace.write({path: (workspace.root / path).read_text() + "\n" for path in paths})
    workspace.commit()


def reply(workspace, options=QueryOptions(), **arguments):  # noqa: B008 (frozen)
    workspace.write({"shop/prices.py": CHANGED})
    history = history_of_head(workspace.layout, str(workspace.root), ANYWHERE)
    return answers(workspace, replace(options, history=history), **arguments)


def paths(companions) -> list[str]:
    return [each.path for each in companions]


def test_the_test_of_a_changed_definition_comes_first_and_its_data_is_no_test(shop):
    found = reply(shop)

    assert found.tests[0].path == "tests/test_prices.py"
    assert found.tests[0].uses
    assert "tests/data/prices.json" not in paths(found.tests)


def test_a_test_that_changed_with_a_file_goes_with_it_although_it_names_nothing_of_it(shop):
    for _ in range(3):
        changed_together(shop, "shop/prices.py", "tests/test_shop.py")

    found = {each.path: each for each in reply(shop).tests}
    # Three commits changed both, and the first one all files.
    assert (found["tests/test_shop.py"].together, found["tests/test_shop.py"].uses) == (4, False)
    assert paths(found.values())[:2] == ["tests/test_prices.py", "tests/test_shop.py"]


def test_what_uses_or_accompanies_a_changed_file_may_have_to_change(shop):
    for _ in range(3):
        changed_together(shop, "shop/prices.py", "docs/changes.md")

    found = reply(shop).may_change

    assert found[0].path == "docs/changes.md"
    assert "shop/baskets.py" in paths(found)


def test_lock_files_and_copies_that_packagers_write_need_no_change(shop):
    shop.write({"shop.lock": "total\n", "shop.egg-info/SOURCES.txt": "shop/prices.py\n", "PKG-INFO": "def total(items)\n"})
    for _ in range(3):
        changed_together(shop, "shop/prices.py", "shop.lock", "shop.egg-info/SOURCES.txt", "PKG-INFO", "docs/changes.md")

    found = paths(reply(shop).may_change)

    assert found[0] == "docs/changes.md"
    assert not {"shop.lock", "shop.egg-info/SOURCES.txt", "PKG-INFO"}.intersection(found)


def test_without_history_the_tests_are_found_by_names_and_uses(shop):
    with_history = reply(shop)
    found = answers(shop)

    assert found.tests[0].path == "tests/test_prices.py"
    assert all(each.together == 0 for each in (*found.tests, *found.may_change))
    assert with_history.tests[0].together == 1


def test_files_that_differ_or_are_gone_are_in_no_list(shop):
    changed_together(shop, "shop/prices.py", "tests/test_shop.py", "docs/changes.md")
    shop.git("rm", "-q", "docs/changes.md")
    shop.commit()
    shop.write({"tests/test_prices.py": "def test_total():\n    assert True\n"})

    found = reply(shop)

    assert not {"shop/prices.py", "tests/test_prices.py", "docs/changes.md"} & {*paths(found.tests), *paths(found.may_change)}


def test_a_small_budget_is_for_the_changes_and_not_for_the_lists(shop):
    large, small = reply(shop), reply(shop, max_tokens=700)

    assert len(small.tests) < len(large.tests)
    assert small.items
    assert small.estimated_tokens <= 700


def test_as_text_each_file_has_its_reasons(shop):
    text = render(reply(shop, QueryOptions(answers="text")))

    assert "\n\ntests to run:\ntests/test_prices.py (uses it, 1 together)\n" in text
    assert "\n\nmay have to change too:\n" in text


def test_a_question_about_one_definition_has_no_lists(shop):
    found = reply(shop, symbol="total")

    assert (found.tests, found.may_change) == ((), ())


def asked(workspace, query: str) -> list[str]:
    """Returns the paths of the hits of `search_code` at the checked-out commit, each once."""
    trio.run(workspace.sync)
    request = SearchCode(query=query)
    run, layout = _here, workspace.layout
    options = trio.run(with_differences, QueryOptions(), request, workspace.root, LIMITS, open_worker_pool, run, layout)
    with workspace.index.snapshot() as snapshot:
        return list(dict.fromkeys(hit.path for hit in search_code(snapshot, request, STATE, options).results))


async def _here(work):
    return work(lambda: False)


@pytest.mark.parametrize("query", ["tests for shop/prices.py", "which tests should I run when I change total?"])
def test_a_search_for_the_tests_of_a_file_or_name_finds_those_that_changed_with_it(shop, query):
    for _ in range(3):
        changed_together(shop, "shop/prices.py", "tests/test_shop.py")

    assert asked(shop, query)[:2] == ["tests/test_prices.py", "tests/test_shop.py"]


def test_a_search_for_what_must_change_with_a_file_finds_what_changed_with_it(shop):
    for _ in range(3):
        changed_together(shop, "shop/prices.py", "docs/changes.md")

    found = asked(shop, "what else must change with shop/prices.py")
    assert found[0] == "docs/changes.md"
    assert "shop/baskets.py" in found


def test_a_question_that_is_not_about_changes_reads_no_history(shop):
    asked(shop, "who calls total")

    assert not shop.layout.changes.exists()


def test_a_signal_can_be_left_out_to_measure_it(shop):
    signals = frozenset({"together", "near", "often", "words", "names", "uses", "path", "stem"})

    assert reply(shop, replace(QueryOptions(), without_signals=signals)).tests == ()
