"""What messages tell their reader to do: agents are told tools, people commands and options."""

import ast
import re
from pathlib import Path

import pytest

from codecompass import hints
from codecompass.transport.tools.listing import TOOLS

PACKAGE = Path(hints.__file__).parent

FOR_ONE_READER = (
    "cli/",  # people
    "protocol/requests.py",  # both, generated for each
    "protocol/text/",  # agents
    "transport/product/",
    "transport/tools/",
    "transport/bridge/",
    "transport/organisation/",
    "cluster/",  # an organisation's server, whose messages name who can help
)
"""Modules whose texts have one kind of reader."""

ARGUMENTS = re.compile(
    r"\b(?:[Pp]ass|[Rr]aise|[Ll]eave|larger) (?:another |a |the )?"
    r"(?:workspace|ref|limit|timeout_ms|path|project_id)\b(?! \(| of\b)"
)
COMMAND = re.compile(rf"\bcodecompass (?:{'|'.join(hints.COMMANDS.values())})\b")


def messages():
    """Yields the place and the text of every string in the package that names a tool, an argument or a command."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith(FOR_ONE_READER) or name == "hints.py":
            continue
        tree = ast.parse(path.read_text())
        inside, documented = set(), {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in documented | inside:
                continue
            if isinstance(node, ast.JoinedStr):
                inside |= {id(each) for each in ast.walk(node)}
                text = "".join(_written(each) for each in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            # `index_repository` has no command.
            if (
                " " in text
                and "repo_path" not in text
                and (any(tool.name in text for tool in TOOLS) or COMMAND.search(text) or ARGUMENTS.search(text))
            ):
                yield f"{name}:{node.lineno}", text


def _written(part):
    if isinstance(part, ast.Constant):
        return part.value
    expression = ast.unparse(part.value)
    return str(getattr(hints, expression[6:])) if expression.startswith("hints.") else "X"


MESSAGES = dict(messages())


@pytest.mark.parametrize("place", MESSAGES)
def test_people_are_told_no_tool_and_no_argument(place):
    told = hints.for_people(MESSAGES[place])

    assert not [tool.name for tool in TOOLS if re.search(rf"\b{tool.name}\b", told)]
    assert not ARGUMENTS.search(told)
    assert not re.search(r"[Cc]all again", told)


@pytest.mark.parametrize("place", MESSAGES)
def test_agents_are_told_no_command_where_they_have_a_tool(place):
    assert "on the command line" not in hints.for_agents(MESSAGES[place])


def test_of_a_hint_each_reader_is_told_one_form():
    text = f"It is damaged. Rebuild it: {hints.REBUILD}. Call again in 500 ms."

    assert hints.for_agents(text) == "It is damaged. Rebuild it: index_repo with force: true. Call again in 500 ms."
    assert hints.for_people(text) == "It is damaged. Rebuild it: codecompass index --force. Try again in a moment."
