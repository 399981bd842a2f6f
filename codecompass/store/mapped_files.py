"""Handles faults in memory-mapped files: an index file that cannot be read costs the index, not the process.

tantivy maps its segments, SQLite the index of its log. If such a file is cut short or its disk fails, an access raises SIGBUS,
which ends the process with all its workspaces. While a guard is active, the rest of that mapping is replaced by zeros instead,
and the fault is counted; readers check the count before they trust what they have read.

A fault in any other memory ends the process as usual. Only Linux tells which file was mapped.
"""

import ctypes
import mmap
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

_SA_SIGINFO: Final = 4
_ADDRESS_OFFSET: Final = 16
"""The offset of `si_addr` in a siginfo_t of 64-bit Linux."""

_PROTECTION: Final = mmap.PROT_READ | mmap.PROT_WRITE
_MAP_FIXED: Final = 0x10
_MAP_FLAGS: Final = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_FIXED
_MAP_FAILED: Final = ctypes.c_void_p(-1).value


class _SignalAction(ctypes.Structure):
    """`struct sigaction` of 64-bit Linux, in glibc and in musl."""

    _fields_ = (
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_char * 128),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    )


_Handler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class _Mapping(Struct, frozen=True):
    start: int
    end: int
    path: str


class MappedFiles:
    """Counts the faults in mapped files below one directory. Get one from `guard_mapped_files`."""

    def __init__(self, root: Path) -> None:
        self._below = f"{os.path.realpath(root)}/"
        self._faults: list[str] = []

    def n_faults(self, directory: Path) -> int:
        """Returns the number of faults in files below `directory`, which is inside the guarded one."""
        if not self._faults:
            return 0
        below = f"{os.path.realpath(directory)}/"
        return sum(path.startswith(below) for path in tuple(self._faults))

    def _take(self, address: int, libc: ctypes.CDLL) -> bool:
        """Replaces the mapping from `address` on by zeros. Returns False if it is of another directory or that fails."""
        mapping = _mapping_at(address)
        if mapping is None or not mapping.path.startswith(self._below):
            return False
        page = address - address % mmap.PAGESIZE
        mapped = libc.mmap(page, mapping.end - page, _PROTECTION, _MAP_FLAGS, -1, 0)
        if mapped in (None, _MAP_FAILED):
            return False
        self._faults.append(mapping.path)
        return True


@contextmanager
def guard_mapped_files(root: Path) -> Iterator[MappedFiles]:
    """Guards the files below `root` for the duration. Several guards can be active at a time and end in any order."""
    files = MappedFiles(root)
    if sys.platform != "linux" or sys.maxsize < 1 << 32:
        yield files
        return
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    previous = _SignalAction()

    def on_fault(number: int, info: int, context: int) -> None:
        # Runs in the faulting thread, during a memory access of a library that does not hold the GIL.
        try:
            address = ctypes.c_void_p.from_address(info + _ADDRESS_OFFSET).value
            is_ours = address is not None and files._take(address, libc)
        except BaseException:  # noqa: BLE001 (nothing could catch it, and the access would be retried for ever)
            is_ours = False
        if is_ours:
            return
        if previous.flags & _SA_SIGINFO:
            _Handler(previous.handler)(number, info, context)  # most likely another guard
        else:
            # The access is retried as soon as this returns, and reaches the previous handler.
            libc.sigaction(number, ctypes.byref(previous), None)

    handler = _Handler(on_fault)
    ours = _SignalAction(handler=ctypes.cast(handler, ctypes.c_void_p), flags=_SA_SIGINFO)
    libc.sigaction(signal.SIGBUS, ctypes.byref(ours), ctypes.byref(previous))
    try:
        yield files
    finally:
        current = _SignalAction()
        libc.sigaction(signal.SIGBUS, None, ctypes.byref(current))
        if current.handler == ours.handler:
            libc.sigaction(signal.SIGBUS, ctypes.byref(previous), None)
        else:
            # A later guard forwards faults to this handler for as long as the process lives.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(handler))


def _mapping_at(address: int) -> _Mapping | None:
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            # 7f00-7f20 r--p 00000000 08:01 1234    /path, which may contain spaces
            fields = line.rstrip(b"\n").split(maxsplit=5)
            start, _, end = fields[0].partition(b"-")
            if int(start, 16) <= address < int(end, 16):
                return _Mapping(int(start, 16), int(end, 16), os.fsdecode(fields[5]) if len(fields) > 5 else "")
    return None
