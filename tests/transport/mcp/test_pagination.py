import pytest
from msgspec import UNSET

from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.opaque_text import page


@pytest.mark.parametrize("n_items", [0, 1, 3, 4, 10])
def test_pages_together_are_the_list(n_items):
    items, seen, cursor = list(range(n_items)), [], None
    while True:
        part, following = page(items, cursor, 3)
        seen += part
        if following is UNSET:
            break
        cursor = following

    assert seen == items


@pytest.mark.parametrize(
    "cursor", ["", "x", "ZnJvbTow", "ZnJvbTotMQ==", "ZnJvbTo5", "ZnJvbTogMw==", "ZnJvbTowMw==", "é", "ZnJvbTo" + "5" * 99]
)
def test_cursors_that_are_not_ours_are_refused(cursor):
    with pytest.raises(Fault):
        page(list(range(9)), cursor, 3)
