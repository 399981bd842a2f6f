"""Where the statements of a script begin and end, whatever else it contains."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.languages.schemas.sql_text import Include, Script, Statement


def statements_in(text):
    script = Script(text)
    return [
        (item.tokens[item.object_index].text, script.line(item.tokens[0].start), script.line(item.end - 1))
        for item in script.items()
        if isinstance(item, Statement)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create table a (b int); create view v as select 1;", [("table", 1, 1), ("view", 1, 1)]),
        ("create table a (b int);create view v as\nselect 1;", [("table", 1, 1), ("view", 1, 2)]),
        ("SELECT 'x\nCREATE TABLE a (b int)\n';\nCREATE TABLE c (d int)", [("TABLE", 4, 4)]),
        ("/* CREATE TABLE a */ -- '\nCREATE TABLE b (c int)", [("TABLE", 2, 2)]),
        ("CREATE FUNCTION f() AS $x$\n;\n$$ ' $x$ LANGUAGE sql;\nCREATE TYPE t;", [("FUNCTION", 1, 3), ("TYPE", 4, 4)]),
        ("CREATE TABLE a (b int)\nCREATE INDEX i ON a (b)\nGO", [("TABLE", 1, 1), ("INDEX", 2, 2)]),
        (
            "DELIMITER //\nCREATE EVENT e DO BEGIN x; END//\nDELIMITER ;\nCREATE TABLE a (b int);",
            [("EVENT", 2, 2), ("TABLE", 4, 4)],
        ),
        (
            "CREATE PROCEDURE p IS n INT;\nBEGIN\n IF x THEN y; END IF;\nEND;\n/\nCREATE TABLE a (b int);",
            [("PROCEDURE", 1, 4), ("TABLE", 6, 6)],
        ),
        ("BEGIN TRANSACTION;\nCREATE TABLE a (b int);\nEND;", [("TABLE", 2, 2)]),
        ("CREATE ROLE r;\nCREATE OPERATOR + (PROCEDURE = f);\nALTER TABLE a ADD b int;", []),
        ("ALTER PROCEDURE p AS\nSELECT 1;\nSELECT 2;\nGO\n", [("PROCEDURE", 1, 3)]),
        ("CREATE TABLE a (", [("TABLE", 1, 1)]),
        ("", []),
    ],
)
def test_statements_begin_at_their_verb_and_end_before_what_follows(text, expected):
    assert statements_in(text) == expected


@pytest.mark.parametrize("line", ["\\i a/b.sql", "\\ir a/b.sql", ":r a/b.sql", "source a/b.sql;", "\\include 'a/b.sql'"])
def test_a_client_command_that_reads_a_file_is_an_include(line):
    found = list(Script(f"-- x\n{line}\n").items())

    assert [item.file for item in found if isinstance(item, Include)] == ["a/b.sql"]


def test_quotes_in_a_client_command_open_no_string():
    assert statements_in("\\echo it's\nCREATE TABLE a (b int);\n") == [("TABLE", 2, 2)]


PIECES = "CREATE |TABLE |a |(|)|;|'|\"|`|$$|$x$|\n|--|/*|*/|BEGIN |END |AS |GO\n|DELIMITER //\n|//|FUNCTION |[|]|\\.\n|#|é|\\|IS "


@given(st.lists(st.sampled_from(PIECES.split("|")), max_size=40).map("".join))
def test_any_text_is_read_without_error_and_in_order(text):
    ends = [0]
    for item in Script(text).items():
        if isinstance(item, Statement):
            assert ends[-1] <= item.tokens[0].start < item.end <= len(text)
            ends.append(item.end)
