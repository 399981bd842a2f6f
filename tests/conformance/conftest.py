"""Says at the end how much of the suite has run."""

from collections.abc import Callable

import pytest
from msgspec import Struct


class Tally(Struct, frozen=True):
    """Scenarios of one run. `skipped` are those on the list, which has the reason of each."""

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
    """Notes what a run of the suite has found, for the last lines of the test run."""
    return request.config.stash.setdefault(TALLIES, []).append


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    for tally in config.stash.get(TALLIES, []):
        terminalreporter.write_line(str(tally))
