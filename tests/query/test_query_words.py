"""Words of queries: consistent with the tokens of the index; and how names compare with them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.languages.unspaced import RUN as UNSPACED
from codecompass.query.words.query_words import (
    Coverage,
    WantedWords,
    identifiers,
    inflections,
    is_code_name,
    name_parts,
    query_words,
    stem,
)
from codecompass.store.schema import index_tokens


def words(query):
    return {word.text: word.weight for word in query_words(query)}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("rate limiter", {"rate": 1.0, "limiter": 1.0}),
        ("getHTTPServerName", {"gethttpservername": 1.0, "http": 0.4, "server": 0.4, "name": 0.4}),
        ("snake_case_name", {"snake": 1.0, "case": 1.0, "name": 1.0}),
        ("auth::jwt::validate", {"auth": 1.0, "jwt": 1.0, "validate": 1.0}),
        ("sha256 v2", {"sha256": 1.0, "v2": 1.0, "sha": 0.4, "256": 0.4, "v": 0.4, "2": 0.4}),
        ("how is the Überprüfung done", {"überprüfung": 1.0, "done": 1.0}),
        ("what is this", {"what": 1.0, "is": 1.0, "this": 1.0}),
        ("用户认证 timeout", {"用户": 0.5, "户认": 0.5, "认证": 0.5, "timeout": 1.0}),
        ("用户ID", {"用户": 1.0, "id": 1.0}),
        ("?!", {}),
        ("\ufffdx", {"x": 1.0}),
    ],
)
def test_the_words_of_a_query(query, expected):
    assert words(query) == expected


def test_stop_words_count_only_where_nothing_else_is_said():
    assert set(words("where is the parser")) == {"parser"}
    assert set(words("is the")) == {"is", "the"}


@given(st.text(max_size=80))
def test_whole_words_are_exactly_the_tokens_of_the_index(text):
    whole = [word.text for word in query_words(text) if word.weight == 1.0]

    assert set(whole) <= {*index_tokens(UNSPACED.sub(" ", text)), *UNSPACED.findall(text)}


def test_a_very_long_query_takes_part_with_a_bounded_number_of_words():
    assert len(query_words(" ".join(f"word{number}" for number in range(5000)))) == 40


def test_names_of_a_query_keep_their_qualification_and_drop_prose():
    assert identifiers("where does Foo.bar call std::mem::swap and a_b") == ("Foo.bar", "call", "std::mem::swap", "a_b")
    assert identifiers("how") == ("how",)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a::B::c", ("a", "B", "c")),
        ("pkg.mod.Class.method", ("pkg", "mod", "Class", "method")),
        ("A::B#m", ("A", "B", "m")),
        ("pkg.(*Server).Serve", ("pkg", "Server", "Serve")),
        ("App\\Http\\Kernel", ("App", "Http", "Kernel")),
        ("lua:method", ("lua", "method")),
        ("obj->field", ("obj", "field")),
        ("main()", ("main",)),
        ("Vec<T>", ("Vec",)),
        ("::", ()),
        ("", ()),
    ],
)
def test_a_qualified_name_has_the_same_parts_in_every_notation(name, parts):
    assert name_parts(name) == parts


def test_code_names_differ_from_words_of_prose():
    assert all(is_code_name(name) for name in ("a_b", "fooBar", "Foo::bar", "x.y", "utf8", "$scope", "HTTPServer"))
    assert not any(is_code_name(name) for name in ("router", "Router", "HTTP", "naïve"))


def test_forms_of_one_word_share_a_stem():
    assert len({stem(word) for word in ("route", "routes", "router", "routing", "routed")}) == 1
    assert len({stem(word) for word in ("validate", "validates", "validation", "validator", "validating")}) == 1
    assert stem("class") != stem("clause")
    assert stem("io") == "io"


def test_other_forms_of_a_word():
    assert {"validate", "validates", "validated", "validator"[:-2] + "er"} <= set(inflections("validating"))
    assert "run" in inflections("running")
    assert "category" in inflections("categories")
    assert inflections("io") == inflections("utf8") == inflections("größe") == ()


def test_coverage_says_how_much_of_the_name_and_how_much_of_the_query_agree():
    wanted = WantedWords({"rate": 3.0, "limiter": 1.0})

    assert wanted.coverage([("rate", 1.0), ("limiter", 1.0)]) == Coverage(1.0, 1.0)
    assert wanted.coverage([("rate", 1.0), ("other", 1.0)]) == Coverage(0.5, 0.75)
    assert wanted.coverage([("limiters", 1.0)]).recall == pytest.approx(0.9 / 4)
    assert wanted.coverage([("limitless", 1.0)]).precision == 0.0
    assert wanted.coverage([("limi", 1.0)]).precision == 0.6
    assert wanted.coverage([]) == Coverage(0.0, 0.0)
    assert WantedWords({}).coverage([("x", 1.0)]) == Coverage(0.0, 0.0)


def test_a_line_says_the_words_inside_its_identifiers_too():
    wanted = WantedWords({"rate": 1.0, "limiter": 1.0})

    assert wanted.recalls(["x = RateLimiter()"])[0] == 1.0
    assert wanted.recalls(["rate = 3"])[0] == 0.5
    assert wanted.recalls(["nothing here"])[0] == 0.0


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), st.floats(0.1, 10.0), max_size=5), st.lists(st.text(max_size=8), max_size=8)
)
def test_coverage_stays_between_0_and_1(worth, name):
    found = WantedWords(worth).coverage([(word, 1.0) for word in name])

    assert 0.0 <= found.precision <= 1.0
    assert 0.0 <= found.recall <= 1.0 + 1e-9


def test_keywords_of_languages_count_in_short_queries_alone():
    def words(query):
        return [word.text for word in query_words(query)]

    assert words("how are let statements parsed") == ["let", "statements", "parsed"]
    assert words("let the queue drain before workers stop running") == ["queue", "drain", "before", "workers", "stop", "running"]
    assert words("let else") == ["let", "else"]


def test_words_of_names_are_found_inside_them_and_in_no_others():
    """Names that have the beginning of no word are not split, which is most of the time that names take."""
    wanted = WantedWords({"limiter": 1.0, "rate": 2.0}, {"throttle": [(0, 0.3)]})

    assert dict(wanted.numbers_of("httpRateLimiter")) == {0: 1.0, 1: 1.0}
    assert dict(wanted.numbers_of("Limits")) == {0: 0.9}
    assert dict(wanted.numbers_of("throttled")) == {0: 0.3}
    assert dict(wanted.numbers_of("Server")) == {}
    assert wanted.names_in(["Server", "rates"]) == {1: {1: 0.9}}


def test_any_of_several_words_may_be_in_the_query():
    wanted = WantedWords({"limiter": 1.0, "rate": 2.0})

    assert wanted.has_any(("rate", "speed"))
    assert not wanted.has_any(("rates", "speed"))
