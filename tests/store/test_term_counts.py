"""The copied counts of words: what was written is read, in whatever way it is asked for."""

import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from codecompass.store import term_counts
from codecompass.store.term_counts import FIELDS, TermCounts, write_term_counts

WORDS = [f"word{number}" for number in range(300)] + ["ünïcode", 'quo"te', "back\\slash", "zero\0", ""]


@pytest.fixture
def written() -> dict[tuple[int, str], int]:
    rng = random.Random(4)
    return {(field, word): rng.randint(1, 10_000) for word in WORDS[:200] for field in range(len(FIELDS)) if rng.random() < 0.4}


@pytest.fixture
def counts(tmp_path: Path, written: dict[tuple[int, str], int]) -> Iterator[TermCounts]:
    write_term_counts(tmp_path / "terms", written)
    with closing(TermCounts(tmp_path / "terms")) as counts:
        yield counts


def read(counts: TermCounts) -> dict[tuple[int, str], int]:
    return {(number, word): n for word in WORDS for number, field in enumerate(FIELDS) if (n := counts.count(field, word))}


def test_words_read_together_have_the_counts_of_words_read_one_by_one(counts, written):
    counts.expect(WORDS[:250])

    assert read(counts) == written


def test_more_words_than_are_cached_are_read_again(counts, written, monkeypatch):
    monkeypatch.setattr(term_counts, "MAX_KNOWN", 40)

    counts.expect(WORDS[:30])
    counts.expect(WORDS[20:90])

    assert read(counts) == written
    assert len(counts._known) <= 40


def test_changed_counts_replace_those_before_and_zero_removes_a_word(tmp_path):
    path = tmp_path / "terms"
    write_term_counts(path, {(0, "kept"): 3, (1, "kept"): 4, (1, "gone"): 5})

    write_term_counts(path, {(1, "kept"): 9, (1, "gone"): 0, (2, 'quo"te'): 1})

    with closing(TermCounts(path)) as counts:
        assert [counts.count(FIELDS[field], "kept") for field in range(3)] == [3, 9, 0]
        assert counts.count(FIELDS[1], "gone") == 0
        assert counts.count(FIELDS[2], 'quo"te') == 1
