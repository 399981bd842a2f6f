"""The golden files of the languages: what is extracted from each file in `tests/testdata/languages/<language>/`.

`expected.json` beside the samples holds one line per symbol and per import. `UPDATE_GOLDEN=1` rewrites it; read the diff before
committing it.
"""

import json
import os
import random
from pathlib import Path

import pytest
from tree_sitter_language_pack import get_language, get_parser

from codecompass import languages
from codecompass.languages.records import Import, Symbol
from codecompass.languages.uses.occurrences import occurrences, occurrences_of
from codecompass.languages.walk.extract import Extraction, extract, parse
from codecompass.languages.walk.regions import with_regions
from codecompass.languages.walk.text_symbols import outlined

TESTDATA = Path(__file__).parent.parent / "testdata" / "languages"
FOLDERS = sorted(folder.name for folder in TESTDATA.iterdir() if folder.is_dir())


def samples_of(name: str) -> list[Path]:
    return sorted(path for path in (TESTDATA / name).rglob("*") if path.is_file() and path.name != "expected.json")


def extraction(name: str, source: bytes, path: str) -> Extraction:
    language = languages.load(name)
    regions = language.regions
    if regions is not None and regions.are_all and language.outline is None:
        own = Extraction((), (), has_errors=False)
    else:
        own = alone(name, source, path)
    return with_regions(name, source.decode("utf-8", "replace"), path, own, read_region).extraction


def alone(name: str, source: bytes, path: str) -> Extraction:
    """Returns what a language finds in a text, without regions of other languages."""
    language = languages.load(name)
    if language.outline is not None:
        return outlined(language, source, path)
    return extract(language, parse(language, get_parser(language.grammar), source).root_node, source, path)


def read_region(name: str, text: str, path: str) -> Extraction | None:
    return alone(name, text.encode("utf-8", "surrogatepass"), path) if name in languages.SYMBOL_LANGUAGES else None


def symbol_line(symbol: Symbol, symbols: tuple[Symbol, ...]) -> str:
    row = {
        "at": f"{symbol.line_start}-{symbol.line_end}",
        "kind": symbol.kind,
        "name": symbol.name,
        "qualified": symbol.qualified_name,
        "visibility": symbol.visibility,
        "in": f"{symbols[symbol.parent].name}@{symbols[symbol.parent].line_start}" if symbol.parent >= 0 else "",
        "signature": symbol.signature,
        "doc": symbol.doc,
    }
    return json.dumps({key: value for key, value in row.items() if value}, ensure_ascii=False)


def import_line(item: Import) -> str:
    row = {
        "at": f"{item.line_start}-{item.line_end}",
        "spec": item.spec,
        "name": item.name,
        "alias": item.alias,
        "kind": item.kind,
    }
    return json.dumps({key: value for key, value in row.items() if value}, ensure_ascii=False)


def golden(name: str) -> str:
    """Returns the golden file of a language as the current code would write it."""
    files = []
    for sample in samples_of(name):
        path = sample.relative_to(TESTDATA / name).as_posix()
        found = extraction(name, sample.read_bytes(), path)
        symbols = ",\n   ".join(symbol_line(symbol, found.symbols) for symbol in found.symbols)
        imports = ",\n   ".join(import_line(item) for item in found.imports)
        files.append(
            f' {json.dumps(path)}: {{\n  "has_errors": {json.dumps(found.has_errors)},\n'
            f'  "symbols": [\n   {symbols}\n  ],\n  "imports": [\n   {imports}\n  ]\n }}'
        )
    return "{\n" + ",\n".join(files) + "\n}\n"


@pytest.mark.parametrize("name", FOLDERS)
def test_a_sample_gives_the_symbols_and_imports_of_its_golden_file(name):
    expected = TESTDATA / name / "expected.json"

    actual = golden(name)

    if os.environ.get("UPDATE_GOLDEN"):
        expected.write_text(actual, encoding="utf-8")
    json.loads(actual)
    assert actual.splitlines() == expected.read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_found_is_well_formed(name):
    """Parents precede and enclose their members, symbols are in source order, ranges lie inside the file."""
    for sample in samples_of(name):
        source = sample.read_bytes()
        symbols = extraction(name, source, sample.name).symbols
        lines = source.count(b"\n") + 1

        for index, symbol in enumerate(symbols):
            assert 1 <= symbol.line_start <= symbol.line_end <= lines
            assert symbol.name.strip() == symbol.name != ""
            assert symbol.qualified_name.endswith(symbol.name)
            assert -1 <= symbol.parent < index
            if symbol.parent >= 0:
                assert symbols[symbol.parent].line_start <= symbol.line_start
                assert symbols[symbol.parent].line_end >= symbol.line_end
        assert len(set(symbols)) == len(symbols)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_file_cut_anywhere_raises_nothing(name):
    for sample in samples_of(name):
        source = sample.read_bytes()
        random_source = random.Random(name)
        for _ in range(60):
            start = random_source.choice((0, random_source.randrange(len(source))))
            cut = source[start : random_source.randrange(start, len(source)) + 1]

            extraction(name, cut, sample.name)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_file_with_bytes_changed_at_random_raises_nothing(name):
    for sample in samples_of(name):
        source = sample.read_bytes()
        random_source = random.Random(name)
        for _ in range(30):
            changed = bytearray(source)
            for _ in range(random_source.randrange(1, 20)):
                changed[random_source.randrange(len(changed))] = random_source.randrange(256)

            extraction(name, bytes(changed).decode("utf-8", "replace").encode(), sample.name)


@pytest.mark.parametrize("name", FOLDERS)
def test_a_golden_sample_has_enough_symbols(name):
    """A directory without samples, or with one that yields little, would pass every other test."""
    found = [extraction(name, sample.read_bytes(), sample.name) for sample in samples_of(name)]

    assert sum(len(item.symbols) for item in found) >= 10


@pytest.mark.parametrize("name", FOLDERS)
def test_every_rule_names_a_node_type_of_the_grammar(name):
    """A rule for a node type that the grammar lacks never applies."""
    language = languages.load(name)
    if language.outline is not None:
        return
    grammar = get_language(language.grammar)
    known = {grammar.node_kind_for_id(number) for number in range(grammar.node_kind_count)}

    assert set(language.rules) - known - {"ERROR"} == set()


@pytest.mark.parametrize("name", FOLDERS)
def test_the_uses_of_one_name_are_those_among_all_names(name):
    regions = languages.load(name).regions
    if regions is not None and regions.are_all:
        return
    for path in samples_of(name):
        text = path.read_text(errors="surrogateescape")
        symbols = extraction(name, text.encode("utf-8", "surrogateescape"), path.name).symbols

        for each in occurrences(name, text, symbols):
            assert occurrences_of(name, text, symbols, each.name) == each.uses, (path, each.name)
