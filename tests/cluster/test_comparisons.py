"""Comparisons of commits over an organisation: what differs, and what changes together, as beside a clone."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from codecompass.actors.asking import Standing, StoredIndex, TimeLimit, ask, query_settings
from codecompass.actors.differences import IsCancelled, with_differences
from codecompass.actors.question import Question
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving import comparisons
from codecompass.protocol.encode import encode
from codecompass.protocol.requests import DiffContext, LocateSymbol, SearchCode
from codecompass.scan.git_repository import find_repository
from codecompass.scan.git_revisions import NamedCommit, resolve_commit
from codecompass.settings import AccessSettings, ServerSettings, Settings
from codecompass.store.registry import Project
from tests.cluster.git_remote import GitRemote
from tests.cluster.organisation import PATIENT, serving_library
from tests.cluster.working import until, working
from tests.support.workspace import LIMITS, TestWorkspace
from tests.transport.http.client import ask as post
from tests.transport.http.client import call

pytestmark = pytest.mark.cluster

PRICES = '''\
"""Prices."""


def total(items):
    result = 0
    for item in items:
        result += item.price
    return result


def with_tax(amount):
    return amount * 1.2


class Basket:
    def __init__(self, items):
        self.items = items

    def amount(self):
        return with_tax(total(self.items))
'''
ORDERS = "from shop.prices import Basket, total\n\n\ndef order(items):\n    return Basket(items).amount()\n\n\n"
TESTS = "from shop.prices import total\n\n\ndef test_total():\n    assert total([]) == 0\n"
DRAWING = "<svg>\n<line/>\n</svg>\n"


class History:
    """A remote with a rename, a merge, removals, binary files, and files that git is told not to compare."""

    def __init__(self, base: Path) -> None:
        self.remote = GitRemote(base)
        self.commits: list[str] = []
        self.commit(
            {
                "shop/prices.py": PRICES,
                "shop/orders.py": ORDERS + "def estimate(items):\n    return total(items)\n",
                "shop/old.py": "def gone():\n    return 1\n",
                "tests/test_prices.py": TESTS,
                "tests/test_mail.py": "def test_nothing():\n    pass\n",
                "docs/notes.md": "# Notes\n\nfirst\n",
                ".gitattributes": "*.svg -diff\n",
                "drawings/plan.svg": DRAWING,
                "drawings/.gitattributes": "*.txt binary\n",
                "drawings/list.txt": "one\n",
                "raw.bin": b"\0\1\2",
            }
        )
        for number in range(3):
            self.commit(
                {"shop/prices.py": PRICES + f"\n\nRATE = {number}\n", "tests/test_mail.py": f"def test_{number}(): pass\n"}
            )
        self.git("mv", "shop/orders.py", "shop/baskets.py")
        self.commit({"shop/baskets.py": ORDERS + "def estimate(items):\n    return total(items) + 1\n"})
        self.git("checkout", "-q", "-b", "side", "HEAD~2")
        self.commit({"shop/side.py": "from shop.prices import with_tax\n\n\ndef beside():\n    return with_tax(1)\n"})
        self.git("checkout", "-q", "main")
        self.git("merge", "-q", "--no-ff", "-m", "merge", "side")
        (self.remote.work / "shop/old.py").unlink()
        changed = PRICES.replace("def total(items):", "def total(items, start=0):")
        self.commit(
            {"shop/prices.py": changed, "raw.bin": b"\0\3", "drawings/plan.svg": "<svg/>\n", "drawings/list.txt": "two\n"}
        )
        self.push()

    def git(self, *arguments: str) -> str:
        return self.remote.git(*arguments)

    def commit(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            target = self.remote.work / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")
        self.commits.append(self.git("rev-parse", "HEAD"))

    def push(self, *refs: str) -> None:
        self.git("push", "-q", "--force", "origin", "main", *refs)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "main")


@pytest.fixture
def history(tmp_path) -> History:
    return History(tmp_path / "origin")


class Beside:
    """Answers beside a clone, as a server on the same machine does."""

    def __init__(self, root: Path, home: Path) -> None:
        self.workspace = TestWorkspace(root, home)
        trio.run(self.workspace.sync)

    def __call__(self, tool: str, arguments: Mapping[str, object], *, is_head_indexed: bool = True) -> dict:
        """`is_head_indexed`: the head is the commit that is checked out."""
        workspace = self.workspace
        request = {"diff_context": DiffContext, "search_code": SearchCode, "locate_symbol": LocateSymbol}[tool](**arguments)
        question = Question(request=request)
        settings = Settings()
        options = query_settings(settings, settings.server.answers)

        async def run(work: Callable[[IsCancelled], object]) -> object:
            return work(lambda: False)

        async def prepare():
            async with open_worker_pool(1) as pool:
                commit = self._commit(getattr(request, "head", None) or "HEAD") if is_head_indexed else None
                given = (options, request, workspace.root, LIMITS, lambda: nullcontext(pool), run, workspace.layout)
                return await with_differences(*given, commit)

        prepared = trio.run(prepare)
        with workspace.index.snapshot() as snapshot:
            project = Project(
                project_id=workspace.project_id,
                alias="clone",
                root=workspace.root,
                is_auto_discovered=False,
                is_default=False,
                created_at=0,
                last_used_at=0,
            )
            index = StoredIndex(project=project, open=lambda: nullcontext(snapshot), known=Standing())
            return json.loads(encode(ask(index, question, prepared, TimeLimit(seconds=60))))

    def _commit(self, name: str) -> NamedCommit:
        repository = find_repository(str(self.workspace.root))
        assert repository is not None
        return resolve_commit(repository, name)


@pytest.fixture
def beside(history, tmp_path) -> Beside:
    return Beside(history.remote.work, tmp_path / "beside")


@asynccontextmanager
async def served(engine_cluster, engine: Engine, segments: Path, cache: Path):
    settings = Settings(
        cluster=replace(Settings().cluster, url=tuple(engine_cluster.urls), prefix=engine.names.prefix, segments=str(segments)),
        server=ServerSettings(transport="http", store="opensearch", tools="all"),
        query=PATIENT,
        access=AccessSettings(max_requests_per_minute=0),
    )
    async with serving_library(settings, cache) as server:

        async def said(token: str, tool: str, **arguments: object) -> dict:
            answer = await post(server.port, "POST", "/", call(tool, arguments), authorization=f"Bearer {token}")
            return answer.said()

        yield said


async def publish(engine, repositories, history: History, home: Path, *, refs=(), generations: int | None = None) -> Repository:
    """Adds the remote as `shop/api` of the group `red`, and returns it once a worker has published its commits."""
    added = repositories.add(history.remote.url, groups=("red",), name="shop/api", refs=refs or None).repository
    heads = {ref: history.git("rev-parse", ref) for ref in refs or ("main",)}

    def is_done(now: Repository | None) -> bool:
        return (
            now is not None
            and now.lease is None
            and not now.is_pending
            and {name: head.commit for name, head in now.heads.items()} == heads
        )

    async with working(engine, home, history=generations):
        found = await until(repositories, added.repo_id, is_done)
    engine.refresh(engine.names.repositories)
    return found


def bare(answer: dict) -> dict:
    """Returns an answer without what differs between a clone and an organisation: where it is, and ids in it."""
    kept = {key: value for key, value in answer.items() if key not in ("metadata", "estimated_tokens")}
    without = re.sub(r'"(symbol|result)_id": "[^"]*"', r'"\1_id": ""', json.dumps(kept))
    return {**json.loads(without), "warnings": answer.get("metadata", {}).get("warnings")}


def sides(history: History) -> list[dict]:
    first, changed, *_ = history.commits
    return [
        {"base": first, "head": "main"},
        {"base": changed[:9], "head": "main"},
        {"base": "main~2", "head": "main"},
        {"base": "HEAD~1^2", "head": "main"},
        {"base": "HEAD", "head": "main"},
        {"base": first, "head": "main", "path": "shop/"},
        {"base": first, "head": "main", "symbol": "total"},
        {"base": first, "head": "main", "max_tokens": 700},
        {"head": "main"},
        {"base": first, "head": history.head[:10]},
    ]


@pytest.mark.invariant("Commits are compared over an organisation as beside a clone, as far as their history is published")
async def test_what_differs_is_the_same_as_beside_a_clone(
    engine_cluster, engine, repositories, history, segments, tmp_path, beside
):
    await publish(engine, repositories, history, tmp_path / "home")
    token = Tokens(engine).add("anna", ["red"])
    asked = sides(history)

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        found = [await said(token, "diff_context", workspace="api", **each) for each in asked]
        newest = await said(token, "diff_context", workspace="api")

    expected = [await trio.to_thread.run_sync(beside, "diff_context", each) for each in asked]
    assert [bare(each) for each in found] == [bare(each) for each in expected]
    notes = {each["path"]: each.get("note", "") for each in found[0]["files"]}
    assert notes["drawings/plan.svg"] == notes["drawings/list.txt"] == notes["raw.bin"] == "binary", "as the attributes say"
    assert {each["change"] for each in found[0]["items"]} >= {"changed", "removed", "added", "lines"}
    assert "renamed" in {each["status"] for each in found[0]["files"]}
    assert "tests/test_mail.py" not in notes or found[2]["tests"], "tests go with a change"
    assert {each["path"]: each.get("together", 0) for each in found[2]["tests"]}["tests/test_mail.py"] == 4
    assert newest["items"] == found[8]["items"]
    assert newest["head"]["commit"] == history.head
    assert newest["head"]["reason"] == "the newest commit that is indexed"
    assert newest["base"] == found[8]["base"]
    assert newest["metadata"]["commit"] == history.head


async def test_a_head_without_an_index_is_compared_and_its_users_are_those_of_the_index(
    engine_cluster, engine, repositories, history, segments, tmp_path, beside
):
    await publish(engine, repositories, history, tmp_path / "home")
    token = Tokens(engine).add("anna", ["red"])
    asked = {"base": history.commits[0], "head": history.commits[4][:12]}

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        found = await said(token, "diff_context", workspace="api", **asked)

    expected = await trio.to_thread.run_sync(lambda: beside("diff_context", asked, is_head_indexed=False))
    (warning,) = found["metadata"]["warnings"]
    assert warning == f"users are those of main at {history.head[:12]} as it is indexed, not of {asked['head']}"
    assert {**bare(found), "warnings": None} == {**bare(expected), "warnings": None}


async def test_what_changed_since_a_commit_and_what_changes_together_are_found_as_beside_a_clone(
    engine_cluster, engine, repositories, history, segments, tmp_path, beside
):
    await publish(engine, repositories, history, tmp_path / "home")
    token = Tokens(engine).add("anna", ["red"])
    asked = [
        ("search_code", {"query": "total", "changed_since": "main~1"}),
        ("search_code", {"query": "total", "changed_since": history.commits[0], "mode": "literal"}),
        ("search_code", {"query": "total", "changed_since": "main"}),
        ("locate_symbol", {"name": "total", "changed_since": history.commits[3][:8]}),
        ("locate_symbol", {"name": "with_tax", "changed_since": history.commits[3]}),
        ("search_code", {"query": "tests for shop/prices.py"}),
        ("search_code", {"query": "what else must change with total"}),
        ("search_code", {"query": "files that change with shop/prices.py", "changed_since": history.commits[0]}),
    ]

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        found = [await said(token, tool, workspace="api", **arguments) for tool, arguments in asked]

    expected = [await trio.to_thread.run_sync(beside, *each) for each in asked]
    assert [bare(each) for each in found] == [bare(each) for each in expected]
    assert [bool(each["results"]) for each in found] == [True, True, False, True, False, True, True, True]
    assert "tests/test_mail.py" in {each["path"] for each in found[5]["results"]}, "only the history knows that they go together"


async def test_what_is_not_in_the_history_is_refused_with_what_is(
    engine_cluster, engine, repositories, history, segments, tmp_path
):
    history.git("checkout", "-q", "-b", "release/2", "main~1")
    history.commit({"shop/release.py": "VERSION = 2\n"})
    history.git("checkout", "-q", "main")
    history.push("release/2")
    await publish(engine, repositories, history, tmp_path / "home", refs=("main", "release/2"), generations=2)
    token = Tokens(engine).add("anna", ["red"])
    oldest = history.git("rev-parse", "main~1^2")
    asked = [
        ("diff_context", {"base": history.commits[0]}),
        ("diff_context", {"base": "main~3"}),
        ("diff_context", {"base": "v9"}),
        ("diff_context", {"base": "published"}),
        ("diff_context", {"base": "main", "head": "release/2"}),
        ("diff_context", {"head": "release/2~1"}),
        ("diff_context", {"base": "release/2"}),
        ("diff_context", {"base": "main~1", "ref": "release/2"}),
        ("search_code", {"query": "total", "changed_since": history.commits[0]}),
        ("search_code", {"query": "total", "changed_since": "main", "ref": "release/2"}),
        ("locate_symbol", {"name": "total", "changed_since": "0123456789"}),
    ]

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        refused = [await said(token, tool, workspace="api", **arguments) for tool, arguments in asked]
        live = [
            await said(token, tool, workspace="api", **arguments)
            for tool, arguments in (
                ("diff_context", {"base": "live"}),
                ("diff_context", {"head": "live"}),
                ("search_code", {"query": "total", "changed_since": "live"}),
            )
        ]
        invalid = await said(token, "diff_context", workspace="api", base="main..main")
        at_the_end = await said(token, "diff_context", workspace="api", head="main~1")
        works = await said(token, "diff_context", workspace="api")

    assert [each["error"]["code"] for each in refused] == ["ref_not_indexed"] * len(asked)
    roots = {history.git("rev-parse", name) for name in ("main~1", oldest)}
    assert {each["error"]["data"]["oldest"] for each in refused if "oldest" in each["error"]["data"]} <= roots
    assert all(each["error"]["data"]["oldest"][:12] in each["error"]["message"] for each in refused)
    assert [each["error"]["code"] for each in live] == ["not_here"] * 3
    assert all("working tree" in each["error"]["message"] for each in live)
    assert invalid["error"]["code"] == "ref_not_indexed"
    assert at_the_end["error"]["code"] == "ref_not_indexed", "what came before is not known, so that nothing is said to be new"
    assert works["items"]


async def test_a_commit_that_a_force_push_replaced_is_not_shown(
    engine_cluster, engine, repositories, history, segments, tmp_path
):
    first = history.head
    repository = await publish(engine, repositories, history, tmp_path / "home")
    history.git("reset", "-q", "--hard", "HEAD~1")
    history.commit({"shop/prices.py": PRICES + "\nNEW = 1\n"})
    history.push()
    async with working(engine, tmp_path / "home"):
        await until(repositories, repository.repo_id, lambda now: now.heads["main"].commit == history.head and now.lease is None)
    engine.refresh(engine.names.repositories)
    token = Tokens(engine).add("anna", ["red"])

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        refused = await said(token, "diff_context", workspace="api", base=first)
        newest = await said(token, "diff_context", workspace="api")

    assert refused["error"]["code"] == "ref_not_indexed"
    assert [each["path"] for each in newest["files"]] == ["shop/prices.py"]


async def test_a_hidden_repository_is_compared_like_an_invented_one_and_one_without_history_says_so(
    engine_cluster, engine, repositories, history, segments, tmp_path
):
    await publish(engine, repositories, history, tmp_path / "home", generations=0)
    token, blind = Tokens(engine).add("anna", ["red"]), Tokens(engine).add("bert", ["blue"])
    asked = [
        ("diff_context", {"base": "main"}),
        ("diff_context", {"head": "main"}),
        ("diff_context", {"head": "live"}),
        ("search_code", {"query": "total", "changed_since": "main"}),
        ("locate_symbol", {"name": "total", "changed_since": "main"}),
    ]

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        hidden = [await said(blind, tool, workspace="api", **arguments) for tool, arguments in asked]
        invented = [await said(blind, tool, workspace="nothing", **arguments) for tool, arguments in asked]
        without = [await said(token, tool, workspace="api", **arguments) for tool, arguments in asked]
        together = await said(token, "search_code", workspace="api", query="tests for shop/prices.py")

    assert [json.loads(re.sub(r"\bapi\b", "nothing", json.dumps(each))) for each in hidden] == invented
    assert {each["error"]["code"] for each in hidden} == {"project_not_found"}
    assert {each["error"]["code"] for each in without} == {"not_here"}
    assert "cluster.history" in without[0]["error"]["message"]
    assert together["results"], "without a history the other signals answer"


async def test_a_comparison_that_takes_too_long_is_refused_and_a_search_is_answered_without_companions(
    engine_cluster, engine, repositories, history, segments, tmp_path, monkeypatch
):
    await publish(engine, repositories, history, tmp_path / "home")
    token = Tokens(engine).add("anna", ["red"])
    monkeypatch.setattr(comparisons, "COMPARISON_SECONDS", 0.0)
    monkeypatch.setattr(comparisons, "COMPANIONS_SHARE", 0.0)

    async with served(engine_cluster, engine, segments, tmp_path / "cache") as said:
        late = await said(token, "diff_context", workspace="api")
        search = await said(token, "search_code", workspace="api", query="tests for shop/prices.py")

    assert late["error"]["code"] == "deadline_exceeded"
    assert "Ask again" in late["error"]["message"]
    assert search["results"]
    assert any("changed together" in each for each in search["metadata"]["warnings"])
