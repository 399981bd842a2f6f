"""One indexed file: `get_file_outline`, the tree of its definitions and imports, and `read_file`, its text.

The outline is made from the facts alone. Both raise FileNotFound for a file that is not indexed, with similar paths.
"""

import difflib
import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from codecompass.errors import FileNotFound, InvalidInput
from codecompass.formatting import count
from codecompass.languages import described
from codecompass.languages.records import EXPORT
from codecompass.protocol.encode import encoded_size
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import DirectoryReply, FileOutlineReply, FileTextReply, OutlineNode
from codecompass.protocol.requests import DEFAULT_LINES_READ, MAX_LINE_NUMBER, GetFileOutline, ListDirectory, ReadFile
from codecompass.query.filters import chosen_files
from codecompass.query.metadata import answer_metadata
from codecompass.query.options import QueryOptions
from codecompass.query.path_globs import lines_of_path, plain_path, relative_to_root, without_lines
from codecompass.query.source_lines import cut, lines_of
from codecompass.query.words.query_words import query_words
from codecompass.query.words.retrieval import file_query
from codecompass.store.rows import FileRow, ImportRow, SymbolRow
from codecompass.store.snapshot import Snapshot

SIMILAR_PATHS: Final = 5
SIBLINGS: Final = 500
"""Files of one directory that an unknown name is compared with."""

ALIKE: Final = 0.6
"""Least similarity (0..1) of two file names of which one may be a misspelling."""

MAX_NAME: Final = 255
"""Longest possible file name; callers can send longer ones."""

LEAST_NODE_BYTES: Final = 50
"""No node is shorter than `{"kind":"fn","name":"f","line_start":1,"line_end":1}`."""

METADATA_BYTES: Final = 1000
"""An upper bound for the part of an answer that is not nodes."""

MAX_TEXT_CHARACTERS: Final = 1_000_000
"""Limit for the text in one answer to a request for more lines than by default: the largest file that is indexed by default."""

MAX_NAMES: Final = 1_000
"""Names in a directory that are listed."""

LINE_CHARACTERS: Final = 5_000
"""Longer lines are cut: nobody reads them."""


def get_file_outline(
    snapshot: Snapshot,
    request: GetFileOutline,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
) -> FileOutlineReply:
    """Returns the outline in source order; one that is too large loses its deepest levels first, then its last nodes.

    Raises FileNotFound for a path that is not indexed, with similar paths and, if it was skipped, the reason.
    """
    file = known_file(snapshot, request.path, state.workspace)
    symbols = snapshot.facts.symbols_in_file(file.id)
    imports = [row for row in snapshot.facts.imports_of(file.id) if row.kind != EXPORT]
    whole = _tree(symbols, imports, file.language)
    nodes = _pruned(whole, 1) if request.depth == "top" else whole
    n_nodes = _count(nodes)
    limit = request.limit or n_nodes
    shown = _fitting(nodes, limit, options.max_outline_bytes - METADATA_BYTES)
    n_shown = _count(shown)
    left_out = n_nodes - n_shown
    warnings = (f"{left_out} of {n_nodes} nodes are left out; ask with depth top",) if left_out else ()
    metadata = answer_metadata(snapshot, state, warnings=warnings, is_truncated=left_out > 0, is_partial=not file.is_parsed)
    is_limited = left_out > 0 and n_shown < limit
    return FileOutlineReply(
        file_path=file.path,
        language=file.language,
        symbols=shown,
        metadata=msgspec.structs.replace(metadata, symbol_count=n_shown, safety_limit_applied=is_limited),
    )


def read_file(
    snapshot: Snapshot,
    request: ReadFile,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
) -> FileTextReply:
    """Returns lines of a file from `line_start` on, or those behind its path; fewer if the file is shorter or the text would be
    too large, but always one.

    Raises FileNotFound, like `get_file_outline`, if the file is not indexed.
    """
    file = known_file(snapshot, request.path, state.workspace)
    asked = lines_of_path(request.path) if request.line_start == 1 and request.line_end is None else None
    first, wanted = asked or (request.line_start, request.line_end or MAX_LINE_NUMBER)
    length = max(1, file.line_count)
    warnings = (f"line {first} is behind the end; the last line is shown",) if first > length else ()
    first = min(first, length)
    wanted = min(max(first, wanted), file.line_count)
    last = min(wanted, first + request.limit - 1)
    kept: list[str] = []
    size, most = 0, MAX_TEXT_CHARACTERS if request.limit > DEFAULT_LINES_READ else options.max_result_bytes
    for line in lines_of(snapshot, file.id, first, last):
        shown = cut(line, LINE_CHARACTERS)
        size += len(shown) + 1
        if kept and size > most:
            break
        kept.append(shown)
    end = first + len(kept) - 1
    is_cut = end < wanted
    return FileTextReply(
        file_path=file.path,
        language=file.language,
        line_start=first,
        line_count=file.line_count,
        next_line=end + 1 if is_cut else 0,
        lines=tuple(kept),
        metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=is_cut),
    )


def list_directory(snapshot: Snapshot, request: ListDirectory, state: AnswerState) -> DirectoryReply:
    """Returns the names in a directory, at most MAX_NAMES. Raises FileNotFound if no indexed file is below it."""
    path = plain_path(request.path).strip("/") if request.path.strip("/. ") else ""
    names = snapshot.files().names_in(path)
    if path and not names:
        raise FileNotFound(f"no indexed file lies in {path[:200]}.", path=path)
    names.sort(key=lambda name: (not name.endswith("/"), name))
    return DirectoryReply(path=path, names=tuple(names[:MAX_NAMES]), total=len(names), metadata=answer_metadata(snapshot, state))


def known_file(snapshot: Snapshot, path: str, workspace: str) -> FileRow:
    """Returns the indexed file that a path refers to: relative, `./`, with backslashes, absolute within the workspace, or with
    lines behind it (`src/x.py:10`).

    Raises the same errors as `get_file_outline`.
    """
    relative = plain_path(relative_to_root(path.strip(), workspace)).removeprefix("/")
    file = snapshot.facts.file(relative) or snapshot.facts.file(without_lines(relative))
    if file is not None and file.status == "indexed":
        return file
    if (linked := _through_link(snapshot, relative, workspace)) is not None:
        return linked
    if file is not None:
        raise FileNotFound(
            f"{relative} is not indexed: {file.reason}. index_status with this path (on the command line: codecompass status "
            f"--path {relative}) says more.",
            path=relative,
            reason=file.reason,
        )
    several = _matching(snapshot, relative)
    if len(several) == 1 and (only := snapshot.facts.file(several[0])) is not None:
        return only
    if several:
        raise FileNotFound(
            f"{relative[:200]} means {count(len(several), 'file')}, and this is about one: {', '.join(several[:SIMILAR_PATHS])}"
            f"{', ...' if len(several) > SIMILAR_PATHS else ''}. search_code with this path and mode files lists them.",
            path=relative[:200],
            similar_paths=several[:SIMILAR_PATHS],
        )
    similar = similar_paths(snapshot, relative)
    hint = f" Similar: {', '.join(similar)}." if similar else " Search for it with search_code."
    raise FileNotFound(f"no indexed file has the path {relative[:200]}.{hint}", path=relative[:200], similar_paths=similar)


_MAX_LINK_PARTS: Final = 64
"""Directories of a path among which a link is looked for."""


def _through_link(snapshot: Snapshot, path: str, workspace: str) -> FileRow | None:
    """Returns the indexed file that a path leads to through a symbolic link within the workspace, None if it does not."""
    parts = without_lines(path).strip("/").split("/")
    for end in range(1, min(len(parts), _MAX_LINK_PARTS) + 1):
        link = "/".join(parts[:end])
        row = snapshot.facts.file(link)
        if row is None or row.reason != "symlink":
            continue
        target = os.path.relpath(os.path.realpath(os.path.join(workspace, link)), workspace)
        found = None if target.startswith("..") else snapshot.facts.file("/".join((target, *parts[end:])))
        return found if found is not None and found.status == "indexed" else None
    return None


def _matching(snapshot: Snapshot, path: str) -> list[str]:
    """Returns the indexed files that a glob matches or a directory contains, by path; none for a text that is neither."""
    files = snapshot.files()
    try:
        chosen = chosen_files(files, path) if path.strip("/") else b""
    except InvalidInput:
        return []
    return [found for found, is_chosen in zip(files.paths, chosen, strict=False) if is_chosen]


def similar_paths(snapshot: Snapshot, path: str) -> list[str]:
    """Returns a few indexed paths that may have been meant.

    First the same name elsewhere, then names with similar spelling in the same directory, then the words of the path.
    """
    directory, _, name = path.rstrip("/").rpartition("/")
    found = snapshot.facts.paths_ending(name, SIMILAR_PATHS) if name else []
    beside = {each.rpartition("/")[2]: each for each in snapshot.facts.paths_in(directory, SIBLINGS)}
    found += [beside[each] for each in difflib.get_close_matches(name[:MAX_NAME], beside, SIMILAR_PATHS, ALIKE)]
    # Without the suffix, which all Python files have in common.
    hits = snapshot.text.search_files(file_query(query_words(posixpath.splitext(path)[0])), SIMILAR_PATHS)
    files = snapshot.facts.indexed_files([hit.file_id for hit in hits])
    found += [files[hit.file_id].path for hit in hits if hit.file_id in files]
    return list(dict.fromkeys(found))[:SIMILAR_PATHS]


def _tree(symbols: Sequence[SymbolRow], imports: Sequence[ImportRow], language: str) -> tuple[OutlineNode, ...]:
    """Nests symbols in their parents, and imports in the definitions around them."""
    children: dict[int | None, list[tuple[int, int, OutlineNode]]] = {}
    known = {row.id for row in symbols}
    for imported, inner in _with_inner(symbols, imports):
        node = OutlineNode(
            kind="use",
            name=import_name(imported, language),
            line_start=imported.line_start,
            line_end=imported.line_end,
        )
        children.setdefault(None if inner is None else inner.id, []).append((imported.line_start, 0, node))
    # Parents come before their children, so in reverse order each node is made after its children.
    for row in reversed(symbols):
        inside = sorted(children.pop(row.id, ()), key=lambda item: item[:2])
        node = OutlineNode(
            kind=row.kind,
            name=row.name,
            line_start=row.line_start,
            line_end=row.line_end,
            visibility=row.visibility,
            signature=row.signature,
            children=tuple(item[2] for item in inside),
        )
        parent = row.parent_id if row.parent_id in known else None
        children.setdefault(parent, []).append((row.line_start, row.id, node))
    return tuple(item[2] for item in sorted(children.get(None, ()), key=lambda item: item[:2]))


def _with_inner(symbols: Sequence[SymbolRow], imports: Sequence[ImportRow]) -> Iterator[tuple[ImportRow, SymbolRow | None]]:
    """Yields each import, by line, with the innermost definition around it."""
    to_begin = sorted(symbols, key=lambda symbol: (symbol.line_start, symbol.id), reverse=True)
    begun: list[SymbolRow] = []
    for imported in sorted(imports, key=lambda item: item.line_start):
        while to_begin and to_begin[-1].line_start <= imported.line_start:
            begun.append(to_begin.pop())
        while begun and begun[-1].line_end < imported.line_start:
            begun.pop()
        yield imported, next((symbol for symbol in reversed(begun) if symbol.line_end >= imported.line_end), None)


def _fitting(nodes: tuple[OutlineNode, ...], limit: int, max_bytes: int) -> tuple[OutlineNode, ...]:
    """Returns the tree down to the deepest level within both limits; if even the top level is too large, its beginning."""
    # The number of nodes rules out most depths of a large tree before any is built.
    fitting = min(limit, max_bytes // LEAST_NODE_BYTES)
    for depth in range(sum(1 for n_nodes in _counts(nodes) if n_nodes <= fitting), 0, -1):
        pruned = _pruned(nodes, depth)
        if encoded_size(pruned) <= max_bytes:
            return pruned
    kept: list[OutlineNode] = []
    size = 2
    for node in _pruned(nodes, 1)[:limit]:
        size += encoded_size(node) + 1
        if size > max_bytes:
            break
        kept.append(node)
    return tuple(kept)


def _pruned(nodes: Iterable[OutlineNode], depth: int) -> tuple[OutlineNode, ...]:
    return tuple(
        node
        if not node.children
        else msgspec.structs.replace(node, children=_pruned(node.children, depth - 1) if depth > 1 else ())
        for node in nodes
    )


def _counts(nodes: Sequence[OutlineNode]) -> Iterator[int]:
    """Yields the number of nodes down to each depth, starting with the first level."""
    n_nodes = 0
    level = list(nodes)
    while level:
        n_nodes += len(level)
        yield n_nodes
        level = [child for node in level for child in node.children]


def _count(nodes: Sequence[OutlineNode]) -> int:
    return max(_counts(nodes), default=0)


def import_name(row: ImportRow, language: str) -> str:
    """Returns the name of one import, with its alias if it has one."""
    alias = f" as {row.alias}" if row.alias and row.alias != row.name else ""
    traits = described(language)
    if traits.display.imports == "from":
        return _from_form(row, alias)
    if row.kind == "system":
        return f"<{row.spec}>"
    if not row.name:
        return row.spec + alias
    separator = traits.separator
    glue = "" if not row.spec or row.spec.endswith(separator) else separator
    return f"{row.spec}{glue}{row.name}{alias}"


def _from_form(row: ImportRow, alias: str) -> str:
    if not row.name:
        return f"{row.alias} from {row.spec}" if row.alias else row.spec
    if row.name == "default" and row.alias:
        return f"{row.alias} from {row.spec}"
    return f"{row.name}{alias} from {row.spec}"
