"""A published generation gives the same answers as the index on disk, after any change, and shows nothing else."""

import random
import secrets
from pathlib import Path

import pytest

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.publishing import NewGeneration, Published, publish
from codecompass.cluster.indexing.sweeping import sweep
from codecompass.cluster.repositories.manifests import Manifest, ManifestReader
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.stores.segment_store import SegmentStore
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


def published(
    engine: Engine, store: SegmentStore, workspace: TestWorkspace, previous: Manifest | None = None, repo_id: str = REPO
) -> Published:
    return publish(
        engine,
        store,
        NewGeneration(
            repo_id=repo_id,
            generation=secrets.token_hex(8),
            previous=previous,
            layout=workspace.layout,
            project_id=workspace.project_id,
        ),
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


@pytest.mark.invariant("A published index answers like the one on disk, after any changes")
@pytest.mark.parametrize("seed", [1, 2])
async def test_after_any_changes_a_published_index_answers_as_the_one_on_disk(engine, store, generations, tmp_path, seed):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    tree = RandomTree(workspace, random.Random(seed), git=False)
    manifest: Manifest | None = None
    for _ in range(4):
        await workspace.sync()
        manifest = published(engine, store, workspace, manifest).manifest
        with workspace.index.snapshot() as embedded, generations.snapshot(manifest.generation) as far:
            assert ranked(far) == ranked(embedded)
            assert answers(far) == answers(embedded)
        for _ in range(3):
            tree.step()


async def test_an_update_writes_what_changed(engine, store, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    source = "\n\n".join(f"def function_{number}(first, second):\n    return first + second" for number in range(60))
    workspace.write({f"pkg/module_{number}.py": source for number in range(200)})
    await workspace.sync()
    first = published(engine, store, workspace)
    workspace.write({"pkg/module_7.py": "def seven():\n    return 'seven'\n"})
    await workspace.sync()

    second = published(engine, store, workspace, first.manifest)

    assert first.n_written == len({file.digest for file in first.manifest.segments})
    assert 0 < second.n_written < len({file.digest for file in second.manifest.segments})
    with generations.snapshot(second.manifest.generation) as snapshot:
        assert [row.path for row in snapshot.facts.symbols_named("seven", 5)] == ["pkg/module_7.py"]
        assert len(snapshot.text.file_chunks(snapshot.facts.file("pkg/module_7.py").id)) == 1
    with generations.snapshot(first.manifest.generation) as snapshot:
        assert snapshot.facts.symbols_named("seven", 5) == []
        assert "function_59" in "".join(
            chunk.text for chunk in snapshot.text.file_chunks(snapshot.facts.file("pkg/module_7.py").id)
        )


@pytest.mark.invariant("What no named generation contains is never visible and gets removed, even if no repository refers to it")
async def test_what_an_abandoned_publication_wrote_is_never_seen(engine, store, generations, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha():\n    return 1\n"})
    await workspace.sync()
    first = published(engine, store, workspace)
    workspace.write({"a.py": "def beta():\n    return 2\n", "b.py": "def alpha():\n    return 3\n"})
    await workspace.sync()
    published(engine, store, workspace, first.manifest)  # and no repository refers to it

    with generations.snapshot(first.manifest.generation) as snapshot:
        reply = search_code(
            snapshot, SearchCode(query="alpha"), AnswerState(workspace="/w", project_id="p", ref=""), QueryOptions()
        )
        assert [result.path for result in reply.results] == ["a.py"]
    assert sweep(engine, store, REPO, {first.manifest.generation}, confirm=lambda: None) > 0
    assert store.keys(REPO) == sorted({file.key for file in first.manifest.segments})
    assert "def alpha" in str(read_anew(engine, store, tmp_path / "anew", first.manifest.generation))


@pytest.mark.invariant(of="test_what_an_abandoned_publication_wrote_is_never_seen")
async def test_nothing_is_swept_while_a_manifest_to_keep_is_not_seen(engine, store, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha():\n    return 1\n"})
    await workspace.sync()
    manifest = published(engine, store, workspace).manifest
    before = read_anew(engine, store, tmp_path / "before", manifest.generation)

    assert sweep(engine, store, REPO, {"0" * 16}, confirm=lambda: None) == 0

    assert read_anew(engine, store, tmp_path / "after", manifest.generation) == before


@pytest.mark.invariant(of="test_what_an_abandoned_publication_wrote_is_never_seen")
async def test_sweeping_spares_what_is_kept_and_other_repositories(engine, store, tmp_path):
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({f"m{number}.py": f"def name_{number}():\n    return {number}\n" for number in range(8)})
    await workspace.sync()
    mine = published(engine, store, workspace)
    other = published(engine, store, workspace, repo_id="f" * 16)
    workspace.write({"m3.py": "def changed():\n    return 3\n"})
    await workspace.sync()
    newer = published(engine, store, workspace, mine.manifest)
    before = read_anew(engine, store, tmp_path / "before", other.manifest.generation)

    removed = sweep(engine, store, REPO, {newer.manifest.generation}, confirm=lambda: None)
    again = sweep(engine, store, REPO, {newer.manifest.generation}, confirm=lambda: None)

    assert removed > 0
    assert again == 0
    assert read_anew(engine, store, tmp_path / "after", other.manifest.generation) == before
    with workspace.index.snapshot() as embedded:
        assert read_anew(engine, store, tmp_path / "newer", newer.manifest.generation) == answers(embedded)
    with pytest.raises(IndexNotReady):
        ManifestReader(engine).manifest(mine.manifest.generation)
    sweep(engine, store, REPO, (), confirm=lambda: None)
    assert store.repositories() == ["f" * 16]
    with pytest.raises((IndexNotReady, IndexDamaged)):
        read_anew(engine, store, tmp_path / "gone", newer.manifest.generation)
    assert read_anew(engine, store, tmp_path / "again", other.manifest.generation) == before


def read_anew(engine: Engine, store: SegmentStore, directory: Path, generation: str) -> list[object]:
    """Returns the answers of a server without copies."""
    generations = Generations(engine, store, directory)
    try:
        with generations.snapshot(generation) as snapshot:
            return answers(snapshot)
    finally:
        generations.close()
