"""What an answer would propose as the next call, it does: another case, a part of a word, a pattern, a glob, marks."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.words.pattern_notation import glob_meant, name_pattern, patterns_meant

FILES = {
    "src/clock.go": "package clock\n\nfunc Wait() {\n\ttime.Sleep(5)\n\ttimeXSleep(5)\n}\n",
    "src/pager.py": "def paginate(items):\n    return items\n\n\ndef get_user_name():\n    return a <=> b\n",
    "src/Shop.ts": "export class Shop {\n  total = this.cart?.items ?? 0; // 🚀\n}\n",
    "build.toml": "[tool]\nMAX_Retries = 3\n",
}


@pytest.fixture(scope="module")
def ask(index_of, state):
    snapshot = index_of(FILES)
    return lambda query, **arguments: search_code(snapshot, SearchCode(query=query, **arguments), state)


def found(reply):
    return {(result.path, line.line) for result in reply.results for line in result.matched_lines}


@pytest.mark.parametrize(
    ("query", "lines", "notice"),
    [
        (r"time\.Sleep", {("src/clock.go", 4)}, r"as a pattern: time\.Sleep"),
        (r"paginate\|Wait", {("src/pager.py", 1), ("src/clock.go", 3)}, "as a pattern: paginate|Wait"),
        ("time.*Sleep", {("src/clock.go", 4), ("src/clock.go", 5)}, "as a pattern: time.*Sleep"),
        ("/TIME.sleep/i", {("src/clock.go", 4), ("src/clock.go", 5)}, None),
        (r"\<Wait\>", {("src/clock.go", 3)}, r"as a pattern: \bWait\b"),
        ("get_*_name", {("src/pager.py", 5)}, r"as a pattern: \bget_\w*_name\b"),
        ("pagina", {("src/pager.py", 1)}, "nothing has pagina as a whole word; as a part of one"),
        ("max_retries", {("build.toml", 2)}, "nothing has max_retries as written; ignoring case"),
        ("<=>", {("src/pager.py", 6)}, ""),
        ("?.", {("src/Shop.ts", 2)}, ""),
        ("🚀", {("src/Shop.ts", 2)}, ""),
    ],
)
def test_a_query_is_read_in_the_way_in_which_it_finds_something(ask, query, lines, notice):
    reply = ask(query)

    assert found(reply) == lines
    assert notice is None or reply.notice == notice


@pytest.mark.parametrize("query", ["*.toml", '"*.toml', "**/*.toml'"])
def test_a_glob_lists_files_also_with_a_stray_quote(ask, query):
    reply = ask(query)

    assert [result.path for result in reply.results] == ["build.toml"]
    assert reply.notice.startswith("as a glob of paths")


def test_an_invalid_pattern_is_no_error(ask):
    assert ask(r"time\.Sleep(").notice == "" or ask(r"time\.Sleep(").results


def test_a_word_that_stands_as_it_was_asked_is_no_pattern(index_of, state):
    files = {"a.py": 'PATTERN = "x.*y"\nx = "xay"\n'}
    reply = search_code(index_of(files), SearchCode(query="x.*y"), state)

    assert found(reply) == {("a.py", 1)}


def test_explicit_modes_find_exactly_what_they_say(ask):
    assert ask("max_retries", mode="literal").results == ()
    assert ask("pagina", mode="literal").results


@pytest.mark.parametrize(
    "text", ["what is this...", "a | b", "a || b", "std::vector<int>", "array[0]", "hello?", "int *p", "one\n.*two"]
)
def test_sentences_and_code_are_no_patterns(text):
    assert patterns_meant(text) == ()


def test_in_basic_notation_a_bare_bar_stands_for_itself():
    assert patterns_meant(r"a\|b(c|d)")[0] == r"a|b\(c\|d\)"


def test_globs_have_a_slash_or_an_ending():
    assert glob_meant("src/**/*.py") == "src/**/*.py"
    assert glob_meant("a*b") is None
    assert name_pattern("a*b") == r"\ba\w*b\b"
    assert name_pattern("a b*") is None
