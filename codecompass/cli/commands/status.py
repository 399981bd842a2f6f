"""`codecompass status`: the tool `index_status` for people, and why one file is or is not indexed."""

from datetime import datetime
from typing import TYPE_CHECKING, Final

import asyncclick

from codecompass import formatting
from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation, path_in_project
from codecompass.cli.terminal import Style, printable, write_pairs
from codecompass.cli.tool_options import given, tool_options

if TYPE_CHECKING:
    from codecompass.cli.workspace import Choice
    from codecompass.protocol.state_replies import IndexStatusReply

LISTED: Final = 6
"""Languages or reasons that are listed by name; the JSON has all of them."""

_STATES: Final[dict[str, tuple[Style, ...]]] = {
    "ready": ("green", "bold"),
    "indexing": ("cyan", "bold"),
    "failed": ("red", "bold"),
    "not_indexed": ("yellow", "bold"),
    "fresh": ("green",),
    "stale": ("yellow",),
    "syncing": ("cyan",),
    "published": ("green",),
    "interrupted": ("yellow",),
}


@command(
    "status",
    text="""
    Show what is indexed, how fresh it is, what was left out and why, and the last jobs.

    Changes nothing: a directory that is not indexed stays so, and the exit code is then 3. With FILE, say of one file
    whether it is indexed, and if not, which rule leaves it out.
    """,
    examples=(
        Example("codecompass status", "this project"),
        Example("codecompass status dist/app.js", "why a file is not found"),
        Example("codecompass status --json | jq .skipped", "how many files were left out, by reason"),
    ),
)
@asyncclick.argument("file", required=False, type=asyncclick.Path())
@asyncclick.option("--path", "-p", "path", hidden=True, help="The same as the argument FILE, as earlier versions had it.")
@tool_options("index_status", "path")
def status(invocation: Invocation, file: str | None, path: str | None, ref: str | None) -> int:
    """Prints the status; the exit code is 3 if the project, or the file, is not indexed."""
    path = path if file is None else file
    from codecompass.cli.project_state import index_status_reply
    from codecompass.cli.workspace import choose
    from codecompass.protocol.decode import decode
    from codecompass.protocol.requests import IndexStatus

    options = invocation.options
    with invocation.registry() as registry:
        choice = choose(registry, options)
        settings = invocation.settings_for(choice.root)
        relative = None if path is None else path_in_project(path, choice.root)
        decoded = decode("index_status", given({"path": relative, "ref": ref, "project_id": options.project_id}))
        assert isinstance(decoded.request, IndexStatus)
        reply = index_status_reply(invocation, registry, choice, settings, decoded.request)
    if options.as_json:
        invocation.print_json(reply)
    elif relative is not None:
        return _explain(invocation, choice, relative, reply)
    else:
        _write(invocation, choice, reply)
    return failure.NOT_FOUND if reply.index_status == "not_indexed" else failure.DONE


def _explain(invocation: Invocation, choice: "Choice", path: str, reply: "IndexStatusReply") -> int:
    from codecompass.actors.index_limits import index_limits
    from codecompass.scan.explain import explain
    from codecompass.scan.git_repository import bare_repository_at

    terminal = invocation.terminal
    limits = index_limits(invocation.settings_for(choice.root).index)
    file = reply.file
    is_there = file is not None and file.status == "indexed"
    if bare_repository_at(str(choice.root)) is not None:
        # There are no files that could be explained.
        reason = "" if file is None or is_there else f": {file.reason}"
        terminal.line(
            f"{printable(path)}: it is {'indexed' if is_there else 'not indexed'} from HEAD of this bare repository{reason}"
        )
        return failure.DONE if is_there else failure.NOT_FOUND
    explanation = explain(str(choice.root), path, limits.rules, max_line_characters=limits.max_line_characters)
    is_wanted = explanation.verdict == "indexed"
    if is_wanted and not is_there:
        terminal.line(f"{printable(path)}: it belongs into the index and is not in it yet")
        terminal.note("next: codecompass sync", "dim")
        return failure.NOT_FOUND
    terminal.line(explanation.sentence)
    if file is not None and is_there:
        facts = [file.language, formatting.size(file.size or 0), formatting.count(file.line_count or 0, "line")]
        facts.append(formatting.count(file.symbol_count or 0, "symbol") + (f" ({file.reason})" if file.reason else ""))
        terminal.line("  " + terminal.style(", ".join(facts), "dim"))
        if not is_wanted:
            terminal.note("it is still in the index. Next: codecompass sync", "dim")
    return failure.DONE if is_there else failure.NOT_FOUND


def _write(invocation: Invocation, choice: "Choice", reply: "IndexStatusReply") -> None:
    from codecompass.store.epochs import compatibility
    from codecompass.store.filesystem import disk_usage

    terminal = invocation.terminal

    def styled(word: str) -> str:
        return terminal.style(word.replace("_", " "), *_STATES.get(word, ("yellow",)))

    name = "" if choice.project is None else f"  {terminal.style(choice.name, 'bold')}"
    terminal.line(terminal.style(printable(reply.repo_root), "bold") + name)
    terminal.line()
    state = styled(reply.index_status)
    if reply.index_status not in ("not_indexed", "failed"):
        state += f", {styled(reply.metadata.freshness_status)}"
    pairs = [("index", f"{state}, on {printable(reply.ref)}")]
    if compatibility(invocation.home.project(choice.project_id)).is_newer:
        pairs.append(("", "written by a newer codecompass; next: upgrade this program"))
    elif reply.schema_status == "reindex_required":
        pairs.append(("", "of an older version; the next question rebuilds it, or: codecompass index"))
    elif reply.schema_status == "corrupt_manifest":
        pairs.append(("", f"{styled(reply.schema_status)}; next: codecompass index --force"))
    if reply.last_indexed_at:
        disk = disk_usage(invocation.home.project(choice.project_id).root)
        times = f" ({disk / reply.source_bytes:.1f} times the source)" if reply.source_bytes else ""
        pairs += [
            (
                "content",
                f"{formatting.count(reply.file_count, 'file')}, {formatting.count(reply.symbol_count, 'symbol')}, "
                f"{formatting.size(reply.source_bytes)} of source",
            ),
            ("built", f"{_ago(reply.last_indexed_at)}, generation {reply.metadata.generation}"),
            ("disk", formatting.size(disk) + times),
            ("languages", _listed(reply.languages) or "none"),
            ("left out", _listed(reply.skipped) or "nothing"),
        ]
    if reply.text_only:
        pairs.append(("text only", _listed(reply.text_only)))
    if reply.encodings:
        pairs.append(("encodings", _listed(reply.encodings)))
    if reply.long_lines:
        pairs.append(("without", f"{formatting.count(reply.long_lines, 'line')} longer than index.max_line_length"))
    if reply.pending_files:
        pairs.append(("waiting", f"{formatting.count(reply.pending_files, 'file')} still without symbols"))
    if reply.active_job is not None:
        job = reply.active_job
        done = f"{job.estimated_completion_pct} %, {job.files_indexed:,} of {job.files_scanned:,} files"
        pairs.append(("now", f"{styled(job.status)} {job.mode} job {job.job_id}: {done}"))
    if reply.semantic is not None:
        from codecompass.protocol.text.state import semantic_line

        pairs.append(("by meaning", printable(semantic_line(reply.semantic))))
    if reply.recent_jobs:
        lines = [
            f"{_ago(job.created_at):<16} {job.mode:<11} {styled(job.status)}"
            + (f" in {formatting.duration(job.duration_ms / 1000)}" if job.duration_ms is not None else "")
            + (f", {formatting.count(job.changed_files, 'file')}" if job.changed_files else "")
            + (f": {printable(job.error_message)}" if job.error_message else "")
            for job in reply.recent_jobs
        ]
        pairs.append(("jobs", "\n".join(lines)))
    write_pairs(terminal, pairs)
    for warning in reply.metadata.warnings:
        terminal.warn(warning)
    interrupted = reply.interrupted_recovery_report
    if interrupted is not None:
        jobs = formatting.count(interrupted.interrupted_jobs, "job")
        terminal.warn(f"{jobs} ended with the process, last seen {_ago(interrupted.last_interrupted_at)}. Run: codecompass sync")
    if reply.index_status == "not_indexed":
        terminal.note("next: codecompass index", "dim")


def _listed(counts: dict[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{name.replace('_', ' ')} {number:,}" for name, number in ordered[:LISTED]]
    rest = ordered[LISTED:]
    if rest:
        named.append(f"{sum(number for _, number in rest):,} in {len(rest)} more")
    return ", ".join(named)


def _ago(moment: str) -> str:

    return formatting.ago(datetime.fromisoformat(moment).timestamp())
