"""A core with sample tools, as `sample_core` makes it."""

import pytest

from tests.transport.sample_tools import sample_core


@pytest.fixture
def sample():
    return sample_core()


@pytest.fixture
def core(sample):
    return sample[0]


@pytest.fixture
def tools(sample):
    return sample[1]
