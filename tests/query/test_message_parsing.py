"""Which part of a pasted text is the message, and how source text is parsed for comparison with it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.query.messages.message_parsing import HOLE, read_message, read_source, unescaped


def core(text):
    return read_message(text).core


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        "2026-03-01 12:30:05,123 ERROR [worker-3] app.jobs.runner - {}",
        "2026-03-01T12:30:05.123Z error: {}",
        "[2026-03-01 12:30:05] production.ERROR: {}",
        "12:30:05.123 [main] WARN com.example.App - {}",
        "Mar  1 12:30:05 host-7 bank[4711]: {}",
        "E0301 12:30:05.123456 4711 bank.cc:99] {}",
        "ERROR:root:{}",
        "[  12.345678] {}",
        'time=2026-03-01T12:30:05Z level=error msg="{}" attempt=3',
        "Error: {}",
        "error[E0001]: {}",
        "error TS2345: {}",
        "fatal: {}",
        "Uncaught Error: {}",
        "shop.errors.OrderError: {}",
        "Shop::OrderError: {}",
        "java.lang.IllegalStateException: {}",
        "** (ArgumentError) {}",
        "thread 'main' panicked at src/run.rs:10:5:\n{}",
        "Caused by: {}",
        "\x1b[31m{}\x1b[0m",
        '"{}"',
        "/home/ci/run.c:17:3: error: {}",
        "{} at src/run.c:17",
        "{} (src/run.c:17:3)",
        "{} in /srv/run.php on line 12",
        "  {}  ",
        'Traceback (most recent call last):\n  File "run.py", line 3, in go\nValueError: {}',
        "Error: {}\n    at go (/srv/run.js:1:2)\n    at /srv/run.js:9:9",
    ],
)
def test_what_surrounds_a_message_is_told_from_it(line):
    assert core(line.format("cannot open the vault twice")) == "cannot open the vault twice"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"it\'s \"open\"", 'it\'s "open"'),
        (r"one\ntwo\tthree", "one two three"),
        (r"caf\u00e9 \xe9 \u{e9} \U000000e9", "café é é é"),
        (r"\ud83d\udd14", "🔔"),
        ("one \\\n two", "one  \n two"),
        ("a\\d\\w", "a\\d\\w"),
    ],
)
def test_escapes_are_read_as_compilers_read_them(source, text):
    assert unescaped(source) == text


@pytest.mark.parametrize(
    "placeholder",
    [
        "{}", "{0}", "{name}", "{name!r}", "{a.b[0]:>8.2f}", "{Name,-10}", "{{name}}", "{:?}",
        "%s", "%1$s", "%-5.2f", "%(name)s", "%zu", "%lld", "%@", "%{name}", "%<name>s",
        "$name", "${name}", "${name:-other}", "${call(a, {b: 1})}", "#{name}",
        '#{list.map { |x| x.id }.join(", ")}', r"\(name)", r"\(list.count(of: x[0]))", ":name", "$(name)",
    ],
)  # fmt: skip
def test_a_placeholder_of_any_language_is_a_hole(placeholder):
    source = read_source(f'"door {placeholder} is locked"')

    assert source.words == ["door", "is", "locked"]
    assert HOLE in source.gap(0, 1)


@pytest.mark.parametrize("text", ["100% sure of it", "a {of two} b", "10:30 to 11:30", "Foo::bar and a::b", "5 $ and 3 %"])
def test_what_only_looks_like_a_placeholder_is_text(text):
    assert HOLE not in "".join(read_source(text).raw)


def test_words_are_cut_at_case_digits_and_characters_of_chinese():
    assert read_source("getUser42 web01Name 无效 không").words == ["get", "user", "42", "web", "01", "name", "无", "效", "không"]
    assert [piece.text for piece in read_message("getUser42").pieces] == ["get", "user", "42"]


def test_a_name_is_one_word_and_two_characters_of_chinese_are():
    assert read_message("flat_hash_map").word_count == 1
    assert read_message("口座が見つかりませんでした").word_count > 4


@given(st.text(max_size=300))
def test_any_text_is_read_and_keeps_its_lines(text):
    read_message(text)
    source = read_source(text)

    assert len(source.raw) == 2 * len(source.words) + 1
    assert "".join(source.raw).count("\n") <= text.count("\n")
