"""Editing JSON files written by people: everything except the edit stays, to the last character."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.cli.hosts.json_text import assign, parse, remove_member
from codecompass.cli.hosts.places import NotEditable, value_at
from tests.support.host_files import BLANKS, NAMES, VALUES, written_json

ENTRY = {"command": "/opt/bin/cc", "args": ["serve"]}

LAID_OUT = textwrap.dedent(
    """\
    // my settings
    {
      "theme": "dark", // not the light one
      /* servers: "a" { */
      "servers": {
        "other": { "command": "x", "args": ["//", "/*", "\\""] }, // keep
        // "old": {},
      },
      "last": [1, 2,]
    }
    """
)


def test_a_member_goes_behind_the_last_one_and_its_comments():
    changed = assign(LAID_OUT, ["servers", "ours"], ENTRY)

    assert changed == LAID_OUT.replace(
        '    // "old": {},\n',
        '    // "old": {},\n    "ours": {\n      "command": "/opt/bin/cc",\n      "args": ["serve"]\n    },\n',
    )


def test_a_comment_behind_the_last_member_stays_with_it():
    changed = assign('{\n\t"a": 1 // one\n}\n', ["b"], 2)

    assert changed == '{\n\t"a": 1, // one\n\t"b": 2\n}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '{\n  "s": {\n    "x": 1\n  }\n}\n'),
        ("{}", '{\n  "s": {\n    "x": 1\n  }\n}'),
        ('{"a":1}', '{"a":1, "s": {\n  "x": 1\n}}'),
        ("// only a comment", '// only a comment\n{\n  "s": {\n    "x": 1\n  }\n}\n'),
        ('{\r\n    "a": 1\r\n}\r\n', '{\r\n    "a": 1,\r\n    "s": {\r\n        "x": 1\r\n    }\r\n}\r\n'),
        ('\ufeff{"s": {}}', '\ufeff{"s": {\n  "x": 1\n}}'),
        ('{"s": {\n // later\n}}', '{"s": {\n // later\n "x": 1\n}}'),
    ],
)
def test_objects_on_the_way_are_made_in_the_layout_of_the_text(text, expected):
    assert assign(text, ["s", "x"], 1) == expected


def test_setting_what_is_there_changes_nothing():
    text = '{"s":{"ours":{"args" : [ "serve" ],"command":"/opt/bin/cc"}}}'

    assert assign(text, ["s", "ours"], ENTRY) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "b": 2, "c": 3}', '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2}', '{"a": 1}'),
        ('{"b": 2}', "{}"),
        ('{\n  "a": 1,\n  "b": 2, // why\n}', '{\n  "a": 1, // why\n}'),
        ('{\n  // first\n  "b": 2\n}', "{\n  // first\n}"),
        ('{"a": 1}', '{"a": 1}'),
        ("", ""),
        ('{"b": 1, "a": 2, "b": 3}', '{ "a": 2}'),
    ],
)
def test_removing_takes_the_member_and_one_comma(text, expected):
    assert remove_member(text, ["b"]) == expected


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": }', "line 1, column 7"),
        ('{"a": 1\n "b": 2}', "line 2, column 2"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 1', "line 1, column 8"),
        ('{"a": 1} x', "line 1, column 10"),
        ('{"a": 1 /* b }', "line 1, column 9"),
        ('{"a": tru}', "line 1, column 7"),
        ('{"a": [1 2]}', "line 1, column 10"),
        ("[" * 200, "line 1, column 102"),
        ("[1]", "line 1, column 1"),
        ('{"s": 3}', "line 1, column 7"),
    ],
)
def test_what_is_no_json_object_is_refused_with_its_place(text, place):
    with pytest.raises(NotEditable, match=place):
        assign(text, ["s", "x"], 1)


@given(st.data(), st.dictionaries(NAMES, VALUES, max_size=4), st.booleans())
def test_any_object_takes_a_member_and_gives_it_back(data, value, is_nested):
    value = {"section": value} if is_nested else value
    path = ["section", "ours"] if is_nested else ["ours"]
    text = data.draw(BLANKS) + data.draw(written_json(value)) + data.draw(BLANKS)

    changed = assign(text, path, ENTRY)
    back = remove_member(changed, path)

    assert value_at(parse(changed), path) == ENTRY
    assert assign(changed, path, ENTRY) == changed
    assert parse(back) == parse(text) == value


@given(st.text(alphabet='{}[]",:/*\\ \n1tx', max_size=30))
def test_whatever_the_text_it_is_json_or_refused(text):
    try:
        changed = assign(text, ["a"], 1)
    except NotEditable:
        return
    assert value_at(parse(changed), ["a"]) == 1
