"""Words with a piece in their middle are found in a kept text of all words exactly as by a walk through the dictionary."""

import pytest

from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.store import vocabulary
from codecompass.store.vocabulary import WALKS, Vocabulary

FILES = {
    "a.py": "resetGroupVersion = 1\n",
    "b.py": "my_group_versions(groupVersion)\n",
    "c.py": "überGroupVersion = 2\n",
    "d.py": "émigré_group_version = 3\n",
    "e.py": "group = version\n",
    "f.py": "x9groupversion = 4\n",
    "g.py": "\u0432\u0435\u0440GroupVersion = my_\u03d2group_version\n",
    "h.py": "\uac00groupVersion = 6\n",
    "i.py": "\u03d2groupVersion = \u0432\u0435\u0440\u0441\u0438\u044f\n",
}


@pytest.mark.parametrize(
    "narrowing",
    [
        text_terms("groupVersion"),
        text_terms("group_version"),
        text_terms("roupVersio"),
        text_terms("up_vers"),
        regex_terms("group[a-z]*ersion"),
        regex_terms("(?i)GROUPversion"),
        regex_terms("oupVersion|p_version"),
        text_terms("nowhereInIt"),
        text_terms("\u0435\u0440\u0441\u0438"),
    ],
)
def test_kept_words_give_the_same_texts_as_a_walk(index_of, narrowing):
    snapshot = index_of(FILES)

    found = [snapshot.text.chunks_holding(narrowing).file_ids for _ in range(WALKS + 2)]

    assert found == found[:1] * len(found)


@pytest.mark.parametrize("narrowing", [text_terms("oupVersio"), text_terms("nowhereInIt"), regex_terms(r"\bgroup\w*\(")])
def test_an_index_without_other_words_is_not_searched_for_them_and_finds_the_same(index_of, narrowing):
    snapshot = index_of({path: text for path, text in FILES.items() if path != "h.py"})

    found = [snapshot.text.chunks_holding(narrowing).file_ids for _ in range(WALKS + 2)]

    assert found == found[:1] * len(found)


def test_words_with_a_beginning_are_read_from_the_dictionary_unless_they_may_be_many(monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_FOUND", 2)
    words = Vocabulary(Dictionary(["group", "groups", "grow", "regroup"]))

    assert words.words_beginning("body", "group") == ["group", "groups"]
    assert words.words_beginning("body", "absent") == []
    assert words.words_beginning("body", "gro") is None
    assert words.words_beginning("body", "gr") is None


class Dictionary:
    def __init__(self, words):
        self.words = words
        self.n_read = 0

    def terms_with_prefix(self, field, prefix):
        self.n_read += 1
        return [(word, 1) for word in self.words if word.startswith(prefix)]


def words_with(words, piece, *, field="body", mark="", has_others=False):
    return words.words_with(field, mark, [piece], f".*{piece}.*", lambda: has_others)


def test_words_are_kept_only_for_an_index_that_is_asked_again():
    terms = Dictionary(["group", "regroup", "=my_group"])
    words = Vocabulary(terms)

    walked = [words_with(words, "oup") for _ in range(WALKS)]

    assert walked == [None] * WALKS
    assert terms.n_read == 0
    assert words_with(words, "oup") == (["group", "regroup"], False)
    n_read = terms.n_read
    assert words_with(words, "egr") == (["regroup"], False)
    assert terms.n_read == n_read
    assert words_with(words, "oup", field="names", mark="=") is None


@pytest.mark.parametrize(
    ("most", "kept"), [(10, ["\u00fcbergroup", "\u0432group", "\uac00group"]), (1, ["\u00fcbergroup", "\u0432group"])]
)
def test_words_that_begin_with_a_letter_of_another_alphabet_are_kept_too(monkeypatch, most, kept):
    monkeypatch.setattr(vocabulary, "MAX_READ_WHOLE", most)
    words = Vocabulary(Dictionary(["\u00fcbergroup", "\u0432group", "\uac00group"]))

    found = [words_with(words, "oup", has_others=True) for _ in range(WALKS + 1)]

    assert found[-1] == (kept, most == 1), "of a large index some are left to a walk"


def test_whether_there_are_words_that_are_not_kept_is_found_out_once():
    words = Vocabulary(Dictionary(["group"]))
    looks = []

    for _ in range(WALKS + 3):
        words.words_with("body", "", ["oup"], ".*oup", lambda: bool(looks.append(1)))

    assert looks == [1]


def test_a_piece_of_very_many_words_is_left_to_the_walk(monkeypatch):
    monkeypatch.setattr(vocabulary, "MAX_FOUND", 3)
    words = Vocabulary(Dictionary(["ab1", "ab2", "ab3", "ab4", "xb"]))

    found = [words_with(words, piece) for piece in ["ab"] * WALKS + ["xb", "ab"]]

    assert found == [None] * WALKS + [(["xb"], False), None]
