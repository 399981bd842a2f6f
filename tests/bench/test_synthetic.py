"""Trees generated from a seed: always the same, and source code that parses."""

import ast

import pytest
import tree_sitter
from tree_sitter_language_pack import get_language

from bench.synthetic import LONG_FILE_EVERY, source_file, source_files, source_path

SUFFIX_GRAMMAR = {".go": "go", ".ts": "typescript", ".java": "java"}
SOME = 240
"""Files; ten packages, with every language several times."""


def test_a_file_depends_on_its_seed_and_number_alone():
    small = list(source_files(7, 30))
    large = list(source_files(7, 60))

    assert large[:30] == small
    assert source_file(7, 29) == small[29]
    assert source_file(8, 29).text != small[29].text


def test_no_two_files_of_a_large_tree_have_the_same_path():
    assert len({source_path(number).lower() for number in range(20_000)}) == 20_000


def test_python_files_parse():
    files = [file for file in source_files(1, SOME) if file.path.endswith(".py")]

    assert files
    for file in files:
        ast.parse(file.text, file.path)


@pytest.mark.parametrize("suffix", SUFFIX_GRAMMAR)
def test_files_of_other_languages_parse_without_errors(suffix):
    parser = tree_sitter.Parser(get_language(SUFFIX_GRAMMAR[suffix]))
    files = [file for file in source_files(1, SOME) if file.path.endswith(suffix)]

    broken = [file.path for file in files if parser.parse(file.text.encode()).root_node.has_error]

    assert files
    assert not broken


def test_imports_lead_to_files_of_the_same_tree():
    """They refer to smaller numbers only, so a smaller tree contains their targets too."""
    files = {file.path: file.text for file in source_files(1, SOME)}
    imported = {
        line.split()[1].replace(".", "/") + ".py"
        for text in files.values()
        for line in text.splitlines()
        if line.startswith("from services.")
    }

    assert imported
    assert imported <= files.keys()


def test_sizes_are_those_of_real_projects():
    sizes = sorted(len(file.text) for file in source_files(1, 1000))

    assert 3_000 < sum(sizes) / len(sizes) < 12_000
    assert sizes[900] > 2 * sizes[500]


def test_some_files_are_long_enough_for_an_outline_of_two_hundred_symbols():
    text = source_file(1, LONG_FILE_EVERY - 1).text

    definitions = sum(line.lstrip().startswith(("def ", "class ")) for line in text.splitlines())
    assert source_path(LONG_FILE_EVERY - 1).endswith(".py")
    assert 150 < definitions < 250
