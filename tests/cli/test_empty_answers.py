"""An answer without hits says what was searched, what was left out, and what to do."""

from tests.cli.conftest import SHOP


def test_a_project_without_files_says_so(cli):
    cli.tree("empty", {".gitignore": "*\n"})

    done = cli("search", "needle")

    assert done.code == 3
    assert "this project has no files to index" in done.err
    assert "codecompass index --dry-run" in done.err


def test_a_project_of_which_all_is_left_out_says_why(cli):
    cli.tree("blobs", {"a.bin": b"\0\1" * 100, "b.bin": b"\0" * 100, ".env": "KEY=needle\n"}, git=False)

    done = cli("search", "needle")

    assert done.code == 3
    assert "no file of this project is indexed; left out: binary 2" in done.err


def test_an_answer_without_hits_counts_what_was_searched_and_left_out(cli):
    cli.tree("shop", {**SHOP, "logo.png": b"\0\1"})

    done = cli("search", "qqqzzz")

    assert "6 files searched; left out: binary 1; why one is not: codecompass status FILE" in done.err


def test_a_filter_that_nothing_fits_names_what_there_is(cli, shop):
    assert "no indexed file fits path 'docs/**'; the root has:" in cli("search", "cart", "-p", "docs/**").err
    assert "indexed are:" in cli("search", "cart", "-l", "haskell").err
