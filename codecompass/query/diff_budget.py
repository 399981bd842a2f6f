"""Orders changes as a reviewer must see them, and fits as many as possible into a token budget."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.protocol.difference_replies import DiffFile, DiffItem, DiffPiece, DiffVersion
from codecompass.protocol.encode import encode
from codecompass.protocol.text.differences import file_line, item_lines
from codecompass.query.token_budget import SEPARATOR, estimate_tokens
from codecompass.scan.path_roles import PathReader
from codecompass.settings import AnswerForm

FILES_SHARE: Final = 0.2
"""Share of the budget that the list of files may take."""

ITEM_SHARE: Final = 0.4
"""Share of the remaining budget that one change may take at full length; one that needs more is shortened."""

SHORT_LINES: Final = 12
BRIEF_USERS: Final = 3


class Fitted(Struct, frozen=True):
    """The changes and files that fit, and their tokens."""

    items: tuple[DiffItem, ...]
    files: tuple[DiffFile, ...]
    tokens: int


def ordered(items: Sequence[DiffItem]) -> list[DiffItem]:
    """Returns the changes, the most important for a review first.

    Used definitions that were removed or changed their signature while their users did not change; other changes of used
    definitions, the most used first; removals and changed signatures without users; additions; bodies; tests; lines outside
    definitions.
    """
    paths = PathReader()

    def key(item: DiffItem) -> tuple[object, ...]:
        role = paths.role(item.path)
        return _rank(item, is_plain=role.rank == 0), role.rank, -item.users_outside, item.path, item.line_start

    return sorted(items, key=key)


def _rank(item: DiffItem, *, is_plain: bool) -> int:
    if item.change == "lines":
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


def tokens_of_item(item: DiffItem, form: AnswerForm) -> int:
    """Returns the tokens of one change in an answer of this form."""
    if form == "text":
        return estimate_tokens(("\n".join(item_lines(item)) + "\n\n").encode("utf-8", "replace"))
    return estimate_tokens(encode(item) + SEPARATOR)


def _tokens_of_file(file: DiffFile, form: AnswerForm) -> int:
    return estimate_tokens((file_line(file) + "\n").encode("utf-8", "replace") if form == "text" else encode(file) + SEPARATOR)


def fitted(items: Sequence[DiffItem], files: Sequence[DiffFile], free: int, form: AnswerForm) -> Fitted:
    """Returns the first changes and files that fit into `free` tokens. A change that is too long loses lines, then users."""
    listed, used = _first(files, int(free * FILES_SHARE), lambda file: _tokens_of_file(file, form))
    left = free - used
    kept: list[DiffItem] = []
    for at, item in enumerate(items):
        share = left if at == len(items) - 1 else max(int(left * ITEM_SHARE), left // (len(items) - at))
        for candidate in _shorter(item):
            cost = tokens_of_item(candidate, form)
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
    return Fitted(tuple(kept), tuple(listed), free - left)


def _first(files: Sequence[DiffFile], free: int, cost_of: Callable[[DiffFile], int]) -> tuple[list[DiffFile], int]:
    kept, used = [], 0
    for file in files:
        cost = cost_of(file)
        if used + cost > free:
            break
        kept.append(file)
        used += cost
    return kept, used


def _shorter(item: DiffItem) -> Iterator[DiffItem]:
    """Yields a change, then ever shorter versions of it."""
    yield item
    for n_lines, n_users in ((4 * SHORT_LINES, len(item.users)), (SHORT_LINES, BRIEF_USERS), (0, BRIEF_USERS), (0, 0)):
        pieces, omitted = with_lines(item.pieces, n_lines)
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


def with_lines(pieces: Sequence[DiffPiece], n_lines: int) -> tuple[tuple[DiffPiece, ...], int]:
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
