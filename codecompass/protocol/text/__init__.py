"""Replies as plain text for models: what a person would want to read, and nothing else.

Text and JSON are the two forms of every answer, made from the same reply. The same reply gives the same text.
"""

from collections.abc import Iterator
from typing import Final, assert_never

from codecompass.protocol.decode import well_formed
from codecompass.protocol.difference_replies import DiffContextReply
from codecompass.protocol.replies import (
    CallGraphReply,
    CodeContextReply,
    DirectoryReply,
    ErrorReply,
    FileOutlineReply,
    FileTextReply,
    FindReferencesReply,
    LocateSymbolReply,
    PartsReply,
    RelatedSymbolsReply,
    Reply,
    SearchCodeReply,
    SymbolHierarchyReply,
    TypeHierarchyReply,
    UseCountsReply,
)
from codecompass.protocol.requests import MAX_LIMIT
from codecompass.protocol.state_replies import (
    HealthReply,
    IndexRepoReply,
    IndexRepositoryReply,
    IndexStatusReply,
    ListRefsReply,
    SyncRepoReply,
)
from codecompass.protocol.text.code import (
    context_entries,
    grouped,
    hierarchy_lines,
    hit_entries,
    location_lines,
    n_items_shown,
    one_line,
    outline_lines,
    place_of,
    related_lines,
)
from codecompass.protocol.text.commits import commit_lines
from codecompass.protocol.text.differences import difference_lines
from codecompass.protocol.text.graphs import graph_lines, type_lines
from codecompass.protocol.text.references import definition_lines, reference_lines
from codecompass.protocol.text.state import (
    error_lines,
    health_lines,
    job_lines,
    next_lines,
    note_lines,
    ref_lines,
    repository_lines,
    status_lines,
)

NOTHING: Final = "nothing found"
LEAST_MORE: Final = 10
"""The least limit to suggest if hits were cut."""

_INHERITED: Final = frozenset({"class", "struct", "trait", "interface"})
"""Kinds of definitions that types inherit from."""


def render(reply: Reply) -> str:
    """Returns `reply` as text: lines separated by `\\n`, without other line breaks and control characters."""
    return well_formed("\n".join(_lines(reply)))


def _lines(reply: Reply) -> Iterator[str]:
    match reply:
        case SearchCodeReply() | LocateSymbolReply():
            yield from _hits(reply)
        case CodeContextReply():
            yield from grouped(context_entries(reply.context_items))
            if not reply.context_items:
                yield NOTHING
            yield from context_notes(reply)
            return
        case DiffContextReply():
            yield from difference_lines(reply)
        case FileOutlineReply():
            yield f"{one_line(reply.file_path)} {reply.language}"
            yield from outline_lines(reply.symbols, reply.file_path)
            if not reply.symbols:
                yield "defines nothing that is listed; search_code finds its text"
        case FileTextReply():
            yield f"{one_line(reply.file_path)} {reply.language}"
            yield from (f"{number}:{one_line(line)}" for number, line in enumerate(reply.lines, reply.line_start))
            if more := reply.next_line:
                yield f"lines {reply.line_start} to {more - 1} of {reply.line_count}; more: line_start {more}"
        case DirectoryReply():
            yield from map(one_line, reply.names)
        case UseCountsReply():
            yield from (f"{each.line}:{one_line(each.name)} {each.uses}" for each in reply.counts)
        case SymbolHierarchyReply():
            yield from hierarchy_lines(reply.hierarchy)
            if reply.direction == "ancestors" and not any(node.depth for node in reply.hierarchy):
                inheriting = any(node.kind in _INHERITED for node in reply.hierarchy)
                types = "; types that inherit from it: relation subtypes" if inheriting else ""
                yield f"written in no other definition; what is written in it: direction descendants{types}"
        case FindReferencesReply():
            yield from reference_lines(reply)
            shown = reply.offset + len(reply.references)
            if shown < reply.total:
                yield f"{shown} of {reply.total}; more: offset {shown}"
        case CallGraphReply():
            yield from graph_lines(reply)
        case TypeHierarchyReply():
            yield from type_lines(reply)
        case RelatedSymbolsReply():
            if reply.definitions:
                for position, definition in enumerate(reply.definitions):
                    yield from definition_lines(definition)
                    yield from related_lines([symbol for symbol in reply.related if symbol.definition == position])
            else:
                anchor = reply.anchor
                yield f"near {anchor.kind} {one_line(anchor.name)}, {one_line(anchor.path)}:{anchor.line_start}"
                yield from related_lines(reply.related)
            if len(reply.related) < reply.total_found:
                yield _more(len(reply.related), reply.total_found)
        case IndexStatusReply():
            yield from status_lines(reply)
        case IndexRepoReply() | SyncRepoReply():
            yield from job_lines(reply)
        case IndexRepositoryReply():
            yield from repository_lines(reply)
        case HealthReply():
            yield from health_lines(reply)
        case ListRefsReply():
            yield from ref_lines(reply)
        case PartsReply():
            yield ", ".join(one_line(part.name) for part in reply.parts) or NOTHING
        case ErrorReply():
            yield from error_lines(reply.error)
        case _:
            assert_never(reply)
    yield from note_lines(reply.metadata)


def context_notes(reply: CodeContextReply) -> Iterator[str]:
    """Yields the lines below the code of a `get_code_context`."""
    metadata = reply.metadata
    if metadata.remaining_candidates:
        yield f"{metadata.returned} of {metadata.total_candidates}; more: a larger max_tokens"
    yield from note_lines(metadata)


def _hits(reply: SearchCodeReply | LocateSymbolReply) -> Iterator[str]:
    results = reply.results
    if reply.notice:
        yield one_line(reply.notice)
    commits = reply.commits if isinstance(reply, SearchCodeReply) else ()
    if commits:
        yield from commit_lines(commits)
    elif not results:
        if not reply.notice:
            yield NOTHING
    elif all(result.excerpt is not None and not result.excerpt.lines and not result.signature for result in results):
        yield from location_lines(results)
    else:
        yield from grouped(hit_entries(results))
    tail = _tail(reply)
    if tail:
        yield tail
    is_verbatim = isinstance(reply, SearchCodeReply) and reply.is_verbatim
    for reason in reply.metadata.ranking_reasons:
        path = one_line(place_of(results[reason.result_index]))
        near = "" if reason.near_in_meaning is None else f", near in meaning {reason.near_in_meaning}"
        how = "verbatim" if is_verbatim else f"exact {reason.exact_match_boost}, path {reason.path_affinity}{near}"
        yield f"{path}: score {reason.final_score}, {how}"
    if not results and not commits:
        yield from next_lines(reply.suggested_next_actions)


def _tail(reply: SearchCodeReply | LocateSymbolReply) -> str:
    """Returns how many of the lines, files or definitions are shown, and how to get the others; empty if all are.

    Ranked places are not counted: how many a search considers says nothing.
    """
    if not reply.next_offset and not reply.offset:
        return ""
    more = f"more: offset {reply.next_offset}" if reply.next_offset else ""
    return "; ".join(filter(None, [counted(reply), more]))


def counted(reply: SearchCodeReply | LocateSymbolReply) -> str:
    """Returns how many of all lines, files or definitions are shown; empty for ranked places, which are not counted."""
    unit = reply.unit if isinstance(reply, SearchCodeReply) else "definition"
    if unit == "place":
        return ""
    n_shown = sum(n_items_shown(result, unit) for result in reply.results)
    if isinstance(reply, SearchCodeReply) and unit == "commit":
        n_shown = len(reply.commits)
    total = f"{reply.total_candidates:,}"
    if isinstance(reply, SearchCodeReply) and not reply.is_counted:
        total = f"at least {total}"
    after = f" after the first {reply.offset:,}" if reply.offset else ""
    return f"{n_shown:,} of {total} {unit}s{after}"


def _more(n_shown: int, total: int) -> str:
    more = f"; more: limit {min(MAX_LIMIT, max(LEAST_MORE, 2 * n_shown))}" if n_shown < MAX_LIMIT else ""
    return f"{n_shown} of {total}{more}"
