"""A tree on disk with its own index, built by real jobs, workers and stores."""

import os
import subprocess
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport, Published
from codecompass.actors.starting_point import FindBases, any_base
from codecompass.actors.uses_pass import UsesPass
from codecompass.actors.worker_pool import WorkerPool, open_worker_pool
from codecompass.identity import canonical_root, project_id
from codecompass.jobs import Progress
from codecompass.scan.rules import ScanRules
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.publication import Step

LIMITS = IndexLimits(rules=ScanRules())


class TestWorkspace:
    """`root` holds the files, `home` the store. Every `sync` runs a whole job, by default with its own worker processes."""

    __test__ = False

    def __init__(self, root: Path, home: Path, *, git: bool = False) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = canonical_root(root)
        self.project_id = project_id(self.root)
        self.home = home
        self.layout: ProjectLayout = HomeLayout(home).project(self.project_id)
        if git:
            self.git("init", "-q", "-b", "main")

    @property
    def index(self) -> WorkspaceIndex:
        return WorkspaceIndex(self.layout, self.project_id)

    def write(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    def commit(self, message: str = "change") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    async def sync(
        self,
        *,
        limits: IndexLimits = LIMITS,
        force: bool = False,
        defers_uses: bool = False,
        pool: WorkerPool | None = None,
        bases: FindBases = any_base,
        on_progress: Callable[[Progress], None] | None = None,
        on_step: Callable[[Step], None] | None = None,
        on_published: Published | None = None,
    ) -> JobReport:
        async with AsyncExitStack() as stack:
            if pool is None:
                pool = await stack.enter_async_context(open_worker_pool(1))
            job = IndexJob(
                JobContext(
                    root=self.root,
                    layout=self.layout,
                    pool=pool,
                    limits=limits,
                    bases=bases,
                    on_progress=on_progress,
                    on_step=on_step,
                    on_published=on_published,
                ),
                JobOrder(job_id="test", force=force, text_first=defers_uses, defers_uses=defers_uses),
            )
            return await job.run()

    async def read_uses(self, pool: WorkerPool) -> int:
        """Reads the uses that the index lacks; returns of how many files."""
        return await UsesPass(JobContext(root=self.root, layout=self.layout, pool=pool, limits=LIMITS)).run()

    def names(self) -> set[tuple[str, str]]:
        """Returns the (path, symbol name) of every definition."""
        with self.index.snapshot() as snapshot:
            return {
                (path, symbol.name)
                for file_id, path in snapshot.facts.paths()
                for symbol in snapshot.facts.symbols_in_file(file_id)
            }

    def text_of(self, path: str) -> str:
        """Returns the indexed text of a file."""
        with self.index.snapshot() as snapshot:
            row = snapshot.facts.file(path)
            assert row is not None, path
            return "".join(chunk.text for chunk in snapshot.text.file_chunks(row.id))

    def status_of(self, path: str) -> tuple[str, str]:
        """Returns (status, reason) of a path in the manifest; ('', '') if it is unknown."""
        with self.index.snapshot() as snapshot:
            row = snapshot.facts.file(path)
            return ("", "") if row is None else (row.status, row.reason)

    def paths(self) -> list[str]:
        """Returns the indexed paths."""
        with self.index.snapshot() as snapshot:
            return [path for _, path in snapshot.facts.paths()]
