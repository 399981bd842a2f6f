"""The exact watcher of Linux: `drain` returns every change that was completed before it.

    events --> WatchTable.read --> the directory they are in --> ChangeCollector --> WatchedChanges
                                   \\--> directories that came or went --> watches

Why it is exact: inotify queues an event before the call that causes it returns, so reading the queue is a barrier. A new
directory is first watched, then listed; since its creation is queued in the parent, whatever a listing shows and later loses is
corrected by a later event. When the map from watches to paths becomes unreliable (events were lost, the root was replaced, mounts
have changed) the watcher is in *trouble*: it reports "everything" until `update` has set the watches anew. What prevents
exactness for longer is a *limitation*.

Watches of directories do not report writes through a second name (hard link) outside of them: `file_watches.py` does. Nothing
reports writes through a shared mapping while the mapping lasts. docs/adr/0005 has the experiments.
"""

import errno
import os
import select
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import structlog
import trio
from inotify_simple import Event, flags

from codecompass.actors.watching.changes import ChangeCollector, FilesByDirectory, WatchedChanges
from codecompass.actors.watching.file_watches import FileWatches
from codecompass.actors.watching.mounts import MountTable
from codecompass.actors.watching.points import RULE_NAMES, WatchPoint, watch_points
from codecompass.actors.watching.table import WatchTable
from codecompass.scan import builtin
from codecompass.scan.files import is_utf8
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.scan.walk import ScannedFile
from codecompass.settings import project_file

if TYPE_CHECKING:
    from codecompass.actors.watching.watcher import RunInThread

_log = structlog.get_logger()

SLICE_WATCHES: Final = 512
"""Watches set between two checks for cancellation: 2 to 4 ms."""

MAX_ADOPTED: Final = 512
"""New directories that one reading of events watches, at 10 us each. The following scan finds any more, and `update` watches
them."""

MAX_MOVED: Final = 64
"""Directories moved away that one reading of events follows; each costs a pass over all watched paths."""

_CREATE: Final = int(flags.CREATE)
_MOVED_TO: Final = int(flags.MOVED_TO)
_MOVED_FROM: Final = int(flags.MOVED_FROM)
_ATTRIB: Final = int(flags.ATTRIB)
_DELETE: Final = int(flags.DELETE)
_IS_DIRECTORY: Final = int(flags.ISDIR)
_OVERFLOW: Final = int(flags.Q_OVERFLOW)
_UNMOUNT: Final = int(flags.UNMOUNT)
_IGNORED: Final = int(flags.IGNORED)
_OF_ITSELF: Final = int(flags.DELETE_SELF | flags.MOVE_SELF)

T = TypeVar("T")


class InotifyWatcher:
    """A `TreeWatcher`. `root` is absolute, without symbolic links; nothing is watched before the first `update`.

    Owns four descriptors, hence `close`. Raises OSError if the kernel has no inotify instance left.
    """

    touches_tree = True

    def __init__(
        self,
        root: str,
        *,
        max_watches: int,
        max_files: int,
        run: "RunInThread" = trio.to_thread.run_sync,
        git_roots: GitRoots = ANYWHERE,
    ) -> None:
        self._run = run
        self._root = root
        self._git_roots = git_roots
        self._max_watches = max_watches
        self._table = WatchTable(root)
        self._files = FileWatches(root, max_files)
        self._readable = select.epoll()
        for descriptor in (self._table.descriptor, self._files.descriptor):
            if descriptor is not None:
                self._readable.register(descriptor, select.EPOLLIN)
        self._mounts = MountTable(root)
        self._changes = ChangeCollector()
        self._points: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._wanted: frozenset[str] = frozenset()
        self._repositories: frozenset[str] = frozenset()
        self._are_points_old = False
        self._identity: tuple[int, int] | None = None
        self._limitation = ""
        self._logged_limitation = ""
        self._are_files_limited = False
        self._trouble = ""
        self._n_adopted = 0
        self._n_moved = 0
        self._gone: set[str] = set()
        self._settings_directory = project_file(Path()).parent.name
        self._set_trouble("watching has just begun")

    @property
    def is_exact(self) -> bool:
        """Whether the last `drain` was a barrier: what it did not name has not changed."""
        return not (self._limitation or self._trouble or self._files.is_waiting)

    @property
    def limitation(self) -> str:
        """Why it cannot be exact here, with the remedy; empty if it can."""
        return self._limitation

    def drain(self) -> WatchedChanges:
        """Returns the changes up to now and starts over. Does not wait; takes a few microseconds without changes."""
        self._read()
        if not self._trouble and self._identity != self._identity_of_root():
            self._set_trouble("the root was moved, deleted or replaced")
        if not self._trouble and self._mounts.has_changed():
            self._set_trouble("file systems were mounted or unmounted in the workspace")
        if self._trouble:
            self._changes.add_everything(self._trouble)
        return self._changes.take()

    async def wait_change(self) -> None:
        """Waits until there may be something to drain: only `drain` reads events. Safe to cancel."""
        await trio.lowlevel.checkpoint()
        if self._changes.is_empty:
            await trio.lowlevel.wait_readable(self._readable.fileno())

    def watches(self, directories: frozenset[str], repositories: Iterable[str], files: FilesByDirectory) -> bool:
        """Whether `update` has nothing to do. Takes 0.1 ms for 2,000 directories."""
        return (
            self.is_exact
            and directories == self._wanted == self._tree_keys()
            and self._repositories.issuperset(repositories)
            and self._files.holds(files)
        )

    async def update(
        self,
        directories: Iterable[str],
        repositories: Iterable[str] = (),
        files: FilesByDirectory | None = None,
        *,
        has_all_files: bool = False,
    ) -> None:
        """Watches these directories and no others. The next `drain` reports those that are new, because they were not watched
        when they were scanned. If cancelled, the watcher is in trouble, and `update` can be called again."""
        wanted = frozenset(directories) | {""}
        is_anew = bool(self._trouble)
        self._trouble = self._trouble or "the update of the watches was interrupted"
        # A repository that was being created during the scan is known from its events alone.
        self._repositories = frozenset(repositories) | (self._repositories & wanted)
        self._wanted = wanted
        self._limitation = ""
        if is_anew:
            await self._forget_everything()
        watched = self._tree_keys()
        await self._in_slices(sorted(watched - wanted), self._table.remove_all)
        new = sorted(wanted - watched)
        # Shallow directories first: a limit then costs details, not whole parts of the tree.
        new.sort(key=_depth)
        room = max(self._max_watches - len(watched & wanted), 0)
        if len(new) > room:
            self._limit(
                f"the workspace has more than {self._max_watches} directories, so not all are watched "
                "(the bound includes half of fs.inotify.max_user_watches)"
            )
        await self._in_slices(new[:room], self._watch)
        if files is not None:
            await self._watch_files(wanted, files, has_all=has_all_files)
        had_points = self._point_keys()
        await self._run(self._watch_points)
        self._limitation = self._limitation or await self._run(lambda: self._mounts.shortfall(wanted))

        self._trouble = ""
        if self._point_keys() - had_points:
            self._changes.add_effects(rules=True, head=True)
        if "" not in self._table:
            self._set_trouble("the root is gone")
        elif is_anew:
            self._changes.add_everything("the watches were set anew")
        if self._limitation and self._limitation != self._logged_limitation:
            _log.warning("watching_limited", root=self._root, reason=self._limitation)
        self._logged_limitation = self._limitation

    def close(self) -> None:
        """Stops watching. May be called again."""
        self._readable.close()
        self._table.close()
        self._files.close()
        self._mounts.close()

    # Setting watches, in a thread while `update` waits, so that nothing else uses the watcher.

    async def _forget_everything(self) -> None:
        def forget(keys: Sequence[str]) -> None:
            self._table.remove_all(keys)
            self._table.read()  # Each removal is an event too; unread, they would overflow the queue.

        await self._in_slices(sorted(self._table.all_keys()), forget)
        await self._run(self._files.forget_all)
        self._gone.clear()
        self._mounts.has_changed()
        self._identity = await self._run(self._identity_of_root)

    async def _watch_files(self, wanted: frozenset[str], files: FilesByDirectory, *, has_all: bool) -> None:
        def add(part: Sequence[ScannedFile]) -> None:
            self._add_changed_files(self._files.add(part))

        gone, new = await self._run(partial(self._files.begin, wanted, files, has_all=has_all))
        await self._in_slices(gone, self._files.remove)
        await self._in_slices(new, add)
        if self._files.is_limited and not self._are_files_limited:
            _log.info("links_not_watched", root=self._root)
        self._are_files_limited = self._files.is_limited

    async def _in_slices(self, keys: Sequence[T], work: Callable[[Sequence[T]], None]) -> None:
        for start in range(0, len(keys), SLICE_WATCHES):
            part = keys[start : start + SLICE_WATCHES]
            await self._run(partial(work, part))

    def _watch(self, directories: Sequence[str]) -> None:
        for directory in directories:
            if not self._add(directory):
                break
            # A directory without read permission, or gone, has nothing to report: an event in its parent says when that changes.
            if directory in self._table:
                self._changes.add(directory)

    def _add(self, key: str) -> bool:
        """Watches a directory if it exists. Returns whether to continue: False once the system has no more watches."""
        try:
            self._table.add(key)
        except OSError as error:
            # Gone, no longer a directory, or without read permission: an event in the parent reports that too.
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
                self._table.remove(key)
                return True
            if error.errno == errno.ENOSPC:
                self._limit("the system has no more watches for this user: raise fs.inotify.max_user_watches (sysctl)")
                return False
            self._limit(f"{key or 'the root'} cannot be watched: {os.strerror(error.errno or 0)}")
            return error.errno != errno.ENOMEM
        return True

    def _limit(self, reason: str) -> None:
        if not self._limitation:
            self._limitation = reason

    def _watch_points(self) -> None:
        # Which places matter depends on HEAD: compute them again once HEAD is watched.
        before: tuple[WatchPoint, ...] = ()
        for _ in range(3):
            found = watch_points(self._root, self._repositories, self._git_roots)
            if found == before:
                break
            before = found
            points: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
            for point in found:
                rules, head = points.get(point.directory, (frozenset(), frozenset()))
                points[point.directory] = (rules | point.rules, head | point.head)
            for gone in self._points.keys() - points.keys():
                self._table.remove(gone)
            self._points = points
            for directory in points:
                self._add(directory)
        self._are_points_old = False

    def _point_keys(self) -> set[str]:
        return {directory for directory in self._points if directory in self._table}

    def _tree_keys(self) -> frozenset[str]:
        return self._table.all_keys() - self._points.keys()

    # Reading events

    def _read(self) -> None:
        self._n_adopted = self._n_moved = 0
        for event in self._table.read():
            if self._trouble:
                return
            self._take(event)
        written = self._files.read()
        if written is None:
            self._set_trouble("events of files were lost: more happened than the kernel's queue holds")
            return
        self._add_changed_files(written)
        if self._gone and not self._trouble:
            self._adopt_returned()
        if self._are_points_old and not self._trouble:
            self._watch_points()

    def _add_changed_files(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._changes.add(path.rpartition("/")[0])
            self._changes.add_file(path)

    def _take(self, event: Event) -> None:
        mask = event.mask
        if mask & _OVERFLOW:
            self._set_trouble("events were lost: more happened than the kernel's queue holds")
            return
        for key in self._table.keys(event.wd):
            effects = self._points.get(key)
            if effects is None:
                self._take_in_tree(key, mask, event.name)
            else:
                self._take_at_point(effects, mask, event.name)
        if mask & _IGNORED:
            self._table.forget(event.wd)

    def _take_at_point(self, effects: tuple[frozenset[str], frozenset[str]], mask: int, name: str) -> None:
        rules, head = effects
        is_lost = bool(mask & (_IGNORED | _OF_ITSELF))
        affects_rules = name in rules or (is_lost and bool(rules))
        affects_head = name in head or (is_lost and bool(head))
        if affects_rules or affects_head:
            self._changes.add_effects(rules=affects_rules, head=affects_head)
            self._are_points_old = True

    def _take_in_tree(self, directory: str, mask: int, name: str) -> None:
        if mask & _UNMOUNT:
            self._set_trouble("a file system in the workspace was unmounted")
            return
        if mask & (_IGNORED | _OF_ITSELF) and not directory:
            self._set_trouble("the root was moved, deleted or replaced")
            return
        self._changes.add(directory)
        if not name:
            return  # The directory itself: its parent has a separate event.
        if name in RULE_NAMES or (not directory and name == self._settings_directory):
            self._changes.add_effects(rules=True, head=name == ".git")
            self._are_points_old = True
            if name == ".git":
                self._repositories |= {directory}
        if mask & _IS_DIRECTORY:
            self._take_directory(f"{directory}/{name}" if directory else name, mask, name)
        else:
            self._changes.add_file(f"{directory}/{name}" if directory else name)

    def _take_directory(self, path: str, mask: int, name: str) -> None:
        if mask & _MOVED_FROM:
            self._drop_with_all_below(path)
        elif mask & _DELETE:
            self._drop(path)
        elif mask & _ATTRIB:
            # A directory that was unreadable when it appeared may be readable now.
            if path in self._wanted and path not in self._table:
                self._adopt(path)
        elif mask & (_CREATE | _MOVED_TO) and self._may_be_entered(path, name):
            if mask & _MOVED_TO:
                # Two names may be being exchanged: the event that the other directory has left comes only afterwards.
                self._drop_with_all_below(path)
            self._adopt(path)

    def _drop(self, path: str) -> None:
        if path in self._table:
            self._changes.add(path)
            self._table.remove(path)
            self._gone.add(path)

    def _drop_with_all_below(self, path: str) -> None:
        if path not in self._table:
            return
        self._n_moved += 1
        if self._n_moved > MAX_MOVED:
            self._set_trouble(f"more than {MAX_MOVED} directories were moved")
            return
        prefix = path + "/"
        self._drop(path)
        for key in self._table.all_keys():
            if key.startswith(prefix):
                self._drop(key)

    def _adopt(self, path: str) -> None:
        """Watches a new directory and those below it, and reports them all."""
        pending = [path]
        while pending:
            directory = pending.pop()
            self._n_adopted += 1
            if self._n_adopted > MAX_ADOPTED or len(self._table) >= self._max_watches + len(self._points):
                self._set_trouble("many directories were created")
                return
            self._changes.add(directory)
            if not self._add(directory) or directory not in self._table:
                continue
            try:
                with os.scandir(os.path.join(self._root, directory)) as listing:
                    for entry in listing:
                        child = f"{directory}/{entry.name}"
                        if self._may_be_entered(child, entry.name) and entry.is_dir(follow_symlinks=False):
                            pending.append(child)
                        elif entry.name in RULE_NAMES:
                            self._changes.add_effects(rules=True)
            except OSError:
                continue  # It is gone again, as a queued event will say.

    def _may_be_entered(self, path: str, name: str) -> bool:
        """Whether a scan may enter this new directory."""
        return path in self._wanted or (name != ".git" and name not in builtin.ALWAYS and is_utf8(name))

    def _adopt_returned(self) -> None:
        # After an exchange of two names (renameat2) one of them has been moved away and still exists.
        for path in sorted(self._gone):
            if path not in self._table and self._is_directory(path):
                self._adopt(path)
        self._gone.clear()

    def _is_directory(self, path: str) -> bool:
        try:
            return stat.S_ISDIR(os.lstat(os.path.join(self._root, path)).st_mode)
        except OSError:
            return False

    def _identity_of_root(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self._root, follow_symlinks=False)
        except OSError:
            return None
        return (status.st_dev, status.st_ino)

    def _set_trouble(self, reason: str) -> None:
        self._trouble = reason
        self._changes.add_everything(reason)


def _depth(path: str) -> int:
    return path.count("/") + bool(path)
