"""A job in a separate process tells what it indexed."""

from bench import job
from bench.synthetic import source_files


def test_a_job_tells_files_symbols_and_what_it_skipped(tmp_path):
    tree = tmp_path / "tree"
    for file in source_files(3, 30):
        (tree / file.path).parent.mkdir(parents=True, exist_ok=True)
        (tree / file.path).write_text(file.text)
    (tree / "logo.png").write_bytes(b"\x89PNG\0\0")

    usage, done = job.index(tree, tmp_path / "home", "--force")

    assert done.file_count == 30
    assert done.symbol_count > 30
    assert done.source_bytes > 0
    assert done.skipped == {"binary": 1}
    assert usage.cpu_seconds > 0
