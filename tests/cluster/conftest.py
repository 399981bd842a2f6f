"""Three real nodes for the tests of the marker `cluster`, started once in a test process; and the reasons to skip them."""

import os
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.distribution import FetchFailed, Missing, distribution, java_home
from tests.cluster.nodes import QUICK_START, running_nodes


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # One process alone starts nodes, however many run tests.
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.xdist_group("cluster"))
        if item.get_closest_marker("thirty") and not os.environ.get("CODECOMPASS_LONG_TESTS"):
            item.add_marker(pytest.mark.skip(reason="takes four minutes and more on two processors: make cluster-test"))


@pytest.fixture(scope="session")
def startable() -> None:
    """Skips what needs nodes where Java or OpenSearch is not there. Where they are, a failure to start is a failure."""
    try:
        java_home()
        distribution()
    except Missing as error:
        pytest.skip(str(error))
    except FetchFailed as error:
        if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def engine_cluster(startable: None) -> Iterator[Cluster]:
    """Three nodes, all of them awake. Tests share them: use names of your own for indexes, and break nothing."""
    with running_nodes(3, java_options=QUICK_START) as cluster:
        yield cluster


@pytest.fixture
def breakable_cluster(engine_cluster: Cluster) -> Iterator[Cluster]:
    """The same three nodes, to kill and to pause: after the test, all are started again and are one cluster."""
    engine_cluster.wait("green", 3)
    yield engine_cluster
    engine_cluster.mend()
