"""Copies of a real index as documents and blocks."""

import base64
import json
import zlib

import pytest

from bench.copies import MARK, suffix
from bench.filling import PIECE_MARK, REPO_MARK, Copy, Real, own_actions, own_files, template_of
from codecompass.cluster.manifests import FACTS_FILE, TERMS_FILE, block_key
from codecompass.store.layout import HomeLayout
from codecompass.store.schema import CHUNK_RECORD
from codecompass.store.term_counts import TermCounts
from tests.support.workspace import TestWorkspace

RARE = " ".join(f"seldom_{number:04}" for number in range(40))


@pytest.fixture
async def template(tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    files = {f"{each}.py": f"def common_name_{each}(value):\n    return common_word\n" for each in "abcde"}
    workspace.write({**files, "rare.md": RARE})
    await workspace.sync()
    home = HomeLayout(tmp_path / "home")
    return template_of(home, Real("real", workspace.project_id, 6))


async def test_a_copy_differs_by_its_ids_and_letters_alone(template):
    first, second = (b"".join(own_actions(Copy(n, f"{n:016x}", "", template), f"{n:024x}")) for n in (1, 2))

    for text in (first, second):
        assert not any(mark.encode() in text for mark in (MARK, REPO_MARK, PIECE_MARK))
    assert b"common_word" in first
    assert suffix(1).encode() in first
    for old, new in ((suffix(1), suffix(2)), (f"{1:024x}", f"{2:024x}"), (f'"{1:016x}"', f'"{2:016x}"')):
        first = first.replace(old.encode(), new.encode())
    assert first == second


async def test_the_counts_of_words_are_those_of_the_copy(template, tmp_path):
    copy = Copy(3, f"{3:016x}", "", template)
    documents = b"".join(own_actions(copy, "0" * 24)).decode()
    numbers = [number for number in range(40) if f"seldom_{number:04}{suffix(3)}" in documents]
    files, blocks = own_files(copy)
    terms = tmp_path / TERMS_FILE
    terms.write_bytes(b"".join(content(blocks[key]) for file in files if file.name == TERMS_FILE for key in file.blocks))

    counts = TermCounts(terms)
    try:
        assert 0 < len(numbers) < 40
        for number in range(40):
            is_changed = number in numbers
            assert counts.count("body", f"{number:04}{suffix(3)}") == is_changed
            assert counts.count("body", f"{number:04}") == (not is_changed)
        assert counts.count("record", CHUNK_RECORD) == template.averages.chunks
    finally:
        counts.close()


async def test_blocks_are_called_by_their_content_and_belong_to_the_copy(template):
    files, blocks = own_files(Copy(3, f"{3:016x}", "", template))

    assert {file.name for file in files} == {FACTS_FILE, TERMS_FILE}
    assert {key for file in files for key in file.blocks} == set(blocks)
    for key, document in blocks.items():
        assert block_key(content(document)) == key
        assert json.loads(document)["repo_id"] == f"{3:016x}"


def content(document):
    return zlib.decompress(base64.b64decode(json.loads(document)["data"]))
