"""Questions about a workspace whose index is not there yet, answered from its files, over the real store and workers.

The index stays away because another process holds the writer lock. One server serves all questions of a test: only the first
waits for the index before files are read.
"""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
import trio

from codecompass.actors import unindexed_files
from codecompass.actors.job_state import WatchList
from codecompass.actors.messages import Query, StartJob
from codecompass.errors import CodeCompassError, IndexInProgress, IndexNotReady, InvalidInput, SymbolNotFound
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import (
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    LocateSymbol,
    ReadFile,
    SearchCode,
)
from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.layout import make_private_directory
from codecompass.store.lock import writer_lock
from codecompass.units import GIB
from tests.support.asking import open_workspace
from tests.support.faults import workers
from tests.support.serving import Serving, open_serving
from tests.support.workspace import LIMITS, TestWorkspace

pytestmark = pytest.mark.invariant(
    "While an index is being made, questions are answered from the files, marked as partial; an error only if nothing"
    " could be read"
)

SECONDS = 60
PATIENT = Settings(
    server=ServerSettings(prewarm=False, max_memory=64 * GIB),
    query=QuerySettings(timeout_ms=60_000, freshness_wait_ms=60_000, first_answer_wait_ms=600_000, files_answer_after_ms=500),
)
IN_TIME = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(first_answer_wait_ms=3_000))


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """All files are read, however long a busy machine takes for it."""
    monkeypatch.setattr(unindexed_files, "LONGEST_SECONDS", 60.0)


USE = "from lib.pool import ConnectionPool\n\n\ndef {name}():\n    return ConnectionPool().checkout_connection()\n"
FILES = {
    "lib/pool.py": '''"""Connections that are kept open."""

import os

from lib.base import Closing


class ConnectionPool(Closing):
    """Keeps connections."""

    def checkout_connection(self):
        limit = int(os.environ["POOL_MAX_IDLE"])
        if limit < 1:
            raise ValueError(f"the pool of {limit} connections is too small")
        return limit

    def close(self):
        return self.checkout_connection()
''',
    "lib/base.py": "class Closing:\n    def close(self):\n        raise NotImplementedError\n",
    "lib/web.py": USE.format(name="serve_requests"),
    "tests/test_pool.py": USE.format(name="test_checkout"),
    "docs/pool.md": "# The pool\n\nSet `POOL_MAX_IDLE` or `--pool-max-idle` to keep more connections.\n",
    "config/app.yml": "pool:\n  max-idle: 3  # see --pool-max-idle\n",
    "ignored/copy.py": "def checkout_connection():\n    return 'hidden token'\n",
    ".gitignore": "ignored/\n",
    ".env": "POOL_MAX_IDLE=hidden token\n",
    "lib/unrelated.py": "def nothing_of_it():\n    pass\n",
}


@pytest.fixture
def tree(repository: TestWorkspace) -> TestWorkspace:
    repository.write(FILES)
    repository.write({f"more/m{number}.py": f"def function_{number}():\n    return {number}\n" for number in range(40)})
    repository.commit()
    return repository


@contextmanager
def held(tree: TestWorkspace, home: Path) -> Iterator[None]:
    """Holds the writer lock of the workspace's index in `home`."""
    layout = _layout(tree, home)
    make_private_directory(layout.root)
    with writer_lock(layout, "another process"):
        yield


def _layout(tree: TestWorkspace, home: Path):
    return TestWorkspace(tree.root, home).layout


class Asker:
    """Asks about a workspace whose index is not there."""

    def __init__(self, serving: Serving, handle) -> None:
        self.serving, self.handle = serving, handle

    async def __call__(self, request, *, is_partial: bool = True) -> Reply:
        with trio.fail_after(SECONDS):
            reply = await self.handle.ask(Query(request=request))
        state = reply.metadata
        if is_partial:
            assert (state.indexing_status, state.result_completeness, state.freshness_status) == (
                "indexing",
                "partial",
                "syncing",
            )
            assert state.generation == 0
            assert state.ref == "main"
            assert any(warning.startswith("still indexing: answered from a scan of all") for warning in state.warnings)
        return reply


@asynccontextmanager
async def asking(tree: TestWorkspace, home: Path, settings: Settings = PATIENT) -> AsyncIterator[Asker]:
    with held(tree, home):
        async with open_serving(home, settings=settings) as serving:
            yield Asker(serving, await open_workspace(serving, tree))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "server"


def places(reply) -> list[tuple[str, int]]:
    return [(result.path, result.line_start) for result in reply.results]


def lines(reply) -> set[tuple[str, int]]:
    return {(result.path, line.line) for result in reply.results for line in result.matched_lines}


async def test_every_question_is_answered_from_the_files(tree, home):
    async with asking(tree, home) as ask:
        located = await ask(LocateSymbol(name="checkout_connection"))
        assert places(located) == [("lib/pool.py", 11)]

        assert places(await ask(SearchCode(query="ConnectionPool")))[0] == ("lib/pool.py", 8)
        assert places(await ask(SearchCode(query="the pool of 0 connections is too small")))[0][0] == "lib/pool.py"
        assert places(await ask(SearchCode(query="where are connections checked out")))[0][0] == "lib/pool.py"
        assert places(await ask(SearchCode(query="lib/web.py")))[0][0] == "lib/web.py"
        found = await ask(SearchCode(query="POOL_MAX_IDLE", mode="literal"))
        assert lines(found) == {("lib/pool.py", 12), ("docs/pool.md", 3)}
        found = await ask(SearchCode(query="pool[-_]max[-_]idle", mode="regex"))
        assert lines(found) == {("docs/pool.md", 3), ("config/app.yml", 2)}
        found = await ask(SearchCode(query="*.yml", mode="files"))
        assert [result.path for result in found.results] == ["config/app.yml"]
        found = await ask(SearchCode(query="function_17", path="more/**"))
        assert places(found)[0] == ("more/m17.py", 1)

        outline = await ask(GetFileOutline(path="lib/pool.py"))
        assert "ConnectionPool" in str(outline)
        uses = await ask(FindReferences(symbol_name="ConnectionPool.checkout_connection"))
        assert {(use.path, use.line_start) for use in uses.references} == {
            ("lib/pool.py", 18),
            ("lib/web.py", 5),
            ("tests/test_pool.py", 5),
        }
        for request in (
            GetCallGraph(symbol_name="checkout_connection"),
            GetSymbolHierarchy(symbol_name="ConnectionPool", relation="supertypes"),
            FindRelatedSymbols(symbol_name="checkout_connection"),
            GetCodeContext(query="how is a connection checked out"),
            ReadFile(path="lib/pool.py"),
        ):
            assert "pool.py" in str(await ask(request)), request


async def test_what_an_answer_names_is_taken_by_the_next_question(tree, home):
    async with asking(tree, home) as ask:
        (located,) = (await ask(LocateSymbol(name="checkout_connection"))).results

        for name in (located.symbol_id, "ConnectionPool.checkout_connection"):
            uses = await ask(FindReferences(symbol_name=name))
            assert ("lib/web.py", 5) in {(use.path, use.line_start) for use in uses.references}, name
        for name in (located.symbol_id, "lib/pool.py:12", "ConnectionPool.checkout_connection"):
            assert places(await ask(LocateSymbol(name=name)))[0] == ("lib/pool.py", 11), name


async def test_what_the_files_do_not_hold_is_said_without_waiting_for_the_index(tree, home):
    async with asking(tree, home) as ask:
        assert not (await ask(SearchCode(query="no_such_token_anywhere", mode="literal"))).results
        with trio.fail_after(SECONDS), pytest.raises(SymbolNotFound):
            await ask(FindReferences(symbol_name="POOL_MAX_IDLE"))


@pytest.mark.parametrize(
    "request_",
    [SearchCode(query="(", mode="regex"), SearchCode(query="x", path="a" + "*" * 3 + "/?" * 80)],
    ids=["pattern", "filter"],
)
async def test_a_question_that_cannot_be_read_is_refused_without_waiting_for_the_index(tree, home, request_):
    async with asking(tree, home) as ask:
        with trio.fail_after(SECONDS), pytest.raises(InvalidInput):
            await ask(request_)


@pytest.mark.invariant("What would not be indexed is not read for an answer either")
async def test_nothing_is_read_that_would_not_be_indexed(tree, home, tmp_path):
    (tmp_path / "outside.py").write_text("HIDDEN = 'hidden token'\n")
    (tree.root / "lib/link.py").symlink_to(tmp_path / "outside.py")
    tree.write({"lib/large.py": "# hidden token\n" * 100_000, "lib/image.png": b"\x89PNG\0hidden token"})

    async with asking(tree, home) as ask:
        assert not (await ask(SearchCode(query="hidden token", mode="literal"))).results
        assert places(await ask(LocateSymbol(name="checkout_connection"))) == [("lib/pool.py", 11)]


async def test_a_file_that_has_changed_since_it_was_read_is_read_again(tree, home):
    async with asking(tree, home) as ask:
        assert places(await ask(LocateSymbol(name="checkout_connection"))) == [("lib/pool.py", 11)]
        tree.write({"lib/pool.py": "\n\ndef checkout_connection():\n    pass\n"})

        assert places(await ask(LocateSymbol(name="checkout_connection"))) == [("lib/pool.py", 3)]
        tree.write({"lib/pool.py": "def something_else():\n    pass\n"})
        assert not places(await ask(SearchCode(query="def checkout_connection", mode="literal", path="lib/**")))
        tree.write({"lib/pool.py": "def checkout_connection():\n    pass\n"})
        assert places(await ask(LocateSymbol(name="checkout_connection"))) == [("lib/pool.py", 1)]
        (tree.root / "lib/pool.py").unlink()
        assert not places(await ask(SearchCode(query="def checkout_connection", mode="literal", path="lib/**")))


async def test_questions_at_the_same_time_are_all_answered(tree, home):
    async with asking(tree, home) as ask:
        found = {}

        async def locate(number: int) -> None:
            found[number] = places(await ask(LocateSymbol(name=f"function_{number}")))[0]

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(locate, number)

    assert found == {number: (f"more/m{number}.py", 1) for number in range(20)}


async def test_an_index_without_symbols_is_helped_out_by_the_files(tree, home):
    """As while the symbols of a first index are extracted: only its text is published."""
    await _publish_text(tree, home)

    async with asking(tree, home) as ask:
        (found,) = (await ask(LocateSymbol(name="checkout_connection"))).results
        assert (found.path, found.line_start) == ("lib/pool.py", 11)
        uses = await ask(FindReferences(symbol_name="checkout_connection"))
        assert ("lib/web.py", 5) in {(use.path, use.line_start) for use in uses.references}
        assert "ConnectionPool" in str(await ask(GetFileOutline(path="lib/pool.py")))


async def _publish_text(tree: TestWorkspace, home: Path) -> None:
    class Published(Exception):
        pass

    def stop(_watch_list: WatchList | None) -> None:
        raise Published

    from codecompass.actors.indexing import IndexJob
    from codecompass.actors.job_context import JobContext, JobOrder
    from codecompass.actors.worker_pool import open_worker_pool

    layout = _layout(tree, home)
    async with open_worker_pool(1) as pool:
        job = IndexJob(
            JobContext(root=tree.root, layout=layout, pool=pool, limits=LIMITS, on_published=stop),
            JobOrder(job_id="test", text_first=True),
        )
        with pytest.raises(Published):
            await job.run()


async def test_comparisons_are_answered_from_the_files(tree, home):
    tree.write({"lib/web.py": FILES["lib/web.py"].replace("serve_requests", "serve_everybody")})

    async with asking(tree, home) as ask:
        reply = await ask(DiffContext(base="HEAD"))

        assert "serve_everybody" in str(reply)
        changed = await ask(SearchCode(query="ConnectionPool", changed_since="HEAD"))
        assert {path for path, _line in places(changed)} == {"lib/web.py"}


async def test_a_strict_question_waits_for_the_index(tree, home):
    async with asking(tree, home, IN_TIME) as ask:
        with trio.fail_after(SECONDS), pytest.raises(CodeCompassError) as refused:
            await ask(LocateSymbol(name="checkout_connection", freshness_policy="strict"))

    assert refused.value.code == IndexNotReady.code


async def test_an_error_is_the_answer_if_nothing_could_be_read(tree, home, monkeypatch):
    """No worker process can be started here: their interpreter is gone."""
    monkeypatch.setattr("sys.executable", "/nonexistent/python")

    async with asking(tree, home, IN_TIME) as ask:
        with trio.fail_after(SECONDS), pytest.raises(CodeCompassError) as refused:
            await ask(LocateSymbol(name="checkout_connection"))

    assert refused.value.code == IndexNotReady.code
    assert refused.value.data["retry_after_ms"] > 0


async def test_nothing_is_left_of_what_was_read_once_the_index_answers(tree, home, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    async with open_serving(home, settings=PATIENT) as serving:
        with held(tree, home):
            handle = await open_workspace(serving, tree)
            ask = Asker(serving, handle)
            await ask(LocateSymbol(name="checkout_connection"))
            assert os.listdir(temporary)
        with trio.fail_after(SECONDS):
            try:
                job = await handle.ask(StartJob(cause="test"))
                await job.wait_end()
            except IndexInProgress:
                pass
            reply = await ask(LocateSymbol(name="checkout_connection"), is_partial=False)

        assert reply.metadata.result_completeness == "complete"
        assert reply.metadata.generation == 1
        assert not os.listdir(temporary)
    assert not workers()


async def test_a_server_that_ends_leaves_nothing_of_what_was_read(tree, home, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    async with asking(tree, home) as ask:
        await ask(LocateSymbol(name="checkout_connection"))

    assert not os.listdir(temporary)
    assert not workers()
