"""The words of an index, read without opening it."""

import os

import pytest

from codecompass.store.layout import FILE_MODE
from codecompass.store.word_summary import MAX_COUNT, WordSummary, read_summary, summary_path, write_summary

TEXT = "def settle_invoice(ledger):\n    '''Übergibt die Rechnung.'''\n    return parseLedger(ledger)\n"


@pytest.fixture
async def indexed(workspace):
    workspace.write({"a.py": TEXT, "b.py": "import a\n\na.settle_invoice(1)\n"})
    await workspace.sync()
    return workspace


async def test_a_summary_counts_the_documents_with_a_word_as_the_index_does(indexed):
    assert write_summary(indexed.layout)
    summary = read_summary(indexed.layout)

    words = [
        ("body", "ledger"),
        ("body", "übergibt"),
        ("parts", "parse"),
        ("name", "settle_invoice"),
        ("names", "=settle_invoice"),
    ]
    with indexed.index.snapshot() as snapshot:
        expected = {key: snapshot.text.document_frequency(*key) for key in words}
    assert {key: summary.document_frequency(*key) for key in words} == expected
    assert min(expected.values()) >= 1
    assert [summary.document_frequency(field, "nowhere") for field in ("body", "parts", "name")] == [0, 0, 0]
    assert summary.n_chunks == 2


async def test_a_summary_is_not_used_once_the_index_has_changed(indexed):
    write_summary(indexed.layout)
    indexed.write({"c.py": "x = 1\n"})
    await indexed.sync()

    assert read_summary(indexed.layout) is None
    assert write_summary(indexed.layout)
    assert read_summary(indexed.layout).document_frequency("body", "x") == 1


async def test_a_summary_is_private(indexed):
    write_summary(indexed.layout)

    assert summary_path(indexed.layout).stat().st_mode & 0o777 == FILE_MODE


SPOILED = [
    lambda content: content[:-1],
    lambda content: content[:20],
    lambda content: b"",
    lambda content: content[:-3] + b"\x07" + content[-2:],
]


@pytest.mark.parametrize("spoil", SPOILED)
async def test_a_damaged_summary_says_nothing(indexed, spoil):
    write_summary(indexed.layout)
    path = summary_path(indexed.layout)
    path.write_bytes(spoil(path.read_bytes()))

    assert read_summary(indexed.layout) is None


async def test_where_there_is_no_index_there_is_no_summary(workspace):
    assert not write_summary(workspace.layout)
    assert read_summary(workspace.layout) is None


@pytest.mark.parametrize("name", ["CURRENT", "words"])
async def test_what_is_no_file_is_not_opened(indexed, name):
    """Opening a pipe waits for its writer."""
    write_summary(indexed.layout)
    path = indexed.layout.root / name
    path.unlink()
    os.mkfifo(path)

    assert read_summary(indexed.layout) is None


async def test_where_it_cannot_be_written_nothing_is_lost(indexed):
    summary_path(indexed.layout).mkdir()

    assert not write_summary(indexed.layout)
    assert read_summary(indexed.layout) is None


async def test_a_field_that_is_not_summarized_is_an_error(indexed):
    write_summary(indexed.layout)

    with pytest.raises(ValueError, match="signature"):
        read_summary(indexed.layout).document_frequency("signature", "x")


def test_counts_are_bounded():
    assert MAX_COUNT == 2**16 - 1
    with pytest.raises(ValueError, match="short"):
        WordSummary(b"")
