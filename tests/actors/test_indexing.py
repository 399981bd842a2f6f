"""The index job end to end, on real trees with real workers."""

import fcntl
import json
import os
import time
from contextlib import ExitStack

import msgspec
import pytest
import trio

from codecompass.actors.asking import StoredIndex, TimeLimit, ask
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.question import Question
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import IndexInProgress, StoreNewer, SymbolNotFound
from codecompass.jobs import Progress
from codecompass.protocol.requests import FindReferences, LocateSymbol
from codecompass.query.options import QueryOptions
from codecompass.scan.rules import ScanRules
from codecompass.store import lock
from tests.support.cold_reading import project_of
from tests.support.dump import dump

PYTHON = (
    'def greet(name):\n    """Say hello."""\n    return name\n\n\nclass Greeter:\n    def run(self):\n        return greet("x")\n'
)
SMALL = {"pkg/__init__.py": "", "pkg/hello.py": PYTHON, "README.md": "# Title\n\nSome words about greeting.\n"}


async def test_a_first_run_indexes_text_and_symbols(workspace):
    workspace.write(SMALL)

    report = await workspace.sync()

    assert (report.mode, report.file_count, report.symbol_count) == ("full", 3, 4)
    code = {("pkg/hello.py", "greet"), ("pkg/hello.py", "Greeter"), ("pkg/hello.py", "run")}
    assert workspace.names() == code | {("README.md", "Title")}
    assert workspace.text_of("README.md") == SMALL["README.md"]


async def test_nothing_changed_writes_nothing_and_keeps_the_generation(workspace):
    workspace.write(SMALL)
    old = time.time() - 100
    for path in SMALL:
        os.utime(workspace.root / path, (old, old))
    first = await workspace.sync()
    # The change time cannot be set back, so files changed within 20 ms of being read are hashed again.
    await workspace.sync()

    second = await workspace.sync()

    assert second.generation == first.generation
    assert (second.files_changed, second.counts.rows_written, second.counts.documents_written) == (0, 0, 0)


async def test_an_edit_a_new_file_and_a_deletion_are_taken_up(workspace):
    workspace.write(SMALL)
    await workspace.sync()

    workspace.write({"pkg/hello.py": PYTHON.replace("greet", "salute"), "pkg/new.py": "X = 1\n"})
    (workspace.root / "README.md").unlink()
    report = await workspace.sync()

    assert report.mode == "incremental"
    assert workspace.paths() == ["pkg/__init__.py", "pkg/hello.py", "pkg/new.py"]
    assert ("pkg/hello.py", "salute") in workspace.names()
    assert ("pkg/hello.py", "greet") not in workspace.names()


async def test_an_edit_that_keeps_size_and_time_is_seen(workspace):
    """Restoring the modification time does not hide a change: the change time and the inode differ."""
    workspace.write({"a.py": "alpha = 1\n"})
    stamp = time.time_ns() - 10**12
    os.utime(workspace.root / "a.py", ns=(stamp, stamp))
    await workspace.sync()
    await workspace.sync()

    workspace.write({"a.py": "betas = 1\n"})
    os.utime(workspace.root / "a.py", ns=(stamp, stamp))
    await workspace.sync()

    assert workspace.names() == {("a.py", "betas")}


async def test_the_text_is_published_before_the_symbols(workspace):
    workspace.write({f"m{index}.py": f"def function_{index}(): pass\n" for index in range(30)})
    seen = []

    def look(progress: Progress) -> None:
        if progress.stage == "indexing" and not seen:
            with workspace.index.snapshot() as snapshot:
                seen.append((snapshot.meta.completeness, snapshot.meta.file_count, snapshot.meta.symbol_count))

    report = await workspace.sync(limits=msgspec.structs.replace(LIMITS, text_first_bytes=0), on_progress=look)

    assert seen == [("partial", 30, 0)]
    assert (report.file_count, report.symbol_count) == (30, 30)


@pytest.mark.invariant("Text-first, single-publication and forced builds give the same index")
async def test_text_first_and_at_once_give_the_same_index(tmp_path, workspace):
    files = {f"p/m{index}.py": f"import p.m{index + 1}\n" + PYTHON for index in range(40)}
    workspace.write(files)
    await workspace.sync()
    at_once = dump(workspace.index)

    await workspace.sync(force=True)
    forced = dump(workspace.index)
    workspace.layout.root.rename(tmp_path / "away")
    await workspace.sync(limits=msgspec.structs.replace(LIMITS, text_first_bytes=0, slice_seconds=0.0))
    text_first = dump(workspace.index)

    assert at_once == forced == text_first


@pytest.mark.invariant("An interrupted first build continues after its last publication")
async def test_an_interrupted_first_run_goes_on_where_it_published(workspace):
    workspace.write({f"m{index:03}.py": f"def function_{index}(): pass\n" for index in range(300)})
    limits = msgspec.structs.replace(LIMITS, text_first_bytes=0, slice_seconds=0.0)
    with trio.CancelScope() as scope:

        def stop(progress: Progress) -> None:
            if progress.stage == "indexing" and progress.files_indexed >= 200:
                scope.cancel()

        await workspace.sync(limits=limits, on_progress=stop)
    assert scope.cancelled_caught
    with workspace.index.snapshot() as snapshot:
        assert snapshot.meta.completeness == "partial"
        done = snapshot.meta.symbol_count

    report = await workspace.sync(limits=limits)

    assert 0 < done < 300
    assert report.counts.symbols_written == 300 - done
    assert report.counts.files_written == 0
    assert report.symbol_count == 300


async def test_cancelling_keeps_the_published_index_and_frees_the_lock(workspace):
    workspace.write({f"m{index:03}.py": PYTHON for index in range(250)})
    await workspace.sync()
    before = dump(workspace.index)
    workspace.write({f"m{index:03}.py": "x = 1\n" for index in range(250)})

    with trio.CancelScope() as scope:
        await workspace.sync(on_progress=lambda progress: scope.cancel() if progress.files_parsed else None)

    assert scope.cancelled_caught
    assert dump(workspace.index) == before
    await workspace.sync()
    assert len(workspace.names()) == 250


async def test_force_rebuilds_once_and_readers_see_old_or_new(workspace):
    workspace.write(SMALL)
    first = await workspace.sync()
    seen = []

    def look(_step: str) -> None:
        with workspace.index.snapshot() as snapshot:
            seen.append((snapshot.generation, snapshot.meta.completeness))

    report = await workspace.sync(force=True, on_step=look)

    assert report.mode == "full"
    assert report.generation == first.generation + 1
    assert set(seen) == {(first.generation, "complete"), (report.generation, "complete")}


@pytest.mark.invariant("An index directory has at most one writer, across processes")
async def test_a_second_writer_is_refused_and_told_who_writes(workspace):
    workspace.write(SMALL)
    await workspace.sync()
    with workspace.layout.lock.open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("job other pid 1")
        lock.flush()

        with pytest.raises(IndexInProgress, match="job other"):
            await workspace.sync()


@pytest.mark.invariant(of="test_two_versions_of_the_program_do_not_rebuild_each_other_s_index_in_turn")
async def test_an_older_schema_is_rebuilt_and_a_newer_one_refused(workspace):
    workspace.write(SMALL)
    await workspace.sync()
    current = json.loads(workspace.layout.current.read_text())

    workspace.layout.current.write_text(json.dumps({**current, "schema_version": 0}))
    assert workspace.index.compatibility().status == "reindex_required"
    report = await workspace.sync()
    assert report.mode == "full"

    current = json.loads(workspace.layout.current.read_text())
    newer = json.dumps({**current, "schema_version": 999})
    workspace.layout.current.write_text(newer)
    with pytest.raises(StoreNewer, match="Upgrade"):
        await workspace.sync()
    with pytest.raises(StoreNewer, match="Upgrade"):
        await workspace.sync(force=True)
    assert workspace.layout.current.read_text() == newer
    assert workspace.layout.epochs.joinpath(current["epoch"]).exists()


async def test_a_new_parser_version_rebuilds(workspace):
    workspace.write(SMALL)
    await workspace.sync()
    current = json.loads(workspace.layout.current.read_text())
    workspace.layout.current.write_text(json.dumps({**current, "parser_version": 0}))

    assert workspace.index.compatibility().status == "reindex_required"
    assert (await workspace.sync()).mode == "full"


@pytest.mark.invariant(of="test_overwritten_index_files_are_found_and_rebuilt")
async def test_a_damaged_manifest_is_rebuilt(workspace):
    workspace.write(SMALL)
    await workspace.sync()
    workspace.layout.current.write_bytes(b"\x00garbage")

    assert workspace.index.compatibility().status == "corrupt_manifest"
    await workspace.sync()
    assert workspace.paths() == sorted(SMALL)


@pytest.mark.invariant("A damaged index is detected and rebuilt")
@pytest.mark.parametrize("what", ["facts", "text", "both"])
async def test_overwritten_index_files_are_found_and_rebuilt(workspace, what):
    workspace.write(SMALL)
    await workspace.sync()
    for path in workspace.layout.epochs.rglob("*"):
        is_text = "text" in path.parts
        if path.is_file() and (what == "both" or is_text == (what == "text")):
            path.write_bytes(os.urandom(max(16, path.stat().st_size)))
    workspace.write({"pkg/new.py": "X = 1\n"})

    await workspace.sync()

    assert workspace.paths() == sorted([*SMALL, "pkg/new.py"])
    assert workspace.text_of("README.md") == SMALL["README.md"]


@pytest.mark.invariant("A file that kills its parser loses at most its symbols; its text is still found")
async def test_a_file_that_hangs_the_parser_is_quarantined_and_found_as_text(workspace):
    """The CPU time limit is so small here that an ordinary large file exceeds it."""
    big = "".join(f"def function_{index}(a, b):\n    return a + b * {index}\n" for index in range(20_000)) + "needle = 1\n"
    workspace.write({"big.py": big, "a.py": "def before(): pass\n", "z.py": "def after(): pass\n"})
    limits = IndexLimits(rules=ScanRules(max_file_bytes=8 << 20), parse_cpu_seconds=0.05)

    async with open_worker_pool(1) as pool:
        report = await workspace.sync(limits=limits, pool=pool)
        again = await workspace.sync(limits=limits, pool=pool, force=False)
        killed = pool.killed_count

    assert report.quarantined == ("big.py",)
    assert killed == 1
    assert again.quarantined == ()
    assert workspace.status_of("big.py") == ("indexed", "quarantined")
    assert workspace.text_of("big.py") == big
    assert workspace.names() == {("a.py", "before"), ("z.py", "after")}


@pytest.mark.invariant(of="test_not_found_in_an_index_that_is_behind_says_that_it_is_behind")
async def test_a_name_that_a_file_without_symbols_may_define_is_not_said_to_be_missing(workspace):
    big = "".join(f"def function_{index}(a, b):\n    return a + b * {index}\n" for index in range(20_000))
    workspace.write({"big.py": big, "a.py": "def before(): pass\n"})
    limits = IndexLimits(rules=ScanRules(max_file_bytes=8 << 20), parse_cpu_seconds=0.05)
    await workspace.sync(limits=limits)
    index = StoredIndex(project=project_of(workspace), open=workspace.index.snapshot)

    def answer(request):
        return ask(index, Question(request=request), QueryOptions(), TimeLimit(seconds=60))

    known = answer(LocateSymbol(name="before"))
    located = answer(LocateSymbol(name="function_77"))
    with pytest.raises(SymbolNotFound) as missing:
        answer(FindReferences(symbol_name="function_77"))

    assert known.metadata.result_completeness == "complete"
    assert known.metadata.warnings == ()
    for metadata in (located.metadata, missing.value.metadata):
        assert metadata.result_completeness == "partial"
        assert metadata.warnings[-1] == (
            "1 file could not be parsed and may define it (1 quarantined). search_code finds the name in their text"
        )


async def test_quarantine_is_by_content_and_ends_with_the_content(workspace):
    big = "".join(f"def function_{index}(a, b):\n    return a + b * {index}\n" for index in range(20_000))
    workspace.write({"big.py": big})
    limits = IndexLimits(rules=ScanRules(max_file_bytes=8 << 20), parse_cpu_seconds=0.05)
    await workspace.sync(limits=limits)

    workspace.write({"copy.py": big})
    async with open_worker_pool(1) as pool:
        await workspace.sync(limits=limits, pool=pool)
        assert pool.killed_count == 0
    assert workspace.status_of("copy.py") == ("indexed", "quarantined")

    workspace.write({"big.py": "def small(): pass\n"})
    await workspace.sync(limits=limits)
    assert workspace.status_of("big.py") == ("indexed", "")
    assert ("big.py", "small") in workspace.names()


async def test_progress_never_falls_and_has_the_four_stages(workspace):
    workspace.write({f"m{index:03}.py": PYTHON for index in range(120)})
    seen: list[Progress] = []

    await workspace.sync(limits=msgspec.structs.replace(LIMITS, text_first_bytes=0), on_progress=seen.append)

    percentages = [progress.percentage for progress in seen]
    assert percentages == sorted(percentages)
    assert [stage for index, stage in enumerate(p.stage for p in seen) if index == 0 or seen[index - 1].stage != stage] == [
        "discovery",
        "parsing",
        "indexing",
        "finalizing",
    ]
    assert seen[-1].message == "Finalizing index..."


@pytest.mark.invariant("The cost of an update depends on the change, not on the repository")
async def test_an_update_costs_the_same_on_a_small_and_on_a_large_tree(tmp_path):
    """The files parsed and the rows and documents written depend on the change, not on the repository."""
    from tests.support.workspace import TestWorkspace

    counts = []
    for size in (200, 1600):
        tree = TestWorkspace(tmp_path / f"tree{size}", tmp_path / f"home{size}")
        tree.write({f"p{index % 20}/m{index}.py": f"from p1 import m1\n{PYTHON}" for index in range(size)})
        await tree.sync()
        await tree.sync()
        tree.write({f"p{index}/m{index}.py": f"import os\n{PYTHON}\n# edited\n" for index in range(10)})
        report = await tree.sync()
        assert report.files_changed == 10
        counts.append(report.counts)

    assert counts[0] == counts[1]


LIMITS = IndexLimits(rules=ScanRules())


@pytest.mark.invariant("Waiting for the writer's lock of an index stops nothing else")
async def test_a_job_that_waits_for_a_fork_to_release_the_lock_stops_nothing_else(workspace, monkeypatch):
    """The lock is released by the event loop, while the job waits for it."""
    monkeypatch.setattr(lock, "FORK_DEADLINE_SECONDS", 10)
    token, sleep = trio.lowlevel.current_trio_token(), time.sleep
    workspace.write(SMALL)

    with ExitStack() as held:

        def wait(seconds):
            token.run_sync_soon(held.close)
            sleep(seconds)

        held.enter_context(lock.writer_lock(workspace.layout, f"{lock.FORK} pid 1"))
        monkeypatch.setattr(time, "sleep", wait)
        report = await workspace.sync()

    assert report.file_count == 3


async def test_a_publication_is_told_as_soon_as_it_is_read_before_anything_is_cleaned_up(workspace):
    """Answers wait for it. The last one tells what to watch: with it the index holds all that the job was to index."""
    workspace.write({"a.py": "def a(): pass\n"})
    await workspace.sync()
    workspace.write({"a.py": "def b(): pass\n"})
    events = []

    def published(watch_list):
        with workspace.index.snapshot() as snapshot:
            events.append((sorted(watch_list.files), [row.name for row in snapshot.facts.symbols_named("b", 2)]))

    await workspace.sync(on_step=events.append, on_published=published)

    assert events[-3:] == ["publication", ([""], ["b"]), "clean_up"]
