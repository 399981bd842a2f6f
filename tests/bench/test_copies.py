"""Generated repositories: their sizes match those of real ones, and each copy has words of its own."""

import pytest

from bench.copies import MAX_COPIES, SHARE, Owners, chosen, spread, suffix

SIZES = (58, 96, 121, 145, 212, 366, 523, 712, 989, 1_279, 2_451, 4_276)


def test_sizes_have_the_mean_and_nearly_the_spread_of_the_real_ones():
    places = chosen(SIZES, 2_000, 500, "seed")

    sizes = [SIZES[place] for place in places]
    assert 475 <= sum(sizes) / len(sizes) <= 500
    assert abs(spread(sizes) - spread(SIZES)) < 0.3  # the extremes are cut off
    assert set(places) == set(range(len(SIZES)))


def test_the_same_seed_chooses_the_same_and_a_longer_list_begins_with_the_shorter():
    assert chosen(SIZES, 50, 500, "seed") == chosen(SIZES, 2_000, 500, "seed")[:50]
    assert chosen(SIZES, 50, 500, "seed") != chosen(SIZES, 50, 500, "other")


def test_each_copy_has_letters_of_its_own():
    suffixes = {suffix(number) for number in range(5_000)} | {suffix(MAX_COPIES - 1)}

    assert len(suffixes) == 5_001
    with pytest.raises(ValueError, match="copies"):
        suffix(MAX_COPIES)


def test_a_fixed_share_of_words_is_owned_and_the_copies_own_as_many():
    owners = Owners(4)

    found = [owners.owner(f"word{number}") for number in range(10_000)]

    owned = [owner for owner in found if owner is not None]
    assert abs(len(owned) / 10_000 - SHARE) < 0.02
    assert all(abs(owned.count(turn) / len(owned) - 1 / 4) < 0.02 for turn in range(4))


def test_a_word_has_the_same_owner_whatever_its_case_and_another_one_in_its_place_elsewhere():
    owners = Owners(2)
    word = next(each for each in map("Word{}".format, range(100)) if owners.owner(each) == 1)

    assert owners.owner(word.upper()) == owners.owner(word.lower()) == 1
    assert owners.own(word, 1, "zqjbbbbx") == word
    assert owners.own(word, 0, "zqjbbbbx") == f"{word}zqjbbbbx"
