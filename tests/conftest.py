"""Options and fixtures of the whole test suite."""

import logging
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio
from hypothesis import HealthCheck, settings

from codecompass.units import GIB, MILLISECONDS
from tests.support.loop_calls import CallWatch
from tests.support.loop_steps import StepWatch
from tests.support.workspace import TestWorkspace

SLOW_FOLDERS = frozenset({"blackbox", "clients", "conformance", "crash", "fuzz", "hosts", "identity", "soak", "workspaces"})
SLOW_MARKS = frozenset({"browser", "cluster", "soak"})
"""Run by `make slow-test`, together with tests marked `slow`; `make test` takes eight minutes on two idle cores."""

MAX_PROCESSES = 8
"""Tests run at a time, each with a server or two; more would run out of memory."""

MAX_DATA_BYTES = 4 * GIB
"""Makes a test with unbounded memory use fail; without the limit it would exhaust the machine's memory."""


STEPS = pytest.StashKey[StepWatch]()
CALLS = pytest.StashKey[CallWatch]()


def pytest_configure(config: pytest.Config) -> None:
    # A slow machine is not a defect; a hanging test is ended by its timeout.
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")
    if sys.platform == "linux":
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, hard))
    if milliseconds := config.getoption("--loop-steps"):
        steps = config.stash[STEPS] = StepWatch(milliseconds * MILLISECONDS)
        steps.start()
        trio.run = partial(_run_watched, trio.run, steps)
    if config.getoption("--loop-calls"):
        calls = config.stash[CALLS] = CallWatch()
        trio.run = partial(_run_watched, trio.run, calls)
    # A suite that runs in the background of a script ignores SIGINT, and every server that it starts would inherit that.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


def _run_watched(
    run: Callable[..., object], watch: trio.abc.Instrument, *arguments: Any, instruments: Any = (), **options: Any
) -> object:
    return run(*arguments, instruments=[*instruments, watch], **options)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than the number of cores, because some tests are always waiting."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(n_cores + 1, MAX_PROCESSES)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
        if folder in SLOW_FOLDERS or any(item.get_closest_marker(name) for name in SLOW_MARKS):
            item.add_marker(pytest.mark.slow)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak-scale", type=int, default=1, help="multiplies the seeds of the slow tests (CI: 1)")
    parser.addoption("--loop-steps", type=int, default=0, help="name steps of the event loop of so many milliseconds (with -n0)")
    parser.addoption("--loop-calls", action="store_true", help="name calls on the event loop that may block (with -n0)")


@pytest.fixture(autouse=True)
def log_configuration() -> None:
    """Logs every event in each test: otherwise the first error of an unconfigured log would configure it for all tests."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for key in (STEPS, CALLS):
        if (watch := config.stash.get(key, None)) is not None:
            for line in watch.report():
                terminalreporter.write_line(line)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if (watch := item.config.stash.get(STEPS, None)) is not None:
        watch.test = item.nodeid


@pytest.fixture
def soak_scale(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--soak-scale"))


@pytest.fixture
def repetitions(soak_scale: int) -> Callable[[int, int], int]:
    """Returns `repetitions(in_ci, soaked)`: `in_ci` at scale 1, otherwise `soaked` times the scale."""
    return lambda in_ci, soaked: in_ci if soak_scale == 1 else soaked * soak_scale


@pytest.fixture
def workspace(tmp_path: Path) -> TestWorkspace:
    """An empty directory outside git, with its own store."""
    return TestWorkspace(tmp_path / "project", tmp_path / "home")


@pytest.fixture
def repository(tmp_path: Path) -> TestWorkspace:
    """An empty git repository on branch `main`, with its own store."""
    return TestWorkspace(tmp_path / "project", tmp_path / "home", git=True)


def tool(name: str) -> str:
    """Returns the path of an external program for differential tests; if it is missing, skips the test, or fails it in CI."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
            pytest.fail(f"{name} is required here")
        pytest.skip(f"{name} is not installed")
    return found
