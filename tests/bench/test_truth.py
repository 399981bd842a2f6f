"""Searches for one side's definitions on the other side."""

from bench.definitions import Definition
from bench.truth import compare, main, recall_table, sample


def definition(name: str, line: int, kind: str = "function", path: str = "a.py") -> Definition:
    return Definition(path, name, kind, line)


def outcomes(theirs: list[Definition], ours: list[Definition]) -> list[str]:
    return [row.outcome for row in compare({"python": theirs}, {"python": ours})]


def test_a_definition_is_found_by_its_name_within_a_line():
    theirs = [definition("near", 10), definition("far", 10), definition("gone", 10), definition("moved", 10)]
    ours = [definition("near", 11), definition("far", 12), definition("moved", 10, path="b.py")]

    assert outcomes(theirs, ours) == ["found", "other line", "missing", "missing"]


def test_the_nearest_of_several_is_what_it_is_compared_with():
    row = compare({"python": [definition("f", 50)]}, {"python": [definition("f", 1), definition("f", 49), definition("f", 90)]})[
        0
    ]

    assert (row.outcome, row.other) == ("found", definition("f", 49))


def test_blanks_within_a_name_do_not_matter():
    assert outcomes([definition("operator ==", 1)], [definition("operator==", 1)]) == ["found"]


def test_languages_are_kept_apart():
    rows = compare({"go": [definition("f", 1)]}, {"python": [definition("f", 1)]})

    assert [row.outcome for row in rows] == ["missing"]


def test_recall_is_told_by_language_and_kind():
    theirs = [definition("a", 1), definition("b", 5), definition("C", 9, "class"), definition("d", 20)]
    ours = [definition("a", 1), definition("C", 9), definition("d", 90)]

    lines = recall_table(compare({"python": theirs}, {"python": ours})).splitlines()

    assert [line.split() for line in lines[2:]] == [
        ["python", "0.5000", "1", "1", "4"],
        ["class", "1.0000", "0", "0", "1"],
        ["function", "0.3333", "1", "1", "3"],
    ]


def test_a_sample_is_the_same_for_a_seed_and_takes_so_many_of_each_language(tmp_path):
    tree = tmp_path / "shop"
    (tree / "dist").mkdir(parents=True)
    for number in range(10):
        (tree / f"m{number}.py").write_text(f"def f{number}(): ...\n")
    (tree / "main.go").write_text("package main\n")
    (tree / "notes.md").write_text("# Notes\n")

    one, again, other = (
        sample([tree], ("go", "python"), 4, seed, tmp_path / f"copy{number}") for number, seed in enumerate((1, 1, 2))
    )

    assert one == again
    assert one != other
    assert {language: len(paths) for language, paths in one.items()} == {"go": 1, "python": 4}
    assert all((tmp_path / "copy0" / path).is_file() for paths in one.values() for path in paths)


def test_the_index_of_python_files_agrees_with_ast(tmp_path, capsys):
    """Uses a real job and the store, so the comparison covers what a user's index contains."""
    tree = tmp_path / "shop"
    tree.mkdir()
    (tree / "cart.py").write_text("LIMIT = 3\n\n\nclass Cart:\n    def total(self):\n        return LIMIT\n")

    code = main(["--trees", str(tree), "--files", "5"])

    said = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert ["python", "1.0000", "0", "0", "3"] in said
    assert ["all", "1.0000", "3"] in said
