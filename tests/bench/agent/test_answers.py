"""Reads answers as a model does, in both forms: the places, the limitations that they state, and how much of them is useful."""

import json

import pytest

from bench.agent.answers import Place, grep_characters, read_answer

TEXT = """\
src/flask/app.py
897-918 def Flask.full_dispatch_request(self) -> Response
897:    def full_dispatch_request(self) -> Response:
903:        try:

src/flask/views.py
16-135 class View
in class View 16-135
78:    def dispatch_request(self) -> ft.ResponseReturnValue:
3 of 12; more: limit 12
"""


def answer_of(*results, freshness="fresh", completeness="complete"):
    metadata = {"freshness_status": freshness, "result_completeness": completeness, "workspace": "/somewhere"}
    return json.dumps({"results": list(results), "total_candidates": 99, "metadata": metadata})


def test_text_has_a_place_for_each_definition_with_the_lines_below_it():
    places = read_answer(TEXT).places

    assert [(place.path, place.line_start, place.line_end, place.lines) for place in places] == [
        ("src/flask/app.py", 897, 918, (897, 903)),
        ("src/flask/views.py", 16, 135, ()),
        ("src/flask/views.py", None, None, (78,)),
    ]
    assert places[0].holds("full_dispatch_request")
    assert places[1].holds("View")
    assert places[2].holds("dispatch_request")
    assert not places[2].holds("View")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a.py:7  fn alpha\n", [Place(path="a.py", line_start=7, words="fn alpha", line_end=7)]),
        ("lib/a.py:7-9  fn alpha\n", [Place(path="lib/a.py", line_start=7, line_end=9, words="fn alpha")]),
        ("a.py:7:x = 1\n", [Place(path="a.py", line_start=7, line_end=7, lines=(7,), words="x = 1")]),
        ("Makefile\n12: all: test\n", [Place(path="Makefile", lines=(12,), words="\n all: test")]),
        ("my docs/a b.md\n  3  text\n", [Place(path="my docs/a b.md", lines=(3,), words="\ntext")]),
        ("a.py\n7\n8  x\n", [Place(path="a.py", lines=(7, 8), words="\n\nx")]),
        ('t.exs\n4-9 test "adds 2 to 3"\n', [Place(path="t.exs", line_start=4, line_end=9, words='test "adds 2 to 3"')]),
        ("a.py\n4 const LIMIT\n", [Place(path="a.py", line_start=4, line_end=4, words="const LIMIT")]),
        ("a.py\n4-9 fn alpha [similar]\n", [Place(path="a.py", line_start=4, line_end=9, words="fn alpha [similar]")]),
        ("packages/a/package.json\npackages/b/package.json\n", [Place(path=f"packages/{n}/package.json") for n in "ab"]),
        ("no symbol of this name.\n0 of 0\n", []),
        ("Two files changed: a.py, b.py.\n", []),
        ("", []),
    ],
)
def test_text_is_read_in_each_of_its_layouts(text, places):
    assert [*read_answer(text).places] == places


def test_json_has_a_place_for_each_result_with_the_lines_that_it_shows():
    matched = {"path": "a.py", "line_start": 3, "line_end": 9, "matched_lines": [{"line": 4, "text": "beta()"}]}
    whole = {"path": "b.py", "line_start": 5, "line_end": 6, "name": "gamma", "body": "def gamma():\n    pass"}

    places = read_answer(answer_of(matched, whole)).places

    assert [(place.path, place.line_start, place.line_end, place.lines) for place in places] == [
        ("a.py", 3, 9, (4,)),
        ("b.py", 5, 6, (5, 6)),
    ]
    assert places[0].holds("beta")
    assert places[1].holds("gamma")


def test_useful_bytes_of_text_are_paths_numbers_names_and_code():
    text = "a.py\n7-9 fn alpha\n7:def alpha():\n1 of 1\n"

    read = read_answer(text)

    assert read.useful_bytes == len("a.py" + "fn alpha" + "7" + "9" + "7" + "def alpha():")
    assert read.n_bytes == len(text)


def test_useful_bytes_of_json_are_the_same_values_and_nothing_of_the_block_of_metadata():
    hit = {"path": "a.py", "line_start": 7, "line_end": 9, "kind": "fn", "name": "älpha", "score": 0.5}
    lines = {"matched_lines": [{"line": 7, "text": "def älpha():"}], "language": "python"}

    read = read_answer(answer_of({**hit, **lines}))

    assert read.useful_bytes == len("a.py" + "7" + "9" + "älpha" + "7" + "def älpha():") + 2
    assert read.n_bytes > 3 * read.useful_bytes


@pytest.mark.parametrize(
    ("text", "admits"),
    [
        (answer_of(), False),
        (answer_of(freshness="stale", completeness="partial"), True),
        (answer_of(freshness="syncing", completeness="complete"), False),
        (answer_of(freshness="fresh", completeness="partial"), False),
        (answer_of(freshness="stale", completeness="truncated"), True),
        ('{"error":{"code":"index_not_ready","message":"wait"}}', True),
        (TEXT, False),
        ("a.py\n  1  stale = partial\n", False),
        ("Stale: 3 files have changed (a.py, b.py, c.py).\n", True),
        ("0 of 0; partial: the index is being built\n", True),
        ("no symbol of this name\n", False),
    ],
)
def test_an_answer_admits_something_where_it_calls_itself_neither_fresh_nor_complete(text, admits):
    assert read_answer(text).admits is admits


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (answer_of(), ""),
        (answer_of(completeness="truncated"), ""),
        (answer_of(freshness="syncing"), "syncing, complete"),
        ('{"error":{"code":"index_not_ready","message":"wait"}}', "index_not_ready"),
        (TEXT, ""),
        (TEXT + "stale: a.py has changed\n", "stale: a.py has changed"),
    ],
)
def test_an_answer_that_is_fresh_and_whole_says_nothing(text, says):
    assert read_answer(text).says == says


def test_an_error_admits_that_it_is_no_answer_whatever_it_says():
    assert read_answer("something went wrong", is_error=True).admits


def test_ripgrep_prints_each_line_once_and_the_first_line_of_a_place_that_shows_none():
    lines = {"a.py": ["one", "two", "three"]}
    places = [
        Place(path="a.py", line_start=1, line_end=3),
        Place(path="a.py", line_start=1, line_end=3, lines=(1, 3)),
        Place(path="a.py", lines=(99,)),
        Place(path="gone.py", line_start=1, line_end=1),
        Place(path="a.py"),
    ]

    assert grep_characters(places, lambda path: lines.get(path, [])) == len("a.py:1:one\na.py:3:three\n")
