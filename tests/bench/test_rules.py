"""What each rule of a language is worth."""

import random
from pathlib import Path

from bench.rules import main, rule_worths, without_bracket
from codecompass.languages import load

SOURCE = b"import os\n\n\nclass A:\n    def f(self):\n        pass\n\n    def g(self):\n        pass\n"


def test_a_rule_is_worth_the_symbols_that_are_lost_without_it():
    worth = {each.rule: each.whole for each in rule_worths(load("python"), {"a.py": SOURCE})}

    assert worth["function_definition"] == 500.0, "two of four"
    assert worth["class_definition"] == 750.0, "the class and its methods"
    assert worth["while_statement"] == 0.0


def test_rules_are_listed_with_the_least_worth_first():
    worth = rule_worths(load("python"), {"a.py": SOURCE})

    assert worth == sorted(worth)
    assert {each.rule for each in worth} == set(load("python").rules)


def test_a_rule_for_broken_files_is_worth_something_only_there():
    source = b"\n".join(b"def f%d(a):\n    return g(a)\n" % number for number in range(20))

    worths = [rule_worths(load("python"), {"a.py": source}, seed) for seed in range(20)]
    errors = [each for worth in worths for each in worth if each.rule == "ERROR"]

    assert all(each.whole == 0.0 for each in errors)
    assert any(each.broken > 0.0 for each in errors)


def test_one_bracket_is_replaced_by_a_blank():
    broken = without_bracket(SOURCE, random.Random(1))

    assert len(broken) == len(SOURCE)
    assert sum(one != other for one, other in zip(broken, SOURCE, strict=True)) == 1
    assert without_bracket(b"no brackets", random.Random(1)) == b"no brackets"


def test_a_tree_is_measured_and_rules_below_a_thousandth_are_marked(tmp_path: Path, capsys):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.py").write_bytes(SOURCE)

    assert main(["--trees", str(tree), "--languages", "python"]) == 0

    printed = capsys.readouterr().out
    assert "python, 1 files" in printed
    row = next(line for line in printed.splitlines() if line.startswith("while_statement"))
    assert row.split() == ["while_statement", "0.00", "0.00", "below"]
