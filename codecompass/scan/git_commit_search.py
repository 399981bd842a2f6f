"""Searches the history of a repository: the messages of commits, or the lines that they added and removed.

    rev-list, the ids newest first -> in growing batches: messages and authors -> changed paths -> their lines

Plumbing commands alone, whose output no setting of a repository changes; no program that it names is started, and nothing is
fetched. A search ends with what it has found when its page is full or its time is up. Commits whose contents a clone lacks, or
that are too large to compare, are left out and counted, as are merges, which change nothing by themselves.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.formatting import count, iso_time
from codecompass.scan.files import is_utf8
from codecompass.scan.git_changes import HUNK, RENAME_LIMIT, FileChange, is_secret, raw_entry
from codecompass.scan.git_conversions import require_plain_attributes
from codecompass.scan.git_repository import (
    GitError,
    GitOutputTooLarge,
    GitRepository,
    GitTimedOut,
    head_of,
    run_git,
    shallow_boundary,
)
from codecompass.units import MIB

MAX_COMMITS: Final = 200_000
"""Commits that one search looks at."""

MAX_MATCHED_LINES: Final = 200
"""Matching lines of one commit that are kept, the best."""

MAX_OUTPUT_BYTES: Final = 32 * MIB
"""Of one batch; one that is larger is halved."""

MAX_FAILURES: Final = 8
"""Commits that cannot be compared before a search ends: git fails for the others too."""

SHALLOW: Final = "this clone is shallow: older commits are not here, and nothing is fetched"
"""The warning of a search in a clone without the older commits."""

_FIRST_BATCH: Final = {"commit": 1_000, "diff": 50}
_LARGEST_BATCH: Final = {"commit": 8_000, "diff": 800}
_MAX_PATHSPECS: Final = 1_000
_LEAST_SECONDS: Final = 0.05

_FORMAT: Final = "%x00%H%x00%ct%x00%an%x00%ae%x00%B%x00"
_N_FIELDS: Final = 6
_FILE: Final = lazy.pattern(rb"^diff --git .*\n", re.MULTILINE)
_NEXT_COMMIT: Final = lazy.pattern(rb"^[0-9a-f]{40,64}\0", re.MULTILINE)

Matches = Sequence[tuple[int, int, int]] | None
"""Matching lines of a text, from 0, with start and end of the match; None if the text is no hit."""


class CommitSearch(Struct, frozen=True, kw_only=True):
    """What is searched for. Times are in seconds since 1970, inclusive."""

    is_about_lines: bool
    """Whether the changed lines are searched, and not the messages."""
    sought: Callable[[str], Matches]
    author: str = ""
    since: int | None = None
    until: int | None = None
    chosen: Callable[[Sequence[str]], Sequence[bool]] | None = None
    """Says which paths count, relative to the workspace; None for all."""
    limit: int
    """How many hits are looked for."""


class FoundLine(Struct, frozen=True):
    """A matching line, counted from 1 on its side. `side` is `+`, `-`, or empty for a line of a message, which has no `path`."""

    path: str
    line: int
    side: str
    text: str
    start: int
    """Where the match begins, in characters."""


class FoundCommit(Struct, frozen=True, kw_only=True):
    """A hit. `at` is when it was committed, in seconds since 1970. `n_lines` counts all matching lines."""

    commit: str
    at: int
    author: str
    subject: str
    lines: tuple[FoundLine, ...]
    n_lines: int


class FoundCommits(Struct, frozen=True):
    """The hits, the newest first. `has_more`: the search ended because it had as many as are looked for."""

    commits: tuple[FoundCommit, ...]
    has_more: bool = False
    is_partial: bool = False
    """Whether commits were left out: the time was up, or git could not read them."""
    warnings: tuple[str, ...] = ()


class _Record(Struct, frozen=True):
    commit: str
    at: int
    author: str
    address: str
    message: str

    @property
    def subject(self) -> str:
        return self.message.lstrip("\n").partition("\n")[0]


def search_commits(
    repository: GitRepository,
    root: str,
    search: CommitSearch,
    *,
    start: str = "HEAD",
    ends_at: float,
    is_cancelled: Callable[[], bool] | None = None,
) -> FoundCommits:
    """Returns the commits up to `start` (HEAD or an id) that a search finds, of what they changed below `root`.

    `ends_at` is by `time.monotonic`. Raises GitError if git cannot be asked at all, and GitCancelled.
    """
    if start == "HEAD" and head_of(repository).commit is None:
        return FoundCommits((), warnings=("there is no commit yet",))
    return _Search(repository, root, search, ends_at, is_cancelled).found(start)


class _Search:
    """One search. What it has left out is counted as it goes."""

    def __init__(
        self,
        repository: GitRepository,
        root: str,
        search: CommitSearch,
        ends_at: float,
        is_cancelled: Callable[[], bool] | None,
    ) -> None:
        self._repository = repository
        self._prefix = "" if root == repository.top else os.path.relpath(root, repository.top) + "/"
        self._search = search
        self._ends_at = ends_at
        self._is_cancelled = is_cancelled
        self._failures: list[str] = []
        self._n_too_large = 0

    def found(self, start: str) -> FoundCommits:
        search = self._search
        ids = self._ids(start)
        hits: list[FoundCommit] = []
        warnings = [SHALLOW] if shallow_boundary(self._repository) else []
        n_read, oldest, is_late = 0, 0, False
        try:
            for batch in _batches(ids, "diff" if search.is_about_lines else "commit"):
                records = self._records(batch)
                hits += self._in_lines(records) if search.is_about_lines else self._in_messages(records)
                n_read += len(batch)
                oldest = records[-1].at if records else oldest
                if len(hits) >= search.limit or len(self._failures) > MAX_FAILURES:
                    break
        except GitTimedOut:
            is_late = True
        if is_late:
            back = f", back to {iso_time(oldest)[:10]}" if oldest else ""
            warnings.append(
                f"timed out after {n_read:,} of {count(len(ids), 'commit')}{back}. Narrow it with since:, author: or file:, or "
                "raise timeout_ms"
            )
        if len(ids) == MAX_COMMITS:
            warnings.append(f"only the newest {MAX_COMMITS:,} commits were searched. Narrow it with until: or file:")
        if self._n_too_large:
            warnings.append(f"{count(self._n_too_large, 'commit')} changed too much to be compared")
        if self._failures:
            warnings.append(f"{count(len(self._failures), 'commit')} could not be read, because {self._failures[0]}")
        return FoundCommits(
            tuple(hits[: search.limit]),
            has_more=len(hits) >= search.limit,
            is_partial=is_late or bool(self._n_too_large or self._failures),
            warnings=tuple(warnings),
        )

    def _ids(self, start: str) -> list[str]:
        search = self._search
        options = [f"--max-count={MAX_COMMITS}"]
        options += ["--no-merges"] if search.is_about_lines else []
        options += [] if search.since is None else [f"--max-age={search.since}"]
        options += [] if search.until is None else [f"--min-age={search.until}"]
        if search.author and search.author.isascii():
            # In this locale git ignores the case of ASCII alone; the records are compared again.
            options += ["--fixed-strings", "--regexp-ignore-case", f"--author={search.author}"]
        paths = (self._prefix,) if self._prefix else ()
        ids = self._git("rev-list", *options, start, "--", *paths).decode("ascii", "replace").split()
        # Git compares the commits at the boundary with nothing.
        left_out = shallow_boundary(self._repository) if search.is_about_lines else frozenset()
        return [each for each in ids if each not in left_out]

    def _records(self, ids: Sequence[str]) -> list[_Record]:
        """Returns the commits that have the author, in order."""
        output = self._halving(ids, "rev-list", "--no-walk=unsorted", "--stdin", "--encoding=UTF-8", f"--format={_FORMAT}")
        fields = b"".join(output).decode("utf-8", "replace").split("\0")
        records = []
        for at in range(0, len(fields) - _N_FIELDS + 1, _N_FIELDS):
            _, commit, when, author, address, message = fields[at : at + _N_FIELDS]
            records.append(_Record(commit, int(when) if when.isdecimal() else 0, author, address, message))
        wanted = self._search.author.casefold()
        return [each for each in records if wanted in f"{each.author} <{each.address}>".casefold()]

    def _in_messages(self, records: Sequence[_Record]) -> Iterator[FoundCommit]:
        """Yields the commits whose message has what is sought."""
        matching: list[tuple[_Record, Sequence[tuple[int, int, int]]]] = []
        for each in records:
            matches = self._search.sought(each.message)
            if matches is not None:
                matching.append((each, matches))
        if self._search.chosen is not None:
            changed = self._changes([each.commit for each, _ in matching])
            matching = [(each, matches) for each, matches in matching if changed.get(each.commit, _NOTHING).kept]
        for each, matches in matching:
            lines = each.message.split("\n")
            shown = tuple(FoundLine("", at + 1, "", lines[at], start) for at, start, _ in matches[:MAX_MATCHED_LINES])
            yield _hit(each, shown, len(matches))

    def _in_lines(self, records: Sequence[_Record]) -> Iterator[FoundCommit]:
        """Yields the commits of which one file's changed lines have what is sought."""
        changed = {commit: each for commit, each in self._changes([each.commit for each in records]).items() if each.kept}
        wanted: Sequence[str] = ()
        if self._search.chosen is not None:
            wanted = list(dict.fromkeys(path for each in changed.values() for path in (*each.kept, *each.moved)))
        paths = wanted if 0 < len(wanted) <= _MAX_PATHSPECS else ()
        compared = paths or (path for each in changed.values() for path in each.paths)
        require_plain_attributes(self._repository, (self._prefix + path for path in compared))
        output = self._halving(
            [each.commit for each in records if each.commit in changed],
            *("diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--abbrev=64", "-p", "-U0", "--inter-hunk-context=0"),
            *("-M", f"-l{RENAME_LIMIT}", "--no-ext-diff", "--no-textconv", "--no-color", "--no-prefix", "--full-index"),
            *("--diff-algorithm=default", "--submodule=short", *self._relative(), "--"),
            *(self._prefix + path for path in paths),
        )
        by_id = {each.commit: each for each in records}
        for batch in output:
            for commit, patches in _patches(batch):
                hit = _line_hit(by_id[commit], patches, changed[commit].kept, self._search.sought)
                if hit is not None:
                    yield hit

    def _changes(self, ids: Sequence[str]) -> dict[str, "_Changed"]:
        """Returns the paths that each commit changed."""
        chosen = self._search.chosen
        output = self._halving(
            ids, "diff-tree", "--stdin", "-r", "-z", "--root", "--raw", "--abbrev=64", "--no-renames", *self._relative()
        )
        found: dict[str, _Changed] = {}
        for batch in output:
            for commit, changes in _raw(batch):
                paths = [each.path for each in changes if not each.note and not is_secret(each) and is_utf8(each.path)]
                is_in = [True] * len(paths) if chosen is None else chosen(paths)
                statuses = {each.status for each in changes}
                found[commit] = _Changed(
                    kept=frozenset(path for path, passes in zip(paths, is_in, strict=True) if passes),
                    moved=tuple(each.path for each in changes if each.status in _MOVES) if statuses >= _MOVES else (),
                    paths=tuple(each.path for each in changes),
                )
        return found

    def _relative(self) -> tuple[str, ...]:
        return (f"--relative={self._prefix}",) if self._prefix else ("--no-relative",)

    def _halving(self, ids: Sequence[str], *arguments: str) -> list[bytes]:
        """Returns the output of a command for these commits; halves what is too large or cannot be read, and counts single
        commits of which that is true."""
        if not ids or len(self._failures) > MAX_FAILURES:
            return []
        try:
            return [self._git(*arguments, standard_input="".join(f"{each}\n" for each in ids).encode())]
        except GitTimedOut:
            raise
        except GitError as error:
            if len(ids) > 1:
                half = len(ids) // 2
                return self._halving(ids[:half], *arguments) + self._halving(ids[half:], *arguments)
            if isinstance(error, GitOutputTooLarge):
                self._n_too_large += 1
            else:
                self._failures.append(str(error))
            return []

    def _git(self, *arguments: str, standard_input: bytes = b"") -> bytes:
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise GitTimedOut("the time was up")
        return run_git(
            self._repository,
            self._repository.top,
            *arguments,
            is_cancelled=self._is_cancelled,
            deadline_seconds=max(_LEAST_SECONDS, left),
            standard_input=standard_input,
            max_output_bytes=MAX_OUTPUT_BYTES,
        )


class _Changed(Struct, frozen=True, kw_only=True):
    """The paths that a commit changed, without renames: the old and the new path of one are both here."""

    kept: frozenset[str]
    """Those that count, without secrets."""
    moved: tuple[str, ...]
    """All that it added and removed, if it did both. Git finds renames among what it compares: if some of these were left out,
    all lines of a file that was moved into a chosen directory would seem to be new."""
    paths: tuple[str, ...]
    """All."""


_NOTHING: Final = _Changed(kept=frozenset(), moved=(), paths=())
_MOVES: Final = frozenset(("added", "removed"))


class _Patch(Struct, frozen=True):
    change: FileChange
    content: bytes


def _batches(ids: Sequence[str], kind: str) -> Iterator[Sequence[str]]:
    at, size = 0, _FIRST_BATCH[kind]
    while at < len(ids):
        yield ids[at : at + size]
        at, size = at + size, min(2 * size, _LARGEST_BATCH[kind])


def _raw(output: bytes) -> Iterator[tuple[str, list[FileChange]]]:
    """Yields each commit of `diff-tree --stdin --raw -z` with its entries. A path can look like an id, but is read as a path."""
    words = iter(output.split(b"\0"))
    commit, changes = "", list[FileChange]()
    for word in words:
        if word.startswith(b":"):
            changes.append(raw_entry(word, words))
        elif word:
            if commit:
                yield commit, changes
            commit, changes = word.decode("ascii", "replace"), []
    if commit:
        yield commit, changes


def _patches(output: bytes) -> Iterator[tuple[str, list[_Patch]]]:
    """Yields each commit of `diff-tree --stdin --raw -p -z` with its patches, in the order of its entries.

    Lines of a patch begin with none of the digits of an id, so that the next commit is where such a line begins.
    """
    at = 0
    while at < len(output):
        end = output.find(b"\0\0", at)
        if end < 0:
            return
        ((commit, changes),) = _raw(output[at : end + 1])
        following = _NEXT_COMMIT.search(output, end + 2)
        at = len(output) if following is None else following.start()
        pieces = _FILE.split(output[end + 2 : at])[1:]
        yield commit, [_Patch(change, piece) for change, piece in _aligned(changes, pieces)]


def _aligned(changes: Sequence[FileChange], pieces: Sequence[bytes]) -> Iterator[tuple[FileChange, bytes]]:
    """Yields each change with its patch. One of a file that became a link, or the reverse, has two."""
    at = 0
    for each in changes:
        is_retyped = bool(each.old_mode and each.new_mode) and each.old_mode[:2] != each.new_mode[:2]
        for piece in pieces[at : at + 1 + is_retyped]:
            yield each, piece
        at += 1 + is_retyped


def _line_hit(
    record: _Record, patches: Sequence[_Patch], kept: frozenset[str], sought: Callable[[str], Matches]
) -> FoundCommit | None:
    """Returns a commit of which one file's lines have what is sought: added ones count if the new path is kept, removed ones if
    the old path is."""
    shown: list[FoundLine] = []
    n_lines, is_hit = 0, False
    for patch in patches:
        change = patch.change
        sides = {side for side, path in (("-", change.old_path), ("+", change.path)) if path in kept}
        if not sides or is_secret(change) or change.note:
            continue
        lines = [each for each in _changed_lines(patch) if each[0] in sides]
        matches = sought("\n".join(text for _, _, text in lines)) if lines else None
        if matches is None:
            continue
        is_hit = True
        n_lines += len(matches)
        for at, start, _ in matches[: MAX_MATCHED_LINES - len(shown)]:
            side, number, text = lines[at]
            shown.append(FoundLine(change.path if side == "+" else change.old_path, number, side, text, start))
    return _hit(record, tuple(shown), n_lines) if is_hit else None


def _changed_lines(patch: _Patch) -> Iterator[tuple[str, int, str]]:
    """Yields side, number and text of each line that a patch removes or adds."""
    left_old = left_new = old = new = 0
    for line in patch.content.split(b"\n"):
        if left_old and line.startswith(b"-"):
            yield "-", old, _text(line)
            old, left_old = old + 1, left_old - 1
        elif left_new and line.startswith(b"+"):
            yield "+", new, _text(line)
            new, left_new = new + 1, left_new - 1
        elif (head := HUNK.match(line)) is not None:
            old, new = int(head[1]), int(head[3])
            left_old, left_new = (1 if each is None else int(each) for each in (head[2], head[4]))


def _text(line: bytes) -> str:
    return line[1:].decode("utf-8", "replace").replace("\r", "")


def _hit(record: _Record, lines: tuple[FoundLine, ...], n_lines: int) -> FoundCommit:
    return FoundCommit(
        commit=record.commit, at=record.at, author=record.author, subject=record.subject, lines=lines, n_lines=n_lines
    )
