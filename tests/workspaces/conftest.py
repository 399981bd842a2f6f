"""Fixtures of the tests with real servers."""

import pytest

from tests.workspaces.machine import Machine


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)
