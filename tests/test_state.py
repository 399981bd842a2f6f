"""Properties of the source on which the actors rely: bounded queues, and no module state."""

import ast
from functools import cache
from pathlib import Path

import pytest

import codecompass

PACKAGE = Path(codecompass.__file__).parent
MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTABLE_CALLS = {"list", "dict", "set", "bytearray", "deque", "defaultdict", "OrderedDict", "Counter", "Lock", "Event", "count"}


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return tuple((str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def called(node: ast.Call) -> str:
    """Returns the last component of the called name."""
    target = node.func.value if isinstance(node.func, ast.Subscript) else node.func
    return target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")


@pytest.mark.invariant("Every queue is bounded; a full one refuses at once")
def test_every_channel_between_tasks_is_bounded():
    channels = [
        (name, ast.unparse(node))
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and called(node) == "open_memory_channel"
    ]

    assert channels, "nothing was found, so nothing was tested"
    assert [each for each in channels if "inf" in each[1]] == []


@pytest.mark.invariant("No module has state, so that two servers can run in one process")
def test_no_module_has_state():
    """Module-level names are declared Final, and nothing is declared global."""
    found = []
    for name, tree in modules():
        found += [f"{name}: global {node.names}" for node in ast.walk(tree) if isinstance(node, ast.Global)]
        for node in tree.body:
            if isinstance(node, ast.AnnAssign) and "Final" in ast.unparse(node.annotation):
                continue
            value = getattr(node, "value", None) if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if isinstance(value, MUTABLE) or (isinstance(value, ast.Call) and called(value) in MUTABLE_CALLS):
                found.append(f"{name}:{node.lineno}: {ast.unparse(node)[:60]}")

    assert [each for each in found if "__all__" not in each] == []
