"""Runs the queries of `search` and `locate`, and writes their replies as text or JSON."""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, assert_never

from msgspec.structs import replace

from codecompass import formatting
from codecompass.actors.asking import QueryContext
from codecompass.cli.answering import answer, answer_several
from codecompass.cli.invocation import Invocation
from codecompass.cli.render import write_hits
from codecompass.cli.terminal import cut, printable
from codecompass.cli.tool_options import comma_separated
from codecompass.errors import InvalidInput
from codecompass.hints import COMMANDS, for_people
from codecompass.protocol.decode import ORGANISATION
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import PathExplanation
from codecompass.protocol.replies import LocateSymbolReply, NextAction, Result, SearchCodeReply
from codecompass.protocol.requests import SEARCH_MODES, LocateSymbol, SearchCode
from codecompass.protocol.text import counted
from codecompass.query.source_lines import lines_of
from codecompass.store.snapshot import Snapshot


def sentence(explained: PathExplanation) -> str:
    """Returns what --why-not found out about the file, as a sentence."""
    path = printable(explained.path)
    match explained.verdict:
        case "shown":
            said = f"{path} is hit {explained.rank} of {explained.total}"
        case "below_the_limit":
            said = f"{path} is place {explained.rank} of {explained.total}, below the last hit shown; see more with -n"
        case "not_among_the_candidates":
            found = formatting.count(explained.total, "place")
            said = f"{path} has words of the query, but too few to be among the {found} that were compared"
        case "no_match":
            said = f"{path} has nothing of the query"
        case "filtered_out":
            said = f"{path} is left out by --path, --language or --kind"
        case "skipped":
            said = f"{path} is not indexed: {explained.skip_reason}"
        case "not_indexed":
            said = f"{path} is not in the index, or is the end of several paths; ask: codecompass status --path {path}"
        case _:
            assert_never(explained.verdict)
    if explained.missing_words:
        said += f"; it lacks: {printable(', '.join(explained.missing_words))}"
    return said


MAX_ECHO_COLUMNS: Final = 200
"""How much of a query without hits is repeated in the message; the query may be a pasted page."""


def search_text(
    invocation: Invocation, text: str, options: Mapping[str, object], several: tuple[str, ...] = (), shown: str = ""
) -> bool:
    """Runs what a typed text asks for, with the options given beside it, and prints the reply as `search` does.

    Raises InvalidInput for a text that consists of `case:` alone.
    """
    mode = next((each for each in SEARCH_MODES if each == options.get("mode", "auto")), None)
    if mode is None:
        # Refused below, with the mode that may be meant.
        return search(invocation, {**options, "query": text}, several, shown=shown)
    from codecompass.query.query_language import NOTHING_SOUGHT, parse_query

    parsed = parse_query(text, mode)
    if parsed.is_empty and text.strip():
        raise InvalidInput(NOTHING_SOUGHT, field="query")
    named = (*several, *(name for each in parsed.projects for name in comma_separated(each)))
    arguments = parsed.arguments({**options, "query": text})
    if parsed.history is not None:
        from codecompass.cli.history import search_commits  # loads git's modules

        return search_commits(invocation, arguments, named)
    if parsed.tool == LocateSymbol.tool:
        return locate(invocation, arguments, named)
    return search(invocation, arguments, named, shown=shown)


def search(
    invocation: Invocation,
    arguments: Mapping[str, object],
    several: tuple[str, ...] = (),
    *,
    as_lines: bool = False,
    around: tuple[int, int] = (0, 0),
    shown: str = "",
) -> bool:
    """Runs `search_code` on the command's project, or on `several`, and prints the reply; returns whether anything was found.

    `as_lines` prints the lines that match and nothing else; `around` is how many lines to print before and after each of them;
    `shown` is what the user calls the query.
    """
    from codecompass.query.search import search_code

    text = str(arguments["query"])
    pattern = _pattern(text, str(arguments.get("mode", "auto")))
    if several:
        return _write_several(invocation, SearchCode.tool, arguments, several, pattern, shown or text)
    surroundings: dict[str, dict[int, str]] = {}
    searched: list[str] = []

    def query(request: SearchCode, context: QueryContext) -> SearchCodeReply:
        options = replace(context.options, shows_lines=True) if as_lines else context.options
        reply = search_code(context.snapshot, request, context.state, options, context.is_expired)
        if not reply.results:
            searched.append(searched_files(context.snapshot))
        if any(around):
            surroundings.update(_lines_around(context.snapshot, reply.results, *around))
        return reply

    found = answer(invocation, SearchCode, arguments, query)
    is_as_typed = shown in ("", text)
    root = found.project.root
    return _write(
        invocation, {"": root}, found.reply, pattern, shown or text, surroundings, is_as_typed=is_as_typed, searched=searched
    )


def searched_files(snapshot: Snapshot) -> str:
    """Returns which files a search without hits went through, what was left out and why, and how to see more of that."""
    skipped = [(number, reason.replace("_", " ")) for reason, number in snapshot.facts.skipped_by_reason()]
    why = ", ".join(f"{reason} {number:,}" for number, reason in sorted(skipped, key=lambda each: (-each[0], each[1])))
    n_files = snapshot.meta.file_count
    if n_files:
        left_out = f"; left out: {why}" if why else ""
        return f"{formatting.count(n_files, 'file')} searched{left_out}; why one is not: codecompass status FILE"
    if why:
        return f"no file of this project is indexed; left out: {why}. What and why: codecompass index --dry-run"
    return "this project has no files to index: all are ignored, or there are none. See: codecompass index --dry-run"


def _lines_around(snapshot: Snapshot, results: Sequence[Result], before: int, after: int) -> dict[str, dict[int, str]]:
    """Returns the lines around the matching lines of each file, with those themselves, by path and number."""
    found: dict[str, dict[int, str]] = {}
    for result in results:
        file = snapshot.facts.file(result.path)
        if file is None or result.excerpt is None:
            continue
        lines = found.setdefault(result.path, {})
        for match in result.excerpt.lines:
            first = max(1, match.line - before)
            lines.update(enumerate(lines_of(snapshot, file.id, first, match.line + after), first))
    return found


def locate(invocation: Invocation, arguments: Mapping[str, object], several: tuple[str, ...] = ()) -> bool:
    """Runs `locate_symbol` and prints the reply, as `search` does."""
    from codecompass.query.locate import locate_symbol

    name = str(arguments["name"])
    if several:
        return _write_several(invocation, LocateSymbol.tool, arguments, several, None, name)

    searched: list[str] = []

    def query(request: LocateSymbol, context: QueryContext) -> LocateSymbolReply:
        reply = locate_symbol(context.snapshot, request, context.state, context.options, context.is_expired)
        if not reply.results:
            searched.append(searched_files(context.snapshot))
        return reply

    found = answer(invocation, LocateSymbol, arguments, query)
    return _write(invocation, {"": found.project.root}, found.reply, None, name, searched=searched)


def _write_several(
    invocation: Invocation,
    tool: str,
    arguments: Mapping[str, object],
    several: tuple[str, ...],
    pattern: re.Pattern[str] | None,
    asked: str,
) -> bool:
    reply = answer_several(invocation, tool, arguments, several)
    assert isinstance(reply, SearchCodeReply | LocateSymbolReply)
    here = (part for part in reply.metadata.projects if not part.name.startswith(ORGANISATION))
    return _write(invocation, {part.name: Path(part.root) for part in here}, reply, pattern, asked)


def _write(
    invocation: Invocation,
    roots: Mapping[str, Path],
    reply: SearchCodeReply | LocateSymbolReply,
    pattern: re.Pattern[str] | None,
    asked: str,
    around: Mapping[str, Mapping[int, str]] | None = None,
    *,
    is_as_typed: bool = True,
    searched: Sequence[str] = (),
) -> bool:
    terminal = invocation.terminal
    if invocation.options.as_json:
        invocation.print_json(reply)
        return bool(reply.results)
    if reply.notice:
        terminal.note(printable(for_people(reply.notice)))
    write_hits(terminal, roots, reply.results, pattern, around or {})
    if reply.metadata.commit:
        terminal.note(f"of {printable(reply.metadata.ref)}, commit {reply.metadata.commit}", "dim")
    if reply.results and terminal.width is not None and _has_notes(reply):
        terminal.line()
    for warning in reply.metadata.warnings:
        terminal.warn(warning)
    if not reply.results:
        terminal.note(f"nothing found for '{cut(printable(asked), MAX_ECHO_COLUMNS)}'")
        for line in searched[-1:]:
            terminal.note(line, "dim")
    elif reply.next_offset:
        terminal.note(f"{counted(reply)}; see more with -n" if counted(reply) else "there are more; see them with -n", "dim")
    if reply.metadata.freshness_status != "fresh" and not reply.metadata.warnings:
        terminal.warn(f"files have changed since the index was built ({reply.metadata.freshness_status})")
    if reply.metadata.result_completeness == "partial" and not reply.metadata.warnings:
        # If a scan was cut short, one of the warnings says so.
        terminal.warn("the answer is not complete: some files have no symbols in the index yet")
    # A query that options have made into another one is nothing to type.
    if not reply.results and len(asked) <= MAX_ECHO_COLUMNS and is_as_typed:
        for action in reply.suggested_next_actions:
            terminal.note(f"try: {_command_line(action)}", "dim")
    for reason in reply.metadata.ranking_reasons:
        terminal.note(f"{reason.result_index + 1}: {encode(reason).decode()}", "dim")
    explained = reply.metadata.why_not
    if explained is not None:
        terminal.note(sentence(explained))
        if explained.reason is not None:
            terminal.note(f"{explained.rank}: {encode(explained.reason).decode()}", "dim")
    return bool(reply.results)


def _has_notes(reply: SearchCodeReply | LocateSymbolReply) -> bool:
    """Whether anything is said of the answer below its hits."""
    state = reply.metadata
    is_whole = state.freshness_status == "fresh" and state.result_completeness == "complete"
    return bool(state.warnings or reply.next_offset or not is_whole or state.ranking_reasons or state.why_not is not None)


def _pattern(query: str, mode: str) -> re.Pattern[str] | None:
    """Returns the pattern to highlight in the lines of a hit; None if there is nothing to highlight."""
    if mode == "auto":
        from codecompass.query.excerpts import word_pattern

        return word_pattern(query)
    try:
        return re.compile(query if mode == "regex" else re.escape(query))
    except re.error:
        return None  # valid for RE2 but not for `re`: nothing is highlighted


def _command_line(action: NextAction) -> str:
    """Returns the command line for `action`, quoted for a shell."""
    words = ["codecompass", COMMANDS.get(action.tool, action.tool)]
    words += ["--mode", action.mode] if action.mode else []
    words += ["-n", str(action.limit)] if action.limit else []
    asked = action.query or action.name or action.path
    words += ["--", asked] if asked.startswith("-") else [asked] if asked else []
    return printable(shlex.join(words))
