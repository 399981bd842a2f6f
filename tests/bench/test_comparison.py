"""The table of this program beside others: what is measured, how it is compared and where it is written."""

import msgspec
import pytest

from bench.__main__ import main
from bench.comparison import PARTS, ROWS, Measured
from bench.programs import OTHERS, OURS, ROOT, Place, codecompass, installed
from bench.report import BEGIN, DATA, END, Column, Report, rendered, table_in, worse, write_into
from bench.synthetic import source_files


def a_report(**values: dict[str, list[float]]) -> Report:
    measured = Measured(tree="shop", files=3, source_bytes=2048, values=values, failures={"rg: find": 0, "old: words": 2})
    columns = tuple(Column(program=name, version="1") for name in (OURS, "old", "rg"))
    return Report(
        taken_at="2026-11-26T20:00:00Z",
        system="Linux",
        python="3.11",
        processors=2,
        load=(0.5, 1.5),
        rounds=3,
        against="old",
        columns=columns,
        absent=("zoekt",),
        trees=(measured,),
    )


def test_the_table_has_medians_of_the_rounds_and_the_ratio_to_the_compared_commit():
    report = a_report(find_cpu={OURS: [0.3, 9.0, 0.2], "old": [0.6], "rg": [0.15]}, index_cpu={OURS: [1.0]})

    lines = rendered(report).splitlines()

    assert "| a name, by a command: CPU | 0.30 s | 0.60 s | 0.50 | 0.15 s |" in lines
    assert "| first index by a command, everything: CPU | 1.00 s |  |  |  |" in lines
    assert "| shop: 3 files, 2.00 kB | this | old | ratio | rg |" in lines


def test_the_table_says_which_programs_are_absent_and_which_did_not_answer():
    text = rendered(a_report(find_cpu={OURS: [0.3]}))

    assert "Not installed: zoekt." in text
    assert "Not answered or failed: old: words 2." in text


@pytest.mark.parametrize(("cpu", "is_worse"), [(1.02, False), (1.03, False), (1.04, True)])
def test_a_row_is_worse_if_it_costs_more_than_the_tolerance_allows(cpu, is_worse):
    report = a_report(find_cpu={OURS: [cpu], "old": [1.0]}, index_cpu={OURS: [5.0]})

    assert worse(report, 0.03) == (["shop: a name, by a command: CPU: 1.04"] if is_worse else [])


def test_a_table_replaces_the_one_in_a_document_and_can_be_made_again_from_the_file_beside_it(tmp_path):
    document = tmp_path / "performance.md"
    document.write_text(f"Before\n\n{BEGIN}\n\nan old table\n\n{END}\n\nAfter\n")
    report = a_report(find_cpu={OURS: [0.3]})

    write_into(document, report)

    kept = msgspec.json.decode(document.with_name(DATA).read_bytes(), type=Report)
    assert table_in(document) == rendered(kept) == rendered(report)
    assert document.read_text().startswith("Before\n")
    assert document.read_text().endswith("\n\nAfter\n")


def test_a_document_without_a_place_for_a_table_is_refused(tmp_path):
    document = tmp_path / "performance.md"
    document.write_text("Nothing here\n")

    with pytest.raises(ValueError, match="bench: begin"):
        write_into(document, a_report())

    assert document.read_text() == "Nothing here\n"


def test_the_table_in_the_documents_is_that_of_the_file_beside_it():
    document = ROOT / "docs" / "performance.md"
    data = document.with_name(DATA)

    table = rendered(msgspec.json.decode(data.read_bytes(), type=Report)) if data.exists() else ""

    assert table_in(document) == table, "python -m bench --show docs/performance.json --into docs/performance.md"


def test_programs_that_are_not_installed_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert installed([]) == ([], [program.name for program in OTHERS])


def test_a_program_is_found_in_a_directory_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\necho rg 99\n")
    program.chmod(0o755)

    found, absent = installed([tmp_path])

    assert [(each.name, each.version, each.find[0]) for each in found] == [("rg", "rg 99", str(program))]
    assert "rg" not in absent


def test_a_question_is_put_into_arguments_as_it_is(tmp_path):
    """It may look like a placeholder."""
    place = Place(tmp_path / "shop", tmp_path / "store")
    program = codecompass(OURS, ROOT)

    command = place.filled(program.find, "{tree} {store}")
    nested = place.call(next(each for each in OTHERS if each.name == "jcodemunch-mcp").tools["words"], "{name}")

    assert command[-2:] == [str(tmp_path / "shop"), "{tree} {store}"]
    assert nested == {"action": "search_symbols", "args": {"repo": "shop", "query": "{name}"}}


def test_unknown_rows_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--rows", "index,cost"])

    assert "unknown cost" in capsys.readouterr().err


@pytest.mark.slow
def test_every_row_is_measured_against_a_commit_and_the_tree_is_unchanged(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bench.corpus.OUT", tmp_path / "out")
    tree = tmp_path / "shop"
    for file in source_files(3, 40):
        (tree / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tree / file.path).write_text(file.text)
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    has_commits = (ROOT / ".git").exists()
    against = ["--against", "HEAD", "--tolerance", "1000"] if has_commits else []
    others = [program.name for program in OTHERS]

    code = main(
        [
            "--trees",
            str(tree),
            "--rounds",
            "1",
            "--questions",
            "3",
            "--out",
            str(tmp_path / "out.json"),
            "--without",
            *others,
            *against,
        ]
    )

    report = msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=Report)
    values = report.trees[0].values
    assert code == 0
    assert values.keys() == ROWS.keys()
    assert all(programs.keys() == ({OURS, "HEAD"} if has_commits else {OURS}) for programs in values.values())
    assert all(len(rounds) == 1 for programs in values.values() for rounds in programs.values())
    assert capsys.readouterr().out.strip().endswith(rendered(report).splitlines()[-1])
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    assert {row.part for row in ROWS.values()} == set(PARTS)
