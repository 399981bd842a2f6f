"""After a change the files determine the expected answer, and only an answer that contradicts it is wrong."""

import re

import pytest

from bench.agent.answers import Place
from bench.agent.freshness import Expected, FreshAnswer, FreshnessRun, Tree, changes_of, is_right, judge
from bench.client import Said
from bench.corpus import make_repository
from tests.conftest import tool


@pytest.fixture
def root(tmp_path):
    tool("git")
    root = tmp_path / "shop"
    (root / "lib").mkdir(parents=True)
    for number in range(24):
        (root / "lib" / f"m{number}.py").write_text(f"def f{number}():\n    pass\n")
    make_repository(root)
    return root


def names_in(root):
    """Returns every generated name, with the files that contain it."""
    found = {}
    for path in root.rglob("*.py"):
        for name in re.findall(r"BenchFresh[0-9a-f]{12}", path.read_text()):
            found.setdefault(name, set()).add(str(path.relative_to(root)))
    return found


def test_every_change_leaves_the_tree_as_it_says(root):
    tree = Tree(root, seed=1)
    kinds = []

    for make in [*changes_of(tree), tree.edit_offline] * 2:
        change = make()
        kinds.append(change.kind)
        stands = names_in(root)
        for expected in change.expected:
            assert stands.get(expected.name, set()) == ({expected.path} if expected.path else set())
            if expected.path:
                text = (root / expected.path).read_text().splitlines()
                assert expected.name in text[tree.line_of(expected) - 1]

    assert len(set(kinds)) >= 8
    tree.close()
    assert not root.exists()
    assert not list(root.parent.iterdir())


def shown(path="a.py", start=1, end=9, words="def fresh(value):"):
    return Place(path=path, line_start=start, line_end=end, words=words)


@pytest.mark.parametrize(
    ("path", "places", "is_it"),
    [
        ("a.py", [shown()], True),
        ("a.py", [shown(words="def freshen(value):")], False),
        ("a.py", [shown(start=6)], False),
        ("a.py", [shown(), shown(path="old.py")], False),
        ("a.py", [shown(words="other", path="old.py"), shown()], True),
        ("a.py", [], False),
        (None, [], True),
        (None, [shown(words="def refresh(value):")], True),
        (None, [shown()], False),
    ],
)
def test_a_name_is_to_be_found_in_its_file_at_its_line_or_nowhere(path, places, is_it):
    assert is_right(Expected("fresh", path), places, lambda: 5) is is_it


def test_a_wrong_answer_is_silent_unless_it_admits_what_it_lacks(root):
    tree = Tree(root, seed=1)
    expected = tree.create().expected[0]
    silent = '{"results":[],"metadata":{"freshness_status":"syncing","result_completeness":"complete"}}'

    assert judge(tree, expected, Said(0.0, silent, False)) == "silent"
    assert judge(tree, expected, Said(0.0, silent.replace('"complete"', '"partial"'), False)) == "admitted"
    assert judge(tree, expected, Said(0.0, "internal error", True)) == "admitted"
    assert judge(tree, Expected("gone", None), Said(0.0, silent, False)) == "right"
    assert judge(tree, Expected("gone", None), Said(0.0, "internal error", True)) == "admitted"
    tree.close()


@pytest.mark.slow
def test_a_round_asks_the_real_server_after_every_change(root, tmp_path, monkeypatch):
    monkeypatch.setattr("bench.corpus.OUT", tmp_path / "out")
    answers: list[FreshAnswer] = []

    FreshnessRun(root, tmp_path / "home", "json", tool("rg"), answers.append).run(rounds=1, seed=1)

    ours = [answer for answer in answers if answer.system == "codecompass"]
    grepped = [answer for answer in answers if answer.system == "rg"]
    assert len(ours) == len(grepped) > 10
    assert all(answer.verdict == "right" for answer in grepped)
    assert all(answer.settled_ms is not None for answer in ours)
    assert (root / "lib" / "m0.py").read_text() == "def f0():\n    pass\n"
