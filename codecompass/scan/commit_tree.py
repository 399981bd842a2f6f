"""Lists the files of a commit from git's object database, by the same rules as those of the working tree.

Every entry of a commit is tracked, so `.gitignore` excludes none. `.codecompassignore` files are those of the commit. `policy.py`
decides each directory's entries, as in a walk. Never changes the repository, reads the working tree or uses the network:
missing objects raise an error that says how to get them.
"""

import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final

from msgspec import Struct

from codecompass.errors import RefNotIndexed
from codecompass.languages.records import SkipReason
from codecompass.scan.files import is_utf8, printable
from codecompass.scan.git_objects import LINK, SUBMODULE, read_blobs
from codecompass.scan.git_repository import GitCancelled, GitError, GitRepository, run_git
from codecompass.scan.git_roots import GitRoots
from codecompass.scan.ignore import IgnoreFile, Rule
from codecompass.scan.policy import DirectoryPolicy, policy_of_commit
from codecompass.scan.rules import MAX_IGNORE_FILE_BYTES, OWN_IGNORE_FILE, ScanContext, ScanRules
from codecompass.scan.walk import SkippedFile

MAX_LINK_BYTES: Final = 4096
"""No system can resolve a symbolic link with a longer target."""

_DIRECTORY: Final = "040000"

_by_path = attrgetter("path")


class CommitFile(Struct, frozen=True, gc=False):
    """A file to index. `path` is relative to the workspace's root; `size` is in bytes; `object_id` is that of its blob."""

    path: str
    size: int
    object_id: str


class CommitTree(Struct, frozen=True, kw_only=True):
    """The files of a commit below a workspace's root to index and to skip, both sorted by code points.

    `warnings` are sentences for people about ignore files that were not used.
    """

    files: tuple[CommitFile, ...]
    skipped: tuple[SkippedFile, ...]
    warnings: tuple[str, ...] = ()


class _Entry(Struct, frozen=True, gc=False):
    """An entry of a directory. `size` is 0 for anything but a file."""

    name: str
    mode: str
    object_id: str
    size: int


def read_commit_tree(
    repository: GitRepository, root: str, commit: str, rules: ScanRules, *, is_cancelled: Callable[[], bool] | None = None
) -> CommitTree:
    """Returns which files of `commit` an index of the workspace at `root` (absolute, inside the work tree) would hold.

    Raises:
        RefNotIndexed: the repository lacks objects of the commit, or the commit has nothing at `root`.
        GitError: git could not be run.
        GitCancelled: `is_cancelled` returned true.
    """
    prefix = _prefix(repository, root)
    try:
        listing = run_git(
            repository,
            repository.top,
            *("ls-tree", "-r", "-z", "-l", "--full-tree", commit),
            *(("--", prefix) if prefix else ()),
            is_cancelled=is_cancelled,
        )
    except GitError as error:
        if "failed with status" not in str(error):
            raise
        raise incomplete(commit, f"git cannot read its directories ({error})") from error
    directories, paths, n_missing = _directories(listing, prefix)
    if n_missing:
        raise incomplete(commit, f"{n_missing:,} of its files are missing")
    if prefix and not paths:
        raise RefNotIndexed(
            f"commit {commit[:12]} has no file below {prefix.rstrip('/')}, which is the directory of this workspace in its "
            "repository. Ask about another ref, or about the workspace of the whole repository.",
            ref=commit,
            path=prefix.rstrip("/"),
        )
    return _Choice(repository, root, rules, directories, paths, is_cancelled).run()


def incomplete(commit: str, cause: str) -> RefNotIndexed:
    """Returns the error for a commit of which the repository lacks objects."""
    return RefNotIndexed(
        f"commit {commit[:12]} cannot be read completely: {cause}, as in a shallow or partial clone, and nothing is fetched for "
        "a question. Have it fetched (git fetch --refetch or git fetch --unshallow; checking the commit out once also works), "
        "and call again.",
        ref=commit,
        remediation="git fetch --refetch",
    )


def _prefix(repository: GitRepository, root: str) -> str:
    relative = os.path.relpath(os.path.realpath(root), os.path.realpath(repository.top))
    return "" if relative == "." else relative + "/"


def _directories(listing: bytes, prefix: str) -> tuple[Mapping[str, list[_Entry]], frozenset[str], int]:
    """Returns the entries of each directory by its path ('' for the root), all paths, and how many blobs are missing here."""
    directories: dict[str, list[_Entry]] = {"": []}
    paths: set[str] = set()
    n_missing = 0
    for line in listing.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        entry, _, full = line.partition("\t")
        mode, _kind, object_id, size = entry.split()
        n_missing += not (size.isdecimal() or mode == SUBMODULE)
        path = full[len(prefix) :]
        parent, _, name = path.rpartition("/")
        if parent not in directories:
            _add_directory(directories, parent)
        directories[parent].append(_Entry(name, mode, object_id, int(size) if size.isdecimal() else 0))
        paths.add(path)
    return directories, frozenset(paths), n_missing


def _add_directory(directories: dict[str, list[_Entry]], path: str) -> None:
    """Adds a directory and those above it. Not recursive, because a tree can be deeper than the call stack."""
    missing = []
    while path not in directories:
        missing.append(path)
        path = path.rpartition("/")[0]
    for directory in reversed(missing):
        directories[path].append(_Entry(directory.rpartition("/")[2], _DIRECTORY, "", 0))
        directories[directory] = []
        path = directory


class _CommitContext(ScanContext):
    """The rules of a scan, with the ignore files of a commit in place of those on disk."""

    def __init__(self, repository: GitRepository, root: str, rules: ScanRules, entries: Mapping[str, list[_Entry]]) -> None:
        super().__init__(root, rules)
        self._repository = repository
        self._entries = entries

    def load_ignore_file(
        self,
        path: str,
        source: str,
        *,
        base: str = "",
        root_prefix: str = "",
        within: GitRoots | None = None,
        above: tuple[IgnoreFile, ...] = (),
    ) -> tuple[IgnoreFile, ...]:
        """Returns the ignore file `source`, a path in the commit; empty if it is missing or has no pattern."""
        found = next((each for each in self._entries[base.rstrip("/")] if each.name == posixpath.basename(source)), None)
        if found is None or found.mode in (LINK, SUBMODULE, _DIRECTORY):
            return ()
        if found.size > MAX_IGNORE_FILE_BYTES:
            content = b" " * (MAX_IGNORE_FILE_BYTES + 1)
        else:
            content = _contents(self._repository, [found.object_id], MAX_IGNORE_FILE_BYTES)[0]
        return self.ignore_file(content, source, base=base, root_prefix=root_prefix, above=above)


class _Choice:
    """Applies the policy of each directory to its entries, and collects what is indexed and what is skipped."""

    def __init__(
        self,
        repository: GitRepository,
        root: str,
        rules: ScanRules,
        directories: Mapping[str, list[_Entry]],
        paths: frozenset[str],
        is_cancelled: Callable[[], bool] | None,
    ) -> None:
        self._repository = repository
        self._directories = directories
        self._is_cancelled = is_cancelled
        self._max_bytes = rules.max_file_bytes
        self._context = _CommitContext(repository, root, rules, directories)
        self._context.tracked = paths
        self._context.tracked_directories = directories.keys()
        self._files: list[CommitFile] = []
        self._skipped: list[SkippedFile] = []
        self._links: list[tuple[str, _Entry]] = []

    def run(self) -> CommitTree:
        """Visits all directories and returns their files."""
        pending = [policy_of_commit(self._context)]
        while pending:
            if self._is_cancelled is not None and self._is_cancelled():
                raise GitCancelled
            self._visit(pending.pop(), pending)
        self._skip_links()
        return CommitTree(
            files=tuple(sorted(self._files, key=_by_path)),
            skipped=tuple(sorted(self._skipped, key=_by_path)),
            warnings=tuple(self._context.warnings),
        )

    def _visit(self, policy: DirectoryPolicy, pending: list[DirectoryPolicy]) -> None:
        entries = self._directories[policy.path]
        # No other name matters: nothing in a commit is untracked.
        policy.enter({OWN_IGNORE_FILE} if any(entry.name == OWN_IGNORE_FILE for entry in entries) else ())
        for entry in entries:
            path = policy.prefix + entry.name
            if entry.mode == _DIRECTORY:
                below = policy.check_directory(path, entry.name)
                if isinstance(below, Rule):
                    continue
                if is_utf8(entry.name):
                    pending.append(below)
                else:
                    self._skip(path, "path_not_utf8")
            elif entry.mode == SUBMODULE:
                if not isinstance(policy.check_directory(path, entry.name), Rule):
                    self._skip(path, "submodule")
            else:
                self._check_file(policy, path, entry)

    def _check_file(self, policy: DirectoryPolicy, path: str, entry: _Entry) -> None:
        decision = policy.check_file(path, entry.name)
        if isinstance(decision, Rule):
            return
        size = 0 if entry.mode == LINK else entry.size
        if decision is not None:
            self._skip(path, decision, size)
        elif not is_utf8(path):
            self._skip(path, "path_not_utf8", size)
        elif entry.mode == LINK:
            self._links.append((path, entry))
        elif size > self._max_bytes:
            self._skip(path, "too_large", size)
        else:
            self._files.append(CommitFile(path, size, entry.object_id))

    def _skip_links(self) -> None:
        """Skips the symbolic links. Their text tells whether they lead out of the workspace: nothing is on disk to follow."""
        targets = _contents(self._repository, [entry.object_id for _, entry in self._links], MAX_LINK_BYTES)
        for (path, _entry), target in zip(self._links, targets, strict=True):
            text = target.decode("utf-8", "surrogateescape")
            led = posixpath.normpath(posixpath.join(posixpath.dirname(path), text))
            is_outside = led == ".." or led.startswith(("/", "../"))
            self._skip(path, "symlink_outside_root" if is_outside else "symlink")

    def _skip(self, path: str, reason: SkipReason, size: int = 0) -> None:
        self._skipped.append(SkippedFile(printable(path), reason, size))


def _contents(repository: GitRepository, object_ids: Sequence[str], max_bytes: int) -> list[bytes]:
    """Returns the contents of small blobs, b'' for each that is larger or missing."""
    return [blob.content or b"" for blob in read_blobs(repository, object_ids, max_bytes)]
