"""Finds how a working tree differs from its index: one scan and a comparison with the manifest. Writes nothing."""

import os
import stat
from collections.abc import Callable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import IndexStale
from codecompass.identity import content_hash
from codecompass.scan.checkout import read_checkout
from codecompass.scan.files import BINARY_PROBE_BYTES, open_below
from codecompass.scan.git_repository import Head, bare_repository_at
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import ScanCancelled, ScanResult, scan
from codecompass.store.manifest import NOTHING, ChangeSet, ManifestEntry, find_changes, is_as_scanned
from codecompass.store.rows import FileRow
from codecompass.store.snapshot import Snapshot

MAX_HASHED_FILES: Final = 200
"""Up to this many files with changed times are hashed, because a file can be touched, or written shortly before it is indexed,
without a change of content. If there are more, all of them count as changed."""

SUGGESTION: Final = "Call sync_repo to update the index before querying."


class Drift(Struct, frozen=True):
    """The changes that a job would have to index, and HEAD."""

    changes: ChangeSet
    head: Head
    has_other_rules: bool
    is_steady: bool = True
    """Whether the checkout did not change during the scan, and HEAD of a bare repository not since it was indexed."""

    @property
    def is_fresh(self) -> bool:
        """Whether the index matches the tree: no file is new, edited or gone, and the rules are those of the index."""
        return self.changes.is_empty and not self.has_other_rules and self.is_steady

    def names_head_of(self, snapshot: Snapshot) -> bool:
        """Whether a snapshot is of the branch and the commit that are checked out."""
        return (snapshot.meta.ref, snapshot.meta.commit) == (self.head.ref, self.head.commit or "")

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are new, edited or gone, sorted."""
        changes = self.changes
        found = {task.path for task in changes.tasks} | {item.path for item in changes.skipped} | set(changes.removed)
        return tuple(sorted(found))

    @property
    def n_files(self) -> int:
        """How many files a job would read, skip or remove."""
        return len(self.changes.tasks) + len(self.changes.skipped) + len(self.changes.removed)


def find_drift(
    snapshot: Snapshot, root: str, rules: ScanRules, fingerprint: str, *, is_cancelled: Callable[[], bool] | None = None
) -> Drift:
    """Returns how the tree at `root` differs from a snapshot. Takes about 15 us per file of the tree.

    `fingerprint` is that of the current rules. Raises OSError if the root cannot be listed, ScanCancelled when `is_cancelled`
    returns True.
    """
    if is_cancelled is not None and is_cancelled():
        raise ScanCancelled
    before = read_checkout(root, rules.git_roots)
    has_other_rules = snapshot.meta.rules_fingerprint != fingerprint
    if bare_repository_at(os.path.realpath(root), rules.git_roots) is not None:
        return Drift(NOTHING, before.head, has_other_rules, is_steady=snapshot.meta.commit == before.head.commit)
    found = scan(root, rules, is_cancelled=is_cancelled)
    changes = NOTHING
    if has_other_rules or not is_as_scanned(snapshot.facts, found):
        changes = _changes(snapshot, root, found, has_other_rules=has_other_rules)
    after = read_checkout(root, rules.git_roots)
    is_steady = (before.head, before.index) == (after.head, after.index)
    return Drift(changes, after.head, has_other_rules, is_steady)


def _changes(snapshot: Snapshot, root: str, found: ScanResult, *, has_other_rules: bool) -> ChangeSet:
    manifest = {row.path: manifest_entry(row) for row in snapshot.facts.files()}
    changes = find_changes(manifest, found, rules_changed=has_other_rules)
    if len(changes.tasks) > MAX_HASHED_FILES or has_other_rules:
        return changes
    tasks = tuple(task for task in changes.tasks if not _is_same(root, task.path, manifest.get(task.path)))
    return msgspec.structs.replace(changes, tasks=tasks)


def changed_since_indexed(
    root: str, entries: Mapping[str, ManifestEntry | None], git_roots: GitRoots = ANYWHERE
) -> frozenset[str]:
    """Returns the paths of the files that differ from their manifest entries; None is the entry of a file that is not indexed.

    A file with the same size, times and inode counts as unchanged; any other is read and hashed. Blocking. A bare
    repository has no files that could differ.
    """
    if bare_repository_at(os.path.realpath(root), git_roots) is not None:
        return frozenset()
    return frozenset(
        path
        for path, entry in entries.items()
        if entry is None or not (_has_same_stamp(root, path, entry) or _is_same(root, path, entry))
    )


def _has_same_stamp(root: str, path: str, entry: ManifestEntry) -> bool:
    try:
        found = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return False
    stamp = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    return stat.S_ISREG(found.st_mode) and stamp == (entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode)


def manifest_entry(row: FileRow) -> ManifestEntry:
    """Returns the manifest entry with the columns of `row`."""
    return ManifestEntry(
        id=row.id,
        status=row.status,
        reason=row.reason,
        language=row.language,
        size=row.size,
        mtime_ns=row.mtime_ns,
        ctime_ns=row.ctime_ns,
        inode=row.inode,
        content_hash=row.content_hash,
        symbol_count=row.symbol_count,
        is_parsed=row.is_parsed,
        blob_id=row.blob_id,
        long_lines=row.long_lines,
    )


def stale_error(snapshot: Snapshot, drift: Drift | None) -> IndexStale:
    """Returns the error for a `strict` request; `drift` is None if the comparison took too long."""
    if drift is None:
        return IndexStale(
            "Index is stale. Files that have changed since it was built are being indexed. Call again, or run sync_repo to "
            "follow that.",
            suggestion=SUGGESTION,
        )
    indexed, current = snapshot.meta.commit, drift.head.commit or ""
    is_commit = indexed != current and bool(current)
    cause = (
        "Last indexed commit does not match HEAD" if is_commit else f"Files that have changed since it was built: {drift.n_files}"
    )
    return IndexStale(
        f"Index is stale. {cause}. Run sync_repo to refresh.",
        last_indexed_commit=indexed if is_commit else None,
        current_head=current if is_commit else None,
        changed_files=drift.n_files,
        suggestion=SUGGESTION,
    )


def _is_same(root: str, path: str, entry: ManifestEntry | None) -> bool:
    if entry is None or not entry.is_parsed or not entry.content_hash:
        return False
    try:
        descriptor = open_below(root, path)
    except OSError:
        return False
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size != entry.size:
            return False
        # Only the beginning of a binary file was hashed when it was indexed.
        n_bytes = BINARY_PROBE_BYTES if entry.reason == "binary" else entry.size + 1
        with open(descriptor, "rb", closefd=False) as file:
            return content_hash(file.read(n_bytes)) == entry.content_hash
    except OSError:
        return False
    finally:
        os.close(descriptor)
