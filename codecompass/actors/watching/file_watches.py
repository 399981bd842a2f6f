"""Watches of single files, for writes that no watched directory reports: through a name elsewhere. Linux only.

An event of a directory is about a name in it. A write through another name of the file (hard link), outside of the tree or gone
by now, is no event there, and neither is making or removing that name. A watch of the file itself reports both, whatever name is
used. It is an inotify instance of its own: equal events in a row are merged by the kernel, and those of a file and of its
directory in one queue would always alternate.

Every file of a tree has one, so little is kept of each: 200 bytes, where paths and tuples took 550 (Django, kubernetes).
"""

import errno
import os
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from inotify_simple import INotify, flags
from msgspec import Struct

from codecompass.actors.watching.changes import FilesByDirectory
from codecompass.scan.walk import ScannedFile

MASK: Final = int(flags.MODIFY | flags.ATTRIB | flags.CLOSE_WRITE | flags.DONT_FOLLOW)
"""Writes (CLOSE_WRITE: through a mapping), and a change of the number of names, which is one of the attributes."""

_IGNORED: Final = int(flags.IGNORED)
_OVERFLOW: Final = int(flags.Q_OVERFLOW)
_UNWATCHABLE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP})

_LOST: Final = 0
"""In place of the number of a watch that the kernel has removed; numbers begin with 1."""


class _Names(Struct):
    """The watched names in one directory, as three columns. `key` is the directory, for the values of `FileWatches._of`."""

    key: tuple[str, ...]
    names: str = ""
    """Separated by slashes."""
    watches: "array[int]" = array("i")
    inodes: "array[int]" = array("Q")

    def by_name(self) -> dict[str, tuple[int, int]]:
        """Returns watch and inode of each name."""
        names = self.names.split("/") if self.watches else ()
        return dict(zip(names, zip(self.watches, self.inodes, strict=True), strict=True))

    def set(self, by_name: Mapping[str, tuple[int, int]]) -> None:
        """Replaces all names."""
        self.names = "/".join(by_name)
        self.watches = array("i", [watch for watch, _ in by_name.values()])
        self.inodes = array("Q", [inode for _, inode in by_name.values()])


class FileWatches:
    """The watched files of one tree. Owns a descriptor.

    Watches all files of the tree, or none if there are more than `max_files`, or if the system has no more inotify instances (a
    user has 128): `is_limited` then. `is_waiting`: it could watch them, but has to be given all of them.
    """

    def __init__(self, root: str, max_files: int) -> None:
        self._root = root
        self._max_files = max_files
        self._inotify: INotify | None
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError:
            self._inotify = None
        self.is_limited = self._inotify is None
        self.is_waiting = False
        self._is_complete = False
        self._directories: dict[str, _Names] = {}
        self._of: dict[int, tuple[str, ...]] = {}
        self._n_names = 0

    @property
    def descriptor(self) -> int | None:
        """A descriptor that is readable when there are events; None if no file can be watched."""
        return None if self._inotify is None else int(self._inotify.fileno())

    def read(self) -> list[str] | None:
        """Returns the files that were written or got or lost a name, by every name that was watched; None if events were lost.

        Takes a microsecond if there are none. As for directories, an event is queued before the call that causes it returns.
        """
        is_ignored: dict[int, bool] = {}
        for event in () if self._inotify is None else self._inotify.read(timeout=0):
            if event.mask & _OVERFLOW:
                return None
            is_ignored[event.wd] = is_ignored.get(event.wd, False) or bool(event.mask & _IGNORED)
        changed: list[str] = []
        # One pass over each directory: a checkout writes all files in some.
        for directory in dict.fromkeys(directory for watch in is_ignored for directory in self._of.get(watch, ())):
            held = self._directories[directory]
            names = held.names.split("/")
            for place, watch in enumerate(held.watches):
                if watch in is_ignored:
                    changed.append(_path(directory, names[place]))
                    if is_ignored[watch]:
                        held.watches[place] = held.inodes[place] = _LOST
        for watch, is_gone in is_ignored.items():
            if is_gone:
                self._of.pop(watch, None)
        return changed

    def holds(self, files: FilesByDirectory) -> bool:
        """Whether `begin` has nothing to do for these files of some directories, if no directory is gone."""
        return not self._is_complete or all(self._holds_all(directory, now) for directory, now in files.items())

    def _holds_all(self, directory: str, now: Sequence[ScannedFile]) -> bool:
        held = self._directories.get(directory)
        if held is None:
            return not now
        # Columns first: the names of most directories are those of before, in the order of their paths.
        if len(held.watches) == len(now) and held.inodes == array("Q", [file.inode for file in now]):
            return held.names == "/".join([_name(file) for file in now])
        by_name = held.by_name()
        return len(by_name) == len(now) and all(by_name.get(_name(file), (_LOST, _LOST))[1] == file.inode for file in now)

    def begin(
        self, directories: Collection[str], files: FilesByDirectory, *, has_all: bool
    ) -> tuple[list[tuple[str, frozenset[str]]], list[ScannedFile]]:
        """Begins to watch the files in these directories and no others. Returns what is left to do, `remove` and then `add`.

        `files` are those of some directories; the others have those of the last call. With `has_all` they are those of all, which
        are needed first, and again after `forget_all`.
        """
        self.is_waiting = not (has_all or self._is_complete or self.is_limited)
        if self._inotify is None or not (has_all or self._is_complete):
            return [], []
        listed = files.keys()
        gone = [
            (directory, frozenset(held.by_name()))
            for directory, held in self._directories.items()
            if directory not in directories or (has_all and directory not in listed)
        ]
        new: list[ScannedFile] = []
        n_names = self._n_names - sum(len(names) for _, names in gone)
        for directory, now in files.items():
            if self._holds_all(directory, now):
                continue
            held = self._directories.get(directory)
            before = {} if held is None else held.by_name()
            new += [file for file in now if before.get(_name(file), (_LOST, _LOST))[1] != file.inode]
            n_names += len(now) - len(before)
            if left := before.keys() - set(map(_name, now)):
                gone.append((directory, frozenset(left)))
        self.is_limited = n_names > self._max_files
        self._is_complete = not self.is_limited
        if self.is_limited:
            return [(directory, frozenset(held.by_name())) for directory, held in self._directories.items()], []
        return gone, new

    def remove(self, gone: Iterable[tuple[str, Collection[str]]]) -> None:
        """Forgets these names in directories, and removes the watches of files that have no other."""
        for directory, names in gone:
            held = self._directories.get(directory)
            if held is None:
                continue
            kept = held.by_name()
            dropped = [kept.pop(name)[0] for name in names if name in kept]
            self._set(held, kept)
            self._drop(directory, dropped)

    def add(self, files: Sequence[ScannedFile]) -> list[str]:
        """Watches these files, at 7 us each. Returns those that have changed since they were scanned.

        If the system has no more watches, files are missing (`is_limited`) until all are given again.
        """
        changed: list[str] = []
        for directory, group in groupby(files, lambda file: file.path.rpartition("/")[0]):
            held = self._directories.get(directory)
            if held is None:
                held = self._directories[directory] = _Names((directory,))
            by_name = held.by_name()
            dropped = []
            for file in group:
                if self.is_limited:
                    break
                try:
                    watch = self._watch(file)
                    before, _ = by_name.get(_name(file), (_LOST, _LOST))
                    by_name[_name(file)] = (watch, file.inode)
                    self._of[watch] = _with(self._of.get(watch, ()), held.key)
                    if before not in (_LOST, watch):
                        dropped.append(before)
                    status = os.lstat(os.path.join(self._root, file.path))
                except OSError as error:
                    if error.errno not in _UNWATCHABLE:
                        self.is_limited, self._is_complete = True, False
                    continue  # An event of its directory says that it is gone.
                if status.st_ctime_ns != file.ctime_ns:
                    changed.append(file.path)
            self._set(held, dict(sorted(by_name.items(), key=itemgetter(0))))
            self._drop(directory, dropped)
        return changed

    def forget_all(self) -> None:
        """Removes all watches and drops their events."""
        self.remove([(directory, held.by_name()) for directory, held in self._directories.items()])
        self.read()
        self._is_complete = False

    def close(self) -> None:
        """Removes all watches. May be called again."""
        if self._inotify is not None:
            self._inotify.close()

    def _watch(self, file: ScannedFile) -> int:
        assert self._inotify is not None, "nothing is added without it"
        return int(self._inotify.add_watch(os.path.join(self._root, file.path), MASK))

    def _set(self, held: _Names, by_name: Mapping[str, tuple[int, int]]) -> None:
        self._n_names += len(by_name) - len(held.watches)
        held.set(by_name)
        if not by_name:
            self._directories.pop(held.key[0], None)

    def _drop(self, directory: str, watches: Iterable[int]) -> None:
        """Removes watches that names of this directory had, unless another name has them."""
        for watch in watches:
            if watch == _LOST or watch not in self._of:
                continue
            held = self._directories.get(directory)
            if held is not None and watch in held.watches:
                continue
            others = tuple(other for other in self._of.pop(watch) if other != directory)
            if others:
                self._of[watch] = others
            elif self._inotify is not None:
                try:
                    self._inotify.rm_watch(watch)
                except OSError:
                    pass  # The file was deleted, and the kernel has already removed the watch.


def _name(file: ScannedFile) -> str:
    return file.path.rpartition("/")[2]


def _path(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name


def _with(keys: tuple[str, ...], key: tuple[str, ...]) -> tuple[str, ...]:
    """Returns `keys` with `key`, one tuple for all files that have one name."""
    return key if not keys or keys == key else (*keys, *(each for each in key if each not in keys))
