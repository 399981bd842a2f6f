"""Definitions, references, outlines and lines right after random edits: as a parse of the tree and ripgrep say, or marked late.

`make soak` scales it. `python -m tests.soak.symbol_questions` runs it for minutes over any seeds.
"""

import pytest

from tests.conftest import tool
from tests.soak.symbol_questions import SymbolQuestions
from tests.soak.symbol_truth import parsed
from tests.soak.symbol_world import SymbolWorld

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("soak")]  # each needs the whole machine

N_EDITS = 40
"""In CI; each is one to three edits and two to five questions."""

N_SOAKED = 50
"""For each unit of the scale above 1."""


@pytest.mark.invariant(of="test_not_found_in_an_index_that_is_behind_says_that_it_is_behind")
@pytest.mark.timeout(0)
@pytest.mark.parametrize(("seed", "wait_ms"), [(1, 5_000), (2, 30)])
def test_no_answer_about_symbols_differs_from_the_tree_and_calls_itself_fresh_or_complete(
    seed, wait_ms, tmp_path, repetitions, monkeypatch
):
    """With the default wait, and with one so short that most answers are late, errors too."""
    tool("rg")
    monkeypatch.setenv("CODECOMPASS_QUERY_FRESHNESS_WAIT_MS", str(wait_ms))
    world = SymbolWorld(tmp_path, seed)
    run = SymbolQuestions(world, tmp_path / "home")

    run.run(n_edits=repetitions(N_EDITS, N_SOAKED))

    assert run.lies == []
    assert run.outcomes["right"] > N_EDITS


def test_the_truth_is_that_of_the_worker(tmp_path):
    world = SymbolWorld(tmp_path, 3, n_files=12)
    (world.root / "web").mkdir(exist_ok=True)
    (world.root / "web/one.go").write_text("package web\n\nfunc only(value int) int {\n\treturn compute7(value)\n}\n")

    truth = parsed(world.root)

    assert [(place.path, place.line) for place in truth.definitions["only"]] == [("web/one.go", 3)]
    assert ("web/one.go", 4) in [(place.path, place.line) for place in truth.uses["compute7"]]
    assert [node.name for node in truth.outlines["web/one.go"]] == ["only"]


def test_a_wrong_answer_is_a_lie(tmp_path, monkeypatch):
    """The truth is of another tree here."""
    tool("rg")
    world = SymbolWorld(tmp_path / "one", 4, n_files=30)
    other = SymbolWorld(tmp_path / "other", 5, n_files=30)
    monkeypatch.setattr("tests.soak.symbol_questions.RECOVERY_SECONDS", 0.0)
    monkeypatch.setattr("tests.soak.symbol_questions.parsed", lambda _root: parsed(other.root))
    run = SymbolQuestions(world, tmp_path / "home")

    run.run(n_edits=5)

    assert run.lies
