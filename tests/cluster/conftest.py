"""Three real nodes for tests marked `cluster`, started once per test process; and the reasons to skip such tests."""

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecompass.cluster.engine import calls
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.catalog import prepare
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.serving import health
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.settings import ClusterSettings
from tests.cluster.cluster import Cluster
from tests.cluster.distribution import FetchFailed, Missing, distribution, java_home
from tests.cluster.kept_stores import KINDS, KeptBucket, KeptDirectory, KeptStore
from tests.cluster.nodes import QUICK_START, running_nodes
from tests.cluster.organisation import Organisation, organisation
from tests.cluster.s3_service import S3Service
from tests.cluster.working import LIMITS


@pytest.hookimpl(tryfirst=True)  # before xdist groups the tests
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Only one test process starts nodes.
    for item in items:
        if item.get_closest_marker("cluster"):
            item.add_marker(pytest.mark.xdist_group("cluster"))
        if item.get_closest_marker("thirty") and not os.environ.get("CODECOMPASS_LONG_TESTS"):
            item.add_marker(pytest.mark.skip(reason="takes four minutes and more on two processors: make cluster-test"))


@pytest.fixture(autouse=True)
def patient_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets servers wait for an engine that shares a busy machine with the tests. Tests about its absence set shorter times."""
    monkeypatch.setattr(calls, "LOOKUP_SECONDS", 60.0)
    monkeypatch.setattr(health, "PATIENCE_SECONDS", 60.0)
    monkeypatch.setattr(health, "READY_SECONDS", 600.0)


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
def engine(engine_cluster) -> Iterator[Engine]:
    """A client with indexes of its own, which are deleted after the test."""
    client = Engine(engine_cluster.urls, prefix=f"t{secrets.token_hex(5)}", patience=60.0)
    prepare(client)
    yield client
    client.patiently(lambda: client._request("DELETE", f"/{client.names.all}"))
    client.close()


@pytest.fixture
def repositories(engine) -> Repositories:
    return Repositories(engine, LIMITS.protocols)


@pytest.fixture
def segments(tmp_path) -> Path:
    """The directory in which workers of `working` publish if their home is in `tmp_path`."""
    made = tmp_path / "segments"
    made.mkdir()
    return made


@pytest.fixture
def store(engine, segments) -> SegmentStore:
    """The store that workers of `working` use for the repositories of `engine`."""
    return open_store(ClusterSettings(prefix=engine.names.prefix, segments=str(segments)))


@pytest.fixture
def generations(engine, store, tmp_path) -> Iterator[Generations]:
    """A reader of what is in that store."""
    opened = Generations(engine, store, tmp_path / "copies")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def s3_service(tmp_path_factory) -> Iterator[S3Service]:
    """A service that speaks S3. Tests share it; each takes a bucket of its own, and starts it again if it killed it."""
    service = S3Service(tmp_path_factory.mktemp("s3"))
    yield service
    service.kill()


@pytest.fixture(params=KINDS)
def kept(request, tmp_path, monkeypatch) -> Iterator[KeptStore]:
    """A store of each kind, empty."""
    if request.param == "directory":
        yield KeptDirectory(tmp_path / "shared")
        return
    service = request.getfixturevalue("s3_service")
    # While the service is away, requests would be repeated for seconds.
    monkeypatch.setattr("codecompass.cluster.stores.s3.RETRIES", 1)
    yield KeptBucket(service)
    service.ensure_running()


@pytest.fixture
def breakable_cluster(engine_cluster: Cluster) -> Iterator[Cluster]:
    """The same three nodes, which may be killed and paused: after the test all are restarted and form one cluster, with all
    copies: other tests read its health."""
    engine_cluster.wait("green", 3)
    yield engine_cluster
    engine_cluster.mend()
    engine_cluster.wait("green", 3)
