"""The lexicon that ships with the package, and how its file is parsed."""

import struct
import tracemalloc
import zlib

import pytest

from bench.lexicon.data_file import Relation, encoded
from codecompass.query.words.lexicon import DATA_FILE, HEADER, MAGIC, DamagedLexicon, Lexicon, RelatedWord, related_words
from codecompass.query.words.query_words import stem


@pytest.fixture(scope="module")
def data():
    return DATA_FILE.read_bytes()


def words(word):
    return [related.word for related in related_words(word)]


@pytest.mark.parametrize(
    ("said", "written"),
    [("delete", "remove"), ("remove", "delete"), ("directory", "dir"), ("duplicate", "unique"), ("timeout", "deadline")],
)
def test_a_word_of_people_leads_to_the_words_of_code(said, written):
    assert written in words(said)


def test_an_unknown_word_has_no_relations():
    assert related_words("qqzxkv") == ()
    assert related_words("") == ()
    assert related_words("überprüfung") == ()
    assert related_words("\udc80") == ()


def test_forms_of_a_word_have_the_same_relations():
    assert related_words("deleting") == related_words("deleted") == related_words("delete")
    assert related_words("directories") == related_words("directory")


def test_relations_are_given_strongest_first_and_within_bounds():
    for word in ("delete", "error", "timeout", "directory"):
        strengths = [related.strength for related in related_words(word)]
        assert strengths == sorted(strengths, reverse=True)
        assert 0 < len(strengths) <= 16
        assert all(0 < strength <= 1 for strength in strengths)


def test_no_word_is_related_to_itself_in_another_form():
    for word in ("delete", "parser", "memory", "retry"):
        assert stem(word) not in {stem(related) for related in words(word)}


def test_two_calls_give_the_same():
    assert related_words("delete") == related_words("delete")


def test_the_file_is_small(data):
    assert len(data) < 2_000_000


def test_every_relation_of_the_file_can_be_read(data):
    lexicon = Lexicon(data)
    n_words, n_relations = struct.unpack_from("<2I", data, len(MAGIC))
    firsts = HEADER.size + 4 * (2 * n_words + 1)

    assert len(lexicon) == n_words > 1_000
    assert struct.unpack_from(f"<{n_words + 1}I", data, firsts)[-1] == n_relations


def test_what_is_kept_in_memory_is_little_more_than_the_file(data):
    tracemalloc.start()
    lexicon = Lexicon(data)
    lexicon.related("delete")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 100_000


SMALL = {"delet": [Relation("remov", 0.5), Relation("drop", 0.25)], "abort": [Relation("cancel", 1.0)]}
WORDS = {"delet": "delete", "remov": "remove", "drop": "drop", "abort": "abort", "cancel": "cancel"}


def test_what_is_written_is_read():
    lexicon = Lexicon(encoded(SMALL, WORDS))

    assert lexicon.related("deleting") == (RelatedWord("remove", 128 / 255), RelatedWord("drop", 64 / 255))
    assert lexicon.related("abort") == (RelatedWord("cancel", 1.0),)
    assert lexicon.related("remove") == ()


def test_a_lexicon_may_be_empty():
    assert Lexicon(encoded({}, {})).related("delete") == ()


def with_bytes(data, place, value):
    return data[:place] + value + data[place + len(value) :]


@pytest.mark.parametrize(
    ("damaged", "message"),
    [
        (lambda data: b"", "at least"),
        (lambda data: data[: HEADER.size - 1], "at least"),
        (lambda data: with_bytes(data, 0, b"X"), "begins with"),
        (lambda data: data[:-1], "should have"),
        (lambda data: data + b"\0", "should have"),
        (lambda data: with_bytes(data, HEADER.size, b"\xff"), "checksum"),
        (lambda data: with_bytes(data, len(data) - 1, b"\0"), "checksum"),
    ],
)
def test_a_damaged_file_is_refused(damaged, message):
    with pytest.raises(DamagedLexicon, match=message):
        Lexicon(damaged(encoded(SMALL, WORDS)))


def test_the_checksum_covers_all_behind_the_header():
    data = encoded(SMALL, WORDS)

    assert HEADER.unpack_from(data)[4] == zlib.crc32(data[HEADER.size :])
