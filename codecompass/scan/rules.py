"""What holds for a whole scan: the root, the settings, what git tracks anywhere below the root, and the rules from
outside.

Owns reading ignore files and entering repositories, keeps what went wrong on the way, and remembers what a scan was
decided by. Which rule wins is `policy.py`. Invariant: nothing here changes the workspace, and only regular files are
opened.
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
from codecompass.scan.ignore import IgnoreFile, encode_path, parse, parse_bounded
from codecompass.units import KIB, MIB, SECONDS

GIT_IGNORE_FILE: Final = ".gitignore"
OWN_IGNORE_FILE: Final = ".codecompassignore"

MAX_IGNORE_FILE_BYTES: Final = 256 * KIB
"""An ignore file beyond this is not one; it is passed over with a warning."""

MAX_IGNORE_BYTES: Final = 16 * MIB
"""All of them in one scan, which are read at some 2 us a line."""

MAX_NESTED_REPOSITORIES: Final = 1_000
"""Repositories below the root that git is asked about, at 4 ms each. In further ones nothing counts as tracked."""

NESTED_GIT_SECONDS: Final = 60 * SECONDS
"""For all of them together: one that git hangs in must not cost its deadline a thousand times."""

MAX_WARNINGS: Final = 50
"""Sentences of one scan. Each can be about one file, and there may be a million."""


class ScanRules(Struct, frozen=True):
    """What the configuration says about scanning.

    `extra_excludes` and `extra_includes` are patterns in gitignore syntax without `!`, relative to the workspace root
    (`index.exclude`, `index.include`). They win over every file in the workspace, and an include over an exclude.
    """

    max_file_bytes: int = MIB
    extra_excludes: tuple[str, ...] = ()
    extra_includes: tuple[str, ...] = ()


class EnteredRepository(Struct, frozen=True):
    """A repository that was asked what it tracks in `directory` (absolute), which is `prefix` seen from the root."""

    repository: git_repository.Repository
    directory: str
    prefix: str


class ScanMemory(Struct, frozen=True, kw_only=True):
    """What a scan was decided by, the names and kinds of entries apart.

    `root` is the real path. `stamps` are of ignore files, git's excludes and HEADs by absolute path, None where one was
    missing; `index_stamps` of git's lists of tracked files. `tracked` and `tracked_directories` are those of all
    `repositories`; `tracks_root` says that the one around the root tracks something in it.
    """

    root: str
    rules: ScanRules
    repository: git_repository.Repository | None
    repositories: tuple[EnteredRepository, ...]
    stamps: Mapping[str, Stamp | None]
    index_stamps: Mapping[str, Stamp | None]
    tracked: frozenset[str]
    tracked_directories: frozenset[str]
    tracks_root: bool
    warnings: tuple[str, ...]


class UnknownRepository(Exception):
    """A repository that the scan in memory did not know: nothing that is remembered of tracked files holds."""


class Workspace:
    """The state that the places of one scan share. `root` is absolute; paths are relative to it.

    `settings_rules` is the configuration as one ignore file at the root, or nothing. `tracked` holds the paths that git
    tracks in any repository entered so far, `tracked_directories` the directories above them, `repositories` the tops
    of these repositories (empty for the one around the root), `stamps` how the ignore files looked when they were read.

    With a `memory` git is not asked: the tracked files are those in memory, which the caller has found to hold. Entering
    a repository that is not in it raises UnknownRepository.
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
        self.repository = git_repository.find_repository(self.root)
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

    def memory(self) -> ScanMemory | None:
        """Returns what the scan up to here was decided by; None where git failed, so that it must be asked again."""
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
        """Marks as tracked what the repository around the root tracks, and returns its rules from above the root,
        deepest first, `info/exclude` last."""
        if self.repository is None:
            return ()
        self.track(EnteredRepository(self.repository, self.root, ""))
        return self._rules_from_above(self.repository)

    def repository_at(self, path: str) -> git_repository.Repository | None:
        """Returns the repository whose work tree begins at `path`, a directory below the root."""
        return git_repository.repository_at(os.path.join(self.root, path))

    def enter_repository(self, repository: git_repository.Repository, path: str) -> tuple[IgnoreFile, ...]:
        """Marks as tracked what a repository at `path` below the root tracks, and returns its `info/exclude`."""
        self.track(EnteredRepository(repository, repository.top, path + "/"))
        return self._load_exclude(repository, path + "/.git/info/exclude", base=path + "/")

    def is_further_worktree(self, repository: git_repository.Repository) -> bool:
        """Whether `repository`, found below the root, is a linked work tree of one that the workspace holds anyway.

        Its files would all be there twice. The work trees of a bare repository are not: none of them is the first.
        """
        if not repository.is_linked_worktree:
            return False
        common = os.path.realpath(repository.common_directory)
        own = self.repository
        is_ours = own is not None and os.path.realpath(own.common_directory) == common
        return (is_ours or common.startswith(self.root + "/")) and not git_repository.is_bare(repository)

    def load(
        self,
        path: str,
        source: str,
        *,
        base: str = "",
        lead: str = "",
        follows_link: bool = False,
        above: tuple[IgnoreFile, ...] = (),
    ) -> tuple[IgnoreFile, ...]:
        """Returns the ignore file at the absolute `path`, nothing if it has no pattern, is missing or cannot be read.
        `above` are those that hold in the same directory already.

        In the workspace a symbolic link in its place is not followed, as git does not since 2.32.
        """
        # Before reading: a change in between then shows as one next time.
        self.stamps[path] = stamp_of(path)
        try:
            content = read_regular_file(path, MAX_IGNORE_FILE_BYTES + 1, follows_link=follows_link)
        except FileNotFoundError:
            return ()
        except OSError as error:
            reason = "a symbolic link" if error.errno == errno.ELOOP else error.strerror
            self._warn(f"{source} was not read: {reason}")
            return ()
        if len(content) > MAX_IGNORE_FILE_BYTES:
            self._warn(f"{source} was not used: larger than {MAX_IGNORE_FILE_BYTES} bytes")
            return ()
        self._n_ignore_bytes += len(content)
        if self._n_ignore_bytes > MAX_IGNORE_BYTES:
            self._warn(f"{source} was not used: all ignore files together are larger than {MAX_IGNORE_BYTES} bytes")
            return ()
        patterns, is_cut = parse_bounded(content, source, above)
        if is_cut:
            self._warn(f"{source} was used in part: some of its patterns are too long, or too many")
        return (IgnoreFile(patterns, base=base, lead=lead),) if patterns else ()

    def track(self, entered: EnteredRepository) -> None:
        """Marks as tracked what a repository tracks in its directory."""
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
        """Raises GitError where nested repositories have had their share of time and processes."""
        if not is_nested:
            return git_repository.GIT_DEADLINE_SECONDS
        left = NESTED_GIT_SECONDS - self._nested_seconds
        if len(self._entered) > MAX_NESTED_REPOSITORIES or left <= 0:
            raise git_repository.GitError("git was asked about too many nested repositories, or for too long")
        return min(git_repository.GIT_DEADLINE_SECONDS, left)

    def _warn(self, sentence: str) -> None:
        if len(self.warnings) < MAX_WARNINGS:
            self.warnings.append(sentence)
        elif len(self.warnings) == MAX_WARNINGS:
            self.warnings.append("further warnings of this scan are left out")

    def _rules_from_above(self, repository: git_repository.Repository) -> tuple[IgnoreFile, ...]:
        """A root that the repository around it ignores and does not track is no part of it (a project in a home
        directory that is itself a repository ignoring `*`): then none of its rules apply."""
        relative = os.path.relpath(self.root, repository.top)
        components = () if relative == "." else tuple(relative.split(os.sep))
        n_above = len(components)

        exclude = self._load_exclude(repository, "../" * n_above + ".git/info/exclude", lead=_lead(components))
        rules = [(0, file) for file in exclude]
        for depth in range(n_above):
            path = os.path.join(repository.top, *components[:depth], GIT_IGNORE_FILE)
            source = "../" * (n_above - depth) + GIT_IGNORE_FILE
            rules[:0] = [(depth, file) for file in self.load(path, source, lead=_lead(components[depth:]))]
            if not self._tracks_root and _is_ignored(rules, components[: depth + 1]):
                return ()
        return tuple(file for _, file in rules)

    def _load_exclude(
        self, repository: git_repository.Repository, source: str, *, base: str = "", lead: str = ""
    ) -> tuple[IgnoreFile, ...]:
        path = os.path.join(repository.common_directory, "info", "exclude")
        return self.load(path, source, base=base, lead=lead, follows_link=True)


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


def _lead(components: tuple[str, ...]) -> str:
    return "".join(component + "/" for component in components)


def _lines(patterns: tuple[str, ...]) -> bytes:
    return encode_path("\n".join(patterns))
