"""`languages`: what is supported, how far, and which module reads a file."""

from pathlib import Path


def test_a_table_says_how_far_each_language_is_supported(cli):
    done = cli("languages")
    rows = {row["name"]: row for row in cli("languages", "--json").json["languages"]}

    assert done.code == 0
    assert len(done.out.splitlines()) == len(rows) + 1
    assert rows["ruby"]["definitions"] == "tree"
    assert [rows["ruby"][trait] for trait in ("imports", "uses", "registered")] == [True, True, True]
    assert rows["vue"]["definitions"] == "code within"
    assert (rows["html"]["holds"], rows["csv"]["holds"]) == ("scripts, styles", "")
    assert rows["terraform"]["definitions"] == "text"
    assert rows["csv"] == rows["csv"] | {"definitions": "", "module": "", "uses": False}


def test_the_module_that_reads_a_file_is_named(cli, tmp_path: Path):
    script = tmp_path / "deploy"
    script.write_text("#!/usr/bin/env python3\nprint(1)\n")

    done = cli("languages", "--why", str(script))
    read = cli("languages", "--why", str(script), "--json").json

    assert done.out.strip().endswith(
        "deploy: python, read by codecompass.languages.scripting.python with the grammar python: definitions, imports, uses, "
        "registered; marked strings are read as other languages"
    )
    assert read["language"] == "python"
    assert read["support"]["module"] == "codecompass.languages.scripting.python"


def test_a_file_that_no_module_reads_is_searched_as_text(cli, tmp_path: Path):
    notes = tmp_path / "notes.unknown"
    notes.write_text("nothing\n")

    assert "no module reads it" in cli("languages", "--why", str(notes)).out


def test_a_file_that_is_not_there_is_an_error(cli, tmp_path: Path):
    assert cli("languages", "--why", str(tmp_path / "absent.py")).code != 0
