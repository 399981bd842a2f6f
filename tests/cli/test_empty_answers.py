"""An answer without hits says what was searched, what was left out, and what to do."""

from codecompass.hints import COMMANDS
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


def test_a_name_that_is_not_defined_is_told_to_people_in_their_words(cli, shop):
    done = cli("locate", "qqqzzz")

    assert done.code == 3
    assert "nothing is named qqqzzz; codecompass search finds it in all text" in done.err
    assert "files searched" in done.err
    assert not any(tool in done.err for tool in COMMANDS)


def test_a_name_in_a_project_without_files_is_not_looked_for_elsewhere(cli):
    cli.tree("empty", {".gitignore": "*\n"})

    assert "this project has no files to index" in cli("locate", "needle").err
    assert "languages  none" in cli("status").out
