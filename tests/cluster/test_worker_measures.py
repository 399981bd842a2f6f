"""The metrics of a worker: of its work, and of the repositories as it has last read them."""

import pytest

from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.cluster.repositories.repository import Lease, RefHead, Repository, RepositoryFailure
from tests.cluster.git_remote import GitRemote
from tests.cluster.working import until, working
from tests.support.waiting import until as until_so
from tests.transport.http.test_metrics import samples

NOW = 2_000_000.0
SEEN_DISK = ("codecompass_worker_disk_free_bytes", None)
SEEN_STORE = ("codecompass_store_available", None)


def repository(name: str, **fields) -> Repository:
    given = {"repo_id": name.ljust(16, "0"), "url": f"https://git.example.org/{name}", "added_at": 0.0, "changed_at": NOW - 60}
    return Repository(name=name, **{**given, **fields})


def head(published_at: float) -> RefHead:
    return RefHead(
        generation="g", commit="c", published_at=published_at, file_count=3, symbol_count=4, source_bytes=500, made_by=(1, 1)
    )


INDEXED = repository("indexed", heads={"main": head(NOW - 5)}, default_ref="main", done_changes=1)
WAITING = repository("waiting", changed_at=NOW - 90, lease=Lease(owner="w", token="t"))
FAILING = repository("failing", trouble=RepositoryFailure(message="no", at=NOW, failures=3))
REMOVED = repository("removed", is_removed=True)


def page(measures: WorkerMeasures) -> dict:
    return samples(measures.page(NOW).decode())


def test_a_worker_that_has_not_read_anything_yet_says_so_by_what_is_missing():
    found = page(WorkerMeasures())

    assert found["codecompass_repositories", None] == 0
    assert ("codecompass_worker_looked_seconds_ago", None) not in found


def test_repositories_are_counted_by_what_they_wait_for():
    measures = WorkerMeasures()
    measures.looked((INDEXED, WAITING, FAILING, REMOVED))
    found = page(measures)

    counted = {
        name.removeprefix("codecompass_repositories"): value
        for (name, labels), value in found.items()
        if name.startswith("codecompass_repositories") and labels is None
    }
    assert counted == {"": 3, "_waiting": 2, "_leased": 1, "_failing": 1, "_unindexed": 2, "_waiting_seconds": 90}
    assert found["codecompass_repository_failures", 'repository="failing"'] == 3
    assert found["codecompass_repository_published_seconds", 'repository="indexed"'] == NOW - 5
    assert ("codecompass_repository_published_seconds", 'repository="waiting"') not in found
    assert found["codecompass_worker_looked_seconds_ago", None] >= 0


def test_of_too_many_repositories_those_in_trouble_are_named(monkeypatch):
    monkeypatch.setattr("codecompass.cluster.indexing.measures.MAX_NAMED", 2)
    measures = WorkerMeasures()
    measures.looked((INDEXED, WAITING, FAILING))

    named = {labels for name, labels in page(measures) if name == "codecompass_repository_failures"}

    assert named == {'repository="failing"', 'repository="waiting"'}


def test_work_is_counted_by_how_it_ended():
    measures = WorkerMeasures()
    for outcome, seconds in (("done", 2.0), ("failed", 0.5), ("done", 4.0)):
        measures.began()
        measures.ended("turn", outcome, seconds)
    measures.began()
    measures.polled(has_failed=True)
    measures.not_answered()
    measures.published(700)
    measures.saw_disk(30, 90)
    found = page(measures)

    assert found["codecompass_worker_runs_total", 'action="turn",outcome="done"'] == 2
    assert found["codecompass_worker_runs_total", 'action="turn",outcome="failed"'] == 1
    assert found["codecompass_worker_runs_total", 'action="sweep",outcome="done"'] == 0
    assert found["codecompass_worker_run_seconds_sum", 'action="turn"'] == 6.5
    assert found["codecompass_worker_running", None] == 1
    assert found["codecompass_worker_polls_total", 'outcome="failed"'] == 1
    assert found["codecompass_worker_engine_failures_total", None] == 1
    assert found["codecompass_worker_source_bytes_total", None] == 700
    assert (found["codecompass_worker_disk_free_bytes", None], found["codecompass_worker_disk_bytes", None]) == (30, 90)


@pytest.mark.cluster
async def test_a_worker_counts_what_it_does(engine, repositories, tmp_path):
    remote = GitRemote(tmp_path / "origin")
    remote.push({"a.py": "def one():\n    pass\n"})
    good = repositories.add(remote.url).repository
    bad = repositories.add(f"{remote.url}-missing").repository
    measures = WorkerMeasures()
    async with working(engine, tmp_path / "home", measures=measures):
        await until(repositories, good.repo_id, lambda now: now is not None and bool(now.heads))
        await until(repositories, bad.repo_id, lambda now: now is not None and now.failures > 0)
        await until(repositories, good.repo_id, lambda _: measures.counted("turn", "failed") and measures.counted("turn", "done"))
        # Both are looked at in the background.
        await until_so(lambda: {SEEN_DISK, SEEN_STORE} <= page(measures).keys())
    found = page(measures)

    assert 0 < found["codecompass_worker_disk_free_bytes", None] < found["codecompass_worker_disk_bytes", None]
    assert found["codecompass_worker_source_bytes_total", None] == len("def one():\n    pass\n")
    assert found[SEEN_STORE] == 1
    assert found["codecompass_store_written_bytes_total", None] > len("def one():\n    pass\n")
    assert 0 < found["codecompass_store_free_bytes", None] < found["codecompass_store_bytes", None]
    assert found["codecompass_repositories", None] == 2
