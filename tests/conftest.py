"""Options and fixtures of the whole suite."""

import logging
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from codecompass.units import GIB
from tests.support.workspace import TestWorkspace

SLOW_FOLDERS = frozenset({"blackbox", "clients", "conformance", "crash", "fuzz", "hosts", "identity", "soak", "workspaces"})
SLOW_MARKS = frozenset({"browser", "cluster", "soak"})
"""What `make slow-test` runs, beside single tests that are marked `slow`: `make test` takes five minutes on two quiet cores."""

MAX_PROCESSES = 8
"""Tests at a time, each with a server or two: beyond that it is memory that runs out."""

MAX_DATA_BYTES = 4 * GIB
"""A defect that takes memory without end fails its test; without a bound it would take the machine."""


def pytest_configure() -> None:
    # A machine that is busy is no defect; a test that hangs ends by its timeout.
    settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("any machine")
    if sys.platform == "linux":
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (MAX_DATA_BYTES, hard))
    # A suite that a script runs in its background ignores the keyboard, and so would every server that it starts.
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than the cores: every few tests wait for something."""
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


@pytest.fixture(autouse=True)
def log_configuration() -> None:
    """Each test begins with a log that shows everything: the first error of an unconfigured log would configure it for all."""
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


@pytest.fixture
def soak_scale(request: pytest.FixtureRequest) -> int:
    return int(request.config.getoption("--soak-scale"))


@pytest.fixture
def repetitions(soak_scale: int) -> Callable[[int, int], int]:
    """Gives `repetitions(in_ci, soaked)`: how often a random test repeats itself in CI, and for each unit of the scale else."""
    return lambda in_ci, soaked: in_ci if soak_scale == 1 else soaked * soak_scale


@pytest.fixture
def workspace(tmp_path: Path) -> TestWorkspace:
    """An empty directory that is no git repository, with a store of its own."""
    return TestWorkspace(tmp_path / "project", tmp_path / "home")


@pytest.fixture
def repository(tmp_path: Path) -> TestWorkspace:
    """An empty git repository on branch `main`, with a store of its own."""
    return TestWorkspace(tmp_path / "project", tmp_path / "home", git=True)


def tool(name: str) -> str:
    """Returns the path of an external program that a differential test compares with; skips without it, except in CI."""
    found = shutil.which(name)
    if found is None:
        if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
            pytest.fail(f"{name} is required here")
        pytest.skip(f"{name} is not installed")
    return found
