"""Behaviour of the worker pool that the tests of jobs do not cover."""

import os
import signal

import pytest
import trio

from codecompass.actors import worker_pool
from codecompass.actors.worker_pool import OUTSIDE_ATTEMPTS, open_worker_pool
from codecompass.errors import IndexNotReady, InternalError
from tests.support.faults import workers
from tests.support.served import spied


@pytest.mark.invariant(of="test_killed_workers_are_replaced_and_no_innocent_file_is_quarantined")
async def test_workers_that_never_work_fail_the_job_instead_of_making_an_empty_index(workspace, monkeypatch):
    """A broken installation must not look like a repository without readable files."""
    workspace.write({f"m{number}.py": "x = 1\n" for number in range(40)})
    # A Python that cannot find its library exits before it runs anything.
    monkeypatch.setenv("PYTHONHOME", "/nonexistent")

    async with open_worker_pool(2) as pool:
        with pytest.raises(InternalError, match="codecompass doctor"):
            await workspace.sync(pool=pool)

    with pytest.raises(IndexNotReady), workspace.index.snapshot():
        pass


async def test_after_workers_that_never_work_the_published_index_stays(workspace, monkeypatch):
    workspace.write({"a.py": "def before(): pass\n"})
    await workspace.sync()
    workspace.write({f"m{number}.py": "x = 1\n" for number in range(40)})

    with monkeypatch.context() as broken:
        broken.setenv("PYTHONHOME", "/nonexistent")
        with pytest.raises(InternalError):
            await workspace.sync()

    assert workspace.names() == {("a.py", "before")}
    await workspace.sync()
    assert len(workspace.paths()) == 41


@pytest.mark.invariant(of="test_killed_workers_are_replaced_and_no_innocent_file_is_quarantined")
async def test_workers_that_are_killed_while_they_have_nothing_to_do_are_no_fault_of_a_file(workspace):
    workspace.write({f"m{number}.py": f"def first_{number}(): pass\n" for number in range(40)})
    async with open_worker_pool(2) as pool:
        await workspace.sync(pool=pool)
        for pid in workers():
            os.kill(pid, signal.SIGKILL)
            await trio.to_thread.run_sync(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        workspace.write({f"m{number}.py": f"def second_{number}(): pass\n" for number in range(40)})

        await workspace.sync(pool=pool)

        assert pool.killed_count == 0
    assert workspace.names() == {(f"m{number}.py", f"second_{number}") for number in range(40)}


def killed_at_work(pool, monkeypatch, count):
    """Kills the first `count` workers of `pool` that receive work, before they answer."""
    living, n_given = pool._living, 0

    async def living_and_killed():
        nonlocal n_given
        worker = await living()
        n_given += 1
        if n_given <= count:
            os.kill(worker.process.pid, signal.SIGKILL)
        return worker

    monkeypatch.setattr(pool, "_living", living_and_killed)


async def test_a_file_is_not_given_up_because_others_kill_the_workers_that_read_it(workspace, monkeypatch):
    workspace.write({"a.py": "def first(): pass\n", "b.py": "def second(): pass\n"})
    async with open_worker_pool(1) as pool:
        killed_at_work(pool, monkeypatch, OUTSIDE_ATTEMPTS - 1)

        await workspace.sync(pool=pool)

        assert pool.killed_count == OUTSIDE_ATTEMPTS - 1
    assert workspace.names() == {("a.py", "first"), ("b.py", "second")}


async def test_where_every_worker_is_killed_at_one_file_the_job_fails_and_the_next_one_has_it(workspace, monkeypatch):
    workspace.write({"a.py": "def first(): pass\n"})
    async with open_worker_pool(1) as pool:
        killed_at_work(pool, monkeypatch, OUTSIDE_ATTEMPTS)

        with pytest.raises(InternalError, match=r"killed from outside \(10 in a row at a\.py\)"):
            await workspace.sync(pool=pool)
        await workspace.sync(pool=pool)

    assert workspace.names() == {("a.py", "first")}


GO = "package shop\n\nfunc Total(n int) int {\n\treturn n\n}\n"

WITHOUT_GRAMMAR = """
import os
def seen(event, args):
    if os.path.exists("{flag}") and event in ("import", "ctypes.dlopen") and "bindings" in str(args[0]) and "go" in str(args[0]):
        raise OSError(12, "Cannot allocate memory")
"""
"""As where memory or descriptors are short: the library of a grammar cannot be mapped."""


@pytest.mark.invariant("What the machine lacks for a while costs no file its symbols")
async def test_a_grammar_that_cannot_be_loaded_for_a_while_costs_no_file_its_symbols(workspace, tmp_path, monkeypatch):
    flag = tmp_path / "short"
    flag.touch()
    for name, value in spied(tmp_path, WITHOUT_GRAMMAR.format(flag=flag)).items():
        monkeypatch.setenv(name, value)
    workspace.write({"total.go": GO, "a.py": "def first(): pass\n"})
    async with open_worker_pool(1) as pool:
        await workspace.sync(pool=pool)
        assert workspace.status_of("total.go") == ("indexed", "no_grammar")
        flag.unlink()
        workspace.write({"other.go": GO.replace("Total", "Other")})

        await workspace.sync(pool=pool)

    assert workspace.names() == {("total.go", "Total"), ("other.go", "Other"), ("a.py", "first")}
    assert workspace.status_of("total.go") == ("indexed", "")


STOPS_ONCE = """
import os, signal, sys
def seen(event, args):
    if event == "import" and "bindings" in str(args[0]) and "go" in str(args[0]) and not os.path.exists("{flag}"):
        open("{flag}", "w").close()
        os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.mark.invariant(of="test_a_grammar_that_cannot_be_loaded_for_a_while_costs_no_file_its_symbols")
async def test_a_worker_that_stands_still_while_it_parses_is_no_fault_of_the_file(workspace, tmp_path, monkeypatch):
    """A parse that takes too much CPU time ends its worker by itself; silence comes from the machine, as when it is suspended."""
    for name, value in spied(tmp_path, STOPS_ONCE.format(flag=tmp_path / "stopped")).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(worker_pool, "SILENCE_MINIMUM_SECONDS", 5.0)
    monkeypatch.setattr(worker_pool, "SILENCE_FACTOR", 0.0)
    workspace.write({"total.go": GO})
    async with open_worker_pool(1) as pool:
        report = await workspace.sync(pool=pool)

        assert pool.killed_count == 1
    assert report.quarantined == ()
    assert workspace.names() == {("total.go", "Total")}
