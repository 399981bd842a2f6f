"""`python -m bench` as a whole, on trees small enough to be fast."""

import json

import pytest

from bench.__main__ import main


@pytest.mark.slow
def test_it_prints_the_table_and_writes_every_sample(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("bench.__main__.OUT", tmp_path)
    monkeypatch.setattr("bench.corpus.OUT", tmp_path)

    code = main(["--quick", "--files", "30"])

    said = capsys.readouterr().out
    written = [json.loads(path.read_text()) for path in tmp_path.glob("bench-*.json")]
    rows = [row["what"] for row in written[0]["figures"]]
    assert code == 0
    assert len(written) == 1
    assert all(row in said for row in rows)
    assert [row for row in rows if row.startswith("cold full index, 35 files")]
    assert [row for row in rows if row.startswith("10 files changed, to searchable, 125 files")]
    assert {"locate_symbol: p95", "get_file_outline: p95", "codecompass --help: wall"} <= set(rows)
    assert {"ping while 65 files are indexed: p95", "end of input to end of process"} <= set(rows)
    assert "equal on both trees in 1 of 1 updates" in said
    assert len(written[0]["trees"]) == 2
