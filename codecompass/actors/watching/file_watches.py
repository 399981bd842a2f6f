"""Watches of single files, for writes that no watched directory reports: through a name elsewhere. Linux only.

An event of a directory is about a name in it. A write through another name of the file (hard link), outside of the tree or gone
by now, is no event there, and neither is making or removing that name. A watch of the file itself reports both, whatever name is
used. It is an inotify instance of its own: equal events in a row are merged by the kernel, and those of a file and of its
directory in one queue would always alternate.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from typing import Final

from inotify_simple import INotify, flags

from codecompass.actors.watching.changes import FilesByDirectory
from codecompass.scan.walk import ScannedFile

MASK: Final = int(flags.MODIFY | flags.ATTRIB | flags.CLOSE_WRITE | flags.DONT_FOLLOW)
"""Writes (CLOSE_WRITE: through a mapping), and a change of the number of names, which is one of the attributes."""

_IGNORED: Final = int(flags.IGNORED)
_OVERFLOW: Final = int(flags.Q_OVERFLOW)
_UNWATCHABLE: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP})


class FileWatches:
    """The watched files of one tree. Owns a descriptor.

    Watches all files of the tree, or none if there are more than `max_files`, or if the system has no more inotify instances (a
    user has 128): `is_complete` says which.
    """

    def __init__(self, root: str, max_files: int) -> None:
        self.is_complete = True
        self._root = root
        self._max_files = max_files
        self._inotify: INotify | None
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError:
            self._inotify = None
        self._files: FilesByDirectory = {}
        self._watches: dict[str, tuple[int, int]] = {}
        self._paths: dict[int, tuple[str, ...]] = {}

    @property
    def descriptor(self) -> int | None:
        """A descriptor that is readable when there are events; None if no file can be watched."""
        return None if self._inotify is None else int(self._inotify.fileno())

    def read(self) -> list[str] | None:
        """Returns the files that were written or got or lost a name, by every name that was watched; None if events were lost.

        Takes a microsecond if there are none. As for directories, an event is queued before the call that causes it returns.
        """
        changed: list[str] = []
        for event in () if self._inotify is None else self._inotify.read(timeout=0):
            if event.mask & _OVERFLOW:
                return None
            changed += self._paths.get(event.wd, ())
            if event.mask & _IGNORED:
                for path in self._paths.pop(event.wd, ()):
                    del self._watches[path]
        return changed

    def begin(self, files: FilesByDirectory) -> tuple[list[str], list[ScannedFile]]:
        """Begins to watch these files and no others. Returns what is left to do: paths to `remove` and files to `add`.

        Directories whose tuples are those of the last call are not looked at.
        """
        before, self._files = self._files, files
        self.is_complete = self._inotify is not None and sum(map(len, files.values())) <= self._max_files
        if not self.is_complete:
            self._files = {}
            return list(self._watches), []
        gone: list[str] = []
        new: list[ScannedFile] = []
        for directory in before.keys() | files.keys():
            old, now = before.get(directory, ()), files.get(directory, ())
            if old is now:
                continue
            wanted = {file.path for file in now}
            gone += [file.path for file in old if file.path not in wanted and file.path in self._watches]
            new += [file for file in now if self._inode(file.path) != file.inode]
        return gone, new

    def remove(self, paths: Iterable[str]) -> None:
        """Forgets these names, and removes the watches of files that have no other."""
        for path in paths:
            watch, _ = self._watches.pop(path, (0, 0))
            others = tuple(other for other in self._paths.pop(watch, ()) if other != path)
            if others:
                self._paths[watch] = others
            elif watch and self._inotify is not None:
                try:
                    self._inotify.rm_watch(watch)
                except OSError:
                    pass  # The file was deleted, and the kernel has already removed the watch.

    def add(self, files: Sequence[ScannedFile]) -> list[str]:
        """Watches these files, at 7 us each. Returns those that have changed since they were scanned.

        Without `is_complete` afterwards, the system has no more watches.
        """
        changed: list[str] = []
        for file in files:
            if not self.is_complete:
                break
            try:
                self._watch(file)
                status = os.lstat(os.path.join(self._root, file.path))
            except OSError as error:
                if error.errno not in _UNWATCHABLE:
                    self.is_complete = False
                continue  # An event of its directory says that it is gone.
            if status.st_ctime_ns != file.ctime_ns:
                changed.append(file.path)
        return changed

    def forget_all(self) -> None:
        """Removes all watches and drops their events."""
        self.remove(list(self._watches))
        self.read()
        self._files = {}

    def close(self) -> None:
        """Removes all watches. May be called again."""
        if self._inotify is not None:
            self._inotify.close()

    def _inode(self, path: str) -> int | None:
        watch = self._watches.get(path)
        return None if watch is None else watch[1]

    def _watch(self, file: ScannedFile) -> None:
        assert self._inotify is not None, "nothing is added without it"
        watch = self._inotify.add_watch(os.path.join(self._root, file.path), MASK)
        before = self._watches.get(file.path)
        if before is not None and before[0] != watch:
            self.remove([file.path])
        self._watches[file.path] = (watch, file.inode)
        names = self._paths.get(watch, ())
        if file.path not in names:
            self._paths[watch] = (*names, file.path)
