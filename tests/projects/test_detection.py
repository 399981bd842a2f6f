"""Which root a directory belongs to, given what is registered and what lies around it."""

from pathlib import Path

import pytest

from codecompass.projects.detection import project_root

SHOP, INNER, ABOVE = Path("/dev/shop"), Path("/dev/shop/vendor/lib"), Path("/dev")


@pytest.mark.parametrize(
    ("registered", "git_root", "marked", "expected"),
    [
        (SHOP, None, None, SHOP),
        (SHOP, SHOP, SHOP, SHOP),
        (SHOP, INNER, INNER, INNER),
        (SHOP, ABOVE, ABOVE, SHOP),
        (SHOP, None, INNER, SHOP),
        (None, INNER, None, None),
        (None, INNER, INNER, INNER),
        (None, None, None, None),
    ],
)
def test_the_nearest_registered_root_counts_then_the_markers_and_a_work_tree_inside_is_its_own(
    registered, git_root, marked, expected
):
    assert project_root(registered=registered, git_root=git_root, marked=marked) == expected
