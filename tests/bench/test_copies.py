"""Generated repositories: their sizes match those of real ones, and each copy has unique words."""

import pytest

from bench.copies import MARK, MAX_COPIES, SHARE, changed, chosen, marked, spread, suffix, words_in
from codecompass.languages.words import WordSplitter
from codecompass.store.schema import index_tokens

SIZES = (58, 96, 121, 145, 212, 366, 523, 712, 989, 1_279, 2_451, 4_276)
SENTENCE = "class TokenBucket: # FOO2 foo_bar getHTTPServer bucket2 Running"


def test_sizes_have_the_mean_and_nearly_the_spread_of_the_real_ones():
    places = chosen(SIZES, 2_000, 500, "seed")

    sizes = [SIZES[place] for place in places]
    assert 475 <= sum(sizes) / len(sizes) <= 500
    assert abs(spread(sizes) - spread(SIZES)) < 0.3  # the extremes are cut off
    assert set(places) == set(range(len(SIZES)))


def test_the_same_seed_chooses_the_same_and_a_longer_list_begins_with_the_shorter():
    assert chosen(SIZES, 50, 500, "seed") == chosen(SIZES, 2_000, 500, "seed")[:50]
    assert chosen(SIZES, 50, 500, "seed") != chosen(SIZES, 50, 500, "other")


def test_each_copy_has_letters_of_its_own_that_are_as_long_as_the_mark():
    suffixes = {suffix(number) for number in range(5_000)} | {suffix(MAX_COPIES - 1)}

    assert len(suffixes) == 5_001
    assert {len(each) for each in suffixes} == {len(MARK)}
    with pytest.raises(ValueError, match="copies"):
        suffix(MAX_COPIES)


def test_a_fixed_share_of_words_is_changed():
    words = {f"word{number}" for number in range(10_000)}

    found = changed(words)

    assert found == changed(sorted(words))
    assert abs(len(found) / len(words) - SHARE) < 0.02


@pytest.mark.parametrize("number", [0, 7, 1_999, MAX_COPIES - 1])
def test_letters_put_in_for_the_mark_give_the_words_that_a_text_with_those_letters_has(number):
    def words(text):
        found = WordSplitter().words_of_text(text)
        return " ".join(index_tokens(text)), " ".join(index_tokens(found.parts)), found.names

    with_mark = marked(SENTENCE, words_in(SENTENCE))
    own = with_mark.replace(MARK, suffix(number))

    assert own != SENTENCE
    assert words(own) == tuple(each.replace(MARK, suffix(number)) for each in words(with_mark))


def test_only_the_given_words_are_marked_whatever_their_case():
    assert marked("Foo_bar foo_bars FOO_BAR", {"foo_bar"}) == f"Foo_bar{MARK} foo_bars FOO_BAR{MARK}"
