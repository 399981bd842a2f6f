"""One inotify instance and the directories that each of its watches stands for. Linux only; knows nothing of trees or git.

Keys name directories: paths relative to a root ('' for the root itself), or absolute ones. The kernel has one watch for an inode,
so a watch can stand for several keys: a directory that was moved while its old name is still known here, a bind mount, a place
that is watched for two reasons. Watch numbers are not reused, so an event with an unknown number is an old one.
"""

import os
from collections.abc import Iterable
from typing import Final

from inotify_simple import Event, INotify, flags

MASK: Final = int(
    flags.CREATE
    | flags.DELETE
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.MODIFY
    | flags.ATTRIB
    # The only event of a write through a mapping, once the mapping ends.
    | flags.CLOSE_WRITE
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.ONLYDIR
    | flags.DONT_FOLLOW
)
"""Every change and no mere reading, so that our own scans cause no events. Without EXCL_UNLINK: a file whose first name is gone
can still be written under its second, and the event carries the first."""


class WatchTable:
    """The watches of one instance. Owns a descriptor.

    Raises OSError (EMFILE: fs.inotify.max_user_instances) if the system has no more instances.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._inotify = INotify(nonblocking=True)
        self._keys: dict[int, tuple[str, ...]] = {}
        self._watches: dict[str, int] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._watches

    def __len__(self) -> int:
        return len(self._watches)

    @property
    def descriptor(self) -> int:
        """A descriptor that is readable when there are events."""
        descriptor: int = self._inotify.fileno()
        return descriptor

    def all_keys(self) -> frozenset[str]:
        """Returns the keys of all watched directories."""
        return frozenset(self._watches)

    def keys(self, watch: int) -> tuple[str, ...]:
        """Returns the keys that a watch stands for; empty for a removed watch."""
        return self._keys.get(watch, ())

    def add(self, key: str) -> None:
        """Watches the directory that now has this name, in place of another one that this key stood for.

        Raises OSError: ENOENT, ENOTDIR, EACCES, and ENOSPC at fs.inotify.max_user_watches.
        """
        watch = self._inotify.add_watch(os.path.join(self._root, key), MASK)
        before = self._watches.get(key)
        if before == watch:
            return
        if before is not None:
            self.remove(key)
        self._watches[key] = watch
        self._keys[watch] = (*self._keys.get(watch, ()), key)

    def remove(self, key: str) -> None:
        """Forgets a key, and removes its watch if it stands for no other key. Unknown keys are ignored."""
        watch = self._watches.pop(key, None)
        if watch is None:
            return
        others = tuple(other for other in self._keys[watch] if other != key)
        if others:
            self._keys[watch] = others
            return
        del self._keys[watch]
        try:
            self._inotify.rm_watch(watch)
        except OSError:
            pass  # The directory was deleted, and the kernel has already removed the watch.

    def remove_all(self, keys: Iterable[str]) -> None:
        """Removes each of them."""
        for key in keys:
            self.remove(key)

    def forget(self, watch: int) -> None:
        """Records that the kernel has removed a watch."""
        for key in self._keys.pop(watch, ()):
            del self._watches[key]

    def read(self) -> list[Event]:
        """Returns every event queued at this moment, in order, without waiting.

        One FIONREAD and one read of that many bytes: the kernel queues an event before the call that causes it returns, so all
        changes completed before this call are included, and a busy writer cannot keep it from returning.
        """
        events: list[Event] = self._inotify.read(timeout=0)
        return events

    def close(self) -> None:
        """Removes all watches, at 0.5 to 5 us each. May be called again."""
        self._inotify.close()
