"""`codecompass outline`: the tool `get_file_outline` for people."""

import sys
from pathlib import Path
from typing import Any

import asyncclick
import msgspec

from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, tool_options

HELP = """
    List what a file defines and imports, as a tree with line numbers.

    FILE is a path from here or from the project's directory.
"""


@make_command(
    "outline",
    text=HELP,
    examples=(
        Example("codecompass outline src/auth/jwt.py", "everything that the file defines"),
        Example("codecompass outline src/auth/jwt.py --depth top", "only the top level"),
        Example("codecompass outline main.go --json | jq -r '.symbols[].name'", "for programs"),
    ),
)
@asyncclick.argument("file", type=asyncclick.Path())
@tool_options("get_file_outline")
def command(invocation: Invocation, file: str, **arguments: Any) -> None:  # noqa: ANN401 - passed to decode
    """Prints the outline."""
    from codecompass.cli.answering import Question, answer
    from codecompass.cli.invocation import path_in_project
    from codecompass.cli.render import write_outline
    from codecompass.protocol.encode import encode
    from codecompass.protocol.replies import FileOutlineReply
    from codecompass.protocol.requests import GetFileOutline
    from codecompass.query.outline import get_file_outline

    def query(request: GetFileOutline, question: Question) -> FileOutlineReply:
        asked = msgspec.structs.replace(request, path=path_in_project(request.path, Path(question.state.workspace)))
        settings = question.settings
        if not invocation.options.as_json:
            # The limit saves agents' tokens; people get the whole outline.
            settings = msgspec.structs.replace(settings, max_outline_bytes=sys.maxsize)
        return get_file_outline(question.snapshot, asked, question.state, settings)

    found = answer(invocation, GetFileOutline, given({"path": file, **arguments}), query)
    if invocation.options.as_json:
        invocation.terminal.json(encode(found.reply))
        return
    write_outline(invocation.terminal, found.project.root, found.reply)
    if found.reply.metadata.commit:
        invocation.terminal.note(f"of {found.reply.metadata.ref}, commit {found.reply.metadata.commit}", "dim")
    if not found.reply.symbols and not found.reply.metadata.warnings:
        invocation.terminal.note("it defines nothing that is listed; its text is searchable", "dim")
    for warning in found.reply.metadata.warnings:
        invocation.terminal.warn(warning)
