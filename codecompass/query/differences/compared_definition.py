"""The old and the new version of one definition side by side, whether they differ or not."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.errors import AmbiguousSymbol
from codecompass.languages.records import Symbol
from codecompass.protocol.decode import well_formed
from codecompass.protocol.difference_replies import DiffVersion
from codecompass.query.differences.definition_changes import DefinitionChange, FileDefinitions
from codecompass.query.differences.file_versions import DefinitionNode, FileVersion, TreeDifference, VersionedDefinition, nodes_of
from codecompass.query.names.exact_names import is_handle, symbol_of_handle
from codecompass.query.names.named_locations import asked_lines
from codecompass.query.source_lines import lines_of
from codecompass.query.uses.chosen_symbol import MAX_SYMBOLS, choose_symbols, resolve_symbol
from codecompass.query.words.query_words import name_parts
from codecompass.scan.files import printable
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_LINES: Final = 400
"""Limit for one version."""

SHOWN_CANDIDATES: Final = 10

UNCHANGED: Final = "this definition is the same on both sides"
INNER_DIFFERS: Final = "its own lines are the same on both sides; only definitions inside it differ"
UNCHANGED_INDEXED: Final = "the file of this definition does not differ; it is shown as it is in the working tree"


class Versions(Struct, frozen=True, kw_only=True):
    """The versions of a definition, None for a side that does not have it. `change` is `unchanged` if both are equal."""

    change: str
    old: DiffVersion | None
    new: DiffVersion | None
    warnings: tuple[str, ...] = ()


def compared_definitions(
    snapshot: Snapshot,
    name: str,
    difference: TreeDifference,
    found: Sequence[FileDefinitions],
    root: str,
    is_expired: Callable[[], bool],
) -> list[tuple[DefinitionChange, Versions]]:
    """Returns the definitions with this name, `symbol_id` or place, each with its two versions; if some of them differ, those.

    `root` is that of the workspace, for absolute paths.

    Raises SymbolNotFound; AmbiguousSymbol for more than MAX_SYMBOLS.
    """
    known = symbol_of_handle(snapshot, name) if is_handle(name) else None
    if known is None and asked_lines(name) is not None:
        known = resolve_symbol(snapshot, name, root, is_expired)
    fits = _fitting(name, known)
    changed = [
        change for file in found for change in file.changes if any(fits(side) for side in (change.new, change.old) if side)
    ]
    if changed:
        return [
            (
                change,
                Versions(
                    change=change.change,
                    old=_of_definition(difference, change.old, is_old=True),
                    new=_of_definition(difference, change.new, is_old=False),
                ),
            )
            for change in _few(name, changed)
        ]
    whole = [node.definition for node in _nodes(difference) if fits(node.definition)]
    if whole and len(whole) <= MAX_SYMBOLS:
        return [_unchanged_in_changed_file(difference, definition) for definition in whole]
    rows = [known] if known is not None else choose_symbols(snapshot, name, None, root, is_expired).rows
    return [_unchanged_in_unchanged_file(snapshot, row) for row in rows]


def _unchanged_in_unchanged_file(snapshot: Snapshot, row: SymbolRow) -> tuple[DefinitionChange, Versions]:
    definition = VersionedDefinition(
        path=row.path, language=row.language, symbol=_symbol(row), scope=(), head_start=row.line_start
    )
    lines = lines_of(snapshot, row.file_id, row.line_start, row.line_end)
    version = _version(row.path, row.line_start, row.line_end, row.signature, lines)
    same = DefinitionChange(change="changed", old=definition, new=definition)
    return same, Versions(change="unchanged", old=None, new=version, warnings=(UNCHANGED_INDEXED,))


def _fitting(name: str, known: SymbolRow | None) -> Callable[[VersionedDefinition], bool]:
    if known is not None:
        row = known
        return lambda definition: definition.path == row.path and definition.symbol.qualified_name == row.qualified_name
    parts = name_parts(name.strip())

    def fits(definition: VersionedDefinition) -> bool:
        qualified = name_parts(definition.symbol.qualified_name)
        return bool(parts) and (qualified[-len(parts) :] == parts or definition.symbol.name == name)

    return fits


def _few(name: str, changes: Sequence[DefinitionChange]) -> Sequence[DefinitionChange]:
    if len(changes) > MAX_SYMBOLS:
        raise AmbiguousSymbol(
            f"{len(changes)} definitions that differ are named {name[:100]}. Pass a qualified name of the one that is meant, "
            "or path.",
            candidate_count=len(changes),
            candidates=[
                {
                    "path": printable(change.at.path),
                    "line": change.at.symbol.line_start,
                    "kind": change.at.symbol.kind,
                    "qualified_name": change.at.symbol.qualified_name,
                }
                for change in changes[:SHOWN_CANDIDATES]
            ],
        )
    return changes


def _nodes(difference: TreeDifference) -> Iterator[DefinitionNode]:
    for file in difference.files:
        for node in nodes_of(file.new):
            yield node
            yield from node.descendants()


def _unchanged_in_changed_file(difference: TreeDifference, definition: VersionedDefinition) -> tuple[DefinitionChange, Versions]:
    """Returns a definition whose own lines are the same; definitions nested in it may differ."""
    file = difference.at(definition.path)
    old = None
    if file is not None and file.old is not None:
        local = definition.local_name
        nodes = [each for node in nodes_of(file.old) for each in (node, *node.descendants())]
        old = next((node.definition for node in nodes if node.definition.local_name == local), None)
    change = DefinitionChange(change="changed", old=old, new=definition)
    before, after = _of_definition(difference, old, is_old=True), _of_definition(difference, definition, is_old=False)
    is_same = before is None or after is None or before.body == after.body
    shown = None if is_same else before
    return change, Versions(change="unchanged", old=shown, new=after, warnings=(UNCHANGED,) if is_same else (INNER_DIFFERS,))


def _of_definition(difference: TreeDifference, definition: VersionedDefinition | None, *, is_old: bool) -> DiffVersion | None:
    if definition is None:
        return None
    version = next(
        (
            side
            for file in difference.files
            if (side := file.old if is_old else file.new) is not None and side.path == definition.path
        ),
        None,
    )
    symbol = definition.symbol
    lines = [] if version is None else _lines(version, definition.head_start, symbol.line_end)
    return _version(definition.path, definition.head_start, symbol.line_end, symbol.signature, lines)


def _lines(version: FileVersion, first: int, last: int) -> list[str]:
    return [well_formed(line) for line in version.lines[first - 1 : last]]


def _version(path: str, first: int, last: int, signature: str, lines: Sequence[str]) -> DiffVersion:
    kept = lines[:MAX_LINES]
    return DiffVersion(
        path=printable(path),
        line_start=first,
        line_end=last,
        signature=signature,
        body="\n".join(kept),
        lines_omitted=len(lines) - len(kept),
    )


def _symbol(row: SymbolRow) -> Symbol:
    return Symbol(row.name, row.kind, row.qualified_name, row.line_start, row.line_end, row.signature, row.visibility)
