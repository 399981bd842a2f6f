"""The history of a default branch: found over an organisation as beside a clone, and published in small pieces."""

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from codecompass.actors.history_answers import HistoryLimits, answer_from_history
from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.histories import is_of_history
from codecompass.cluster.indexing.home import WorkerHome
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.repositories.repository import Repository
from codecompass.protocol.encode import encode
from codecompass.protocol.requests import SearchCode
from codecompass.query.commit_question import commit_question
from codecompass.settings import AccessSettings, ServerSettings, Settings
from codecompass.store.layout import HomeLayout
from tests.cluster.git_remote import GitRemote
from tests.cluster.organisation import PATIENT, serving_library
from tests.cluster.working import until, working
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

QUESTIONS = (
    {"query": "type:commit wheel"},
    {"query": "type:commit /whe+l/", "limit": 2},
    {"query": "type:commit"},
    {"query": "type:diff common_helper"},
    {"query": "type:diff common_helper file:lib/"},
    {"query": "type:diff author:nobody turn"},
    {"query": "type:commit since:1day wheel", "limit": 1, "offset": 1},
    {"query": "type:diff gone"},
)


@pytest.fixture
def remote(tmp_path) -> GitRemote:
    """A history with a rename, a merge, a binary file, one that git is told not to compare, and a line that is gone."""
    made = GitRemote(tmp_path / "origin")
    body = "".join(f"def turn_{number}():\n    return common_helper({number})\n" for number in range(9))
    made.push({"src/a.py": body, ".gitattributes": "* text=auto\n*.lock -diff\n"})
    for number in range(4):
        commit(made, {f"src/b{number}.py": f"wheel = {number}\n"}, f"Turn wheel {number}\n\nSlowly, with the common wheel.")
    made.git("mv", "src", "lib")
    commit(
        made,
        {"lib/c.py": "gone = common_helper(1)\n", "lib/raw.bin": "\0\1\2", "lib/c.lock": "common_helper = 5\n"},
        "Move everything",
    )
    made.git("checkout", "-q", "-b", "side", "HEAD~2")
    commit(made, {"side.py": "common_helper(2)\n"}, "A wheel beside")
    made.git("checkout", "-q", "main")
    made.git("merge", "-q", "--no-ff", "-m", "Merge the wheel", "side")
    (made.work / "lib/c.py").unlink()
    commit(made, {}, "Remove it")
    made.git("push", "-q", "--force", "origin", "main")
    return made


def commit(remote: GitRemote, files: Mapping[str, str], message: str) -> None:
    for path, content in files.items():
        (remote.work / path).parent.mkdir(parents=True, exist_ok=True)
        (remote.work / path).write_text(content)
    remote.git("add", "-A")
    remote.git("commit", "-q", "-m", message)


def served_settings(engine_cluster, engine: Engine, segments: Path) -> Settings:
    return Settings(
        cluster=replace(Settings().cluster, url=tuple(engine_cluster.urls), prefix=engine.names.prefix, segments=str(segments)),
        server=ServerSettings(transport="http", store="opensearch", tools="all"),
        query=PATIENT,
        access=AccessSettings(max_requests_per_minute=0),
    )


@pytest.fixture
def in_clone(tmp_path):
    """Searches a clone, as a server on the same machine does."""

    def search(root: Path, asked: Mapping[str, object]) -> dict:
        limits = HistoryLimits(default_limit=10, seconds=30.0)
        request = SearchCode(**asked)
        reply = answer_from_history(request, commit_question(request, time.time()), root, limits)
        return json.loads(encode(reply))

    return search


def is_done(now: Repository | None, head: str) -> bool:
    return now is not None and now.lease is None and not now.is_pending and now.heads["main"].commit == head


def history_of(engine: Engine, repository: Repository) -> list[str]:
    files = ManifestReader(engine).manifest(repository.heads["main"].generation).segments
    return [each.key for each in files if is_of_history(each.name)]


def commits(answer: dict) -> list[dict]:
    return answer.get("commits", [])


def without_project(hit: dict) -> dict:
    return {key: value for key, value in hit.items() if key != "project"}


async def search(port: int, token: str, **arguments: object) -> dict:
    headers = {"authorization": f"Bearer {token}"}
    answer = await ask(port, "POST", "/", call("search_code", arguments), **headers)
    return answer.said()


@pytest.mark.invariant("Commits are found over an organisation as beside a clone, as far as their history is published")
async def test_commits_and_changed_lines_are_found_as_beside_a_clone(
    engine_cluster, engine, repositories, remote, segments, tmp_path, in_clone
):
    added = repositories.add(remote.url, groups=("red",), name="shop/wheels").repository
    head = remote.git("rev-parse", "HEAD")
    async with working(engine, tmp_path / "home"):
        await until(repositories, added.repo_id, lambda now: is_done(now, head))
    engine.refresh(engine.names.repositories)
    token, blind = Tokens(engine).add("anna", ["red"]), Tokens(engine).add("bert", ["blue"])

    async with serving_library(served_settings(engine_cluster, engine, segments), tmp_path / "cache") as served:
        found = [await search(served.port, token, workspace="shop/wheels", **each) for each in QUESTIONS]
        of_all = [await search(served.port, token, workspace="*", **each) for each in QUESTIONS]
        hidden = [await search(served.port, blind, workspace=name, query="type:commit wheel") for name in ("wheels", "nothing")]
        other = await search(served.port, token, workspace="wheels", query="type:commit wheel", ref="main")
        unknown = await search(served.port, token, workspace="wheels", query="type:commit wheel", ref="v9")
        pages = await search(served.port, token, workspace="wheels", query="def turn")

    expected = [await trio.to_thread.run_sync(in_clone, remote.work, each) for each in QUESTIONS]
    assert [commits(each) for each in found] == [commits(each) for each in expected]
    assert not any(".lock" in str(each.get("changed_lines")) for each in commits(found[3])), "as the attributes say"
    assert [commits(each) != [] for each in expected] == [True] * 5 + [False] + [True] * 2
    for number, each in enumerate(of_all):
        assert [without_project(hit) for hit in commits(each)] == commits(found[number])
    assert other["commits"] == found[0]["commits"]
    assert found[0]["metadata"]["commit"] == head
    assert unknown["error"]["code"] == "ref_not_indexed"
    assert [each["error"]["code"] for each in hidden] == ["project_not_found"] * 2
    assert re.sub("wheels", "nothing", hidden[0]["error"]["message"]) == hidden[1]["error"]["message"]
    assert pages["results"], "code is answered from the index beside it"


async def test_a_push_publishes_a_small_piece_and_what_is_cut_off_is_said(
    engine_cluster, engine, repositories, remote, store, segments, tmp_path
):
    added = repositories.add(remote.url, groups=("red",)).repository
    async with working(engine, tmp_path / "home", history=3):
        head = remote.git("rev-parse", "HEAD")
        first = await until(repositories, added.repo_id, lambda now: is_done(now, head))
        before = history_of(engine, first)
        commit(remote, {"new.py": "wheel = 9\n"}, "A new wheel")
        remote.git("push", "-q", "origin", "main")
        newer = remote.git("rev-parse", "HEAD")
        second = await until(repositories, added.repo_id, lambda now: is_done(now, newer) and not now.retired)
    engine.refresh(engine.names.repositories)
    token = Tokens(engine).add("anna", ["red"])

    assert set(before) & set(history_of(engine, second)), "packs that do not change are not written again"
    assert store.keys(added.repo_id) == sorted({f.key for f in manifest_files(engine, second)})
    async with serving_library(served_settings(engine_cluster, engine, segments), tmp_path / "cache") as served:
        found = await search(served.port, token, workspace=second.name, query="type:commit")
    assert found["commits"][0]["subject"] == "A new wheel"
    assert "change" not in {each["subject"] for each in found["commits"]}, "the first commit is older"
    assert "cluster.history" in str(found["metadata"]["warnings"])


def manifest_files(engine: Engine, repository: Repository):
    return ManifestReader(engine).manifest(repository.heads["main"].generation).segments


async def test_without_a_history_a_repository_is_searched_and_the_refusal_says_what_to_do(
    engine_cluster, engine, repositories, remote, segments, tmp_path
):
    added = repositories.add(remote.url, groups=("red",)).repository
    head = remote.git("rev-parse", "HEAD")
    # Where the history would be fetched to, there is a file.
    place = WorkerHome(HomeLayout(tmp_path / "home"), engine.names.prefix).history(added.repo_id)
    place.parent.mkdir(parents=True)
    place.write_text("in the way")
    async with working(engine, tmp_path / "home"):
        now = await until(repositories, added.repo_id, lambda now: is_done(now, head))
    engine.refresh(engine.names.repositories)
    token = Tokens(engine).add("anna", ["red"])

    assert history_of(engine, now) == []
    async with serving_library(served_settings(engine_cluster, engine, segments), tmp_path / "cache") as served:
        refused = await search(served.port, token, workspace="*", query="type:diff wheel")
        code = await search(served.port, token, workspace="*", query="turn_3", mode="literal")
    assert refused["error"]["code"] == "not_here"
    assert "cluster.history" in refused["error"]["message"]
    assert code["results"]
