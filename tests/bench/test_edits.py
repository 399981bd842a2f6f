"""Edits are visible, do not depend on the location of their files, and leave no trace once undone."""

from bench.edits import FUNCTIONS, edit_files, editable, undo


def test_an_edit_appends_a_definition_and_can_be_undone(tmp_path):
    (tmp_path / "a.py").write_bytes(b"x = 1\n")

    edits = edit_files(tmp_path, ["a.py"], tag=3)
    after = (tmp_path / "a.py").read_text()
    undo(edits)

    assert after.startswith("x = 1\n")
    assert f"def {edits[0].name}(" in after
    assert (tmp_path / "a.py").read_bytes() == b"x = 1\n"


def test_every_edit_of_a_round_and_of_all_rounds_has_its_own_name(tmp_path):
    for name in ("a.go", "b.go"):
        (tmp_path / name).write_bytes(b"package a\n")

    names = [edit.name for tag in (1, 2) for edit in edit_files(tmp_path, ["a.go", "b.go"], tag=tag)]

    assert len(set(names)) == 4


def test_files_keep_their_order_when_others_join_them():
    few = [f"src/{number}.py" for number in range(20)]
    many = few + [f"lib/{number}.go" for number in range(20)]

    assert [path for path in editable(many) if path in few] == editable(few)
    assert editable(few) != few


def test_files_without_a_known_way_to_write_a_function_are_left_alone():
    assert editable(["README.md", "a.py", "b.unknown"]) == ["a.py"]
    assert ".py" in FUNCTIONS
