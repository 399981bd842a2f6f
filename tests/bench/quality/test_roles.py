"""Questions that state what they ask for: when a hit is right, which rows are kept, and the table."""

from bench.quality.data import read_lines
from bench.quality.roles import LIMIT, ROWS, Place, Row, ask, rank_of
from codecompass.protocol.replies import FurtherDefinition, Result
from tests.support.workspace import TestWorkspace

FILES = {
    "shop/cart.py": "RETRIES = 3\n\n\ndef pay(cart):\n    return cart.total()\n",
    "tests/test_cart.py": "from shop.cart import pay\n\n\ndef test_pay():\n    assert pay is not None\n",
}
ROW = Row(
    id="tests-01",
    repo="shop",
    kind="tests",
    query="tests for pay",
    relevant=(Place("tests/test_cart.py"), Place("shop/cart.py", 4, 5)),
)


async def test_a_question_is_asked_of_a_tree(tmp_path):
    workspace = TestWorkspace(tmp_path / "project", tmp_path / "home")
    workspace.write(FILES)
    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        [(row, results)] = ask(snapshot, [ROW])

    assert row is ROW
    assert rank_of(row, results) == 1


def test_a_hit_answers_with_its_path_and_any_of_its_ranges():
    constant = Result(path="shop/cart.py", line_start=1, line_end=1)
    function = Result(path="shop/cart.py", line_start=5, line_end=9)
    pay = FurtherDefinition(name="pay", line_start=4, line_end=5)
    further = Result(path="shop/cart.py", line_start=1, line_end=1, also=(pay,))
    test = Result(path="tests/test_cart.py", line_start=90, line_end=90)

    assert rank_of(ROW, [constant]) is None
    assert rank_of(ROW, [constant, function]) == 2
    assert rank_of(ROW, [further]) == 1
    assert rank_of(ROW, [test]) == 1
    assert rank_of(ROW, [constant] * LIMIT + [test]) is None


def test_the_kept_rows_are_whole():
    rows = read_lines(ROWS, Row)

    assert len({row.id for row in rows}) == len(rows) == 60
    assert len({(row.repo, row.query) for row in rows}) == len(rows)
    assert len({row.repo for row in rows}) >= 20
    assert {len([row for row in rows if row.kind == kind]) for kind in {row.kind for row in rows}} <= {4, 5}
    for row in rows:
        assert 1 <= len(row.relevant) <= 6
        for place in row.relevant:
            assert (place.line_start is None) == (place.line_end is None)
            assert place.line_start is None or place.line_end is None or 1 <= place.line_start <= place.line_end
