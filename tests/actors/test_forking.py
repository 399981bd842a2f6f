"""Worktrees, clones and branches: known content is not read or parsed again, and answers equal those of a fresh index."""

import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
import trio

from codecompass.actors.job_state import JobReport
from codecompass.actors.worker_pool import BatchResult, WorkerPool, open_worker_pool
from codecompass.store.epochs import MAX_PARKED, parked_epochs
from codecompass.store.filesystem import disk_usage
from codecompass.store.housekeeping import remove_project
from codecompass.store.index import WorkspaceIndex
from codecompass.store.known_content import KnownContent
from codecompass.store.writer import IndexWriter
from codecompass.worker.messages import Batch, FileSymbols, FileText
from tests.support.dump import dump, hits
from tests.support.histories import NAMES, clone, commits_of, make_history, real_histories
from tests.support.workspace import LIMITS, TestWorkspace

ALWAYS = msgspec.structs.replace(LIMITS, fork_from_files=1, park_from_files=1, known_from_files=1)
"""Forks, parks and reuses known contents for any number of files and differences."""


def files(n: int = 12, text: str = "") -> dict[str, str]:
    """Returns Python files in three directories, each with a function and an import of the next file."""
    return {
        f"p{number % 3}/m{number}.py": f"import m{number + 1}\n\n\ndef f{number}():\n    return '{text}'\n" for number in range(n)
    }


@pytest.fixture
async def pool():
    async with open_worker_pool(1) as pool:
        yield pool


@pytest.fixture
async def first(tmp_path: Path, pool: WorkerPool) -> TestWorkspace:
    workspace = TestWorkspace(tmp_path / "first", tmp_path / "home", git=True)
    workspace.write({**files(), "image.png": b"\x89PNG\0\0binary", "app.min.js": "x" * 30_000})
    workspace.commit()
    let_git_trust(workspace)
    await workspace.sync(limits=ALWAYS, pool=pool)
    return workspace


def beside(first: TestWorkspace, name: str) -> TestWorkspace:
    """Returns a worktree of the same commit, whose git index is newer than its files."""
    first.git("worktree", "add", "-q", "--detach", str(first.root.parent / name))
    second = TestWorkspace(first.root.parent / name, first.home)
    let_git_trust(second)
    return second


def let_git_trust(workspace: TestWorkspace) -> None:
    """Makes git record stamps older than its index: a file that was just written is never trusted.

    All stamps are recorded anew: git sees no change in those of a file that moves within the second in which it was written.
    """
    index = Path(workspace.git("rev-parse", "--git-path", "index").strip())
    index = index if index.is_absolute() else workspace.root / index
    workspace.git("read-tree", "HEAD")
    workspace.git("update-index", "-q", "--refresh")
    written = max(path.lstat().st_ctime_ns for path in workspace.root.rglob("*") if path.is_file() and ".git" not in path.parts)
    os.utime(index, ns=(written + 10**9, written + 10**9))


async def assert_as_fresh(workspace: TestWorkspace, tmp_path: Path, pool: WorkerPool, words: Iterable[str] = NAMES) -> None:
    """Asserts that an index equals one built from nothing for the same tree."""
    fresh = TestWorkspace(workspace.root, tmp_path / "fresh")
    await fresh.sync(limits=ALWAYS, pool=pool)

    found, expected = dump(workspace.index), dump(fresh.index)
    assert {table: difference(rows, expected[table]) for table, rows in found.items() if rows != expected[table]} == {}
    for word in words:
        assert hits(workspace.index, word) == hits(fresh.index, word), word
    shutil.rmtree(tmp_path / "fresh")


def difference(found: list, expected: list) -> tuple[list, list]:
    return [row for row in found if row not in expected][:5], [row for row in expected if row not in found][:5]


async def test_a_worktree_of_a_known_commit_reads_and_parses_nothing(first, pool, tmp_path, monkeypatch):
    second = beside(first, "second")
    sent: list[Batch] = []
    run = pool.run

    async def noted(batch: Batch) -> BatchResult:
        sent.append(batch)
        return await run(batch)

    monkeypatch.setattr(pool, "run", noted)

    report = await second.sync(limits=ALWAYS, pool=pool)

    assert (report.mode, report.counts.files_written, report.counts.symbols_written, report.files_changed) == (
        *("incremental", 0, 0, 0),
    )
    assert sent == []
    await assert_as_fresh(second, tmp_path, pool)


async def test_a_clone_and_a_copied_directory_take_in_what_differs(first, pool, tmp_path):
    other = tmp_path / "clone"
    first.git("clone", "-q", ".", str(other))
    copied = tmp_path / "copied"
    shutil.copytree(first.root, copied, ignore=shutil.ignore_patterns(".git"))
    for root in (other, copied):
        workspace = TestWorkspace(root, first.home)
        workspace.write({"p0/m0.py": f"def changed_in_{root.name}():\n    pass\n"})

        report = await workspace.sync(limits=ALWAYS, pool=pool)

        assert (report.mode, report.counts.files_written, report.files_changed) == ("incremental", 1, 1)
        await assert_as_fresh(workspace, tmp_path, pool)


@pytest.mark.invariant(of="test_a_file_with_other_links_is_never_written")
async def test_removing_the_first_index_does_not_hurt_the_second(first, pool, tmp_path):
    second = beside(first, "second")
    await second.sync(limits=ALWAYS, pool=pool)

    remove_project(first.layout)
    second.write({"p1/m1.py": "def other():\n    pass\n"})
    await second.sync(limits=ALWAYS, pool=pool)

    await assert_as_fresh(second, tmp_path, pool)
    again = await first.sync(limits=ALWAYS, pool=pool)
    assert again.mode == "incremental", "the second one is a source for the first"
    await assert_as_fresh(first, tmp_path, pool)


async def test_a_tree_with_other_content_under_the_same_paths_is_built_from_nothing(first, pool, tmp_path):
    other = TestWorkspace(tmp_path / "other", first.home)
    other.write(files(text="something else altogether"))

    report = await other.sync(limits=ALWAYS, pool=pool)

    assert report.mode == "full"


async def test_a_small_tree_and_an_index_by_other_rules_are_built_from_nothing(first, pool):
    by_other_rules = msgspec.structs.replace(ALWAYS, max_line_characters=5)

    small = await beside(first, "small").sync(limits=LIMITS, pool=pool)
    other = await beside(first, "other").sync(limits=by_other_rules, pool=pool)

    assert (small.mode, other.mode) == ("full", "full")


@pytest.mark.invariant(of="test_claims_in_gits_index_bring_in_nothing_from_outside")
@pytest.mark.parametrize("is_allowed", [True, False])
async def test_only_an_index_that_is_allowed_as_a_base_is_forked(first, pool, is_allowed):
    async def bases() -> frozenset[str]:
        return frozenset([first.project_id]) if is_allowed else frozenset(["another"])

    report = await beside(first, "second").sync(limits=ALWAYS, pool=pool, bases=bases)

    assert report.mode == ("incremental" if is_allowed else "full")


async def test_own_parked_epochs_are_forked_whatever_else_is_allowed(first, pool, tmp_path):
    async def none() -> frozenset[str]:
        return frozenset()

    first.git("checkout", "-q", "-b", "other")
    first.write({path: text.replace("def f", "def g") for path, text in files().items()})
    first.commit()
    await switch(first, "other", pool)
    first.git("checkout", "-q", "main")
    let_git_trust(first)

    report = await first.sync(limits=ALWAYS, pool=pool, bases=none)

    assert (report.ref, report.counts.files_written) == ("main", 0)
    await assert_as_fresh(first, tmp_path, pool)


async def switch(workspace: TestWorkspace, commit: str, pool: WorkerPool) -> JobReport:
    workspace.git("checkout", "-q", commit)
    let_git_trust(workspace)
    return await workspace.sync(limits=ALWAYS, pool=pool)


async def test_a_branch_that_was_checked_out_before_is_not_read_again(first, pool, tmp_path):
    first.git("checkout", "-q", "-b", "other")
    first.write({path: text.replace("def f", "def g") for path, text in list(files().items())[:5]})
    first.write({"new.py": "def new():\n    pass\n"})
    first.commit()
    await switch(first, "other", pool)

    for branch in ("main", "other", "main"):
        report = await switch(first, branch, pool)

        assert (report.ref, report.counts.files_written, report.counts.symbols_written) == (branch, 0, 0)
        await assert_as_fresh(first, tmp_path, pool)


async def test_a_file_that_moves_and_one_that_comes_back_are_not_parsed(first, pool, tmp_path, monkeypatch):
    first.write({"lib/a.c": "int alpha(void) { return 1; }\n", "lib/b.c": '#include "a.h"\n', "lib/a.h": "int alpha(void);\n"})
    first.commit()
    await switch(first, "main", pool)
    parsed: set[str] = set()
    write = IndexWriter.write_symbols

    def noted(writer: IndexWriter, file: FileSymbols) -> None:
        parsed.add(file.path)
        write(writer, file)

    contents = KnownContent.symbols
    known: set[str] = set()

    def found(self: KnownContent, text: FileText) -> FileSymbols | None:
        symbols = contents(self, text)
        if symbols is not None:
            known.add(text.path)
        return symbols

    monkeypatch.setattr(IndexWriter, "write_symbols", noted)
    monkeypatch.setattr(KnownContent, "symbols", found)
    (first.root / "src").mkdir()
    first.git("mv", "lib/a.c", "src/moved.c")
    first.git("mv", "p0/m0.py", "p0/moved.py")
    first.commit()

    await switch(first, "main", pool)

    assert known == {"src/moved.c", "p0/moved.py"}
    assert parsed == {"src/moved.c", "p0/moved.py"}
    await assert_as_fresh(first, tmp_path, pool)


async def test_code_in_another_language_than_its_file_keeps_that_in_forks_and_moves(first, pool, tmp_path):
    page = '<script type="module">\nimport {{ f }} from "./{0}.js";\nfunction inPage() {{ f(); }}\n</script>\n'
    first.write({"site/a.js": "export function f() {}\n", "site/one.html": page.format("a"), "site/two.html": page.format("b")})
    first.commit()
    let_git_trust(first)
    await first.sync(limits=ALWAYS, pool=pool)
    second = beside(first, "second")
    await second.sync(limits=ALWAYS, pool=pool)
    await assert_as_fresh(second, tmp_path, pool)

    second.git("mv", "site/one.html", "site/moved.html")
    second.write({"site/b.js": "export function f() {}\n"})
    await second.sync(limits=ALWAYS, pool=pool)

    await assert_as_fresh(second, tmp_path, pool)
    with second.index.snapshot() as snapshot:
        languages = {(row.path, row.language) for row in snapshot.facts.symbols_named("inPage", 10)}
        targets = {(row.path, row.language, row.target) for row in snapshot.facts.imports_named("f", 10)}
    assert languages == {("site/moved.html", "javascript"), ("site/two.html", "javascript")}
    assert targets == {("site/moved.html", "javascript", "site/a.js"), ("site/two.html", "javascript", "site/b.js")}


@pytest.mark.invariant("The number and size of kept epochs is bounded")
async def test_many_branches_in_turn_keep_a_bounded_number_of_epochs(first, pool):
    for number in range(MAX_PARKED + 4):
        first.git("checkout", "-q", "-b", f"branch{number}")
        first.write({f"p0/m{number}.py": f"def branch_{number}():\n    pass\n", f"n{number}.py": "x = 1\n"})
        first.commit()
        await switch(first, f"branch{number}", pool)

        assert len(parked_epochs(first.layout)) <= MAX_PARKED + 1
        assert len(list(first.layout.epochs.iterdir())) <= MAX_PARKED + 1


async def test_a_half_made_fork_and_a_parked_epoch_that_is_broken_are_swept_or_passed_by(first, pool, tmp_path):
    first.git("checkout", "-q", "-b", "other")
    first.write({"p0/m0.py": "def other():\n    pass\n"})
    first.commit()
    await switch(first, "other", pool)
    (parked,) = parked_epochs(first.layout)
    first.layout.facts(parked.epoch).write_bytes(b"broken")
    half_made = first.layout.epochs / "000777"
    half_made.mkdir()

    report = await switch(first, "main", pool)

    assert report.ref == "main"
    assert not half_made.exists()
    await assert_as_fresh(first, tmp_path, pool)


@pytest.mark.invariant("An index that was forked, parked and switched equals a fresh one")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_an_index_that_is_forked_and_switched_equals_a_fresh_one(tmp_path, pool, seed, repetitions):
    first = TestWorkspace(tmp_path / "first", tmp_path / "home", git=True)
    commits = make_history(first, seed, 12)
    await check_switches(first, commits, random.Random(seed), tmp_path, pool, n_switches=repetitions(10, 100), checked=0.5)


@pytest.mark.invariant(of="test_an_index_that_is_forked_and_switched_equals_a_fresh_one")
@pytest.mark.slow
@pytest.mark.skipif(not real_histories(), reason="CODECOMPASS_HISTORIES names no repositories")
async def test_switching_in_real_histories_equals_a_fresh_index(tmp_path, repetitions):
    rng = random.Random(5)
    async with open_worker_pool(2) as pool:
        for number, repository in enumerate(real_histories()):
            place = tmp_path / f"r{number}"
            place.mkdir()
            clone(repository, place / "first")
            first = TestWorkspace(place / "first", place / "home")
            commits = commits_of(repository, rng, 10)
            await check_switches(first, commits, rng, place, pool, n_switches=repetitions(12, 100), checked=0.25)


async def check_switches(
    first: TestWorkspace,
    commits: list[str],
    rng: random.Random,
    tmp_path: Path,
    pool: WorkerPool,
    *,
    n_switches: int,
    checked: float,
) -> None:
    """Switches two worktrees of one repository at random, and sometimes compares them with fresh indexes."""
    first.git("checkout", "-q", "--detach", rng.choice(commits))
    await first.sync(limits=ALWAYS, pool=pool)
    first.git("worktree", "add", "-q", "--detach", str(tmp_path / "second"), rng.choice(commits))
    second = TestWorkspace(tmp_path / "second", first.home)
    for number in range(n_switches):
        workspace = rng.choice((first, second))
        workspace.git("checkout", "-q", "--force", "--detach", rng.choice(commits))
        if rng.random() < 0.3:
            workspace.write({"untracked.py": f"def untracked_{number}():\n    pass\n"})
        await workspace.sync(limits=ALWAYS, pool=pool)

        if rng.random() < checked or number == n_switches - 1:
            await assert_as_fresh(workspace, tmp_path, pool)
    for workspace in (first, second):
        await workspace.sync(limits=ALWAYS, pool=pool)
        await assert_as_fresh(workspace, tmp_path, pool)


def run_process(workspace: TestWorkspace, step: str = "-", delay_ms: float = 0) -> "subprocess.Popen[str]":
    """Starts a process that indexes a workspace, forking and parking at any size, and kills itself at a step."""
    arguments = [str(workspace.root), str(workspace.home), "fork", step, str(delay_ms)]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.crash.victim", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


@pytest.mark.invariant(
    "kill -9 of a fork at any step damages neither index, and several processes may fork from an index while it is "
    "written or removed"
)
@pytest.mark.slow
@pytest.mark.parametrize("step", ["scan", "fork", "parse", "commit", "publication", "clean_up"])
async def test_killing_a_fork_at_any_step_hurts_neither_index(first, pool, tmp_path, step):
    before = dump(first.index)
    second = beside(first, "second")
    second.write({"p0/m0.py": "def changed():\n    pass\n", "p0/new.py": "x = 1\n"})

    def run() -> tuple[int, str]:
        with run_process(second, step) as process:
            _, errors = process.communicate(timeout=120)
            return process.returncode, errors

    code, errors = await trio.to_thread.run_sync(run)
    assert code == -9, errors
    assert dump(first.index) == before
    first.write({"p1/m1.py": "def first():\n    pass\n"})
    await first.sync(limits=ALWAYS, pool=pool)
    await second.sync(limits=ALWAYS, pool=pool)

    for workspace in (first, second):
        await assert_as_fresh(workspace, tmp_path, pool)
        assert len(list(workspace.layout.epochs.iterdir())) <= 1 + len(parked_epochs(workspace.layout))


@pytest.mark.invariant(of="test_killing_a_fork_at_any_step_hurts_neither_index")
@pytest.mark.slow
async def test_processes_fork_at_once_from_an_index_that_is_written_and_removed(first, pool, tmp_path):
    forks = [beside(first, f"fork{number}") for number in range(3)]

    def run() -> list[tuple[int, str]]:
        processes = [run_process(each) for each in forks]
        writer = threading.Thread(target=write_and_remove)
        writer.start()
        ended = [(process.wait(120), process.stderr.read()) for process in processes]
        for process in processes:
            process.stdout.close()
            process.stderr.close()
        writer.join()
        return ended

    def write_and_remove() -> None:
        for _ in range(2):
            with run_process(first) as process:
                process.communicate(timeout=120)
        remove_project(first.layout)

    first.write({"p1/m1.py": "def first():\n    pass\n"})
    assert [code for code, _ in await trio.to_thread.run_sync(run)] == [0, 0, 0]
    for each in forks:
        await assert_as_fresh(each, tmp_path, pool)


async def test_what_two_indexes_share_is_counted_once(first, pool):
    before = disk_usage(first.home)
    second = beside(first, "second")

    await second.sync(limits=ALWAYS, pool=pool)

    assert disk_usage(first.home) - before < disk_usage(second.layout.root)
    assert WorkspaceIndex(second.layout, second.project_id).compatibility().status == "compatible"
