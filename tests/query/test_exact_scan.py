"""Literal and regular expression search: exactly the matching lines, however far the index could narrow the candidates."""

import random
import re
import subprocess

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecompass.errors import InvalidInput
from codecompass.protocol.requests import SearchCode
from codecompass.query import QueryOptions, search_code
from codecompass.query.search import find
from codecompass.query.words.line_matchers import literal_matcher, regex_matcher
from tests.conftest import tool
from tests.query.project import FILES

LONG_NAME = "TestThatTheLimiterRefusesWhenTheBucketOfTheClientIsEmpty"

LINES = {
    "many.txt": "".join(f"line {number} needle\n" for number in range(300)),
    "long.py": f"def {LONG_NAME}():\n    return 'x{'y' * 300}NEEDLE{'z' * 300}'\n",
    "crlf.txt": "first needle\r\nsecond line\r\nthird needle\r\n",
    "odd.txt": "tab\tneedle\nno newline at the end needle",
    "unicode.txt": "café needle\nneedlé\nΝΕΕΔΛΕ\n",
    "case.txt": "Needle\nNEEDLE\nneedles\nmyneedle\nmy_needle\n",
}

WORDS = r"a b Ab foo Bar _ . ( ) é → k İ 日本 ’ 1 -"
ATOMS = r"a b Ab foo Bar _ \. \( \w \w* \W \s* \s+ \b é k s . [ab] [Ff]oo (foo|Bar) (?i:foo) (_|b)? 日 1 x [^a] ^ $"


@pytest.fixture(scope="session")
def ask(shop, state):
    def asked(query, mode="literal", **arguments):
        return search_code(shop, SearchCode(query=query, mode=mode, limit=100, **arguments), state)

    return asked


@pytest.fixture(scope="session")
def lines(index_of, state):
    snapshot = index_of(LINES)

    def asked(query, mode="literal", settings=QueryOptions(), is_expired=lambda: False, **arguments):  # noqa: B008
        return search_code(snapshot, SearchCode(query=query, mode=mode, limit=100, **arguments), state, settings, is_expired)

    return asked


def matched(reply):
    return {(result.path, line.line) for result in reply.results for line in result.matched_lines}


def truth(files, matches):
    return {
        (path, number)
        for path, text in files.items()
        for number, line in enumerate(text.split("\n"), 1)
        if matches(line.removesuffix("\r"))
    }


@pytest.mark.parametrize(
    "literal",
    [
        "validate_token",
        "limit",
        "TokenError",
        "  return",
        "{ claims }",
        "->",
        "self.storage.count(client)",
        "okenErr",
        ")",
        "ö",
        "getHTTPServerName(): string",
        "%",
    ],
)
def test_a_literal_finds_exactly_the_lines_that_hold_it(ask, literal):
    assert matched(ask(literal)) == truth(FILES, lambda line: literal in line)


@pytest.mark.parametrize(
    "pattern",
    [
        r"pub fn \w+",
        r"^class ",
        r"\bToken",
        r"Err\(.*\)",
        r"(?i)httpserver",
        r"Limit(er|Exceeded)",
        r"^\s*return .*$",
        r"[A-Z]{4,}",
        r";$",
        r"x?",
    ],
)
def test_a_pattern_finds_exactly_the_lines_that_it_matches(ask, pattern):
    expected = truth({path: text.removesuffix("\n") for path, text in FILES.items() if text}, re.compile(pattern).search)

    assert matched(ask(pattern, mode="regex")) == expected


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(FILES)), st.integers(0, 600), st.integers(1, 25))
def test_any_piece_of_any_line_is_found(ask, path, start, length):
    literal = FILES[path][start : start + length].split("\n")[0]

    if literal.strip():
        assert matched(ask(literal)) == truth(FILES, lambda line: literal in line)


@pytest.mark.invariant("Literal and regular expression searches find exactly the matching lines")
def test_the_result_agrees_with_ripgrep(lines, tmp_path):
    ripgrep = tool("rg")
    for path, text in LINES.items():
        (tmp_path / path).write_bytes(text.encode())
    for mode, flags, query in (
        ("literal", ["-F"], "needle"),
        ("regex", ["--crlf"], r"need[a-z]+$"),
        ("regex", ["--crlf"], "^[^ ]+$"),
    ):
        done = subprocess.run(
            [ripgrep, *flags, "--no-heading", "-n", "--no-config", "-e", query, "."],
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        found = {tuple(line.split(":", 2)[:2]) for line in done.stdout.decode().splitlines()}

        assert {(f"./{path}", str(line)) for path, line in matched(lines(query, mode=mode))} == found


def test_a_piece_of_a_word_that_is_too_long_for_the_index_is_found(lines):
    assert matched(lines("RefusesWhenTheBucket")) == {("long.py", 1)}
    assert matched(lines(LONG_NAME)) == {("long.py", 1)}
    assert matched(lines(f"def {LONG_NAME}():")) == {("long.py", 1)}
    assert matched(lines("Refuses[A-Z]hen", mode="regex")) == {("long.py", 1)}


def test_a_long_line_is_shown_around_the_match(lines):
    (result,) = lines("NEEDLE", path="long.py").results
    (line,) = result.matched_lines

    assert "NEEDLE" in line.text
    assert len(line.text) <= 202
    assert line.text.startswith("…")
    assert line.text.endswith("…")


def test_carriage_returns_do_not_hide_the_end_of_a_line(lines):
    assert matched(lines("needle$", mode="regex", path="crlf.txt")) == {("crlf.txt", 1), ("crlf.txt", 3)}


def test_case_counts_unless_the_pattern_says_otherwise(lines):
    assert matched(lines("Needle", path="case.txt")) == {("case.txt", 1)}
    assert matched(lines("(?i)needle$", mode="regex", path="case.txt")) == {("case.txt", line) for line in (1, 2, 4, 5)}


def test_a_literal_over_a_line_break_is_found_also_where_chunks_meet(lines):
    for number in (10, 35, 36, 37, 59, 60, 61, 120):
        literal = f"line {number - 1} needle\nline {number} needle\nline {number + 1}"

        assert matched(lines(literal)) == {("many.txt", number)}


def test_lines_in_one_definition_are_one_result_and_others_one_for_their_piece_of_text(ask):
    reply = ask("self")
    by_name = {result.name: result for result in reply.results if result.path == "shop/limits.py"}

    assert by_name["__init__"].symbol_id
    assert [line.line for line in by_name["__init__"].matched_lines] == [11, 12, 13]
    assert (by_name["__init__"].line_start, by_name["__init__"].line_end) == (11, 13)


def test_the_definition_comes_first_and_product_code_before_tests(ask):
    results = ask("RateLimiter").results
    paths = [result.path for result in results]

    assert (results[0].path, results[0].matched_lines[0].line) == ("shop/limits.py", 8)
    assert paths.index("shop/limits.py") < paths.index("tests/test_limits.py") < paths.index("third_party/limiter/limits.py")


def test_filters_hold(ask):
    assert {path for path, _ in matched(ask("Header", language="typescript"))} == {"web/header.ts", "web/server.ts"}
    assert {path for path, _ in matched(ask("name", path="*.rs"))} == set()
    assert {result.kind for result in ask("self", kind="method", language="python").results} == {"method"}


def test_the_total_counts_matching_lines(lines):
    reply = lines("needle", path="many.txt")

    assert reply.total_candidates == 300


def test_a_bad_pattern_is_refused_with_the_reason(ask):
    for pattern, reason in (
        ("foo(", "missing )"),
        ("*a", "no argument for repetition"),
        (r"(?=a)", "invalid perl operator"),
        ("a{5000}", "invalid repetition size"),
    ):
        with pytest.raises(InvalidInput) as caught:
            ask(pattern, mode="regex")

        assert reason in caught.value.message
        assert caught.value.data["field"] == "query"


@pytest.mark.invariant(of="test_a_hostile_pattern_does_not_backtrack")
def test_a_pattern_that_kills_backtracking_engines_answers(index_of, state):
    snapshot = index_of({"a.txt": "a" * 4000 + "\n"})

    reply = search_code(snapshot, SearchCode(query="(a*)*b", mode="regex"), state)

    assert reply.results == ()


def test_when_the_time_is_up_the_answer_has_what_was_found_and_says_so(index_of, state):
    snapshot = index_of({f"{number:03}.txt": "needle\n" for number in range(200)})
    looks = []

    def is_expired():
        looks.append(1)
        return len(looks) > 95

    reply = search_code(snapshot, SearchCode(query="needle", mode="literal", limit=100), state, is_expired=is_expired)

    assert reply.metadata.result_completeness == "partial"
    assert "time was up" in reply.metadata.warnings[0]
    assert reply.total_candidates == 96


def test_too_many_lines_end_the_scan_and_the_answer_says_so(lines):
    reply = lines("needle", settings=QueryOptions(max_matched_lines=50))

    assert reply.metadata.result_completeness == "partial"
    assert "be more specific" in reply.metadata.warnings[0]


@pytest.mark.parametrize(
    ("mode", "query", "suggested"),
    [
        ("literal", "ratelimiter(None", r"(?i)ratelimiter\(None"),
        ("literal", "CLASS RATELIMITER", "(?i)CLASS RATELIMITER"),
        ("regex", r"RATE_?LIMITER\(", r"(?i)RATE_?LIMITER\("),
    ],
)
def test_what_is_found_only_in_another_case_is_suggested(ask, mode, query, suggested):
    reply = ask(query, mode=mode)
    actions = [(action.tool, action.mode, action.query) for action in reply.suggested_next_actions]

    assert reply.results == ()
    assert actions == [("search_code", "regex", suggested), ("search_code", "", query)]
    assert ask(suggested, mode="regex").results


def test_a_literal_found_nowhere_suggests_a_search_by_words(ask):
    reply = ask("no such text anywhere")

    assert reply.results == ()
    assert [(action.tool, action.mode) for action in reply.suggested_next_actions] == [("search_code", "")]


@pytest.mark.invariant(of="test_a_question_that_gets_no_thread_in_its_time_is_told_so")
@pytest.mark.parametrize(
    "pattern",
    [
        r"\w*(eedl|ong|yneed)\w*",
        r"(?i)(eedle|econd|hird|irs)",
        r"(eedle|ond lin|TheLimiterRefusesWhenTheBucketOf|zzzzzzzzzzzzzzzzzzzzzzzz)",
        r"(y_nee|ONG_NA|eed)\w+",
        "|".join(["eedles", *("q" * 150 + str(number) for number in range(15))]),
        r"\w(ond\b.*|eed\w*.*\w+ine)|fir\w+",
    ],
)
def test_alternatives_in_the_middle_of_words_are_found(lines, pattern):
    matches = re.compile(pattern).search

    found = truth(LINES, matches)

    assert found
    assert matched(lines(pattern, "regex")) == found


@pytest.mark.slow
def test_whatever_the_text_a_pattern_finds_the_lines_that_it_matches(index_of):
    """`test_regex_terms` tests this with tokens computed without an index; this test uses the tokens of a real one."""
    draw = random.Random(11)
    words, atoms = [*WORDS.split(), " ", "  ", "\t", "\u212a"], [*ATOMS.split(), " "]

    def text():
        return "\n".join("".join(draw.choices(words, k=draw.randint(1, 9))) for _ in range(3))

    files = {f"{number}.txt": text() for number in range(300)}
    # Words that a search for their letters cannot find.
    files |= {"long.txt": f"{'x' * 130}_foo(\nfoo", "other case.txt": "ſ\nbarſ(foo)"}
    snapshot = index_of(files)
    n_matching = 0
    for number in range(600):
        pattern = ("(?i)" if number % 5 == 0 else "") + "".join(draw.choices(atoms, k=draw.randint(2, 5)))
        matcher = re2.compile(pattern)
        expected = truth(files, matcher.search)
        hits = find(snapshot, SearchCode(query=pattern, mode="regex"), 10_000, QueryOptions(counted_lines=10_000))
        found = {(shown.place.file.path, line.line) for shown in hits.shown for line in shown.matched_lines}

        assert found == expected, pattern
        n_matching += bool(expected)

    assert n_matching > 200


TEXT = "one\n\ntwo one one\n\n\nthree\n"


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("one", [(0, 0, 3), (2, 4, 7)]),
        ("\n", [(0, 3, 4), (1, 0, 1), (2, 11, 12), (3, 0, 1), (4, 0, 1), (5, 5, 6)]),
        ("\n\n", [(0, 3, 5), (2, 11, 13), (3, 0, 2)]),
        ("\ntwo", [(1, 0, 4)]),
        ("one\n", [(0, 0, 4), (2, 8, 12)]),
        ("three\n", [(5, 0, 6)]),
        ("four", []),
    ],
)
def test_a_literal_matches_once_in_each_line_that_it_begins_in(literal, expected):
    assert list(literal_matcher(literal)(TEXT)) == expected


@pytest.mark.parametrize(("pattern", "lines"), [("one", [0, 2]), ("^$", [1, 3, 4]), ("", [0, 1, 2, 3, 4, 5]), (r"\n", [])])
def test_a_pattern_sees_one_line_at_a_time(pattern, lines):
    assert [line for line, _, _ in regex_matcher(pattern)(TEXT)] == lines
