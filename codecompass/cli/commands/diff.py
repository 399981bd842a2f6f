"""`codecompass diff`: the tool `diff_context` for people."""

from typing import Any

from codecompass.cli import failure
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import given, tool_argument, tool_options

HELP = """
    Show what differs from another commit, by definitions: what was added, removed, changed, renamed or moved, the lines
    that differ, who uses it outside of the differences, and whether its tests changed.

    BASE is a branch, a tag or a commit; without it, the commit at which the branch left the default branch. The other side
    is the working tree, with what is not committed and with new files. What others depend on comes first. The exit code is
    0 whether anything differs or not.
"""


@make_command(
    "diff",
    text=HELP,
    examples=(
        Example("codecompass diff", "what this branch changes"),
        Example("codecompass diff HEAD", "what is not committed"),
        Example("codecompass diff v2.0 --head v2.1 -p 'src/**'", "two commits, some files"),
        Example("codecompass diff main --symbol Session.close", "both versions of one definition"),
        Example("codecompass diff --json | jq '.items[] | select(.users_outside > 0)'", "for programs"),
    ),
)
@tool_argument("diff_context", "base", required=False, metavar="[BASE]")
@tool_options("diff_context", "base")
def command(invocation: Invocation, base: str | None, **arguments: Any) -> int:  # noqa: ANN401 - passed to decode
    """Prints the differences."""
    from codecompass.cli.answering import Question, answer
    from codecompass.cli.differences import write_differences
    from codecompass.protocol.difference_replies import DiffContextReply
    from codecompass.protocol.encode import encode
    from codecompass.protocol.requests import DiffContext
    from codecompass.query.diff_context import diff_context

    def query(request: DiffContext, question: Question) -> DiffContextReply:
        assert question.settings.difference is not None
        return diff_context(
            question.snapshot, request, question.settings.difference, question.state, question.settings, question.is_expired
        )

    reply = answer(invocation, DiffContext, given({"base": base, **arguments}), query).reply
    if invocation.options.as_json:
        invocation.terminal.json(encode(reply))
    else:
        write_differences(invocation.terminal, reply)
    return failure.DONE
