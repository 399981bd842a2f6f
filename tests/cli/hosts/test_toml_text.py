"""Editing TOML files written by people."""

import tomllib

import pytest

from codecompass.cli.hosts.places import NotEditable, value_at
from codecompass.cli.hosts.toml_text import assign, parse, remove_member

ENTRY = {"command": "/opt/bin/cc", "args": ["serve"], "env": {"A": "1"}}
PATH = ["mcp_servers", "ours"]

WRITTEN = """\
model = "o"   # the small one

[mcp_servers.docs]  # theirs
command = 'docs'
args = [
  "a",  # first
]

[profiles.fast]
model = "f"
"""


@pytest.mark.parametrize(
    "text",
    [
        "",
        WRITTEN,
        'model = "o"\n',
        "[mcp_servers]\n",
        'mcp_servers.docs.command = "x"\n',
        '[mcp_servers]\ndocs = { command = "x" }\n',
        'mcp_servers = { docs = { command = "x" } }\n',
        '[mcp_servers.a]\ncommand = "x"\n\n[other]\nb = 1\n\n[mcp_servers.c]\ncommand = "y"\n',
        'a = "1"\r\n\r\n[mcp_servers.docs]\r\ncommand = "x"\r\n',
        "# nothing but a comment",
    ],
)
def test_a_table_is_added_and_the_rest_stays(text):
    changed = assign(text, PATH, ENTRY)

    expected = tomllib.loads(text)
    expected.setdefault("mcp_servers", {})["ours"] = {"command": "/opt/bin/cc", "args": ["serve"], "env": {"A": "1"}}
    assert tomllib.loads(changed) == expected
    assert assign(changed, PATH, ENTRY) == changed
    for line in text.splitlines():
        assert line.rstrip("}\r ") in changed
    assert tomllib.loads(remove_member(changed, PATH)).get("mcp_servers", {}) == tomllib.loads(text).get("mcp_servers", {})


def test_members_of_the_table_that_are_not_ours_stay():
    text = '[mcp_servers.ours]\ncommand = "old"  # where\nstartup_timeout_sec = 30  # slow disk\n'

    changed = assign(text, [*PATH, "command"], ENTRY["command"])

    assert "startup_timeout_sec = 30  # slow disk" in changed
    assert value_at(parse(changed), [*PATH, "command"]) == "/opt/bin/cc"


def test_removing_what_is_not_there_changes_nothing():
    assert remove_member(WRITTEN, PATH) == WRITTEN


@pytest.mark.parametrize("text", ["a = ", "[mcp_servers", "mcp_servers = 3", "mcp_servers = []\n", "a = 1\na = 2"])
def test_what_is_no_toml_or_no_table_is_refused(text):
    with pytest.raises(NotEditable):
        assign(text, PATH, ENTRY)
