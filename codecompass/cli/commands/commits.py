"""The commands about commits: `branches` and `diff`, the tools `list_refs` and `diff_context` for people."""

from typing import Any

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, tool_argument, tool_options


@command(
    "branches",
    text="""
    List branches and tags, newest first, and which commits are indexed.

    Every question takes one of them as --ref, or a commit or a name like HEAD~3, and is answered about that commit without
    a checkout. The first question about a commit indexes it; storage.max_refs of them are kept.
    """,
    examples=(
        Example("codecompass branches", "the newest branches and tags"),
        Example("codecompass branches --filter release -n 100", "only names that contain release"),
        Example("codecompass locate Session.close --ref v2.0", "a question about one of them"),
        Example("codecompass branches --json | jq -r '.indexed[].commit'", "the commits that are indexed"),
    ),
)
@tool_options("list_refs", "ref")
def branches(invocation: Invocation, **arguments: Any) -> None:  # noqa: ANN401 - passed to decode
    """Prints the branches, tags and indexed commits."""
    from codecompass.actors.commits import list_refs, refs_of
    from codecompass.cli.workspace import choose
    from codecompass.protocol.decode import decode
    from codecompass.protocol.metadata import bare_metadata
    from codecompass.protocol.requests import ListRefs

    options = invocation.options
    decoded = decode(ListRefs.tool, {**given(arguments), "project_id": options.project_id})
    assert isinstance(decoded.request, ListRefs)
    with invocation.registry() as registry:
        choice = choose(registry, options)
    metadata = bare_metadata(str(choice.root), decoded.warnings)
    layout = invocation.home.project(choice.project_id)
    reply = list_refs(decoded.request, choice.root, layout, refs_of(choice.root), metadata)
    invocation.print_reply(reply)


@command(
    "diff",
    text="""
    Show what differs from another commit, by definitions: what was added, removed, changed, renamed or moved, the lines
    that differ, who uses it outside of the differences, and whether its tests changed.

    BASE is a branch, a tag or a commit; without it, the commit at which the branch left the default branch. The other side
    is the working tree, with what is not committed and with new files, or the commit of --ref. What others depend on comes
    first. The exit code is
    0 whether anything differs or not.
    """,
    examples=(
        Example("codecompass diff", "what this branch changes"),
        Example("codecompass diff HEAD", "what is not committed"),
        Example("codecompass diff v2.0 --ref v2.1 -p 'src/**'", "two commits, some files"),
        Example("codecompass diff main --symbol Session.close", "both versions of one definition"),
        Example("codecompass diff --json | jq '.items[] | select(.users_outside > 0)'", "for programs"),
    ),
)
@tool_argument("diff_context", "base", required=False, metavar="[BASE]")
@asyncclick.option("--head", hidden=True, help="The same as --ref, as earlier versions had it.")
@tool_options("diff_context", "base", "head")
def diff(invocation: Invocation, base: str | None, **arguments: Any) -> int:  # noqa: ANN401 - passed to decode
    """Prints the differences."""
    from codecompass.actors.asking import run_query
    from codecompass.cli.answering import answer
    from codecompass.cli.render import write_differences
    from codecompass.protocol.difference_replies import DiffContextReply
    from codecompass.protocol.requests import DiffContext

    reply = answer(invocation, DiffContext, given({"base": base, **arguments}), run_query).reply
    assert isinstance(reply, DiffContextReply)
    if invocation.options.as_json:
        invocation.print_json(reply)
    else:
        write_differences(invocation.terminal, reply)
    return failure.DONE
