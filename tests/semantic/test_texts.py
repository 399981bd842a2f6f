"""Which texts of a file get a vector."""

import pytest

from codecompass.semantic.texts import is_embedded, texts_of
from tests.support.workspace import TestWorkspace

SOURCE = '''"""A module about orders."""

import json

LIMIT = 10


# Ships what was ordered.
def ship(order):
    def pack(box):
        return box
    return pack(order)


class Order:
    """What a customer wants."""

    def total(self):
        return 1
'''
GUIDE = "# Guide\n\n" + "How to order things.\n" * 30


@pytest.fixture
async def workspace(tmp_path):
    made = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    made.write({"shop/orders.py": SOURCE, "guide.md": GUIDE, "empty.py": "", "blank.md": "\n\n\n"})
    await made.sync()
    return made


def texts(workspace: TestWorkspace, path: str, max_characters: int = 2000, prefix: str = ""):
    with workspace.index.snapshot() as snapshot:
        row = snapshot.facts.file(path)
        assert row is not None
        return texts_of(snapshot, row, max_characters, prefix)


async def test_each_definition_has_a_text_with_its_path_name_comment_and_lines(workspace):
    found = {each.text.split("\n")[1]: each for each in texts(workspace, "shop/orders.py") if each.kind}

    assert set(found) == {"shop.orders.ship", "shop.orders.ship.pack", "shop.orders.Order", "shop.orders.Order.total"}
    ship = found["shop.orders.ship"]
    assert ship.text.startswith("shop/orders.py\nshop.orders.ship\n")
    assert "return pack(order)" in ship.text
    assert (ship.line_start, ship.line_end, ship.kind) == (9, 12, "fn")
    assert "LIMIT" not in ship.text


async def test_text_outside_of_definitions_has_chunks_and_inside_none(workspace):
    (*_, last) = texts(workspace, "guide.md")
    chunks_of_code = [each for each in texts(workspace, "shop/orders.py") if not each.kind]

    assert last.kind == ""
    assert last.text.startswith("guide.md\n")
    assert chunks_of_code == []
    assert texts(workspace, "empty.py") == texts(workspace, "blank.md") == []


async def test_lines_above_change_no_text(workspace):
    before = {each.hash for each in texts(workspace, "shop/orders.py")}

    workspace.write({"shop/orders.py": "# one more line\n\n" + SOURCE})
    await workspace.sync()

    assert {each.hash for each in texts(workspace, "shop/orders.py")} == before


async def test_texts_are_cut_and_prefixed(workspace):
    for each in texts(workspace, "shop/orders.py", 100, "search_document: "):
        assert each.text.startswith("search_document: shop/orders.py\n")
        assert len(each.text) <= 100 + len("search_document: ")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("src/app.py", True),
        ("README.md", True),
        ("tests/test_app.py", True),
        ("vendor/x/y.go", False),
        ("api_pb2.py", False),
        ("package-lock.json", False),
        ("config.yaml", False),
    ],
)
def test_generated_vendored_and_data_files_have_none(path, wanted):
    assert is_embedded(path) is wanted
