"""Reports at the end of the test run how much of the suite has run."""

from collections.abc import Callable

import pytest
from msgspec import Struct


class Tally(Struct, frozen=True):
    """The number of scenarios of one run. `skipped`: those in the list, with their reasons."""

    surface: str
    revision: str
    passed: int
    failed: int
    skipped: int

    def __str__(self) -> str:
        return (
            f"conformance, {self.surface}, {self.revision}: {self.passed + self.failed} scenarios run, "
            f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped (tests/conformance/scenarios.py says why)"
        )


TALLIES = pytest.StashKey[list[Tally]]()


@pytest.fixture
def count(request: pytest.FixtureRequest) -> Callable[[Tally], None]:
    """Records the result of a run of the suite for the summary of the test run."""
    return request.config.stash.setdefault(TALLIES, []).append


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    for tally in config.stash.get(TALLIES, []):
        terminalreporter.write_line(str(tally))
