"""The reply of `diff_context`: files, definitions and lines that differ. Lines count from 1, ranges are inclusive."""

from msgspec import Struct

from codecompass.protocol.metadata import Metadata


class DiffSide(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One side of a comparison. `commit` is omitted for the working tree; `reason` says how a side that the request does not name
    was chosen."""

    name: str
    commit: str = ""
    reason: str = ""


class DiffTotals(Struct, frozen=True, kw_only=True):
    """How much differs in all, including what is not shown."""

    files: int
    lines_added: int
    lines_removed: int
    symbols: int


class DiffFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that differs."""

    path: str
    status: str
    """`added`, `removed`, `changed` or `renamed`."""
    old_path: str = ""
    """Of a renamed file."""
    similarity: int = 0
    """Of a renamed file, in percent."""
    lines_added: int = 0
    lines_removed: int = 0
    note: str = ""
    """Why there are no lines, or what else differs: `binary`, `submodule`, `symlink`, `mode`, `secret`, `too_large`, `filtered`
    (git runs a program on it, which we do not), `unreadable`, `beyond_bound`."""


class DiffPiece(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Lines that differ: `removed` began at line `old_start`, `added` begin at line `new_start`."""

    old_start: int = 0
    removed: tuple[str, ...] = ()
    new_start: int = 0
    added: tuple[str, ...] = ()


class DiffUser(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A definition that uses a changed one, and the lines of the uses."""

    path: str
    lines: tuple[int, ...]
    kind: str = ""
    name: str = ""
    confidence: str
    """`exact` or `likely`."""
    in_diff: bool = False
    """Whether it differs too."""


class DiffVersion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One version of a definition. `lines_omitted` counts the lines at its end that did not fit."""

    path: str
    line_start: int
    line_end: int
    signature: str = ""
    body: str = ""
    lines_omitted: int = 0


class DiffItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A definition that differs, or with the change `lines` the lines of a file that differ outside definitions.

    Place and names are those of the head; those of the base if it was removed. `old_*` are present if they were different.
    """

    change: str
    """`added`, `removed`, `changed`, `renamed`, `moved`, `lines`; for a request with `symbol` also `unchanged`."""
    parts: tuple[str, ...] = ()
    """What differs besides name and place: `signature` (annotations included), `body`."""
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
    """How many definitions are in one that was added or removed."""
    is_test: bool = False
    pieces: tuple[DiffPiece, ...] = ()
    """Its own lines that differ."""
    lines_omitted: int = 0
    """How many of them did not fit."""
    users: tuple[DiffUser, ...] = ()
    """Those that do not differ first."""
    users_outside: int = 0
    """Users that do not differ, without tests."""
    users_inside: int = 0
    """Users that differ too, without tests."""
    tests_inside: int = 0
    """Tests that use it and differ too."""
    tests_outside: int = 0
    """Tests that use it and do not differ."""
    old: DiffVersion | None = None
    new: DiffVersion | None = None


class DiffCompanion(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that does not differ and goes with what does."""

    path: str
    together: int = 0
    """How many of the last 2,000 commits changed it together with a file that differs."""
    uses: bool = False
    """Whether it uses a definition that differs."""


class DiffContextReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What differs between two sides: `items` by importance to a reviewer, `files` by path.

    `truncated` says that not everything fits into `max_tokens`; `items_omitted` and `files_omitted` count what is omitted.
    """

    base: DiffSide
    head: DiffSide
    totals: DiffTotals
    items: tuple[DiffItem, ...]
    files: tuple[DiffFile, ...]
    items_omitted: int = 0
    files_omitted: int = 0
    tests: tuple[DiffCompanion, ...] = ()
    """Those that validate the change, best first."""
    may_change: tuple[DiffCompanion, ...] = ()
    """Other files that may have to change, the likeliest first."""
    estimated_tokens: int
    truncated: bool
    metadata: Metadata
