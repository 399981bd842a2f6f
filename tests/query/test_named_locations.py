"""Lookup by path and line: the definition around the line, and the lines themselves."""

import pytest

from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import locate_symbol, search_code
from codecompass.query.names.named_locations import AskedLines, asked_lines

HANDLER = "src/auth/handler.rs"


@pytest.fixture(scope="session")
def at(shop, state):
    """Returns a function that calls `locate_symbol` with a place."""
    return lambda place, **arguments: locate_symbol(shop, LocateSymbol(name=place, **arguments), state)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("src/x.py:120", AskedLines("src/x.py", 120, 120)),
        ("./src/x.py:120:5", AskedLines("./src/x.py", 120, 120)),
        ("x.py:120-140", AskedLines("x.py", 120, 140)),
        ("x.py:140-120", AskedLines("x.py", 140, 140)),
        ("x.py:1-9999", AskedLines("x.py", 1, 60)),
        ("x.py#L7", AskedLines("x.py", 7, 7)),
        ("x.py#L7-L9", AskedLines("x.py", 7, 9)),
        ("src\\x.py:3:", AskedLines("src/x.py", 3, 3)),
        ("src/x.py:0", AskedLines("src/x.py", 1, 1)),
        ("module:12", None),
        ("Session.close", None),
        ("a.b:c", None),
        ("x.py:12\nmore", None),
        ("x" * 5000 + ".py:3", None),
        ("", None),
    ],
)
def test_a_place_is_a_path_and_a_line_or_a_few(text, place):
    assert asked_lines(text) == place


@pytest.mark.parametrize(
    "place",
    [
        f"{HANDLER}:16",
        f"./{HANDLER}:16:9",
        f"/home/me/shop/{HANDLER}:16",
        "handler.rs:16",
        "auth/handler.rs:16",
        f"{HANDLER}#L16",
    ],
)
def test_a_line_is_answered_by_the_innermost_definition_and_the_lines_around_it(at, place):
    (result,) = at(place).results

    assert (result.path, result.name, result.line_start, result.line_end) == (HANDLER, "authenticate", 14, 17)
    assert (result.match, result.asked_line) == ("exact", 16)
    assert [line.line for line in result.lines] == [13, 14, 15, 16, 17, 18, 19]
    assert result.lines[3].text == "        validate_token(token, &self.claims)"
    assert result.symbol_id


def test_a_search_for_a_place_answers_alike_and_with_nothing_else(shop, state, at):
    reply = search_code(shop, SearchCode(query=f"{HANDLER}:16"), state)

    assert [(result.name, result.asked_line, result.lines) for result in reply.results] == [
        (result.name, result.asked_line, result.lines) for result in at(f"{HANDLER}:16").results
    ]


def test_a_line_outside_of_every_definition_is_shown_alone(at):
    (result,) = at(f"{HANDLER}:1").results

    assert (result.line_start, result.line_end, result.result_type, result.name) == (1, 1, "snippet", "")
    assert [line.line for line in result.lines] == [1, 2, 3, 4]


def test_a_range_is_answered_by_what_is_around_all_of_it(at):
    (result,) = at(f"{HANDLER}:11-15").results

    assert (result.kind, result.name, result.asked_line) == ("impl", "AuthHandler", 11)
    assert [line.line for line in result.lines] == list(range(8, 19))


def test_a_field_in_a_method_is_the_methods_and_elsewhere_its_own(at):
    assert at("shop/limits.py:12").results[0].name == "__init__"
    assert at(f"{HANDLER}:6").results[0].name == "claims"


def test_a_line_beyond_the_end_is_the_last_one_and_said_so(at):
    reply = at("src/auth/error.rs:400")

    assert reply.results[0].asked_line == 4
    assert reply.metadata.warnings == ("src/auth/error.rs has 4 lines; the last one is shown",)


def test_of_files_of_one_name_those_that_have_the_line_are_meant_product_code_first(at):
    assert [result.path for result in at("limits.py:2").results] == ["shop/limits.py", "third_party/limiter/limits.py"]
    assert [result.path for result in at("limits.py:20").results] == ["shop/limits.py"]


def test_filters_hold_for_places_too(at):
    assert [result.path for result in at("limits.py:2", path="third_party/**").results] == ["third_party/limiter/limits.py"]
    assert at(f"{HANDLER}:16", language="python").results == ()
    assert at(f"{HANDLER}:16", kind="struct").results[0].asked_line == 16


@pytest.mark.parametrize("place", ["nowhere.py:3", "../../etc/passwd:1", "/etc/passwd:1", "/:1", ".:1", "…/x.py:1"])
def test_a_place_that_is_not_indexed_finds_nothing(at, place):
    assert at(place).results == ()


def test_the_place_alone_has_no_lines(at):
    (result,) = at(f"{HANDLER}:16", detail_level="location").results

    assert (result.lines, result.asked_line) == ((), 0)


def test_a_path_that_no_file_has_is_said_to_be_none(shop, state):
    assert search_code(shop, SearchCode(query="src/auth/nothing.rs:3"), state).metadata.warnings == (
        "no indexed file has the path src/auth/nothing.rs",
    )


@pytest.fixture(scope="module")
def odd_paths(index_of):
    names = [
        "src/a.py",
        "src/data/a.py",
        "src/Data2/A.PY",
        "src/aa.py",
        "a.py",
        "src/\u00e4/a.py",
        "src/\u00c4.py",
        "src/odd\nname.py",
    ]
    return index_of(dict.fromkeys([*names, "lib/a.pyi", "lib/a_b.py"], "x = 1\n"))


@pytest.mark.parametrize(
    "suffix",
    [
        "a.py",
        "A.py",
        "data/a.py",
        "src/a.py",
        "aa.py",
        "\u00e4.py",
        "\u00c4.py",
        "odd\nname.py",
        "gone.py",
        "py",
        "src",
        "_.py",
        "b.py",
    ],
)
@pytest.mark.parametrize("limit", [1, 10])
def test_paths_are_found_by_their_ends_alike_in_the_database_and_in_the_table_of_files(odd_paths, suffix, limit):
    assert odd_paths.files().ending(suffix, limit) == odd_paths.facts.paths_ending(suffix, limit)


@pytest.mark.parametrize(
    ("path", "text", "line", "name"),
    [
        ("a.c", "int x;\nstruct pair { int left; int right; };\n", 2, "pair"),
        ("a.go", "package a\n\ntype Pair struct{ Left }\n", 3, "Pair"),
        ("a.ts", "export interface Pair { left: number; right: number }\n", 1, "Pair"),
        ("a.py", "class Pair:\n    left = 1\n", 2, "left"),
    ],
)
def test_a_line_that_is_a_whole_type_means_the_type_and_not_a_field_of_it(index_of, state, path, text, line, name):
    reply = locate_symbol(index_of({path: text}), LocateSymbol(name=f"{path}:{line}"), state)

    assert [result.name for result in reply.results] == [name]
