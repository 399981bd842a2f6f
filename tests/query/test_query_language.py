"""The query language of people: filters, phrases and patterns in a text, of which none is ever refused."""

import random

import pytest
import re2

from codecompass.protocol.decode import decode
from codecompass.query import query_language
from codecompass.query.path_globs import expressions_of, path_globs
from codecompass.query.query_language import MAX_FILTERS, parse_query

pytestmark = pytest.mark.invariant(
    "A query that people type means the same on the page, in `search` and in `search -i`; any text is valid"
)

PATHS = (
    "README.md",
    "docs/README.md",
    "lib/src/auth.py",
    "shop/cart.py",
    "src/auth/a.py",
    "src/test/b.js",
    "test/x_test.py",
)


def passing(text):
    globs = path_globs(parse_query(text).path)
    wanted, unwanted = ([re2.compile(one) for one in expressions_of(each)] for each in (globs.wanted, globs.unwanted))
    return [
        path
        for path in PATHS
        if (not wanted or any(one.fullmatch(path) for one in wanted)) and not any(one.fullmatch(path) for one in unwanted)
    ]


def test_filters_are_taken_out_of_the_text_wherever_they_stand():
    parsed = parse_query("lang:py where are file:src/ tokens kind:class -file:test validated repo:api")

    assert (parsed.words, parsed.query, parsed.mode) == ("where are tokens validated",) * 2 + ("auto",)
    assert (parsed.language, parsed.kind, parsed.projects) == ("py", "class", ("api",))
    assert [each.written for each in parsed.filters] == ["lang:py", "file:src/", "kind:class", "-file:test", "repo:api"]
    assert [parsed.text[each.start : each.end] for each in parsed.filters] == [each.written for each in parsed.filters]


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("file:auth", ["lib/src/auth.py", "src/auth/a.py"]),
        ("file:src/auth", ["lib/src/auth.py", "src/auth/a.py"]),
        ("file:^src/", ["src/auth/a.py", "src/test/b.js"]),
        ("file:^READ", ["README.md"]),
        (r"file:\.md$", ["README.md", "docs/README.md"]),
        ("file:/test/", ["src/test/b.js", "test/x_test.py"]),
        ("file:*.js", ["src/test/b.js"]),
        ("path:shop/**", ["shop/cart.py"]),
        ("file:cart file:x_test", ["shop/cart.py", "test/x_test.py"]),
        ("file:py$ -file:test -file:^lib/", ["shop/cart.py", "src/auth/a.py"]),
    ],
)
def test_a_file_filter_is_a_part_of_the_path_or_a_glob(text, paths):
    assert passing(text) == paths


@pytest.mark.parametrize(
    ("text", "query", "mode"),
    [
        ('"taken off"', "(?i)taken off", "regex"),
        ('"a.b(c"', r"(?i)a\.b\(c", "regex"),
        ('case:yes "Taken off"', "Taken off", "literal"),
        ("case:yes Cart.total", "Cart.total", "literal"),
        (r"/def \w+/ lang:py", r"(?i)def \w+", "regex"),
        (r"case:yes /def \w+ file:x/", r"def \w+ file:x", "regex"),
        ("/usr/local/lib/", "/usr/local/lib/", "auto"),
        ('voucher "taken off"', 'voucher "taken off"', "auto"),
        ("lang:py", "*", "files"),
        ("case:yes", "", "auto"),
        ("", "", "auto"),
    ],
)
def test_phrases_and_patterns_ignore_case_unless_case_is_yes(text, query, mode):
    parsed = parse_query(text)

    assert (parsed.query, parsed.mode) == (query, mode)


@pytest.mark.parametrize(
    "text",
    [
        "kind:nonsense x",
        "case:foo",
        "error in file:///etc/x.py",
        "std::lang::py",
        "lang: py",
        "colour:red",
        '"lang:py in a phrase',
        "file:// x",
        'KeyError: "repo:x"',
        "Traceback\n  lang:py",
    ],
)
def test_what_is_no_filter_is_text(text):
    parsed = parse_query(text)

    assert parsed.filters == ()
    assert parsed.query.strip() == text
    assert parsed.mode == "auto"


def test_a_chosen_mode_takes_the_text_as_it_stands():
    assert parse_query("lang:py x", "literal").arguments({}) == {"query": "lang:py x", "mode": "literal"}


def test_sym_alone_asks_for_the_definition_and_with_words_for_definitions_that_have_them():
    alone, among = parse_query("sym:Cart.total lang:py"), parse_query("sym:Cart voucher")

    assert alone.tool == "locate_symbol"
    assert alone.arguments({"limit": 3, "mode": "auto"}) == {"name": "Cart.total", "limit": 3, "language": "py"}
    assert (among.tool, among.query) == ("search_code", "Cart voucher")
    assert "class" in among.kind.split(",")
    assert "use" not in among.kind.split(",")


def test_what_the_text_says_replaces_what_is_given_beside_it():
    arguments = parse_query("x lang:go").arguments({"language": "py", "kind": "class", "limit": 5})

    assert arguments == {"query": "x", "mode": "auto", "language": "go", "kind": "class", "limit": 5}


def test_a_filter_can_be_removed_and_added():
    parsed = parse_query("a lang:py b file:c")

    assert parsed.without(parsed.filters[:1]) == "a b file:c"
    assert parsed.without(parsed.filters) == "a b"
    assert parsed.with_filter("kind", "class") == "a lang:py b file:c kind:class"
    assert parsed.with_filter("lang", "py") == "a lang:py b file:c"
    assert parse_query(parsed.with_filter("file", "my dir/")).filters[-1].value == "my dir/"


def test_any_text_can_be_asked():
    """Texts made of pieces of the language, whole and broken, always give arguments that the tools take."""
    seeded = random.Random(37)
    pieces = ["lang:", "file:", "-file:", "kind:", "repo:", "case:", "sym:", '"', "/", "*", "**", "{", "}", ",", "!", "^", "$"]
    pieces += ["py", "class", "yes", "a b", " ", "\\", "[", "]", "?", "\ud800", "\u2028", "é", "x/y", "::", "\0", "(", "src/"]
    for _ in range(5_000):
        text = "".join(seeded.choice(pieces) for _ in range(seeded.randint(0, 30)))
        parsed = parse_query(text)
        if parsed.path:
            path_globs(parsed.path)
        if not parsed.is_empty:
            decode(parsed.tool, parsed.arguments({}))
        assert parse_query(parsed.without(parsed.filters)).words.split() == parsed.words.split() or '"' in text or "/" in text


@pytest.mark.parametrize(
    ("text", "shorter"), [("/a " * 5_400 + "/", "/a " * 50 + "/"), ("/a /" * 4_096, "/a /" * 50), ("/ " * 8_192, "/ " * 50)]
)
def test_slashes_cost_no_more_than_their_number(text, shorter):
    """The slices of a text that are matched do not grow with it: counted, not timed."""

    class Counted(str):
        n_characters = 0

        def __getitem__(self, item):
            found = super().__getitem__(item)
            Counted.n_characters += len(found)
            return found

    counts = []
    for each in (shorter, text):
        Counted.n_characters = 0
        list(query_language._filters(Counted(each)))
        counts.append(Counted.n_characters)

    assert counts[1] <= 2 * len(text) + counts[0]


@pytest.mark.parametrize("text", ["file:a " * 3_000, '"' * 16_000, "/ " * 8_000, "file:" + "*," * 8_000, "-file:{{{{" * 1_600])
def test_a_long_text_has_a_bounded_number_of_filters(text):
    parsed = parse_query(text)

    assert len(parsed.filters) <= MAX_FILTERS
    if parsed.path:
        path_globs(parsed.path)
