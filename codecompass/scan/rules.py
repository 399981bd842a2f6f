"""The rules of a whole scan: the settings, the ignore files, and the files that git tracks below the root.

Reads ignore files, lists the tracked files of repositories, collects warnings, and records what a scan depended on, so that a
later one can check whether it still holds. `policy.py` decides which rule wins. Invariant: nothing here changes the workspace,
and only regular files are opened.
"""

import errno
import os
import time
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.scan import git_repository
from codecompass.scan.files import Stamp, read_regular_file, stamp_of
from codecompass.scan.git_roots import ANYWHERE, GitRoots, read_inside
from codecompass.scan.ignore import IgnoreFile, encode_path, parse, parse_bounded
from codecompass.units import KIB, MIB, SECONDS

GIT_IGNORE_FILE: Final = ".gitignore"
OWN_IGNORE_FILE: Final = ".codecompassignore"

MAX_IGNORE_FILE_BYTES: Final = 256 * KIB
"""A larger ignore file is skipped with a warning."""

MAX_IGNORE_BYTES: Final = 16 * MIB
"""Total size of the ignore files of one scan; parsing takes about 2 us a line."""

MAX_NESTED_REPOSITORIES: Final = 1_000
"""Repositories below the root for which git is started, at 4 ms each. In further ones nothing counts as tracked."""

NESTED_GIT_SECONDS: Final = 60 * SECONDS
"""Total for all nested repositories: a hanging git must not take its deadline a thousand times."""

MAX_WARNINGS: Final = 50
"""Warnings of one scan. Each may be about a single file, and there may be a million files."""


class ScanRules(Struct, frozen=True):
    """The settings of a scan.

    `extra_excludes` and `extra_includes` (`index.exclude`, `index.include`) are patterns in gitignore syntax without `!`,
    relative to the workspace root. They take precedence over every ignore file, and includes over excludes. `git_roots` are the
    directories within which a repository must lie to count as one.
    """

    max_file_bytes: int = MIB
    extra_excludes: tuple[str, ...] = ()
    extra_includes: tuple[str, ...] = ()
    git_roots: GitRoots = ANYWHERE


class EnteredRepository(Struct, frozen=True):
    """A repository whose tracked files in `directory` (absolute) were listed. `prefix` is that directory relative to the root,
    with a trailing slash, or empty."""

    repository: git_repository.GitRepository
    directory: str
    prefix: str


class ScanMemory(Struct, frozen=True, kw_only=True):
    """What the result of a scan depended on, except the names and types of entries."""

    root: str
    """The real path."""
    rules: ScanRules
    repository: git_repository.GitRepository | None
    """The repository whose work tree holds the root."""
    repositories: tuple[EnteredRepository, ...]
    """All repositories whose tracked files were listed."""
    stamps: Mapping[str, Stamp | None]
    """Stamps of ignore files, `info/exclude` files and HEADs by absolute path; None for a missing file."""
    index_stamps: Mapping[str, Stamp | None]
    """Stamps of git's index files by absolute path."""
    tracked: frozenset[str]
    """Tracked paths of all `repositories`."""
    tracked_directories: frozenset[str]
    """The directories above `tracked`."""
    tracks_root: bool
    """Whether the repository that holds the root tracks anything in it."""
    warnings: tuple[str, ...]
    """Sentences for people."""


class UnknownRepository(Exception):
    """A repository was found that the remembered scan did not know, so that its tracked files no longer hold."""


class ScanContext:
    """The state that the directory policies of one scan share. Paths are relative to `root`, which is absolute.

    - `settings_rules`: the settings as one ignore file at the root, or empty.
    - `repository`: the one whose work tree holds the root, or None.
    - `repositories`: tops of the repositories entered so far (empty for the one that holds the root).
    - `tracked`, `tracked_directories`: tracked paths of these repositories, and the directories above them.
    - `stamps`: stamps of the ignore files, taken before each was read, and of the repositories' HEADs.
    - `warnings`: sentences for people.

    With a `memory` git is not started: the tracked files are the remembered ones, which the caller has validated. Entering a
    repository that is not in the memory raises UnknownRepository.
    """

    def __init__(
        self,
        root: str,
        rules: ScanRules,
        is_cancelled: Callable[[], bool] | None = None,
        *,
        memory: ScanMemory | None = None,
    ) -> None:
        self.root = os.path.realpath(root)
        self.rules = rules
        self.repositories: list[str] = []
        self.warnings: list[str] = []
        self.repository = git_repository.find_repository(self.root, rules.git_roots)
        self.settings_rules = _settings_rules(rules)
        self._is_cancelled = is_cancelled
        self._memory = memory
        self._tracked: set[str] = set()
        self._tracked_directories: set[str] = set()
        self._entered: list[EnteredRepository] = []
        self.stamps: dict[str, Stamp | None] = {}
        self._index_stamps: dict[str, Stamp | None] = {}
        self._tracks_root = memory is not None and memory.tracks_root
        self._has_git_failed = False
        self._nested_seconds = 0.0
        self._n_ignore_bytes = 0
        self.tracked: AbstractSet[str] = self._tracked if memory is None else memory.tracked
        self.tracked_directories: AbstractSet[str] = self._tracked_directories if memory is None else memory.tracked_directories
        if self.repository is None and memory is None:
            self._warn_of_refused(self.root, "")

    def memory(self) -> ScanMemory | None:
        """Returns what the scan so far depended on; None if git failed, so that the next scan runs it again."""
        if self._has_git_failed:
            return None
        return ScanMemory(
            root=self.root,
            rules=self.rules,
            repository=self.repository,
            repositories=tuple(self._entered),
            stamps=self.stamps,
            index_stamps=self._index_stamps,
            tracked=frozenset(self.tracked),
            tracked_directories=frozenset(self.tracked_directories),
            tracks_root=self._tracks_root,
            warnings=tuple(self.warnings),
        )

    def enter_root_repository(self) -> tuple[IgnoreFile, ...]:
        """Adds the tracked files of the repository that holds the root, and returns its ignore files above the root, deepest
        first, `info/exclude` last."""
        if self.repository is None:
            return ()
        self.add_tracked_files(EnteredRepository(self.repository, self.root, ""))
        return self._rules_above_root(self.repository)

    def repository_at(self, path: str) -> git_repository.GitRepository | None:
        """Returns the repository whose work tree begins at `path`, a directory below the root."""
        top = os.path.join(self.root, path)
        found = git_repository.repository_at(top, self.rules.git_roots)
        if found is None and self._memory is None:
            self._warn_of_refused(top, path + "/")
        return found

    def enter_repository(self, repository: git_repository.GitRepository, path: str) -> tuple[IgnoreFile, ...]:
        """Adds the tracked files of a repository at `path` below the root, and returns its `info/exclude`."""
        self.add_tracked_files(EnteredRepository(repository, repository.top, path + "/"))
        return self._load_exclude(repository, path + "/.git/info/exclude", base=path + "/")

    def is_duplicate_worktree(self, repository: git_repository.GitRepository) -> bool:
        """Whether `repository`, found below the root, is a linked work tree of one that the workspace already holds.

        All its files would be indexed twice. Work trees of a bare repository are not duplicates: it has no main work tree.
        """
        if not repository.is_linked_worktree:
            return False
        common = os.path.realpath(repository.common_directory)
        own = self.repository
        is_ours = own is not None and os.path.realpath(own.common_directory) == common
        return (is_ours or common.startswith(self.root + "/")) and not git_repository.is_bare(repository)

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
        """Returns the ignore file at the absolute `path`; empty if it has no pattern, is missing or cannot be read.

        `source` names it in rules. `above` are the ignore files that already apply to the same directory. Symbolic links are
        followed only within the directories `within`, and in a work tree not at all, as in git since 2.32.
        """
        # Taken before reading, so that the next scan detects a change in between.
        self.stamps[path] = stamp_of(path)
        try:
            limit = MAX_IGNORE_FILE_BYTES + 1
            content = read_regular_file(path, limit) if within is None else read_inside(path, limit, within)
        except FileNotFoundError:
            return ()
        except OSError as error:
            reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
            self._warn(f"{source} was not read: {reason}")
            return ()
        return self.ignore_file(content, source, base=base, root_prefix=root_prefix, above=above)

    def ignore_file(
        self, content: bytes, source: str, *, base: str, root_prefix: str, above: tuple[IgnoreFile, ...]
    ) -> tuple[IgnoreFile, ...]:
        """Returns the ignore file with this content, within the limits of a scan; empty if it has no pattern."""
        if len(content) > MAX_IGNORE_FILE_BYTES:
            self._warn(f"{source} was not used: larger than {MAX_IGNORE_FILE_BYTES} bytes")
            return ()
        self._n_ignore_bytes += len(content)
        if self._n_ignore_bytes > MAX_IGNORE_BYTES:
            self._warn(f"{source} was not used: all ignore files together are larger than {MAX_IGNORE_BYTES} bytes")
            return ()
        patterns, is_truncated = parse_bounded(content, source, above)
        if is_truncated:
            self._warn(f"{source} was only partly used: some of its patterns are too long, or there are too many")
        return (IgnoreFile(patterns, base=base, root_prefix=root_prefix),) if patterns else ()

    def add_tracked_files(self, entered: EnteredRepository) -> None:
        """Adds the files that a repository tracks in its directory.

        Raises:
            GitCancelled: `is_cancelled` returned true. Any other failure of git becomes a warning.
            UnknownRepository: the memory does not contain the repository.
        """
        repository, prefix = entered.repository, entered.prefix
        if self._memory is not None:
            if entered not in self._memory.repositories:
                raise UnknownRepository(prefix)
            self.repositories.append(prefix.rstrip("/"))
            return
        for stamps, name in ((self._index_stamps, "index"), (self.stamps, "HEAD")):
            path = os.path.join(repository.git_directory, name)
            stamps[path] = stamp_of(path)
        began = time.monotonic()
        try:
            paths = git_repository.tracked_files(
                repository,
                entered.directory,
                is_cancelled=self._is_cancelled,
                deadline_seconds=self._git_deadline(is_nested=bool(prefix)),
            )
        except git_repository.GitError as error:
            self._has_git_failed = True
            self._warn(f"nothing counts as tracked in {prefix or './'}: {error}")
            return
        finally:
            if prefix:
                self._nested_seconds += time.monotonic() - began
        if prefix:
            paths = tuple([prefix + path for path in paths])
        else:
            self._tracks_root = bool(paths)
        self._entered.append(entered)
        self.repositories.append(prefix.rstrip("/"))
        self._tracked.update(paths)
        known = self._tracked_directories
        for parent in {path.rpartition("/")[0] for path in paths}:
            while parent and parent not in known:
                known.add(parent)
                parent = parent.rpartition("/")[0]

    def _git_deadline(self, *, is_nested: bool) -> float:
        """Returns how many seconds git may run. Raises GitError if nested repositories have used up their time or number."""
        if not is_nested:
            return git_repository.GIT_DEADLINE_SECONDS
        left = NESTED_GIT_SECONDS - self._nested_seconds
        if len(self._entered) > MAX_NESTED_REPOSITORIES or left <= 0:
            raise git_repository.GitError("there are too many nested repositories, or git took too long for them")
        return min(git_repository.GIT_DEADLINE_SECONDS, left)

    def _warn_of_refused(self, directory: str, prefix: str) -> None:
        reason = git_repository.why_not(directory, self.rules.git_roots)
        if reason:
            self._warn(f"git is not used in {prefix or './'}: {reason}")

    def _warn(self, sentence: str) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(sentence)
        elif len(self.warnings) == MAX_WARNINGS:
            self.warnings.append("further warnings of this scan are left out")

    def _rules_above_root(self, repository: git_repository.GitRepository) -> tuple[IgnoreFile, ...]:
        """Returns the repository's ignore files above the root. None apply if the repository ignores the root and tracks nothing
        in it, like a home directory under git that ignores `*`: the root is then not part of the repository."""
        relative = os.path.relpath(self.root, repository.top)
        components = () if relative == "." else tuple(relative.split(os.sep))
        n_above = len(components)

        exclude = self._load_exclude(repository, "../" * n_above + ".git/info/exclude", root_prefix=_root_prefix(components))
        rules = [(0, file) for file in exclude]
        for depth in range(n_above):
            path = os.path.join(repository.top, *components[:depth], GIT_IGNORE_FILE)
            source = "../" * (n_above - depth) + GIT_IGNORE_FILE
            rules[:0] = [
                (depth, file) for file in self.load_ignore_file(path, source, root_prefix=_root_prefix(components[depth:]))
            ]
            if not self._tracks_root and _is_ignored(rules, components[: depth + 1]):
                return ()
        return tuple(file for _, file in rules)

    def _load_exclude(
        self, repository: git_repository.GitRepository, source: str, *, base: str = "", root_prefix: str = ""
    ) -> tuple[IgnoreFile, ...]:
        path = os.path.join(repository.common_directory, "info", "exclude")
        return self.load_ignore_file(path, source, base=base, root_prefix=root_prefix, within=repository.roots)


def _settings_rules(rules: ScanRules) -> tuple[IgnoreFile, ...]:
    excludes = parse(_lines(rules.extra_excludes), "index.exclude")
    includes = parse(_lines(rules.extra_includes), "index.include")
    patterns = excludes + tuple(msgspec.structs.replace(pattern, is_negated=True) for pattern in includes)
    return (IgnoreFile(patterns, outranks_files=True),) if patterns else ()


def _is_ignored(rules: list[tuple[int, IgnoreFile]], components: tuple[str, ...]) -> bool:
    for depth, file in rules:
        pattern = file.find(encode_path("/".join(components[depth:])), is_directory=True)
        if pattern is not None:
            return not pattern.is_negated
    return False


def _root_prefix(components: tuple[str, ...]) -> str:
    return "".join(component + "/" for component in components)


def _lines(patterns: tuple[str, ...]) -> bytes:
    return encode_path("\n".join(patterns))
