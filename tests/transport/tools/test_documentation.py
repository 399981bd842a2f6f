"""docs/tools.md: its tables of arguments are generated from the definitions; its sections name the contents of answers.

After a change to a definition, run with CODECOMPASS_UPDATE_GOLDENS=1, which rewrites the tables.
"""

import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from codecompass.protocol.arguments import ARGUMENTS
from codecompass.transport.tools.listing import TOOLS

DOCUMENT = Path(__file__).parents[3] / "docs" / "tools.md"
MODEL = "search_code"
"""The tool whose table explains the arguments that it shares with others."""

PLAIN = "get_file_outline"
"""A tool whose `workspace` argument is that of all tools that accept only one workspace."""

COMMON = "| argument | meaning |\n|---|---|\n"
OWN = "| argument | default | meaning |\n|---|---|---|\n"


def common_table():
    return COMMON + "".join(f"| `{each.name}` | {each.meaning} |\n" for each in ARGUMENTS[PLAIN].values() if each.is_common)


def own_table(tool):
    """Returns the table of the arguments that not every tool has; empty if the tool has none."""
    own = [each for each in ARGUMENTS[tool].values() if not each.is_common or each != ARGUMENTS[PLAIN][each.name]]
    as_there = [] if tool == MODEL else [each for each in own if is_as_in_the_model(each)]
    rows = [f"| `{each.name}` |{default(each)} | {meaning(each)} |\n" for each in own if each not in as_there]
    if as_there:
        rows.append(f"| {', '.join(f'`{each.name}`' for each in as_there)} | | as for `{MODEL}` |\n")
    return OWN + "".join(rows) if rows else ""


def is_as_in_the_model(argument):
    model = ARGUMENTS[MODEL].get(argument.name)
    return model is not None and replace(model, listed=argument.listed) == argument


def default(argument):
    if argument.is_required:
        return " required"
    match argument.default:
        case None:
            return ""
        case bool():
            return f" {argument.default}".lower()
        case str():
            return f" `{argument.default}`"
        case number:
            return f" {number}"


def meaning(argument):
    if argument.value_type != "number":
        return argument.meaning
    bounds = f"{argument.lowest} to {argument.highest} {argument.unit}"
    return f"{bounds}: {argument.meaning}" if argument.meaning else bounds


def section(text, tool):
    """Returns a tool's section of the document."""
    begun = text.partition(f"\n## `{tool}`\n")[2]
    return re.split(r"^## ", begun, maxsplit=1, flags=re.MULTILINE)[0]


def table_in(text, heading):
    """Returns the first table with this heading; empty if there is none."""
    found = re.search(re.escape(heading) + r"(?:\|.*\n)*", text)
    return found[0] if found else ""


def written_anew(text):
    text = text.replace(table_in(text, COMMON), common_table())
    for tool in ARGUMENTS:
        old = section(text, tool)
        if table_in(old, OWN):
            text = text.replace(old, old.replace(table_in(old, OWN), own_table(tool)))
    return text


def test_the_tables_of_arguments_are_those_of_the_definitions():
    if os.environ.get("CODECOMPASS_UPDATE_GOLDENS"):
        DOCUMENT.write_text(written_anew(DOCUMENT.read_text()))
    text = DOCUMENT.read_text()

    assert table_in(text, COMMON) == common_table()
    for tool in ARGUMENTS:
        assert table_in(section(text, tool), OWN) == own_table(tool), tool


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_the_keys_of_an_answer_are_documented(tool):
    documented = section(DOCUMENT.read_text(), tool.name)

    assert {key for key in tool.output["properties"] if key != "metadata" and f"`{key}`" not in documented} == set()


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_every_argument_says_what_it_means(tool):
    assert [each.name for each in ARGUMENTS[tool].values() if not (each.meaning or each.unit)] == []
