"""The filter of n-grams never lacks a piece that some word has, and knows most that none has."""

from random import Random

import pytest

from codecompass.store import ngram_filter
from codecompass.store.ngram_filter import NgramFilter, names_filter, piece_ngrams, words_filter


def words_of(seed: int, count: int) -> list[str]:
    random = Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789" * 3 + "éжß中ſ"
    return ["".join(random.choices(letters, k=random.randint(1, 14))) for _ in range(count)]


@pytest.mark.parametrize("count", [1, 2, 50, 3_000])
def test_every_piece_of_every_word_is_there(count):
    words = words_of(count, count)
    made = NgramFilter(memoryview(words_filter(words)))

    for word in words:
        for start in range(len(word)):
            for end in range(start + 1, len(word) + 1):
                piece = word[start:end]
                if piece.isascii():
                    ngrams = piece_ngrams(piece, is_start_open=start > 0, is_end_open=end < len(word))
                    assert made.may_have(ngrams), (word, piece)


def test_most_pieces_that_no_word_has_are_told():
    words = words_of(1, 2_000)
    made, text = NgramFilter(memoryview(words_filter(words))), "\n".join(words)

    others = [piece for word in words_of(2, 400) if word.isascii() and len(piece := word[:8]) == 8 and piece not in text]

    assert len(others) > 100
    assert sum(made.may_have(piece_ngrams(piece)) for piece in others) < len(others) / 10


def test_ends_count_where_they_are_closed_and_a_letter_outside_ascii_is_one():
    made = NgramFilter(memoryview(words_filter(["running", "größe"])))

    def has(piece, **ends):
        return made.may_have(piece_ngrams(piece, **ends))

    assert has("unni")
    assert has("ning", is_end_open=False)
    assert not has("ning", is_start_open=False)
    assert not has("runni", is_end_open=False)
    assert has("gr", is_start_open=False, is_end_open=False)
    assert not has("grof", is_start_open=False)


def test_underscores_are_letters_of_names_alone():
    assert NgramFilter(memoryview(names_filter(["get_user"]))).may_have(piece_ngrams("t_use"))
    assert not NgramFilter(memoryview(words_filter(["get_user"]))).may_have(piece_ngrams("t_use"))


def test_no_words_have_no_piece_and_a_piece_that_is_too_short_tells_nothing():
    empty, some = (NgramFilter(memoryview(words_filter(words))) for words in ([], ["word"]))

    assert not empty.may_have(piece_ngrams("word"))
    assert not empty.may_have(())
    assert piece_ngrams("wor") == ()
    assert some.may_have(())


def test_a_filter_that_is_cut_is_an_error():
    content = words_filter(["word", "other"])

    for end in (1, 3, len(content) - 1):
        with pytest.raises(ValueError, match="cut"):
            NgramFilter(memoryview(content)[:end])


def test_the_size_is_bounded_and_a_full_filter_still_lacks_nothing(monkeypatch):
    monkeypatch.setattr(ngram_filter, "MIN_BITS", 3**5)
    monkeypatch.setattr(ngram_filter, "MAX_BITS", 3**5)
    words = words_of(3, 500)
    content = words_filter(words)
    made = NgramFilter(memoryview(content))

    assert len(content) < 100
    assert all(made.may_have(piece_ngrams(word)) for word in words if word.isascii())
