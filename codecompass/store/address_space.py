"""Whether a limit of this process (`ulimit -v`) leaves room for building an index.

tantivy ends the whole process where an allocation fails, in threads of its own, so it must not come to that.
"""

from typing import Final

from codecompass.errors import PermissionDenied
from codecompass.units import MIB

NEEDED_BYTES: Final = 832 * MIB
"""Address space of a process that builds an index: the program, the writer's heap, merges, and what the C library reserves for
each thread. 834 MB for 145 files and for 4,805 (measured 2026-11-22); most of it is never touched. Compared with the limit alone:
what a process has taken already may be just this."""


def require_address_space() -> None:
    """Raises PermissionDenied where the limit is below NEEDED_BYTES. Nothing where there is none, or none is known."""
    try:
        import resource  # not on Windows
    except ImportError:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < NEEDED_BYTES:
        raise PermissionDenied(
            f"the limit on this process's memory ({limit // MIB} MiB of address space, ulimit -v) is too small to build an index:"
            f" {NEEDED_BYTES // MIB} MiB are needed. Raise it, or index in a process without it.",
            limit_bytes=limit,
            needed_bytes=NEEDED_BYTES,
        )
