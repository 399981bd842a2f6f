"""Issues as queries: when an answer has all that a fix changed, and how its functions are named."""

import pytest

from bench.quality.ask_at_commits import AnswerAtCommit, Named, NamedHit
from bench.quality.issues import Issue, differences_table, evenly, find_repository, issues_table, judge, name_in_module


def issue(number: int = 1, files: tuple[str, ...] = ("shop/cart.py",), functions: tuple[str, ...] = ("shop/cart.py:Cart.pay",)):
    return Issue(id=f"issue-{number}", repo="shop", commit="c", query="It fails", files=files, functions=functions)


def hit(path: str, name: str = "", kind: str = "method", also: tuple[str, ...] = ()) -> NamedHit:
    return NamedHit(path=path, qualified_name=name, kind=kind if name else "", also=tuple(map(Named, also)))


def answer(*hits: NamedHit, number: int = 1) -> AnswerAtCommit:
    return AnswerAtCommit(id=f"issue-{number}", results=hits)


def test_files_count_by_their_order_without_repetitions():
    found = judge(issue(), answer(hit("a.py"), hit("a.py"), hit("b.py"), hit("shop/cart.py")))

    assert [found["file", most] for most in (1, 3, 5)] == [False, True, True]


def test_all_that_a_fix_changed_must_be_found_as_far_as_there_is_room():
    both = issue(files=("a.py", "b.py"))

    assert judge(both, answer(hit("a.py"), hit("c.py"), hit("d.py")))["file", 1]
    assert not judge(both, answer(hit("a.py"), hit("c.py"), hit("d.py")))["file", 3]
    assert judge(both, answer(hit("a.py"), hit("c.py"), hit("b.py")))["file", 3]


def test_a_function_counts_by_its_name_in_its_module_and_beside_a_hit_by_its_bare_name():
    assert judge(issue(), answer(hit("shop/cart.py", "shop.cart.Cart.pay")))["function", 5]
    assert judge(issue(), answer(hit("shop/cart.py", "shop.cart.Cart", "class", also=("pay",))))["function", 5]
    assert not judge(issue(), answer(hit("shop/cart.py", "shop.cart.pay")))["function", 5]
    assert not judge(issue(), answer(hit("shop/other.py", "Cart.pay", also=("pay",))))["function", 10]


def test_a_fix_without_functions_counts_for_files_only():
    assert ("function", 5) not in judge(issue(functions=()), answer(hit("shop/cart.py")))


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("shop/cart.py", "shop.cart.Cart.pay", "Cart.pay"),
        ("shop/__init__.py", "shop.Cart.__init__", "Cart"),
        ("shop/cart.py", "Cart.pay", "Cart.pay"),
        ("shop/cart.py", "cart", "cart"),
    ],
)
def test_a_name_is_that_within_its_module_and_a_constructor_its_type(path, name, expected):
    assert name_in_module(path, name) == expected


def test_the_table_has_the_share_of_each_repository_and_two_runs_are_compared_row_by_row():
    rows = [issue(1), issue(2)]
    now = {"issue-1": answer(hit("shop/cart.py")), "issue-2": answer(hit("a.py"), number=2)}
    before = {"issue-1": answer(hit("a.py")), "issue-2": answer(hit("shop/cart.py"), number=2)}

    assert "0.500" in issues_table(rows, now)
    first = differences_table(rows, now, before).splitlines()[2].split()
    assert first == ["file@1", "1", "1", "issue-2"]


def test_rows_are_taken_evenly_and_a_clone_is_found_by_its_name(tmp_path):
    rows = [issue(number) for number in range(10)]
    (tmp_path / "shop+cart" / "repo").mkdir(parents=True)

    assert [row.id for row in evenly(rows, 3)] == ["issue-0", "issue-3", "issue-6"]
    assert find_repository("shop/cart", tmp_path) == tmp_path / "shop+cart" / "repo"
    assert find_repository("shop/other", tmp_path) is None
