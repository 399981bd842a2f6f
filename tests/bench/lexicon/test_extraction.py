"""What is extracted from a repository, using a real one that the test creates with git."""

import os
import subprocess

import pytest

from bench.lexicon.definitions import DefinitionReader
from bench.lexicon.git_repository import SourceFile, changes, clone, source_files
from bench.lexicon.identifier_words import identifier_words, words_of
from bench.lexicon.records import Repository

SOURCE = '''def remove_row(table, key):
    """Deletes one row."""
    # A remark about nothing.
    table.pop_item(key)  # the rest
    raise KeyError("no such row")
'''


def git(directory, *arguments):
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], cwd=directory, check=True, capture_output=True, text=True, env=environment)
    return done.stdout.strip()


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "tests").mkdir(parents=True)
    git(root, "init", "--quiet")
    (root / "table.py").write_text(SOURCE)
    (root / "tests" / "test_table.py").write_text("def test_it(): pass\n")
    (root / "notes.md").write_text("Notes\n")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "-m", "Begin the table of all rows")
    for number, subject in enumerate(("Abort when the row is missing (#12)", "Bump the version of it all", "Typo")):
        (root / "table.py").write_text(SOURCE.replace("table.pop", f"if number > {number}:\n        cancel()\n    table.pop"))
        git(root, "commit", "--quiet", "-am", subject)
    return Repository(repo="someone/project", url=str(root), commit=git(root, "rev-parse", "HEAD"), licence="MIT")


def test_source_files_are_those_of_the_product(project, tmp_path):
    assert [file.path for file in source_files(clone(project, tmp_path), project.commit)] == ["table.py"]


def test_a_commit_gives_its_words_the_function_and_the_changed_identifiers(project, tmp_path):
    found = list(changes(clone(project, tmp_path), project.commit, tmp_path / "attributes"))

    assert [each.subject for each in found] == [("abort", "when", "the", "row", "is", "missing")]
    assert found[0].functions == (("table.py", "remove_row"),)
    assert set(found[0].changed) == {"if", "number", "cancel"}


def test_a_definition_gives_the_words_of_its_comment_its_name_and_its_lines():
    (found,) = DefinitionReader().read(SourceFile("table.py", SOURCE.encode()))

    assert (found.symbol, found.name, found.doc) == ("remove_row", ("remove", "row"), ("deletes", "one", "row"))
    assert {"pop", "item", "key", "table"} <= set(found.body)
    assert not {"remark", "rest", "such", "deletes"} & set(found.body)


def test_words_of_sentences_and_lines():
    assert words_of("Parses HTTPHeaders of 12 x") == ["parses", "http", "headers", "of"]
    assert identifier_words(["a_row = a_row + 'one two' + 'three'"], 9) == ("row", "three")
    assert identifier_words(["first second second", "// remark"], 1) == ("second",)
