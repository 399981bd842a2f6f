"""What `diff_context` answers: files, definitions and lines that differ. Lines count from 1, ranges are inclusive."""

from msgspec import Struct

from codecompass.protocol.metadata import Metadata


class DiffSide(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of a comparison. `commit` is left out for the working tree; `reason` says how a side that nobody named was
    chosen."""

    name: str
    commit: str = ""
    reason: str = ""


class DiffTotals(Struct, frozen=True, kw_only=True):
    """How much differs in all, whatever is shown."""

    files: int
    lines_added: int
    lines_removed: int
    symbols: int


class DiffFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that differs. `status`: `added`, `removed`, `changed`, `renamed` (with `old_path`, and `similarity` in percent).

    `note` says why there are no lines, or what else differs: `binary`, `submodule`, `symlink`, `mode`, `secret`, `too_large`,
    `filtered` (git runs a program on it, which we do not), `unreadable`, `beyond_bound`.
    """

    path: str
    status: str
    old_path: str = ""
    similarity: int = 0
    lines_added: int = 0
    lines_removed: int = 0
    note: str = ""


class DiffPiece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lines that differ: `removed` stood from `old_start` on, `added` stand from `new_start` on."""

    old_start: int = 0
    removed: tuple[str, ...] = ()
    new_start: int = 0
    added: tuple[str, ...] = ()


class DiffUser(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place that uses a changed definition: the definition around it, and the lines of the uses.

    `confidence` is `exact` or `likely`. `in_diff`: it differs itself.
    """

    path: str
    lines: tuple[int, ...]
    kind: str = ""
    name: str = ""
    confidence: str
    in_diff: bool = False


class DiffVersion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of a definition, whole. `lines_omitted` counts those at its end that had no room."""

    path: str
    line_start: int
    line_end: int
    signature: str = ""
    body: str = ""
    lines_omitted: int = 0


class DiffItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A definition that differs, or with the change `lines` those lines of a file that are in no definition.

    `change`: `added`, `removed`, `changed`, `renamed`, `moved`, `lines`; with `symbol` also `unchanged`. `parts`: what differs
    besides name and place: `signature` (annotations included), `body`. Place and names are those of the head, of a removed one
    those of the base; `old_*` are there where they were others. `pieces` are its own lines that differ; `lines_omitted` counts
    those that had no room. `inner` counts the definitions in one that was added or removed.

    `users` are those outside of the differences first, `users_outside` and `users_inside` count all but tests. `tests_inside`
    counts the tests that use it and differ, `tests_outside` those that do not.
    """

    change: str
    parts: tuple[str, ...] = ()
    path: str
    line_start: int
    line_end: int
    kind: str = ""
    name: str = ""
    qualified_name: str = ""
    signature: str = ""
    symbol_id: str = ""
    old_path: str = ""
    old_name: str = ""
    old_line_start: int = 0
    old_line_end: int = 0
    old_signature: str = ""
    inner: int = 0
    is_test: bool = False
    pieces: tuple[DiffPiece, ...] = ()
    lines_omitted: int = 0
    users: tuple[DiffUser, ...] = ()
    users_outside: int = 0
    users_inside: int = 0
    tests_inside: int = 0
    tests_outside: int = 0
    old: DiffVersion | None = None
    new: DiffVersion | None = None


class DiffContextReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What differs between two sides, what a reviewer must see first before all else. `files` are by path.

    `truncated`: not everything had room in `max_tokens`; `items_omitted` and `files_omitted` count what is left out.
    """

    base: DiffSide
    head: DiffSide
    totals: DiffTotals
    items: tuple[DiffItem, ...]
    files: tuple[DiffFile, ...]
    items_omitted: int = 0
    files_omitted: int = 0
    estimated_tokens: int
    truncated: bool
    metadata: Metadata
