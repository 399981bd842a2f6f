"""What is indexed in addition to a text: parts of identifiers, and whole identifiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.languages.words import MAX_TOKEN_BYTES, ODD_WORD_MARK, WordSplitter, split_identifier
from codecompass.store.schema import name_analyzer


def words(text):
    return WordSplitter().words_of_text(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("getHTTPServerName", "get http server name"),
        ("getUser get_user getUser", "get user"),
        ("getUser setUser", "get user set user"),
        ("plain words 42", ""),
        ("x_getUser y_getUser", "get user"),
        ("éPod", "pod"),
    ],
)
def test_parts_are_those_of_camel_case_words_each_word_once(text, parts):
    assert words(text).parts == parts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("get_user", "=get_user"),
        ("getUser", ""),
        ("getUser(name)", "(getUser"),
        ("get_user(name)", "(get_user =get_user"),
        ("foo \t          ( a, b )", "(foo"),
        ("foo" + " " * 1000 + "(", "(foo"),
        ("if (x) (y)", "(if (x"),
        ("foo.(", "(foo"),
        ("((foo", ""),
        ("__init__", "=__init__"),
        ("Ünder_x(", "(Ünder_x =Ünder_x ~(nder_x ~=nder_x ~nder ~x"),
        ("a→b_c(", "(b_c =b_c"),
        ("don’t", ""),
        ("naïve", "~na ~ve"),
        ("日本語", ""),
        ("ſet", "!odd ~et"),
        ("\u212a", "!odd"),
    ],
)
def test_names_are_identifiers_that_the_index_cannot_make_from_the_text(text, names):
    assert words(text).names == names


@pytest.mark.parametrize("length", [MAX_TOKEN_BYTES - 1, MAX_TOKEN_BYTES, 4 * MAX_TOKEN_BYTES])
def test_a_word_that_is_too_long_for_the_index_is_marked(length):
    assert (ODD_WORD_MARK in words("a" * length).names) == (length >= MAX_TOKEN_BYTES)


def test_a_name_that_is_not_marked_as_odd_is_in_the_index_with_all_its_marks():
    name = "é" + "a_" * ((MAX_TOKEN_BYTES - 4) // 2)
    names = words(f"{name}(").names

    assert ODD_WORD_MARK not in names.split()
    assert name_analyzer().analyze(names) == names.split()


@given(st.text(alphabet="abAB_( .é→1", max_size=60))
def test_a_splitter_gives_the_same_after_other_texts(text):
    splitter = WordSplitter()
    splitter.words_of_text("aB_( éa_b( Ab( a_1 " + text)

    assert splitter.words_of_text(text) == words(text)


@pytest.mark.parametrize(
    ("name", "split"),
    [("getHTTPServer_v2", ["get", "http", "server", "v", "2"]), ("größe_x", ["größe", "x"]), ("", [])],
)
def test_an_identifier_is_split_at_case_and_punctuation(name, split):
    assert split_identifier(name) == split
