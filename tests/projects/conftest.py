"""A registry of projects and the requests that are routed with it."""

import pytest

from tests.support.routing import open_world


@pytest.fixture
async def world(tmp_path):
    async with open_world(tmp_path) as world:
        yield world


@pytest.fixture
def shop(world):
    return world.repository("shop")


@pytest.fixture
def other(world):
    return world.repository("other")
