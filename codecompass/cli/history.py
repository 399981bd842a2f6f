"""`codecompass search` with `type:commit` or `type:diff`: the commits of a project, or of several, as text or JSON."""

import time
from collections.abc import Mapping

from codecompass.actors.history_answers import HistoryLimits, answer_from_history
from codecompass.cli.answering import answer_several
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import Terminal, cut, printable
from codecompass.cli.workspace import choose
from codecompass.protocol.decode import decode
from codecompass.protocol.replies import CommitHit, SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.protocol.text import counted
from codecompass.protocol.text.commits import DAY, SHORT_ID
from codecompass.query.commit_question import commit_question
from codecompass.units import MILLISECONDS


def search_commits(invocation: Invocation, arguments: Mapping[str, object], several: tuple[str, ...] = ()) -> bool:
    """Prints the commits that a query asks for; returns whether there are any. Nothing is indexed or registered.

    Raises what `choose`, `commit_question` and `answer_from_history` raise.
    """
    if several:
        reply = answer_several(invocation, SearchCode.tool, arguments, several)
        assert isinstance(reply, SearchCodeReply)
    else:
        reply = _of_one(invocation, arguments)
    if invocation.options.as_json:
        invocation.print_json(reply)
        return bool(reply.commits)
    terminal = invocation.terminal
    for index, hit in enumerate(reply.commits):
        if index and (hit.message_lines or hit.changed_lines):
            terminal.line()
        _write(terminal, hit)
    for warning in reply.metadata.warnings:
        terminal.warn(warning)
    if not reply.commits:
        terminal.note("no commit found")
    elif reply.next_offset:
        terminal.note(f"{counted(reply)}; see more with -n", "dim")
    return bool(reply.commits)


def _of_one(invocation: Invocation, arguments: Mapping[str, object]) -> SearchCodeReply:
    options = invocation.options
    decoded = decode(SearchCode.tool, {**arguments, "project_id": options.project_id})
    request = decoded.request
    assert isinstance(request, SearchCode)
    with invocation.registry() as registry:
        choice = choose(registry, options)
    query = invocation.settings_for(choice.root).query
    return answer_from_history(
        request,
        commit_question(request, time.time()),
        choice.root,
        HistoryLimits(default_limit=query.default_limit, seconds=query.timeout_ms * MILLISECONDS),
        name=choice.name,
        schema_name=choice.schema_name if options.project_id is not None else "",
        warnings=decoded.warnings,
    )


def _write(terminal: Terminal, hit: CommitHit) -> None:
    label = f"{printable(hit.project)}:" if hit.project else ""
    heading = f"{hit.date[:DAY]} {printable(hit.author)}: {printable(hit.subject)}"
    terminal.line(label + terminal.style(hit.commit[:SHORT_ID], "yellow") + " " + heading)
    for line in hit.message_lines:
        if line.text.strip() != hit.subject.strip():
            _write_line(terminal, terminal.style(f"message:{line.line}:", "cyan"), f" {line.text}")
    for changed in hit.changed_lines:
        place = terminal.style(f"{printable(changed.path)}:{changed.line}:", "cyan")
        mark = terminal.style(changed.side, "green" if changed.side == "+" else "red")
        _write_line(terminal, place + mark, changed.text)
    if hit.n_omitted:
        terminal.line(terminal.style(f"… {hit.n_omitted:,} more lines", "dim"))


def _write_line(terminal: Terminal, place: str, text: str) -> None:
    terminal.line("  " + place + printable(cut(text.expandtabs(4), terminal.width)))
