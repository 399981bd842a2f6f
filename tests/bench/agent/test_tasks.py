"""A place is right if an agent that opens it has its answer."""

import pytest

from bench.agent.answers import Place
from bench.agent.tasks import Span, Task, draw, is_right, rank_of


def task(name="messages", *spans, number=0):
    relevant = spans or (Span("a.py", 50, 50),)
    return Task(id=f"t{number}", set=name, repo="shop", category="", query="q", relevant=relevant)


def place(start=None, end=None, *lines, path="a.py"):
    return Place(path=path, line_start=start, line_end=end, lines=lines)


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [
        (place(40, 60), True),
        (place(1, 121), True),
        (place(1, 122), False),
        (place(1, 900, 50), True),
        (place(1, 900, 49, 51), False),
        (place(None, None, 50), True),
        (place(40, 60, path="b.py"), False),
        (place(), False),
    ],
)
def test_a_line_is_found_where_it_is_shown_or_within_a_short_range(shown, is_it):
    assert is_right(task(), shown) is is_it


def test_a_function_is_found_by_any_of_its_lines():
    changed = task("commits", Span("a.py", 10, 20))

    assert is_right(changed, place(20, 30))
    assert is_right(changed, place(1, 900, 15))
    assert not is_right(changed, place(21, 30))


@pytest.mark.parametrize(
    ("shown", "is_it"),
    [(place(52, 70), True), (place(54, 54), False), (place(1, 900), False), (place(1, 900, 50), True), (place(45, 60), True)],
)
def test_a_definition_is_found_where_it_begins_or_is_shown(shown, is_it):
    assert is_right(task("nav", Span("a.py", 50, 60)), shown) is is_it


def test_the_rank_is_that_of_the_first_right_place():
    assert rank_of(task(), [place(1, 2), place(50, 50), place(50, 50)]) == 2
    assert rank_of(task(), []) is None


def test_who_is_drawn_does_not_depend_on_the_others():
    tasks = [task(number=number) for number in range(30)]
    few = draw(tasks, 10)

    assert len(few) == 10
    assert few == sorted(few, key=tasks.index)
    assert set(draw(tasks[:20], 5)) <= set(tasks[:20])
    assert draw([*tasks[:10], *few], None) == [*tasks[:10], *few]
    assert {one.id for one in draw(few, 5)} <= {one.id for one in few}
