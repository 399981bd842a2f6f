"""Editing YAML files written by people."""

import pytest

from codecompass.cli.hosts.places import NotEditable
from codecompass.cli.hosts.yaml_text import assign, parse, remove_member

PATH = ("extensions", "ours")
ENTRY = {"cmd": "/opt/bin/cc", "args": ["serve"], "envs": {"A": "1"}}
BLOCK = '  ours:\n    cmd: /opt/bin/cc\n    args: ["serve"]\n    envs: {"A": "1"}\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"extensions:\n{BLOCK}"),
        ("a: 1", f"a: 1\nextensions:\n{BLOCK}"),
        ("extensions: {} # none: null\n", f"extensions: # none: null\n{BLOCK}"),
        ("---\nextensions:\n  b:\n    c: |\n      # kept\n", f"---\nextensions:\n{BLOCK}  b:\n    c: |\n      # kept\n"),
        ("a: |\n  extensions:\n    no\nb:\n- x\n", f"a: |\n  extensions:\n    no\nb:\n- x\nextensions:\n{BLOCK}"),
        ("\ufeff'extensions':\n  ours:\n    cmd: x # why\n  # next\n", f"\ufeff'extensions':\n{BLOCK}  # next\n"),
    ],
)
def test_an_entry_is_put_into_its_section_and_the_rest_stays(text, expected):
    changed = assign(text, PATH, ENTRY)

    assert changed == expected
    assert assign(changed, PATH, ENTRY) == changed
    assert "ours" not in parse(remove_member(changed, PATH))["extensions"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\n---\nb: 2\n", 2),
        ("extensions:\nextensions:\n", 2),
        ("extensions:\n  ours:\n    a: 1\n  ours:\n    b: 1\n", 4),
        ("extensions: [a]\n", 1),
        ("extensions:\n- a\n", 2),
        ("extensions:\n  ours: {cmd: x}\n", 2),
        ("extensions:\n\tours: 1\n", 2),
        ("{extensions: {}}\n", 1),
        ("  indented: 1\nextensions:\n", 2),
    ],
)
def test_a_layout_that_is_ambiguous_is_refused_with_its_line(text, line):
    with pytest.raises(NotEditable, match=f"line {line}:"):
        assign(text, PATH, ENTRY)
