"""Which definitions of two versions correspond, and that the cost of comparing them is bounded for any difference."""

import pytest

from codecompass.languages.records import Symbol
from codecompass.query.differences.definition_changes import NOT_ALL_MATCHED, definition_changes
from codecompass.query.differences.definition_matching import MAX_COMPARED_LINES, MatchingBudget, matched, moved_definitions
from codecompass.query.differences.file_versions import ChangedFile, DefinitionNode, FileVersion, nodes_of
from codecompass.scan.git_changes import FileChange, Hunk

pytestmark = pytest.mark.invariant(
    "The cost of comparing definitions is bounded over all files, and what was left out is reported"
)

N = 4_900


def functions(path: str, names: list[str], body: list[str], numbers: list[int] | None = None) -> FileVersion:
    """Returns a file with a function per name, each with the lines of `body`; {n} in them becomes the function's number."""
    lines: list[str] = []
    symbols = []
    for number, name in zip(range(len(names)) if numbers is None else numbers, names, strict=True):
        start = len(lines) + 1
        lines += [f"def {name}():", *(f"    {line.format(n=number)}" for line in body)]
        symbols.append(Symbol(name, "fn", name, start, len(lines), f"def {name}():", "public"))
    return FileVersion(path=path, language="python", lines=tuple(lines), symbols=tuple(symbols), has_symbols=True)


def changed(old: FileVersion, new: FileVersion) -> ChangedFile:
    hunk = Hunk(1, len(old.lines), 1, len(new.lines))
    return ChangedFile(change=FileChange(path=new.path, old_path=old.path, status="changed", hunks=(hunk,)), old=old, new=new)


def named(prefix: str, n: int = N) -> list[str]:
    return [f"{prefix}{number}" for number in range(n)]


def kinds(files: list[ChangedFile]) -> tuple[list[str], tuple[str, ...]]:
    found = definition_changes(files)
    return [change.change for file in found.files for change in file.changes], found.warnings


def test_definitions_that_only_have_other_names_are_found_in_any_number_without_a_comparison_of_each_with_each():
    work = MatchingBudget()
    old, new = (functions("a.py", named(prefix), ["x = {n}", "return x"]) for prefix in ("a", "b"))

    found = matched(nodes_of(old), nodes_of(new), work)

    assert [(pair.old.symbol.name, pair.new.symbol.name) for pair in found.pairs] == list(
        zip(named("a"), named("b"), strict=True)
    )
    assert (found.removed, found.added, work.n_lines, work.is_cut) == ([], [], 0, False)


def test_of_definitions_that_are_alike_the_most_alike_are_one():
    old = functions("a.py", ["one", "two", "three"], ["the_same_in_all_of_them()", "first({n})", "second({n})"])
    new = functions("a.py", ["trois", "deux", "un"], ["the_same_in_all_of_them()", "first({n})", "second({n})", "y"], [2, 1, 0])

    found = matched(nodes_of(old), nodes_of(new), MatchingBudget())

    pairs = {(pair.old.symbol.name, pair.new.symbol.name) for pair in found.pairs}
    assert pairs == {("one", "un"), ("two", "deux"), ("three", "trois")}


def test_more_definitions_of_one_level_than_can_be_compared_are_gone_and_new_and_the_answer_says_so():
    files = [changed(functions("a.py", named("a"), ["x = {n}", "return x"]), functions("a.py", named("b"), ["y = {n}", "go()"]))]

    found, warnings = kinds(files)

    assert (found.count("removed"), found.count("added"), warnings) == (N, N, (NOT_ALL_MATCHED,))


def test_what_is_compared_for_one_question_is_bounded_over_all_levels():
    work = MatchingBudget()
    levels = 0
    old, new = (functions("a.py", named(prefix, 50), [f"{prefix} = {{n}}", "x", "y", "z"]) for prefix in ("a", "b"))
    before, after = nodes_of(old), nodes_of(new)
    while not work.is_cut:
        matched(before, after, work)
        levels += 1

    assert 50 < levels < 200
    assert work.n_lines <= MAX_COMPARED_LINES
    assert matched(before, after, work).pairs == []


def test_definitions_of_one_name_are_compared_with_few_others_to_find_where_they_came_from():
    work = MatchingBudget()
    gone, come = (nodes_of(functions(path, ["get"] * N, [f"{path[0] * 40} = {{n}}"])) for path in ("a.py", "b.py"))

    moved = moved_definitions([matched(gone, [], work), matched([], come, work)], work)

    assert moved == {}
    assert work.n_lines <= MAX_COMPARED_LINES


def test_repeated_lines_of_moved_definitions_are_aligned_within_the_bound():
    body = ["same()", "other{n}()"] * 90
    nothing = [FileVersion(path=path, language="python", has_symbols=True) for path in ("a.py", "b.py")]
    old, new = functions("a.py", named("f", 60), body), functions("b.py", named("f", 60), [*body[2:], "last()", "last()"])

    found = definition_changes([changed(old, nothing[0]), changed(nothing[1], new)])

    changes = [change for file in found.files for change in file.changes]
    assert [change.change for change in changes] == ["moved"] * 60
    assert 0 < sum(bool(change.pieces) for change in changes) < 60
    assert found.warnings == (NOT_ALL_MATCHED,)


def test_when_the_time_is_up_definitions_are_matched_by_name_alone():
    old = functions("a.py", ["kept", "one"], ["x = {n}", "y = 2", "go()"])
    new = functions("a.py", ["kept", "two"], ["x = {n}", "y = 2", "stop()"])

    found = definition_changes([changed(old, new)], lambda: True)

    assert [change.change for change in found.files[0].changes] == ["changed", "added", "removed"]
    assert found.warnings == (NOT_ALL_MATCHED,)
    assert definition_changes([changed(old, new)]).warnings == ()


def test_a_name_that_is_no_word_is_left_out_of_what_is_compared():
    lines = ("bool operator==(T a) {", "  return a.operator==(b);", "}")
    symbol = Symbol("operator==", "fn", "operator==", 1, 3, lines[0], "public")
    version = FileVersion(path="a.cc", language="cpp", lines=lines, symbols=(symbol,), has_symbols=True)

    (node,) = nodes_of(version)

    assert isinstance(node, DefinitionNode)
    assert set(node.bag) == {"bool \0(T a) {", "return a.\0(b);", "}"}
