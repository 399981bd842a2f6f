"""Faults while requests are sent and generations are published: no answer mixes two generations, and none is lost.

Every file of a generation contains its number. Requests search for it in all files, so an answer that mixes generations is
noticed.
"""

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.indexing.publishing import NewGeneration, publish
from codecompass.cluster.indexing.sweeping import sweep
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import Claim, claim
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.repositories.repository import RefHead
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import IndexDamaged, IndexNotReady
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import SearchCode
from codecompass.query.options import QueryOptions
from codecompass.query.search import search_code
from codecompass.settings import ClusterSettings
from tests.cluster.nodes import Cluster
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.invariant(
        "With nodes, disks, engine, workers, servers or remotes failing at any moment, no answer mixes two generations, "
        "leaks or goes back in time; writers wait, and nothing is lost or left behind"
    ),
]

N_FILES = 12
N_CLIENTS = 3
PUBLICATIONS = 3
"""During a fault."""

STATE = AnswerState(workspace="/w", project_id="p", ref="")


class Clients:
    """Threads that query the current generation continuously, and record their findings."""

    def __init__(self, urls: tuple[str, ...], prefix: str, store: SegmentStore, repo_id: str, directory: Path) -> None:
        self._store = store
        self._repo_id = repo_id
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.answered = 0
        self.unanswered: list[str] = []
        self.wrong: list[str] = []
        self._threads = [
            threading.Thread(target=self._ask, args=(Engine(urls, prefix=prefix), directory / f"client{number}"), daemon=True)
            for number in range(N_CLIENTS)
        ]

    @contextmanager
    def asking(self) -> Iterator["Clients"]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            for thread in self._threads:
                thread.join(30)

    def _ask(self, engine: Engine, directory: Path) -> None:
        repositories, generations = Repositories(engine), Generations(engine, self._store, directory)
        newest = 0
        while not self._ended.is_set():
            try:
                number = self._question(repositories, generations)
            except (IndexNotReady, IndexDamaged):
                continue  # replaced and swept between the two reads; servers retry, too
            except EngineUnavailable as error:
                with self._lock:
                    self.unanswered.append(error.message)
                continue
            with self._lock:
                self.answered += 1
                if number < newest:
                    self.wrong.append(f"generation {number} after {newest}")
            newest = max(newest, number)
        generations.close()
        engine.close()

    def _question(self, repositories: Repositories, generations: Generations) -> int:
        repository = repositories.get(self._repo_id)
        assert repository is not None
        head = repository.heads["main"]
        with generations.snapshot(head.generation) as snapshot:
            reply = search_code(snapshot, SearchCode(query="GENERATION", mode="literal", limit=50), STATE, QueryOptions())
        found = {each.text.rpartition(" ")[2] for result in reply.results for each in result.matched_lines}
        with self._lock:
            if len(reply.results) != N_FILES or found != {head.commit}:
                self.wrong.append(f"{len(reply.results)} files of generations {sorted(found)}, of {head.commit}")
        return int(head.commit)


class Author:
    """Edits a tree and publishes it."""

    def __init__(self, engine: Engine, store: SegmentStore, workspace: TestWorkspace) -> None:
        self.engine = engine
        self.repositories = Repositories(engine)
        self.workspace = workspace
        self.store = store
        self.manifests = ManifestReader(engine)
        self.number = 0
        added = self.repositories.add("https://git.example/team/shop").repository
        self.repo_id = added.repo_id
        held = claim(self.repositories, added, "author")
        assert held is not None
        self.claim: Claim = held

    async def publish(self) -> None:
        self.number += 1
        # Every file is rewritten, so that updates have dead files and new ones.
        self.workspace.write(
            {f"pkg/m{number}.py": f"GENERATION = {self.number}\n\n\ndef f{number}(): ...\n" for number in range(N_FILES)}
        )
        await self.workspace.sync()
        await trio.to_thread.run_sync(self._publish)

    def _publish(self) -> None:
        old = self.claim.repository.heads.get("main")
        generation = secrets.token_hex(8)
        published = publish(
            self.engine,
            self.store,
            NewGeneration(
                repo_id=self.repo_id,
                generation=generation,
                previous=None if old is None else self.manifests.manifest(old.generation),
                layout=self.workspace.layout,
                project_id=self.workspace.project_id,
            ),
        )
        meta = published.manifest.meta
        head = RefHead(
            generation=generation,
            commit=str(self.number),
            published_at=0.0,
            file_count=meta.file_count,
            symbol_count=meta.symbol_count,
            source_bytes=meta.source_bytes,
        )
        self.engine.patiently(lambda: self.claim.publish({"main": head}, default_ref="main"))
        keep = {generation} | ({old.generation} if old is not None else set())
        sweep(self.engine, self.store, self.repo_id, keep, confirm=self.claim.renew)


def store_of(prefix: str, directory: Path) -> SegmentStore:
    (directory / "segments").mkdir()
    return open_store(ClusterSettings(prefix=prefix, segments=str(directory / "segments")))


Fault = Callable[[Cluster], None]


def kills_a_node(cluster: Cluster) -> None:
    cluster.nodes[1].kill()


def stops_a_node_for_a_while(cluster: Cluster) -> None:
    cluster.nodes[2].pause()


@pytest.mark.invariant(of="test_what_an_abandoned_publication_wrote_is_never_seen")
@pytest.mark.parametrize("fault", [kills_a_node, stops_a_node_for_a_while])
async def test_with_one_node_of_three_gone_generations_are_published_and_no_answer_mixes_two(breakable_cluster, tmp_path, fault):
    prefix = f"t{secrets.token_hex(5)}"
    engine = Engine(breakable_cluster.urls, prefix=prefix, patience=90.0)
    await trio.to_thread.run_sync(engine.prepare)
    store = store_of(prefix, tmp_path)
    author = Author(engine, store, TestWorkspace(tmp_path / "tree", tmp_path / "home"))
    await author.publish()

    with Clients(breakable_cluster.urls, prefix, store, author.repo_id, tmp_path).asking() as clients:
        await author.publish()
        # On a busy machine copies may be missing, and what has no copy is lost with its node.
        await trio.to_thread.run_sync(breakable_cluster.wait, "green", 3)
        before = clients.answered
        fault(breakable_cluster)
        for _ in range(PUBLICATIONS):
            await author.publish()
        await until(lambda: clients.answered > before + 10, seconds=120)
        during = clients.answered
        await trio.to_thread.run_sync(breakable_cluster.mend)
        await author.publish()
        await until(lambda: clients.answered > during + 10, seconds=120)

    assert clients.wrong == []
    assert author.claim.repository.heads["main"].commit == str(author.number)
    engine.close()


async def test_writers_wait_while_the_disk_is_full(breakable_cluster, tmp_path):
    prefix = f"t{secrets.token_hex(5)}"
    engine = Engine(breakable_cluster.urls, prefix=prefix, patience=120.0)
    await trio.to_thread.run_sync(engine.prepare)
    store = store_of(prefix, tmp_path)
    author = Author(engine, store, TestWorkspace(tmp_path / "tree", tmp_path / "home"))
    await author.publish()

    with Clients(breakable_cluster.urls, prefix, store, author.repo_id, tmp_path).asking() as clients:
        async with trio.open_nursery() as nursery:
            with breakable_cluster.full_disk():
                await until(lambda: trio.to_thread.run_sync(is_blocked, breakable_cluster, engine), seconds=120)
                nursery.start_soon(author.publish)
                before = clients.answered
                await until(lambda: clients.answered > before + 10, seconds=120)
                assert author.claim.repository.heads["main"].commit == "1", "what is not stored is not named"

    assert author.claim.repository.heads["main"].commit == "2"
    assert clients.wrong == []
    assert clients.unanswered == []
    await until(lambda: trio.to_thread.run_sync(breakable_cluster.makes_indexes), seconds=120)
    engine.close()


def is_blocked(cluster: Cluster, engine: Engine) -> bool:
    """Whether the engine refuses writes for lack of space, which it does after some seconds."""
    status, _ = cluster.request("PUT", f"/{engine.names.access}/_doc/probe", {"name": "probe"})
    return status in (403, 429)
