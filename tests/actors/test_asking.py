"""One question to one index: what the answer says of the index, and which of its hits are marked."""

import ast
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from codecompass.actors import asking
from codecompass.actors.asking import Standing, StoredIndex, TimeLimit, ask
from codecompass.actors.question import Question
from codecompass.errors import IndexStale, SymbolNotFound
from codecompass.protocol.requests import FindReferences, IndexStatus, LocateSymbol
from codecompass.query.options import QueryOptions
from tests.support.cold_reading import project_of
from tests.support.workspace import TestWorkspace

PACKAGE = Path(__file__).parent.parent.parent / "codecompass"

LIMIT = TimeLimit(seconds=60)

LOCATE = Question(request=LocateSymbol(name="alpha"))


@pytest.fixture
async def workspace(tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha(): pass\n", "b.py": "def alpha(): pass\n"})
    await workspace.sync()
    return workspace


def stored(workspace, **known):
    return StoredIndex(project=project_of(workspace), open=workspace.index.snapshot, known=Standing(**known))


def test_the_state_of_an_answer_is_made_in_one_place():
    made = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "AnswerState"
    ]

    assert made == ["actors/asking.py"]


async def test_an_answer_says_what_its_backend_knows(workspace):
    index = stored(workspace, commit="c" * 40, freshness="syncing", indexing="indexing", warnings=("known",))
    question = Question(request=LOCATE.request, warnings=("asked",), hint="a hint", names_project=True)

    metadata = ask(index, question, QueryOptions(), LIMIT).metadata

    assert (metadata.commit, metadata.freshness_status, metadata.indexing_status) == ("c" * 40, "syncing", "indexing")
    assert metadata.warnings == ("asked", "known")
    assert (metadata.hint, metadata.schema_name) == ("a hint", project_of(workspace).schema_name)
    assert metadata.result_completeness == "partial"


@pytest.mark.parametrize(("now", "is_dropped", "is_over"), [(4.9, False, False), (5.1, False, True), (4.9, True, True)])
def test_what_ends_a_search_is_known_within_a_moment(monkeypatch, now, is_dropped, is_over):
    clock, looks = [0.0], []
    monkeypatch.setattr(asking.time, "monotonic", lambda: clock[0])
    has_to_end = TimeLimit(seconds=5, is_dropped=lambda: bool(looks.append(1)) or (clock[0] > 0 and is_dropped)).begin()

    early = [has_to_end() for _ in range(100)]
    clock[0] = now

    assert not any(early)
    assert len(looks) == 1
    assert has_to_end() is is_over


async def test_an_answer_is_about_the_ref_of_its_index_unless_the_backend_names_another(workspace):
    with workspace.index.snapshot() as snapshot:
        own = snapshot.meta.ref

    assert ask(stored(workspace), LOCATE, QueryOptions(), LIMIT).metadata.ref == own
    assert ask(stored(workspace, ref="v1"), LOCATE, QueryOptions(), LIMIT).metadata.ref == "v1"


async def test_hits_in_files_that_the_index_lacks_are_marked_and_named(workspace):
    index = StoredIndex(
        project=project_of(workspace), open=workspace.index.snapshot, known=Standing(freshness="stale").lacking(("b.py",))
    )

    reply = ask(index, LOCATE, QueryOptions(), LIMIT)

    assert {hit.path: hit.stale for hit in reply.results} == {"a.py": False, "b.py": True}
    assert "b.py" in reply.metadata.warnings[0]


def test_an_index_that_lacks_nothing_warns_of_nothing():
    assert Standing().lacking(()).warned("", "") == Standing()


async def test_an_error_of_the_query_carries_the_metadata_of_its_answer(workspace):
    question = Question(request=FindReferences(symbol_name="missing"))

    with pytest.raises(SymbolNotFound) as error:
        ask(stored(workspace, ref="v1"), question, QueryOptions(), LIMIT)

    assert error.value.metadata.ref == "v1"


async def test_a_backend_that_refuses_is_not_queried(workspace):
    class Refusing(StoredIndex, frozen=True):
        def standing(self, question, snapshot):
            raise IndexStale("stale")

    def never(context):
        raise AssertionError("queried")

    with pytest.raises(IndexStale):
        ask(Refusing(project=project_of(workspace), open=workspace.index.snapshot), LOCATE, QueryOptions(), LIMIT, never)


async def test_the_state_of_a_project_without_an_index_is_an_answer_too(workspace):
    known = Standing(indexing="not_indexed", schema_status="not_indexed", schema_version=0)
    index = StoredIndex(project=project_of(workspace), open=nullcontext, known=known)

    reply = ask(index, Question(request=IndexStatus()), QueryOptions(), LIMIT)

    assert (reply.index_status, reply.schema_status, reply.current_schema_version) == ("not_indexed", "not_indexed", 0)


def test_a_search_ends_when_its_time_is_up_or_nobody_waits():
    assert not TimeLimit(seconds=60).begin()()
    assert TimeLimit(seconds=60, ends_at=time.monotonic() - 1).begin()()
    assert TimeLimit(seconds=60, is_dropped=lambda: True).begin()()
