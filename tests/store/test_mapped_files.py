"""A truncated mapped file makes its readers' answers fail, but never crashes the process."""

import mmap
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from codecompass.store.mapped_files import guard_mapped_files
from tests.support.processes import run_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says in which file a fault was")

SIZE = 64 * mmap.PAGESIZE


def mapped(path: Path) -> mmap.mmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * SIZE)
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@pytest.mark.invariant(of="test_damage_while_it_is_open_is_repaired_and_no_other_workspace_disturbed")
def test_what_was_cut_off_reads_as_zeros_and_is_counted_where_it_lies(tmp_path):
    path = tmp_path / "a b" / "segment"
    memory = mapped(path)
    with guard_mapped_files(tmp_path) as files:
        assert files.n_faults(path.parent) == 0
        os.truncate(path, mmap.PAGESIZE)

        content = bytes(memory)

        assert content == b"x" * mmap.PAGESIZE + b"\0" * (SIZE - mmap.PAGESIZE)
        # Processors copy in pieces of different sizes: some fault a second time while the first fault is handled.
        assert files.n_faults(path.parent) > 0
        assert files.n_faults(tmp_path / "a") == 0


def test_a_fault_in_a_thread_is_counted_as_well(tmp_path):
    path = tmp_path / "segment"
    memory = mapped(path)
    seen = []
    with guard_mapped_files(tmp_path) as files:
        os.truncate(path, 0)

        reader = threading.Thread(target=lambda: seen.append(memory[SIZE - 1]))
        reader.start()
        reader.join(30)

        assert seen == [0]
        assert files.n_faults(tmp_path) > 0


def test_two_guards_each_take_what_is_theirs_whichever_ends_first(tmp_path):
    one, two = mapped(tmp_path / "one" / "file"), mapped(tmp_path / "two" / "file")
    first = guard_mapped_files(tmp_path / "one")
    second = guard_mapped_files(tmp_path / "two")
    ones, twos = first.__enter__(), second.__enter__()
    os.truncate(tmp_path / "one" / "file", 0)
    os.truncate(tmp_path / "two" / "file", 0)

    assert (one[0], ones.n_faults(tmp_path / "one") > 0, twos.n_faults(tmp_path / "two")) == (0, True, 0)
    first.__exit__(None, None, None)
    assert (two[0], twos.n_faults(tmp_path / "two") > 0) == (0, True)
    second.__exit__(None, None, None)


ELSEWHERE = """
import mmap, os, sys
from pathlib import Path
from codecompass.store.mapped_files import guard_mapped_files
path = Path(sys.argv[1]) / "file"
path.write_bytes(b"x" * mmap.PAGESIZE)
memory = mmap.mmap(os.open(path, os.O_RDONLY), 0, access=mmap.ACCESS_READ)
with guard_mapped_files(Path(sys.argv[1]) / "guarded"):
    os.truncate(path, 0)
    print(memory[0])
"""


def test_a_fault_in_a_file_of_somebody_else_ends_the_process_as_ever(tmp_path):
    done = run_python(ELSEWHERE, str(tmp_path))

    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "")


def test_after_the_guard_the_process_is_as_it_was(tmp_path):
    done = run_python(ELSEWHERE.replace("    os.truncate", "    pass\nos.truncate").replace("    print", "print"), str(tmp_path))

    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "")
