"""Trees generated from a seed: always the same, and source code that parses."""

import ast

from bench.synthetic import source_file, source_files

SOME = 240
"""Files; ten packages, with every language several times."""


def test_a_file_depends_on_its_seed_and_number_alone():
    small = list(source_files(7, 30))
    large = list(source_files(7, 60))

    assert large[:30] == small
    assert source_file(7, 29) == small[29]
    assert source_file(8, 29).text != small[29].text


def test_python_files_parse():
    files = [file for file in source_files(1, SOME) if file.path.endswith(".py")]

    assert files
    for file in files:
        ast.parse(file.text, file.path)


def test_sizes_are_those_of_real_projects():
    sizes = sorted(len(file.text) for file in source_files(1, 1000))

    assert 3_000 < sum(sizes) / len(sizes) < 12_000
    assert sizes[900] > 2 * sizes[500]
