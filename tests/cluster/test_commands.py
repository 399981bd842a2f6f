"""The commands of a cluster, from adding a repository to its removal, on a real engine."""

import secrets
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import claim
from tests.cli.conftest import CommandLine, Program
from tests.cluster.code_hosts import Hosted, code_host
from tests.cluster.git_remote import GitRemote

pytestmark = pytest.mark.cluster

DEADLINE_SECONDS = 120

T = TypeVar("T")


@pytest.fixture
def cli(engine_cluster, segments: Path, tmp_path: Path) -> Iterator[CommandLine]:
    made = CommandLine(tmp_path.resolve())
    prefix = f"t{secrets.token_hex(5)}"
    made.environment |= {
        "CODECOMPASS_CLUSTER_URL": ",".join(engine_cluster.urls),
        "CODECOMPASS_CLUSTER_PREFIX": prefix,
        "CODECOMPASS_CLUSTER_PROTOCOLS": "https,file",
        "CODECOMPASS_CLUSTER_SEGMENTS": str(segments),
        "CODECOMPASS_INDEX_WORKERS": "1",
    }
    yield made
    names = Engine(engine_cluster.urls, prefix=prefix).names
    for index in (
        names.catalog,
        names.repositories,
        names.manifests,
        names.access,
        names.sources,
        names.members,
    ):
        engine_cluster.request("DELETE", f"/{index}")


def test_an_owner_at_a_code_host_is_followed_by_a_worker(cli, tmp_path):
    """End to end: a source is added, a worker lists its repositories, and a rename is followed."""
    cli.environment["CODECOMPASS_CLUSTER_POLL_SECONDS"] = "1"
    remotes = {name: GitRemote(tmp_path / name, name) for name in ("api", "web")}
    for remote in remotes.values():
        remote.push({"a.py": "def one():\n    pass\n"})

    def listed() -> dict[str, str]:
        found = cli("cluster", "list", "--json").json["repositories"]
        return {each["url"]: each["state"] for each in found}

    def source() -> dict[str, object]:
        return cli("cluster", "source", "list", "--json").json["sources"][0]

    with code_host("gitea", [Hosted(number, name, url=remotes[name].url) for number, name in enumerate(remotes)]) as host:
        added = cli("cluster", "source", "add", f"{host.site}/shop", "--kind", "gitea", "--group", "web", "--exclude", "shop/web")
        with Program(cli).start("cluster", "worker") as worker:
            try:
                until(listed, lambda found: found.get(remotes["api"].url) == "ready")
                host.repositories = [Hosted(0, "api", url=remotes["web"].url)]
                checked = cli("cluster", "source", "check", f"{host.site}/shop")
                until(listed, lambda found: found == {remotes["web"].url: "ready"})
                entry = until(source, lambda found: found["state"] == "followed")
            finally:
                worker.send_signal(signal.SIGTERM)
                worker.communicate(timeout=DEADLINE_SECONDS)
        removed = cli("cluster", "source", "remove", f"{host.site}/shop")

    assert (added.code, checked.code, removed.code) == (0, 0, 0)
    assert (entry["state"], entry["repositories"], entry["groups"]) == ("followed", 1, ["web"])
    assert "stay" in removed.out
    assert cli("cluster", "source", "list", "--json").json == {"sources": []}


def until(run: Callable[[], T], is_so: Callable[[T], bool]) -> T:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < deadline:
        done = run()
        if is_so(done):
            return done
        time.sleep(0.2)
    raise AssertionError(f"never so: {done}")


def test_a_repository_from_its_addition_to_its_removal(cli, tmp_path):
    remote = GitRemote(tmp_path / "origin", "shop")
    commit = remote.push({"a.py": "def one():\n    pass\n"})
    assert "no index yet" in cli("cluster", "list").err
    assert "no index yet" in cli("cluster", "status").err
    assert "no index yet" in cli("cluster", "doctor").out

    added = cli("cluster", "add", remote.url, "--group", "web", "--ref", "HEAD", "--json").json
    assert added["is_new"]
    assert added["repository"]["state"] == "waiting"
    name = added["repository"]["name"]
    assert f"changed {name}" in cli("cluster", "add", remote.url).out

    with Program(cli).start("cluster", "worker") as worker:
        try:
            ready = until(lambda: cli("cluster", "list", "--json"), lambda done: done.json["repositories"][0]["state"] == "ready")
            status = cli("cluster", "status", "--json").json
        finally:
            worker.send_signal(signal.SIGTERM)
            _, log = worker.communicate(timeout=DEADLINE_SECONDS)

    entry = ready.json["repositories"][0]
    assert (entry["default_ref"], entry["heads"][0]["commit"], entry["groups"]) == ("main", commit, ["web"])
    assert status["states"] == {"ready": 1}
    assert status["file_count"] == 1
    assert worker.returncode == 0
    assert b'"event": "worker_stopped"' in log
    assert name in cli("cluster", "list").out

    assert cli("cluster", "changed", name).out == f"a worker looks at it: {name}\n"
    assert cli("cluster", "changed", "nothing/there").code == 3
    assert cli("cluster", "remove", name, "--json").json["state"] == "removed"
    assert cli("cluster", "list", "--json").json == {"repositories": []}
    assert cli("cluster", "remove", name).code == 3


def test_addresses_names_and_groups_that_are_wrong_are_refused_and_nothing_is_added(cli):
    for wrong in (
        ("https://u:p4ss@git.example.org/a/b",),
        ("git@git.example.org:a/b",),  # ssh is not allowed here
        ("https://git.example.org/a/b", "--group", "web,ops"),
        ("https://git.example.org/a/b", "--ref", "a..b"),
        ("https://git.example.org/a/b", "--name", "/x"),
    ):
        done = cli("cluster", "add", *wrong)
        assert done.code == 2, wrong
        assert "p4ss" not in done.err
    assert cli("cluster", "list", "--json").json == {"repositories": []}


def test_what_went_wrong_is_in_the_status(cli, tmp_path):
    cli("cluster", "add", f"file://{tmp_path}/nowhere", "--name", "lost")

    with Program(cli).start("cluster", "worker") as worker:
        try:
            status = until(lambda: cli("cluster", "status"), lambda done: "cluster remove NAME" in done.out)
        finally:
            worker.send_signal(signal.SIGINT)
            worker.communicate(timeout=DEADLINE_SECONDS)

    assert "lost: " in status.out
    assert worker.returncode == 0


def test_repositories_are_added_from_a_file_paused_drained_resumed_and_indexed_anew(cli, tmp_path):
    remotes = [GitRemote(tmp_path / "origin", name) for name in ("one", "two")]
    for remote in remotes:
        remote.push({"a.py": "def one():\n    pass\n"})
    listed = tmp_path / "repositories.txt"
    listed.write_text("".join(f"{remote.url} group=web\n" for remote in remotes) + "nonsense\n")

    added = cli("cluster", "add", "--file", listed, "--json")
    assert (added.code, len(added.json["added"]), [each["line"] for each in added.json["errors"]]) == (1, 2, [3])
    assert "2 unchanged" in cli("cluster", "add", "--file", listed).out
    names = added.json["added"]

    def states() -> list[str]:
        return [each["state"] for each in cli("cluster", "list", "--json").json["repositories"]]

    assert cli("cluster", "pause", names[0], "--json").json == {"repositories": [names[0]]}
    with Program(cli).start("cluster", "worker") as worker:
        try:
            until(lambda: cli("cluster", "list", "--json"), lambda _: sorted(states()) == ["paused", "ready"])
            assert cli("cluster", "drain", "--json").json == {"is_drained": True, "held": []}
            assert states() == ["paused", "paused"]
            assert cli("cluster", "resume", "--all", "--json").json == {"repositories": sorted(names)}
            until(lambda: cli("cluster", "list", "--json"), lambda _: states() == ["ready", "ready"])
            before = cli("cluster", "list", "--json").json["repositories"]
            assert cli("cluster", "reindex", "--outdated", "--json").json == {"repositories": []}
            assert cli("cluster", "reindex", names[0]).out == f"to be indexed anew: {names[0]}\n"
            rebuilt = until(
                lambda: cli("cluster", "list", "--json"),
                lambda done: generation_of(done.json, names[0]) != generation_of({"repositories": before}, names[0]),
            )
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.communicate(timeout=DEADLINE_SECONDS)

    assert generation_of(rebuilt.json, names[1]) == generation_of({"repositories": before}, names[1])
    doctor = cli("cluster", "doctor", "--json")
    assert doctor.code == 0
    names = {each["name"] for each in doctor.json["checks"]}
    assert names >= {"engine", "versions", "disks", "clocks", "leases", "remotes", "store"}


def generation_of(listing: dict[str, list[dict[str, object]]], name: str) -> object:
    (entry,) = [each for each in listing["repositories"] if each["name"] == name]
    return [head["generation"] for head in entry["heads"]]


def test_a_drain_says_who_is_still_at_work_when_its_time_is_up(cli, engine_cluster, tmp_path):
    cli("cluster", "add", "https://git.example.org/a/b", "--name", "held")
    engine = Engine(engine_cluster.urls, prefix=cli.environment["CODECOMPASS_CLUSTER_PREFIX"])
    repositories = Repositories(engine)
    assert claim(repositories, repositories.find("held"), "somebody") is not None
    engine.close()

    done = cli("cluster", "drain", "--timeout", "0")

    assert done.code == 1
    assert "held" in done.err
