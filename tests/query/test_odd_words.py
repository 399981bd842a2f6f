"""The words of a text index that cannot be found by their letters are kept, so that few of their texts are read."""

import pytest

from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.store import odd_words
from codecompass.store.odd_words import odd_words_of

LONG = "0123456789abcdef" * 12


def test_a_text_is_found_by_any_piece_of_its_odd_words_and_by_no_other_word():
    words = odd_words_of([(7, f"{LONG}needle plain"), (8, f"x = {LONG}\n"), (9, "no such word")])

    assert words.keys_with(["fneed"]) == [7]
    assert sorted(words.keys_with(["def0"])) == [7, 8]
    assert words.keys_with(["plain", "such"]) == []
    assert sorted(words.keys_with(["needle", "cdef012"])) == [7, 8]


def test_a_letter_that_is_an_ascii_letter_in_another_case_counts_as_that():
    words = odd_words_of([(1, "\u017fettings"), (2, "\u212aelvin")])

    assert (words.keys_with(["settings"]), words.keys_with(["kelvin"])) == ([1], [2])


def test_too_many_characters_are_not_kept(monkeypatch):
    monkeypatch.setattr(odd_words, "MAX_CHARACTERS", 3 * len(LONG))

    assert odd_words_of((number, LONG) for number in range(3)) is not None
    assert odd_words_of((number, LONG) for number in range(4)) is None


@pytest.mark.parametrize("most", [0, odd_words.MAX_CHUNKS])
@pytest.mark.parametrize(
    ("narrowing", "found"),
    [
        (text_terms("eedleInAWord"), {"long.txt", "plain.txt"}),
        (text_terms("defneedleIn"), {"long.txt"}),
        (text_terms("edleInAWord", is_whole=True), {"long.txt"}),
        (text_terms("other_word", is_whole=True), set()),
        (text_terms("f0123456789abcdef"), {"long.txt", "sum.txt"}),
        (regex_terms("(?i)fneedle.*ina"), {"long.txt"}),
        (regex_terms(r"needle\w+rd\b"), {"long.txt", "plain.txt"}),
        (text_terms("nowhere"), set()),
    ],
)
def test_texts_are_candidates_by_odd_words_whether_they_are_kept_or_not(index_of, monkeypatch, narrowing, found, most):
    """Without the words, all their texts are candidates."""
    monkeypatch.setattr("codecompass.store.text_reader.MAX_CHUNKS", most)
    files = {"long.txt": f"{LONG}needleInAWord\n", "sum.txt": f"{LONG}\n", "plain.txt": "needleInAWord\n"}
    snapshot = index_of(files)

    held = snapshot.text.chunks_holding(narrowing)
    paths = dict(snapshot.facts.paths())

    odd = {"long.txt", "sum.txt"}
    got = {paths[file_id] for file_id in held.file_ids}
    assert got == (found if most else found | odd)
