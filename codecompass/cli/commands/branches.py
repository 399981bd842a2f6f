"""`codecompass branches`: the tool `list_refs` for people."""

from typing import Any

from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, tool_options

HELP = """
    List branches and tags, newest first, and which commits are indexed.

    Every question takes one of them as --ref, or a commit or a name like HEAD~3, and is answered about that commit without
    a checkout. The first question about a commit indexes it; storage.max_refs of them are kept.
"""


@make_command(
    "branches",
    text=HELP,
    examples=(
        Example("codecompass branches", "the newest branches and tags"),
        Example("codecompass branches --filter release -n 100", "only names that contain release"),
        Example("codecompass locate Session.close --ref v2.0", "a question about one of them"),
        Example("codecompass branches --json | jq -r '.indexed[].commit'", "the commits that are indexed"),
    ),
)
@tool_options("list_refs", "ref")
def command(invocation: Invocation, **arguments: Any) -> None:  # noqa: ANN401 - passed to decode
    """Prints the branches, tags and indexed commits."""
    from codecompass.cli.workspace import choose
    from codecompass.projects.ref_listing import list_refs, refs_of
    from codecompass.protocol.decode import decode
    from codecompass.protocol.encode import encode
    from codecompass.protocol.metadata import bare_metadata
    from codecompass.protocol.requests import ListRefs
    from codecompass.protocol.text import render

    options = invocation.options
    decoded = decode(ListRefs.tool, {**given(arguments), "project_id": options.project_id})
    assert isinstance(decoded.request, ListRefs)
    with invocation.registry() as registry:
        choice = choose(registry, workspace=options.workspace, name=options.project_id)
    metadata = bare_metadata(str(choice.root), decoded.warnings)
    layout = invocation.home.project(choice.project_id)
    reply = list_refs(decoded.request, choice.root, layout, refs_of(choice.root), metadata)
    if options.as_json:
        invocation.terminal.json(encode(reply))
    else:
        invocation.terminal.line(render(reply))
