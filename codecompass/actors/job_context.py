"""What an index job works with, what it is to do, and whom it tells: the same for a working tree and for a commit."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import trio
from msgspec import Struct

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_state import Published
from codecompass.actors.starting_point import FindBases, any_base
from codecompass.actors.worker_pool import WorkerPool
from codecompass.jobs import Progress
from codecompass.scan.walk import ScanResult
from codecompass.store.layout import ProjectLayout
from codecompass.store.publication import Step


class JobOrder(Struct, frozen=True, kw_only=True):
    """What a job is to do."""

    job_id: str
    force: bool = False
    """Build the index from nothing."""
    directories: frozenset[str] | None = None
    """Directories that changed; None scans the whole tree."""
    files: frozenset[str] = frozenset()
    """Files to be read even if their times are unchanged."""
    text_first: bool = False
    """Publish the text of a first index separately, however small it is."""
    defers_uses: bool = False
    """Leave the uses of names to `uses_pass.py`, if the text of a first index is published separately."""


class JobContext(Struct, frozen=True, kw_only=True):
    """What a job works with, and what it calls as it goes on."""

    root: Path
    layout: ProjectLayout
    """The project's, also for the job of a commit."""
    pool: WorkerPool
    limits: IndexLimits
    """Those of the working tree."""
    blocking: BlockingCalls = msgspec.field(default_factory=BlockingCalls)
    """Runs what touches the tree or git."""
    turns: trio.CapacityLimiter | None = None
    """The limiter of which the caller holds a token while the job runs. It gets another while the file system is unresponsive."""
    bases: FindBases = any_base
    """Says which other projects' indexes may be forked."""
    on_progress: Callable[[Progress], None] | None = None
    on_published: Published | None = None
    on_scanned: Callable[[ScanResult], None] | None = None
    """Called after each scan of the whole tree."""
    on_step: Callable[[Step], None] | None = None
    give_way: Callable[[], Awaitable[None]] | None = None
    """Awaited between batches, so that questions can go first."""
