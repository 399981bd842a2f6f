"""A generation in the engine gives the same answers as the index on disk, after any change, and shows nothing else."""

import random
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from codecompass.cluster.engine import Engine
from codecompass.cluster.generations import Databases, Generations
from codecompass.cluster.manifests import Manifest
from codecompass.cluster.publishing import Published, publish
from codecompass.cluster.repository_samples import Across
from codecompass.cluster.scoring import EngineRarities
from codecompass.cluster.sweeping import sweep
from codecompass.errors import IndexDamaged, IndexNotReady
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.query.options import QueryOptions
from codecompass.query.search import search_code
from codecompass.store.snapshot import Snapshot
from tests.support.random_tree import RandomTree
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.cluster

QUERIES = (
    "alpha",
    "read http header",
    "Config",
    "class that does thing",
    "main index utils",
    "beta_7",
    "gamma.py",
    "const epsilon",
)
LITERALS = ("def ", "fmt.Println(1)", "from .")
PATTERNS = (r"class \w+\d+", r"LIMIT_\d", r"(?i)HEADER", r"fn \w+\(&self\)")
REPO = "0123456789abcdef"
QUESTION = "parse a header line at the colon"


@pytest.fixture
def engine(engine_cluster) -> Iterator[Engine]:
    client = Engine(engine_cluster.urls, prefix=f"t{secrets.token_hex(5)}", patience=120.0)
    client.prepare()
    yield client
    client.close()


def published(
    engine: Engine, generations: Generations, workspace: TestWorkspace, previous: Manifest | None = None, repo_id: str = REPO
) -> Published:
    return publish(
        engine,
        generations.cache,
        repo_id=repo_id,
        generation=secrets.token_hex(8),
        previous=previous,
        layout=workspace.layout,
        project_id=workspace.project_id,
    )


def asked(snapshot: Snapshot, *requests: SearchCode) -> list[SearchCodeReply]:
    state = AnswerState(workspace="/w", project_id=snapshot.project_id, ref="")
    return [search_code(snapshot, request, state, QueryOptions()) for request in requests]


def ranked(snapshot: Snapshot) -> list[object]:
    """Returns the hits of ranked searches, with rounded scores. The order of equal scores is ignored."""
    replies = asked(snapshot, *(SearchCode(query=query, limit=50) for query in QUERIES))
    return [
        sorted((round(each.score, 3), each.path, each.line_start, each.snippet) for each in reply.results) for reply in replies
    ]


def answers(snapshot: Snapshot) -> list[object]:
    """Returns the answers of all other queries."""
    scans = [
        *(SearchCode(query=query, limit=50, mode="literal") for query in LITERALS),
        *(SearchCode(query=query, limit=50, mode="regex") for query in PATTERNS),
    ]
    return [
        [(reply.total_candidates, reply.results) for reply in asked(snapshot, *scans)],
        sorted(snapshot.text.prefix_symbols("do", 1_000)),
        sorted(snapshot.text.fuzzy_symbols("alfa", 2, 1_000)),
        [
            (path, [(each.line_start, each.text) for each in snapshot.text.file_chunks(number)])
            for number, path in snapshot.facts.paths()
        ],
        snapshot.facts.files(),
    ]


@pytest.mark.invariant("An index in the engine answers like one on disk, after any changes")
@pytest.mark.parametrize("seed", [1, 2])
async def test_after_any_changes_the_engine_answers_as_an_index_made_anew(engine, generations, tmp_path, seed):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    tree = RandomTree(workspace, random.Random(seed), git=False)
    manifest: Manifest | None = None
    for step in range(4):
        await workspace.sync()
        manifest = published(engine, generations, workspace, manifest).manifest
        # An index that was updated still counts words of deleted files.
        anew = TestWorkspace(workspace.root, tmp_path / f"home{step}")
        await anew.sync()
        with anew.index.snapshot() as embedded, generations.snapshot(manifest.generation) as far:
            assert ranked(far) == ranked(embedded)
        with workspace.index.snapshot() as embedded, generations.snapshot(manifest.generation) as far:
            assert answers(far) == answers(embedded)
        for _ in range(3):
            tree.step()


async def test_an_update_writes_what_changed(engine, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    # Large enough for the facts to have many blocks.
    source = "\n\n".join(f"def function_{number}(first, second):\n    return first + second" for number in range(60))
    workspace.write({f"pkg/module_{number}.py": source for number in range(200)})
    await workspace.sync()
    first = published(engine, generations, workspace)
    workspace.write({"pkg/module_7.py": "def seven():\n    return 'seven'\n"})
    await workspace.sync()

    second = published(engine, generations, workspace, first.manifest)

    assert (first.counts.is_whole, first.counts.files) == (True, 200)
    assert (second.counts.is_whole, second.counts.files, second.counts.documents) == (False, 1, 3)
    assert second.counts.blocks < first.counts.blocks / 2
    with generations.snapshot(second.manifest.generation) as snapshot:
        assert [row.path for row in snapshot.facts.symbols_named("seven", 5)] == ["pkg/module_7.py"]
        assert len(snapshot.text.file_chunks(snapshot.facts.file("pkg/module_7.py").id)) == 1
    with generations.snapshot(first.manifest.generation) as snapshot:
        assert snapshot.facts.symbols_named("seven", 5) == []
        assert "function_59" in "".join(
            chunk.text for chunk in snapshot.text.file_chunks(snapshot.facts.file("pkg/module_7.py").id)
        )


@pytest.mark.invariant("What no named generation contains is never visible and gets removed, even if no repository refers to it")
async def test_what_an_abandoned_publication_wrote_is_never_seen(engine, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha():\n    return 1\n"})
    await workspace.sync()
    first = published(engine, generations, workspace)
    workspace.write({"a.py": "def beta():\n    return 2\n", "b.py": "def alpha():\n    return 3\n"})
    await workspace.sync()
    published(engine, generations, workspace, first.manifest)  # and no repository refers to it

    with generations.snapshot(first.manifest.generation) as snapshot:
        reply = search_code(
            snapshot, SearchCode(query="alpha"), AnswerState(workspace="/w", project_id="p", ref=""), QueryOptions()
        )
        assert [result.path for result in reply.results] == ["a.py"]
    assert sweep(engine, REPO, {first.manifest.generation}, confirm=lambda: None) > 0
    with generations.snapshot(first.manifest.generation) as snapshot:
        assert [chunk.text for chunk in snapshot.text.file_chunks(1)] == ["def alpha():\n    return 1\n"]


@pytest.mark.invariant("An outdated node is not believed: an answer comes from a copy that has its whole generation")
async def test_a_copy_without_the_newest_piece_is_not_believed(engine, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha():\n    return 1\n"})
    await workspace.sync()
    first = published(engine, generations, workspace)
    workspace.write({"b.py": "def beta():\n    return 2\n"})
    await workspace.sync()
    second = published(engine, generations, workspace, first.manifest).manifest
    piece = second.pieces[-1]
    assert piece.documents == 3  # the file, its chunk and its definition
    with generations.snapshot(second.generation) as snapshot:
        assert [reply.results[0].path for reply in asked(snapshot, SearchCode(query="beta"))] == ["b.py"]

    # Simulates an outdated node.
    lost = next(engine.all_hits(engine.names.text, {"term": {"piece": piece.id}}, routing=REPO))["_id"]
    deletion = msgspec.json.encode({"delete": {"_id": lost}}) + b"\n"
    engine.write(engine.names.text, [deletion], routing=REPO)
    engine.refresh(engine.names.text)

    with generations.snapshot(second.generation) as snapshot:
        for question in (SearchCode(query="alpha"), SearchCode(query="alpha", mode="literal")):
            with pytest.raises(IndexNotReady, match="Ask again"):
                asked(snapshot, question)
    with generations.snapshot(first.manifest.generation) as snapshot:
        assert [reply.results[0].path for reply in asked(snapshot, SearchCode(query="alpha"))] == ["a.py"]


@pytest.mark.invariant(of="test_a_copy_without_the_newest_piece_is_not_believed")
async def test_nothing_is_swept_while_a_manifest_to_keep_is_not_seen(engine, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha():\n    return 1\n"})
    await workspace.sync()
    manifest = published(engine, generations, workspace).manifest
    engine.refresh(engine.names.text)
    before = read_anew(engine, tmp_path / "before", manifest.generation)

    assert sweep(engine, REPO, {"0" * 16}, confirm=lambda: None) == 0

    assert read_anew(engine, tmp_path / "after", manifest.generation) == before


@pytest.mark.invariant(of="test_what_an_abandoned_publication_wrote_is_never_seen")
async def test_sweeping_spares_what_is_kept_and_other_repositories(engine, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({f"m{number}.py": f"def name_{number}():\n    return {number}\n" for number in range(8)})
    await workspace.sync()
    mine = published(engine, generations, workspace)
    other = published(engine, generations, workspace, repo_id="f" * 16)
    workspace.write({"m3.py": "def changed():\n    return 3\n"})
    await workspace.sync()
    newer = published(engine, generations, workspace, mine.manifest)
    engine.refresh(engine.names.text)
    before = read_anew(engine, tmp_path / "before", other.manifest.generation)

    removed = sweep(engine, REPO, {newer.manifest.generation}, confirm=lambda: None)
    again = sweep(engine, REPO, {newer.manifest.generation}, confirm=lambda: None)

    assert removed > 0
    assert again == 0
    assert read_anew(engine, tmp_path / "after", other.manifest.generation) == before
    with workspace.index.snapshot() as embedded:
        assert read_anew(engine, tmp_path / "newer", newer.manifest.generation) == answers(embedded)
    with pytest.raises(IndexNotReady):
        Generations(engine, tmp_path / "gone").manifest(mine.manifest.generation)
    sweep(engine, REPO, (), confirm=lambda: None)
    with pytest.raises((IndexNotReady, IndexDamaged)):
        read_anew(engine, tmp_path / "gone", newer.manifest.generation)
    assert read_anew(engine, tmp_path / "after", other.manifest.generation) == before


def read_anew(engine: Engine, directory: Path, generation: str) -> list[object]:
    """Returns the answers of a server without a cache."""
    generations = Generations(engine, directory)
    try:
        with generations.snapshot(generation) as snapshot:
            return answers(snapshot)
    finally:
        generations.close()


async def published_apart(engine: Engine, generations: Generations, tmp_path: Path, count: int) -> list[Manifest]:
    """Publishes repositories, each with one function, `name_0` in the first."""
    manifests = []
    for number in range(count):
        workspace = TestWorkspace(tmp_path / f"tree{number}", tmp_path / "home")
        workspace.write({"a.py": f"def name_{number}():\n    return 1\n"})
        await workspace.sync()
        manifests.append(published(engine, generations, workspace, repo_id=f"{number:016x}").manifest)
    return manifests


@pytest.mark.invariant(
    "The facts that an organisation's server caches are bounded on disk, and those it keeps open are bounded too and "
    "closed when they are evicted"
)
async def test_facts_beyond_the_bound_go_and_come_again(engine, generations, tmp_path):
    manifests = await published_apart(engine, generations, tmp_path, 3)
    small = Generations(engine, tmp_path / "small", max_bytes=manifests[0].facts_bytes + 1)

    for _ in range(2):
        for number, manifest in enumerate(manifests):
            with small.snapshot(manifest.generation) as snapshot:
                assert [row.name for row in snapshot.facts.symbols_named(f"name_{number}", 5)] == [f"name_{number}"]
                # Facts in use stay, however little room there is.
                with small.snapshot(manifests[0].generation):
                    assert snapshot.facts.symbols_named(f"name_{number}", 5)
            assert len(list((tmp_path / "small").iterdir())) == 1


@pytest.mark.invariant(of="test_facts_beyond_the_bound_go_and_come_again")
async def test_facts_stay_open_between_questions_while_they_are_cached(engine, generations, tmp_path, monkeypatch):
    made = await published_apart(engine, generations, tmp_path, 2)
    cache = Generations(engine, tmp_path / "small", max_bytes=made[0].facts_bytes + 1).cache

    with cache.opened(made[0]) as one, cache.opened(made[0]) as other:
        assert one is not other, "two questions at a time"
    with cache.opened(made[0]) as again:
        assert again is one, "used last"
        with cache.opened(made[0]) as once_more:
            assert once_more is other

    with pytest.raises(ZeroDivisionError), cache.opened(made[0]) as failed:
        raise ZeroDivisionError
    assert is_closed(failed), "its state is unknown"
    with cache.opened(made[0]) as left, cache.opened(made[0]) as new:
        assert left is not failed
        assert new is not failed
    monkeypatch.setattr("codecompass.cluster.generations.KEPT_OPEN", 1)
    with cache.opened(made[0]) as last:
        pass
    assert last is left
    assert is_closed(new), "one too many"
    assert not is_closed(last)

    with cache.opened(made[1]) as second:
        assert second.facts.connection.execute("SELECT name FROM symbols").fetchall() == [("name_1",)]
    assert is_closed(last), "its files were evicted"
    cache.close()
    assert is_closed(second)


def is_closed(databases: Databases) -> bool:
    try:
        databases.facts.connection.execute("SELECT 1")
    except sqlite3.ProgrammingError:
        return True
    return False


async def test_a_broken_block_is_told_and_not_read(engine, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha():\n    return 1\n"})
    await workspace.sync()
    manifest = published(engine, generations, workspace).manifest
    key = manifest.files[0].blocks[0].hex()
    document = engine.get(engine.names.blocks, f"{REPO}-{key}")
    assert document is not None
    engine.put(engine.names.blocks, document.id, b'{"repo_id":"%s","data":"eJwDAAAAAAE="}' % REPO.encode(), expected=document)

    with pytest.raises(IndexDamaged, match="damaged"):
        read_anew(engine, tmp_path / "anew", manifest.generation)


async def test_one_query_says_which_repositories_have_most_of_a_question(engine, generations, tmp_path):
    sources = {
        "a" * 16: "def parse_header(line):\n    '''Splits a header line at its colon.'''\n    return line.split(':')\n",
        "b" * 16: "def header():\n    return 'a header'\n",
        "c" * 16: "def unrelated():\n    return 'nothing of it'\n",
    }
    heads = {}
    for number, (repo_id, source) in enumerate(sources.items()):
        workspace = TestWorkspace(tmp_path / f"tree{number}", tmp_path / "home")
        workspace.write({"a.py": source})
        await workspace.sync()
        heads[repo_id] = published(engine, generations, workspace, repo_id=repo_id).manifest.generation
    across = Across(engine, EngineRarities(engine))

    found = across.sample(heads, QUESTION)
    hidden = across.sample({repo_id: head for repo_id, head in heads.items() if repo_id[0] != "a"}, QUESTION)

    assert set(found) == {"a" * 16, "b" * 16}
    assert set(hidden) == {"b" * 16}
    assert {word.text: word.frequency for word in found["a" * 16].words} == {"parse": 1, "header": 1, "line": 1, "colon": 1}
    assert found["a" * 16].n_texts == 1
    assert sum(found["a" * 16].hits[0].has) > sum(found["b" * 16].hits[0].has)
    assert across.defining(heads, "Header") == {"b" * 16}
    assert across.defining(heads, "UNRELATED") == {"c" * 16}
