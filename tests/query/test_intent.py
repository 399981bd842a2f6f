"""The intent of queries as people and agents type them."""

import pytest

from codecompass.query.intent import classify, unquoted

LABELLED = [
    ("validate_token", "symbol"),
    ("getHTTPServerName", "symbol"),
    ("Mutex", "symbol"),
    ("auth::jwt::validate", "symbol"),
    ("Router.add_route", "symbol"),
    ("UserService#login", "symbol"),
    ("App\\Http\\Kernel", "symbol"),
    ("pkg.(*Server).Serve", "symbol"),
    ("fn validate", "symbol"),
    ("class UserService", "symbol"),
    ("main()", "symbol"),
    ("@property_name", "symbol"),
    ("SHA256", "symbol"),
    ("src/auth/handler.rs", "path"),
    ("handler.rs", "path"),
    ("tests/", "path"),
    ("./codecompass/store", "path"),
    ("src\\main\\App.java", "path"),
    ("handler.rs:42", "path"),
    ("error: cannot find module 'foo'", "error"),
    ("Error: listen EADDRINUSE: address already in use", "error"),
    ("thread 'main' panicked at src/lib.rs", "error"),
    ("ValueError: invalid literal for int()", "error"),
    ("Traceback (most recent call last)", "error"),
    ("E0308", "error"),
    ("TS2345", "error"),
    ("ENOENT", "error"),
    ('"connection reset by peer"', "error"),
    ("undefined reference to `foo'", "error"),
    ("java.lang.NullPointerException at com.acme.Main.run(Main.java:12)", "error"),
    ("where is rate limiting implemented", "natural_language"),
    ("how does the parser recover from errors", "natural_language"),
    ("jwt validation", "natural_language"),
    ("type inference", "natural_language"),
    ("interface design guidelines", "natural_language"),
    ("error handling middleware", "natural_language"),
    ("src/foo bar", "natural_language"),
    ("line 3 of the config", "natural_language"),
]


@pytest.mark.parametrize(("query", "intent"), LABELLED)
def test_the_labelled_queries(query, intent):
    assert classify(query) == intent


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("a/b testing", "natural_language"),
        ("exception handling strategy", "natural_language"),
        ("validate", "natural_language"),
        ("https://example.com/docs", "natural_language"),
        ("I/O", "natural_language"),
        ("n/a", "natural_language"),
        ("SHA256 checksum", "natural_language"),
    ],
)
def test_what_only_looks_like_a_path_an_error_or_a_symbol(query, intent):
    assert classify(query) == intent


@pytest.mark.parametrize("query", ["", " ", "()", "'", "''", "\x00", "///", "\\", "日本語", "*" * 5000, "a" * 10_000])
def test_any_text_has_an_intent(query):
    assert classify(query) in ("symbol", "path", "error", "natural_language")


def test_quotes_around_the_whole_query_come_off():
    assert unquoted(' "no such table" ') == "no such table"
    assert unquoted('say "hello"') == 'say "hello"'
    assert unquoted('"a" or "b"') == '"a" or "b"'
