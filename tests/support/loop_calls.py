"""Finds calls that may block, made by the program on the event loop: `pytest -n0 --loop-calls` names each.

A call into a file system, a lock of a file, a database, git or a name server may take any time, and nobody else is served
meanwhile. On a quiet machine it takes microseconds, so that no measurement finds it: here each call counts, however fast it was.

The interpreter reports each call of a function in C (`sys.setprofile`), of this thread and within steps of tasks alone. A call
belongs to the program if a coroutine of the program made it, or a library on its behalf; what a test itself calls is the test's.
"""

import inspect
import os
import sys
from collections import Counter
from collections.abc import Container, Iterator
from pathlib import Path
from types import FrameType
from typing import Any, Final

import trio
from msgspec import Struct

import codecompass

OWN: Final = str(Path(codecompass.__file__).parent) + os.sep
TESTS: Final = str(Path(__file__).parent.parent) + os.sep

FUNCTIONS: Final = {
    "posix": frozenset({
        "access", "chmod", "chown", "copy_file_range", "fchmod", "fdatasync", "fork", "forkpty", "fsync", "ftruncate",
        "getxattr", "link", "listdir", "lockf", "lstat", "mkdir", "mkfifo", "open", "posix_spawn", "posix_spawnp", "pread",
        "preadv", "pwrite", "pwritev", "readlink", "remove", "removexattr", "rename", "replace", "rmdir", "scandir",
        "sendfile", "setxattr", "stat", "statvfs", "symlink", "system", "truncate", "unlink", "utime", "wait", "waitpid",
    }),
    "_io": frozenset({"open", "open_code"}),
    "io": frozenset({"open", "open_code"}),
    "fcntl": frozenset({"flock", "lockf"}),
    "_socket": frozenset({"getaddrinfo", "getnameinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"}),
    "_posixsubprocess": frozenset({"fork_exec"}),
    "_sqlite3": frozenset({"connect"}),
    "sqlite3": frozenset({"connect"}),
    "time": frozenset({"sleep"}),
}  # fmt: skip
"""By module, the functions that may wait for a disk, a network, another process or the clock."""

TYPES: Final = ("sqlite3", "apsw", "tantivy")
"""Modules whose objects are databases: each of their methods counts."""

HARMLESS: Final = frozenset(
    {
        ("subprocess.py", "_internal_poll"),  # waitpid() that does not wait
        ("_subprocess.py", "wait"),  # trio has waited before
        ("popen_fork.py", "poll"),  # as trio_parallel calls it
        ("_socket.py", "getaddrinfo"),  # trio asks for a numeric address first, and a thread for any other
        ("linecache.py", "updatecache"),  # the source of a line in a trace
    }
)
"""Functions of libraries whose calls do not wait, by file and name."""

FILE_METHODS: Final = frozenset(
    f"{kind}.{name}"
    for kind in ("FileIO", "BufferedReader", "BufferedWriter", "BufferedRandom", "TextIOWrapper")
    for name in ("read", "readall", "readinto", "readline", "readlines", "truncate")
)


class LoopCall(Struct, frozen=True):
    """A call of a function that may block, and the line of the program that made it."""

    function: str
    place: str
    """`module:function`, without a line number: a list of exceptions outlives a change above it."""
    trail: str
    """The lines of the program that led there, the innermost first."""


class CallWatch(trio.abc.Instrument):
    """Collects the calls that may block, made within the steps of tasks."""

    def __init__(self) -> None:
        self.found: Counter[LoopCall] = Counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        sys.setprofile(self._see)

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        sys.setprofile(None)

    def _see(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or not (name := _name_of(function)):
            return
        own = list(_own_frames(frame))
        if own:
            name = _imported(frame, own[0]) or name
            places = [f"{_module(each)}:{each.f_lineno} {each.f_code.co_name}" for each in own]
            self.found[LoopCall(name, f"{_module(own[0])}:{own[0].f_code.co_name}", " < ".join(places))] += 1

    def report(self, without: Container[str] = ()) -> Iterator[str]:
        """Yields a line for each call, by place: how often it was made, what it calls, where. Leaves out the places `without`."""
        for call, count in sorted(self.found.items(), key=lambda item: (item[0].place, item[0].function)):
            if call.place not in without:
                yield f"{count:6} times  {call.function}  {call.trail}"


def _name_of(function: Any) -> str:
    """Returns the name of a function that may block, "" for any other."""
    module = getattr(function, "__module__", None)
    name: str = function.__name__
    if module is not None and module in FUNCTIONS:
        return f"{module}.{name}" if name in FUNCTIONS[module] else ""
    owner = getattr(function, "__self__", None)
    kind = owner if isinstance(owner, type) else type(owner)
    if kind.__module__.partition(".")[0] in TYPES:
        return f"{kind.__module__}.{kind.__name__}.{name}"
    qualified = getattr(function, "__qualname__", "")
    return qualified if qualified in FILE_METHODS else ""


def _own_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yields the frames of the program that led to a call, the innermost first; none if a test made the call by itself."""
    own: list[FrameType] = []
    while frame is not None:
        path = frame.f_code.co_filename
        if not own and (os.path.basename(path), frame.f_code.co_name) in HARMLESS:
            return
        if path.startswith(TESTS):
            # What a test calls without awaiting it runs here only because the test does.
            if own and not own[-1].f_code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
                return
            break
        if path.startswith(OWN):
            own.append(frame)
        frame = frame.f_back
    yield from own


def _imported(frame: FrameType, until: FrameType) -> str:
    """Returns `import` and the module for a call that loads it; "" for any other."""
    found = ""
    inner: FrameType | None = frame
    while inner is not None and inner is not until:
        if inner.f_code.co_name == "_find_and_load" and inner.f_code.co_filename.startswith("<frozen importlib."):
            found = f"import {inner.f_locals['name']}"
        inner = inner.f_back
    return found


def _module(frame: FrameType) -> str:
    return frame.f_code.co_filename.removeprefix(OWN)
