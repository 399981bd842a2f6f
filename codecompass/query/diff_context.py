"""`diff_context`: what differs between two sides, by definitions: what changed in each, who uses it, whether its tests did."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.errors import InvalidMaxTokens
from codecompass.protocol.decode import well_formed
from codecompass.protocol.difference_replies import (
    DiffContextReply,
    DiffFile,
    DiffItem,
    DiffPiece,
    DiffSide,
    DiffTotals,
    DiffUser,
)
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import DiffContext
from codecompass.protocol.text import render
from codecompass.query.compared_definition import compared_definition
from codecompass.query.definition_changes import DefinitionChange, FileDefinitions, definition_changes
from codecompass.query.diff_budget import fitted, ordered, with_lines
from codecompass.query.exact_names import symbol_handle
from codecompass.query.file_versions import TreeDifference
from codecompass.query.metadata import answer_metadata
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.token_budget import estimate_tokens
from codecompass.query.users_of_changes import ChangeUsers, UserOfChange, UsersOfChanges
from codecompass.query.version_differences import Piece
from codecompass.scan.files import printable
from codecompass.scan.git_changes import FileChange
from codecompass.scan.git_revisions import Side
from codecompass.store.snapshot import Snapshot

MAX_LOOKED_UP: Final = 300
"""Definitions whose users are looked for, those first that are gone or have another signature."""

MAX_USERS: Final = 8
MAX_LINE_CHARACTERS: Final = 240
MAX_ADDED_LINES: Final = 60
MAX_REMOVED_LINES: Final = 8
"""Lines of a definition that is gone as a whole."""

MAX_CHANGED_LINES: Final = 120
LARGEST_FIGURE: Final = 999_999
USEFUL_TOKENS: Final = 500

OF_WORKING_TREE: Final = "users are those of the working tree as it is indexed, not of {head}"
TIME_WAS_UP: Final = "the time was up before the users of all changed definitions were looked for ({done} of {total})"
NOT_LOOKED_UP: Final = "users were looked for of {done} of {total} changed definitions; pass path or symbol"


def diff_context(
    snapshot: Snapshot,
    request: DiffContext,
    difference: TreeDifference,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> DiffContextReply:
    """Returns what differs, as much as fits into `max_tokens`; with `symbol` the two versions of that definition.

    Raises InvalidMaxTokens where the budget is below that of an answer without a change, and for `symbol` SymbolNotFound or
    AmbiguousSymbol.
    """
    compared = definition_changes(difference.files, is_expired)
    found = compared.files
    users = UsersOfChanges(snapshot, difference, is_expired)
    warnings = (*difference.changes.warnings, *compared.warnings)
    if not difference.is_indexed:
        warnings += (OF_WORKING_TREE.format(head=difference.changes.head.name),)
    if request.symbol is not None:
        change, versions = compared_definition(snapshot, request.symbol, difference, found, is_expired)
        item = _item(snapshot, change, users.of(change), users)
        items = [replace(item, change=versions.change, pieces=(), lines_omitted=0, old=versions.old, new=versions.new)]
        warnings += versions.warnings
        return _within_budget(snapshot, request, difference, state, options, items, [], warnings)
    items, said = _items(snapshot, found, users, is_expired)
    return _within_budget(snapshot, request, difference, state, options, ordered(items), found, (*warnings, *said))


def _items(
    snapshot: Snapshot, found: Sequence[FileDefinitions], users: UsersOfChanges, is_expired: Callable[[], bool]
) -> tuple[list[DiffItem], tuple[str, ...]]:
    changes = [change for file in found for change in file.changes]
    waiting = sorted(changes, key=lambda change: (change.change == "added", "signature" not in change.parts and bool(change.new)))
    known: dict[int, ChangeUsers] = {}
    warnings: tuple[str, ...] = ()
    for done, change in enumerate(waiting):
        if done == MAX_LOOKED_UP:
            warnings = (NOT_LOOKED_UP.format(done=done, total=len(waiting)),)
            break
        if is_expired():
            warnings = (TIME_WAS_UP.format(done=done, total=len(waiting)),)
            break
        known[id(change)] = users.of(change)
    items = [_item(snapshot, change, known.get(id(change), ChangeUsers()), users) for change in changes]
    items += [_lines_item(file, is_test=users.is_test(file.file.change.path)) for file in found if file.pieces]
    return items, warnings


def _item(snapshot: Snapshot, change: DefinitionChange, found: ChangeUsers, users: UsersOfChanges) -> DiffItem:
    at, old = change.at, change.old
    symbol = at.symbol
    is_test = symbol.kind == "test" or users.is_test(at.path)
    bound = MAX_CHANGED_LINES
    if change.change in ("added", "removed"):
        bound = MAX_ADDED_LINES if change.change == "added" else MAX_REMOVED_LINES
    pieces, omitted = with_lines(tuple(map(_piece, change.pieces)), bound)
    plain = [user for user in found.users if not user.is_test]
    tests = [user for user in found.users if user.is_test]
    item = DiffItem(
        change=change.change,
        parts=change.parts,
        path=printable(at.path),
        line_start=symbol.line_start,
        line_end=symbol.line_end,
        kind=symbol.kind,
        name=symbol.name,
        qualified_name=symbol.qualified_name,
        signature=symbol.signature,
        symbol_id="" if found.row is None else symbol_handle(snapshot, found.row),
        inner=change.n_inner,
        is_test=is_test,
        pieces=pieces,
        lines_omitted=omitted,
        users=tuple(map(_user, plain[:MAX_USERS] or tests[:1])),
        users_outside=sum(not user.in_diff for user in plain),
        users_inside=sum(user.in_diff for user in plain),
        tests_inside=sum(user.in_diff for user in tests),
        tests_outside=sum(not user.in_diff for user in tests),
    )
    if old is None or change.new is None:
        return item
    is_elsewhere = old.path != at.path
    return replace(
        item,
        old_path=printable(old.path) if is_elsewhere or change.change == "moved" else "",
        old_name=old.symbol.qualified_name if old.symbol.name != symbol.name or old.scope != at.scope else "",
        old_line_start=old.symbol.line_start,
        old_line_end=old.symbol.line_end,
        old_signature=old.symbol.signature if old.symbol.signature != symbol.signature else "",
    )


def _lines_item(file: FileDefinitions, *, is_test: bool) -> DiffItem:
    pieces, change = file.pieces, file.file.change
    shown, omitted = with_lines(tuple(map(_piece, pieces)), MAX_CHANGED_LINES)
    first, last = pieces[0], pieces[-1]
    is_gone = change.status == "removed"
    return DiffItem(
        change="lines",
        path=printable(change.path),
        line_start=first.old if is_gone else first.new,
        line_end=last.old + len(last.removed) - 1 if is_gone else last.new + max(0, len(last.added) - 1),
        is_test=is_test,
        pieces=shown,
        lines_omitted=omitted,
    )


def _piece(piece: Piece) -> DiffPiece:
    return DiffPiece(
        old_start=piece.old if piece.removed else 0,
        removed=tuple(map(_line, piece.removed)),
        new_start=piece.new if piece.added else 0,
        added=tuple(map(_line, piece.added)),
    )


def _line(text: str) -> str:
    text = well_formed(text)
    return text if len(text) <= MAX_LINE_CHARACTERS else text[: MAX_LINE_CHARACTERS - 1] + "…"


def _user(user: UserOfChange) -> DiffUser:
    around = user.around
    return DiffUser(
        path=user.path,
        lines=user.lines,
        kind="" if around is None else around.kind,
        name="" if around is None else around.name,
        confidence=user.confidence,
        in_diff=user.in_diff,
    )


def _file(change: FileChange) -> DiffFile:
    return DiffFile(
        path=printable(change.path),
        status=change.status,
        old_path=printable(change.old_path) if change.status == "renamed" else "",
        similarity=change.similarity,
        lines_added=change.n_added,
        lines_removed=change.n_removed,
        note=change.note,
    )


def _side(side: Side) -> DiffSide:
    return DiffSide(name=side.name, commit=side.commit, reason=side.reason)


class _Figures(Struct, frozen=True):
    tokens: int
    items_omitted: int = 0
    files_omitted: int = 0


def _within_budget(
    snapshot: Snapshot,
    request: DiffContext,
    difference: TreeDifference,
    state: AnswerState,
    options: QueryOptions,
    items: Sequence[DiffItem],
    found: Sequence[FileDefinitions],
    warnings: tuple[str, ...],
) -> DiffContextReply:
    changes = difference.changes
    totals = DiffTotals(
        files=len(changes.files),
        lines_added=sum(file.n_added for file in changes.files),
        lines_removed=sum(file.n_removed for file in changes.files),
        symbols=sum(len(file.changes) for file in found) if request.symbol is None else len(items),
    )

    def reply(items: Sequence[DiffItem], files: Sequence[DiffFile], figures: _Figures) -> DiffContextReply:
        is_cut = bool(figures.items_omitted or figures.files_omitted) or any(item.lines_omitted for item in items)
        return DiffContextReply(
            base=_side(changes.base),
            head=_side(changes.head),
            totals=totals,
            items=tuple(items),
            files=tuple(files),
            items_omitted=figures.items_omitted,
            files_omitted=figures.files_omitted,
            estimated_tokens=figures.tokens,
            truncated=is_cut,
            metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=is_cut),
        )

    files = [] if request.symbol is not None else [_file(change) for change in changes.files]
    empty = reply((), (), _Figures(LARGEST_FIGURE, LARGEST_FIGURE, LARGEST_FIGURE))
    envelope = estimate_tokens(render(empty).encode() if options.answers == "text" else encode(empty))
    if request.max_tokens < envelope:
        raise InvalidMaxTokens(
            f"max_tokens must be at least {envelope} here, which an answer takes without any change, not {request.max_tokens}. "
            f"Call again with {envelope + USEFUL_TOKENS} or more.",
            field="max_tokens",
            value=request.max_tokens,
            constraint=f"a whole number of {envelope} or more",
            minimum=envelope,
        )
    kept = fitted(items, files, request.max_tokens - envelope, options.answers)
    figures = _Figures(envelope + kept.tokens, len(items) - len(kept.items), len(files) - len(kept.files))
    return reply(kept.items, kept.files, figures)
