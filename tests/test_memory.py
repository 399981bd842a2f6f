"""The C library's allocator: what a server's threads free is used again."""

import ctypes
import sys

import pytest

from tests.support.processes import run_python

N_THREADS = 24

COUNT_ARENAS = f"""
import ctypes, os, re, tempfile, threading, time
import trio
from pathlib import Path
from codecompass.memory import share_arenas
from codecompass.store.layout import HomeLayout
from codecompass.settings import Settings
from codecompass.projects.detection import RoutingRules
from codecompass.transport.server import ServerOptions, open_server

share_arenas()
libc = ctypes.CDLL(None)

def arenas():
    libc.open_memstream.restype = ctypes.c_void_p
    text, size = ctypes.c_char_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    return len(re.findall(rb"<heap nr=", text.value))

def allocate(barrier):
    # All at once: a thread that finds the arenas of others free would use those.
    barrier.wait()
    kept = [bytearray(5_000) for _ in range(200)]
    barrier.wait()

async def main(home):
    settings = Settings()
    options = ServerOptions(
        settings=settings,
        settings_for=lambda _root: settings,
        home=HomeLayout(Path(home)),
        rules=RoutingRules(),
        has_upkeep=False,
    )
    async with open_server(options):
        barrier = threading.Barrier({N_THREADS})
        async with trio.open_nursery() as nursery:
            for _ in range({N_THREADS}):
                nursery.start_soon(trio.to_thread.run_sync, allocate, barrier)
        print(arenas())

with tempfile.TemporaryDirectory() as home:
    trio.run(main, home)
"""


@pytest.mark.invariant("A server's memory does not grow with requests, connections and sessions")
@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_info"), reason="glibc has arenas")
def test_the_threads_of_a_server_share_the_memory_that_they_free():
    """With an arena for each thread, 2,400 requests left a server 40 MB larger, and it went on growing (glibc 2.36)."""
    done = run_python(COUNT_ARENAS)

    assert int(done.stdout.split()[-1]) <= 2
