"""Three real nodes for tests marked `cluster`, started once per test process; and the reasons to skip such tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecompass.cluster.generations import Generations
from codecompass.cluster.segment_store import SegmentStore, open_store
from codecompass.settings import ClusterSettings
from tests.cluster.cluster import Cluster
from tests.cluster.distribution import FetchFailed, Missing, distribution, java_home
from tests.cluster.nodes import QUICK_START, running_nodes
from tests.cluster.organisation import Organisation, organisation


@pytest.hookimpl(tryfirst=True)  # before xdist groups the tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Only one test process starts nodes.
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.xdist_group("cluster"))
        if item.get_closest_marker("thirty") and not os.environ.get("CODECOMPASS_LONG_TESTS"):
            item.add_marker(pytest.mark.skip(reason="takes four minutes and more on two processors: make cluster-test"))


@pytest.fixture(scope="session")
def startable() -> None:
    """Skips tests that need nodes if Java or OpenSearch is missing. If both are present, a failure to start is a failure."""
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
    """Three running nodes. Tests share them, so use unique index names and break nothing."""
    with running_nodes(3, java_options=QUICK_START) as cluster:
        yield cluster


@pytest.fixture
def house(engine_cluster, tmp_path) -> Iterator[Organisation]:
    """An organisation without repositories."""
    with organisation(engine_cluster.urls, tmp_path / "house") as made:
        yield made


@pytest.fixture
def segments(tmp_path) -> Path:
    """The directory in which workers of `working` publish if their home is in `tmp_path`."""
    made = tmp_path / "segments"
    made.mkdir()
    return made


@pytest.fixture
def store(engine, segments) -> SegmentStore:
    """The store of the `engine` of the test's own module."""
    return open_store(ClusterSettings(prefix=engine.names.prefix, segments=str(segments)))


@pytest.fixture
def generations(engine, store, tmp_path) -> Iterator[Generations]:
    """A reader through the `engine` of the test's own module."""
    opened = Generations(engine, store, tmp_path / "copies")
    yield opened
    opened.close()


@pytest.fixture
def breakable_cluster(engine_cluster: Cluster) -> Iterator[Cluster]:
    """The same three nodes, which may be killed and paused: after the test all are restarted and form one cluster."""
    engine_cluster.wait("green", 3)
    yield engine_cluster
    engine_cluster.mend()
