"""`diff_context`: the differences between two sides by definition: what changed, who uses it, whether its tests changed.

Changes are _in_review_order as a reviewer must see them, and as many as possible are _fitted into the token budget.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages.records import DOCUMENT_KINDS
from codecompass.protocol.decode import well_formed
from codecompass.protocol.difference_replies import (
    DiffCompanion,
    DiffContextReply,
    DiffFile,
    DiffItem,
    DiffPiece,
    DiffSide,
    DiffTotals,
    DiffUser,
    DiffVersion,
)
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import DiffContext
from codecompass.protocol.text.differences import companion_line, file_line, item_lines
from codecompass.query.differences.companions import Change, Companion, Companions, changed_words, companions
from codecompass.query.differences.compared_definition import compared_definitions
from codecompass.query.differences.definition_changes import DefinitionChange, FileDefinitions, LineDifference, definition_changes
from codecompass.query.differences.file_versions import TreeDifference
from codecompass.query.differences.users_of_changes import ChangeUsers, UserOfChange, UsersOfChanges
from codecompass.query.metadata import answer_metadata
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.source_lines import cut
from codecompass.query.token_budget import SEPARATOR, envelope_tokens, estimate_tokens
from codecompass.scan.files import printable
from codecompass.scan.git_changes import FileChange
from codecompass.scan.git_revisions import Side
from codecompass.scan.path_roles import role_of
from codecompass.settings import AnswerForm
from codecompass.store.snapshot import Snapshot

MAX_LOOKED_UP: Final = 300
"""Definitions whose users are looked up, first those that were removed or changed their signature."""

MAX_USERS: Final = 8
MAX_LINE_CHARACTERS: Final = 240
MAX_ADDED_LINES: Final = 60
MAX_REMOVED_LINES: Final = 8
"""Lines shown of a definition that was removed as a whole."""

MAX_CHANGED_LINES: Final = 120
LARGEST_FIGURE: Final = 999_999

OF_ANOTHER: Final = "users are those of {indexed}, not of {head}"
TIME_WAS_UP: Final = "timed out before the users of all changed definitions were looked up ({done} of {total})"
NOT_LOOKED_UP: Final = "users were looked up for {done} of {total} changed definitions; pass path or symbol"

COMPANIONS_SHARE: Final = 0.1
"""Share of the budget that the tests may take, and as much again what else may have to change."""

TITLE: Final = b'"may_change":[],may have to change too:\n\n'
"""What a list of them takes besides its rows, in either form."""

T = TypeVar("T")

FILES_SHARE: Final = 0.2
"""Share of the budget that the list of files may take."""

ITEM_SHARE: Final = 0.4
"""Share of the remaining budget that one change may take at full length; one that needs more is shortened."""

SHORT_LINES: Final = 12
BRIEF_USERS: Final = 3


def diff_context(
    snapshot: Snapshot,
    request: DiffContext,
    difference: TreeDifference,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> DiffContextReply:
    """Returns the differences, as much as fits into `max_tokens`; with `symbol` both versions of the definitions of that name.

    Raises InvalidMaxTokens if the budget is smaller than an answer without changes, and for `symbol` SymbolNotFound, or
    AmbiguousSymbol for too many definitions.
    """
    compared = definition_changes(difference.files, is_expired)
    found = compared.files
    users = UsersOfChanges(snapshot, difference, is_expired)
    warnings = (*difference.changes.warnings, *compared.warnings)
    if difference.indexed:
        warnings += (OF_ANOTHER.format(indexed=difference.indexed, head=difference.changes.head.name),)
    if request.symbol is not None:
        items = []
        for change, versions in compared_definitions(snapshot, request.symbol, difference, found, state.workspace, is_expired):
            item = _item(snapshot, change, users.of(change), users)
            items.append(replace(item, change=versions.change, pieces=(), lines_omitted=0, old=versions.old, new=versions.new))
            warnings += tuple(warning for warning in versions.warnings if warning not in warnings)
        return _within_budget(snapshot, request, difference, state, options, items, [], warnings)
    items, known, said = _items(snapshot, found, users, is_expired)
    goes_along = (
        Companions() if is_expired() else companions(snapshot, _change(found, known), options.history, options.without_signals)
    )
    warnings = (*warnings, *said)
    return _within_budget(snapshot, request, difference, state, options, _in_review_order(items), found, warnings, goes_along)


def _change(found: Sequence[FileDefinitions], known: Sequence[ChangeUsers]) -> Change:
    """Returns the whole difference as one change."""
    at = [change.at.symbol for file in found for change in file.changes]
    return Change(
        paths=tuple(dict.fromkeys(path for file in found for path in (file.file.change.path, file.file.change.old_path))),
        names=tuple(dict.fromkeys(symbol.name for symbol in at if symbol.kind not in DOCUMENT_KINDS)),
        words=changed_words([file.file for file in found]),
        users=tuple({user.path for user in each.users} for each in known),
    )


def _items(
    snapshot: Snapshot, found: Sequence[FileDefinitions], users: UsersOfChanges, is_expired: Callable[[], bool]
) -> tuple[list[DiffItem], list[ChangeUsers], tuple[str, ...]]:
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
    return items, list(known.values()), warnings


def _item(snapshot: Snapshot, change: DefinitionChange, found: ChangeUsers, users: UsersOfChanges) -> DiffItem:
    at, old = change.at, change.old
    symbol = at.symbol
    is_test = symbol.kind == "test" or users.is_test(at.path)
    bound = MAX_CHANGED_LINES
    if change.change in ("added", "removed"):
        bound = MAX_ADDED_LINES if change.change == "added" else MAX_REMOVED_LINES
    pieces, omitted = _with_lines(tuple(map(_piece, change.pieces)), bound)
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
    shown, omitted = _with_lines(tuple(map(_piece, pieces)), MAX_CHANGED_LINES)
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


def _piece(piece: LineDifference) -> DiffPiece:
    return DiffPiece(
        old_start=piece.old if piece.removed else 0,
        removed=tuple(map(_line, piece.removed)),
        new_start=piece.new if piece.added else 0,
        added=tuple(map(_line, piece.added)),
    )


def _line(text: str) -> str:
    return cut(well_formed(text), MAX_LINE_CHARACTERS)


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


def _within_budget(
    snapshot: Snapshot,
    request: DiffContext,
    difference: TreeDifference,
    state: AnswerState,
    options: QueryOptions,
    items: Sequence[DiffItem],
    found: Sequence[FileDefinitions],
    warnings: tuple[str, ...],
    goes_along: Companions = Companions(),  # noqa: B008 (frozen)
) -> DiffContextReply:
    changes = difference.changes
    totals = DiffTotals(
        files=len(changes.files),
        lines_added=sum(file.n_added for file in changes.files),
        lines_removed=sum(file.n_removed for file in changes.files),
        symbols=sum(len(file.changes) for file in found) if request.symbol is None else len(items),
    )

    def reply(
        items: Sequence[DiffItem], files: Sequence[DiffFile], tokens: int, items_omitted: int, files_omitted: int
    ) -> DiffContextReply:
        is_cut = bool(items_omitted or files_omitted) or any(item.lines_omitted for item in items)
        return DiffContextReply(
            base=_side(changes.base),
            head=_side(changes.head),
            totals=totals,
            items=tuple(items),
            files=tuple(files),
            items_omitted=items_omitted,
            files_omitted=files_omitted,
            tests=tests,
            may_change=may_change,
            estimated_tokens=tokens,
            truncated=is_cut,
            metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=is_cut),
        )

    files = [] if request.symbol is not None else [_file(change) for change in changes.files]
    tests: tuple[DiffCompanion, ...] = ()
    may_change: tuple[DiffCompanion, ...] = ()
    empty = reply((), (), LARGEST_FIGURE, LARGEST_FIGURE, LARGEST_FIGURE)
    envelope = envelope_tokens(empty, request.max_tokens, options.answers, "change")
    free = request.max_tokens - envelope
    tests, n_tests = _goes_along(goes_along.tests, int(free * COMPANIONS_SHARE), options.answers)
    may_change, n_others = _goes_along(goes_along.others, int(free * COMPANIONS_SHARE), options.answers)
    envelope += n_tests + n_others
    kept = _fitted(items, files, request.max_tokens - envelope, options.answers)
    n_items, n_files = len(items) - len(kept.items), len(files) - len(kept.files)
    return reply(kept.items, kept.files, envelope + kept.tokens, n_items, n_files)


def _goes_along(found: Sequence[Companion], free: int, form: AnswerForm) -> tuple[tuple[DiffCompanion, ...], int]:
    """Returns the first that fit into `free` tokens, and their tokens."""
    shown = [DiffCompanion(path=printable(each.path), together=each.together, uses=each.uses) for each in found]
    title = estimate_tokens(TITLE) if shown else 0
    kept, used = _first(shown, free - title, lambda each: _tokens_of_companion(each, form))
    return tuple(kept), used + title if kept else 0


class _Fitted(Struct, frozen=True):
    """The changes and files that fit, and their tokens."""

    items: tuple[DiffItem, ...]
    files: tuple[DiffFile, ...]
    tokens: int


def _in_review_order(items: Sequence[DiffItem]) -> list[DiffItem]:
    """Returns the changes, the most important for a review first.

    Used definitions that were removed or changed their signature while their users did not change; other changes of used
    definitions, the most used first; removals and changed signatures without users; additions; bodies; tests; lines outside
    definitions, and documents.
    """

    def key(item: DiffItem) -> tuple[object, ...]:
        role = role_of(item.path)
        return _rank(item, is_plain=role.rank == 0), role.rank, -item.users_outside, item.path, item.line_start

    return sorted(items, key=key)


def _rank(item: DiffItem, *, is_plain: bool) -> int:
    if item.change == "lines" or item.kind in DOCUMENT_KINDS:
        return 6 if is_plain else 7
    if item.is_test:
        return 5
    is_contract = item.change in ("removed", "renamed") or "signature" in item.parts
    if (is_contract or item.change == "moved") and item.users_outside:
        return 0
    if item.users_outside and item.change != "added":
        return 1
    if is_contract:
        return 2
    return 3 if item.change in ("added", "moved") else 4


def _tokens_of_item(item: DiffItem, form: AnswerForm) -> int:
    """Returns the tokens of one change in an answer of this form."""
    if form == "text":
        return estimate_tokens(("\n".join(item_lines(item)) + "\n\n").encode("utf-8", "replace"))
    return estimate_tokens(encode(item) + SEPARATOR)


def _tokens_of_file(file: DiffFile, form: AnswerForm) -> int:
    return estimate_tokens((file_line(file) + "\n").encode("utf-8", "replace") if form == "text" else encode(file) + SEPARATOR)


def _fitted(items: Sequence[DiffItem], files: Sequence[DiffFile], free: int, form: AnswerForm) -> _Fitted:
    """Returns the first changes and files that fit into `free` tokens. A change that is too long loses lines, then users."""
    listed, used = _first(files, int(free * FILES_SHARE), lambda file: _tokens_of_file(file, form))
    left = free - used
    kept: list[DiffItem] = []
    for at, item in enumerate(items):
        share = left if at == len(items) - 1 else max(int(left * ITEM_SHARE), left // (len(items) - at))
        for candidate in _shorter(item):
            cost = _tokens_of_item(candidate, form)
            if cost <= share:
                kept.append(candidate)
                left -= cost
                break
        else:
            if left < cost:
                break
            kept.append(candidate)
            left -= cost
    if len(kept) == len(items) and len(listed) < len(files):
        more, cost = _first(files[len(listed) :], left, lambda file: _tokens_of_file(file, form))
        listed, left = [*listed, *more], left - cost
    return _Fitted(tuple(kept), tuple(listed), free - left)


def _tokens_of_companion(each: DiffCompanion, form: AnswerForm) -> int:
    text = (companion_line(each) + "\n").encode("utf-8", "replace")
    return estimate_tokens(text if form == "text" else encode(each) + SEPARATOR)


def _first(rows: Sequence[T], free: int, cost_of: Callable[[T], int]) -> tuple[list[T], int]:
    """Returns the first rows that fit into `free` tokens, and their tokens."""
    kept, used = [], 0
    for row in rows:
        cost = cost_of(row)
        if used + cost > free:
            break
        kept.append(row)
        used += cost
    return kept, used


def _shorter(item: DiffItem) -> Iterator[DiffItem]:
    """Yields a change, then ever shorter versions of it."""
    yield item
    for n_lines, n_users in ((4 * SHORT_LINES, len(item.users)), (SHORT_LINES, BRIEF_USERS), (0, BRIEF_USERS), (0, 0)):
        pieces, omitted = _with_lines(item.pieces, n_lines)
        short = replace(item, pieces=pieces, lines_omitted=item.lines_omitted + omitted, users=item.users[:n_users])
        if item.old is not None or item.new is not None:
            short = replace(
                short,
                old=None if item.old is None else _cut(item.old, n_lines),
                new=None if item.new is None else _cut(item.new, n_lines),
            )
        yield short


def _cut(version: DiffVersion, n_lines: int) -> DiffVersion:
    lines = version.body.split("\n") if version.body else []
    kept = lines[:n_lines]
    return replace(version, body="\n".join(kept), lines_omitted=version.lines_omitted + len(lines) - len(kept))


def _with_lines(pieces: Sequence[DiffPiece], n_lines: int) -> tuple[tuple[DiffPiece, ...], int]:
    """Returns the first `n_lines` lines of the pieces, and how many lines are left out."""
    kept: list[DiffPiece] = []
    omitted = 0
    for piece in pieces:
        removed, added = piece.removed[:n_lines], piece.added[: max(0, n_lines - len(piece.removed))]
        n_lines -= len(removed) + len(added)
        omitted += len(piece.removed) + len(piece.added) - len(removed) - len(added)
        if removed or added:
            kept.append(replace(piece, removed=removed, added=added))
    return tuple(kept), omitted
