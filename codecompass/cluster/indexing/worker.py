"""The cluster worker: watches all repositories, claims those with pending work, and does it.

    run_worker
     |- follows what code hosts list (`hosts/watch.py`)
     |- reads the documents every few seconds, decides (`schedule.py`), starts:
     |   |- turns and sweeps, `jobs` at a time, each under a lease that is renewed meanwhile
     |   `- polls of remotes, a few at a time, without a lease
     `- keeps the disk use of this machine's copies within limits

Any number of workers run on any machines. Each may be killed, paused or cut off at any moment: others take over its repositories,
and unpublished generations are removed later. Work that the engine refuses temporarily is tried again.
"""

import os
import platform
import random
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import structlog
import trio
from msgspec import Struct

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.index_limits import index_limits
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.hosts.sources import Sources
from codecompass.cluster.hosts.watch import SourceSchedule, watch_sources
from codecompass.cluster.indexing.home import WorkerHome
from codecompass.cluster.indexing.measures import Outcome, WorkerMeasures
from codecompass.cluster.indexing.remote_refs import select_refs
from codecompass.cluster.indexing.remotes import RemoteLimits, list_remote
from codecompass.cluster.indexing.schedule import Action, Schedule, Times
from codecompass.cluster.indexing.sweeping import add_tombstones
from codecompass.cluster.indexing.turn import Turn, TurnResources, remove_retired
from codecompass.cluster.repositories.catalog import prepare
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import RENEWALS, Claim, LeaseLost, claim, failed
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.repositories.moves import finish_moves
from codecompass.cluster.repositories.repository import MADE_BY, Change, Repository
from codecompass.cluster.stores.measures import MeasuredStore, watch_store
from codecompass.cluster.stores.opening import open_store
from codecompass.errors import CodeCompassError, DeadlineExceeded, InternalError
from codecompass.nurseries import open_nursery
from codecompass.settings import Settings
from codecompass.store.layout import HomeLayout, make_private_directory
from codecompass.tracing import OUTCOME, REPOSITORY, Traces, note, whole
from codecompass.units import HOURS, MINUTES, SECONDS

T = TypeVar("T")

LOOK_SECONDS: Final = 3 * SECONDS
LONGEST_LOOK_SECONDS: Final = 30 * SECONDS
"""Longest pause between two reads of the documents while the engine does not answer."""

POLLS: Final = 8
"""Remotes polled at a time; nearly all of the time is spent waiting."""

TURN_SECONDS: Final = 6 * HOURS
UPKEEP_SECONDS: Final = 5 * MINUTES
STOP_SECONDS: Final = 10 * SECONDS
"""How long running work may continue when the worker is told to stop; then it is released unfinished."""

RELEASE_SECONDS: Final = 5 * SECONDS
LEASE_THREADS: Final = 4
"""Separate threads for leases, so that renewals never wait for writes."""

NOT_ANSWERED: Final = "cluster_unavailable"


class WorkerOptions(Struct, frozen=True, kw_only=True):
    """Options of a worker."""

    jobs: int = 1
    """Turns and sweeps at a time."""
    times: Times | None = None
    """None takes the poll interval from the settings and defaults for the others."""
    look_seconds: float = LOOK_SECONDS
    """Interval at which the documents are read."""
    remotes: RemoteLimits | None = None
    """None takes the limits from the settings."""
    measures: WorkerMeasures | None = None
    """Counts the work, for whoever gave them; None if nobody asks."""
    traces: Traces | None = None
    """What records turns and sweeps; None if traces are off."""


async def run_worker(
    engine: Engine,
    settings: Settings,
    home: HomeLayout,
    stop: trio.Event,
    options: WorkerOptions | None = None,
) -> None:
    """Works until `stop` is set, then finishes running work or releases it after STOP_SECONDS.

    Raises EngineUnavailable if the engine cannot be reached at the start, PermissionDenied if the home cannot be written.
    """
    chosen = options or WorkerOptions()
    times = chosen.times or Times(poll=settings.cluster.poll_seconds)
    remotes = chosen.remotes or RemoteLimits(protocols=settings.cluster.protocols, max_bytes=settings.cluster.max_repository_size)
    local = WorkerHome(home, settings.cluster.prefix)
    measures = chosen.measures or WorkerMeasures()
    store = MeasuredStore(open_store(settings.cluster), measures.store)
    await trio.to_thread.run_sync(engine.prepare)
    # Now, so that a home that cannot be written is known, and how much room its disk has.
    await trio.to_thread.run_sync(make_private_directory, local.layout.root)
    pool_size = settings.index.workers or default_pool_size()
    async with open_worker_pool(pool_size) as pool:
        resources = TurnResources(
            engine=engine,
            manifests=ManifestReader(engine),
            home=local,
            pool=pool,
            limits=index_limits(settings.index),
            remotes=remotes,
            blocking=BlockingCalls(),
            threads=trio.CapacityLimiter(2 * chosen.jobs),
            owner=f"{platform.node()} process {os.getpid()}",
            measures=measures,
            store=store,
            history=settings.cluster.history,
        )
        schedule = Schedule(trio.current_time, local.has, made_by=MADE_BY, times=times)
        worker = _Worker(resources, schedule, settings, chosen)
        await worker.run(stop)


class _Worker:
    def __init__(self, resources: TurnResources, schedule: Schedule, settings: Settings, options: WorkerOptions) -> None:
        self._resources = resources
        self._schedule = schedule
        self._settings = settings
        self._options = options
        self._measures = resources.measures
        self._repositories = Repositories(resources.engine, resources.remotes.protocols)
        self._leases = trio.CapacityLimiter(LEASE_THREADS)
        self._looks = trio.CapacityLimiter(1 + POLLS)
        self._working: set[str] = set()
        self._polling: set[str] = set()
        self._changed = trio.Event()
        self._log = structlog.get_logger(__name__)

    async def run(self, stop: trio.Event) -> None:
        """Works until `stop` is set and running work has ended."""
        self._log.info("worker_started", owner=self._resources.owner, jobs=self._options.jobs)
        async with open_nursery() as background:
            background.start_soon(self._keep_house)
            background.start_soon(self._look_for_orphans)
            background.start_soon(self._keep_catalog)
            background.start_soon(self._discover)
            background.start_soon(watch_store, self._resources.store, self._measures.store)
            async with open_nursery() as nursery:
                background.start_soon(self._wake_at, stop)
                failures = 0
                while not stop.is_set():
                    failures = 0 if await self._look(nursery) else failures + 1
                    pause = min(LONGEST_LOOK_SECONDS, self._options.look_seconds * 2.0 ** min(failures, 10))
                    with trio.move_on_after(pause):
                        await self._changed.wait()
                    self._changed = trio.Event()
                nursery.cancel_scope.deadline = trio.current_time() + STOP_SECONDS
            background.cancel_scope.cancel()
        self._log.info("worker_stopped", owner=self._resources.owner)

    async def _wake_at(self, stop: trio.Event) -> None:
        await stop.wait()
        self._changed.set()

    async def _look(self, nursery: trio.Nursery) -> bool:
        """Reads the documents and starts due work. Returns whether the engine answered."""
        try:
            found = await self._in_thread(partial(self._repositories.listed, with_removed=True))
        except CodeCompassError as error:
            self._log.warning(NOT_ANSWERED, cause=error.message)
            self._measures.not_answered()
            return False
        self._measures.looked(found)
        self._schedule.forget_all_but(found)
        decided: dict[str, Action] = {}
        for repository in found:
            action = self._schedule.decide(repository)
            if action is not None:
                decided[repository.repo_id] = action
        busy = self._working | self._polling
        for repository in self._schedule.in_order(
            [each for each in found if each.repo_id in decided and each.repo_id not in busy]
        ):
            action = decided[repository.repo_id]
            if action == "poll":
                if len(self._polling) < POLLS:
                    self._polling.add(repository.repo_id)
                    nursery.start_soon(self._poll, repository)
            elif len(self._working) < self._options.jobs:
                self._working.add(repository.repo_id)
                self._schedule.note_attempt(repository)
                nursery.start_soon(self._work, repository, action)
        return True

    async def _poll(self, repository: Repository) -> None:
        """Checks whether a remote has changed. If the check fails, it counts as changed, and a turn records the error."""
        try:
            has_moved = has_failed = True
            try:
                listing = await list_remote(repository.url, repository.wanted_refs, self._resources.remotes)
                has_moved = select_refs(listing, repository.wanted_refs).seen != repository.seen
                has_failed = False
            except CodeCompassError as error:
                self._log.info("poll_failed", repository=repository.name, cause=error.message)
            self._measures.polled(has_failed=has_failed)
            await self._in_thread(partial(self._repositories.note_polled, repository, has_moved=has_moved))
        except CodeCompassError as error:
            self._log.warning(NOT_ANSWERED, repository=repository.name, cause=error.message)
        finally:
            self._polling.discard(repository.repo_id)
            self._changed.set()

    async def _work(self, repository: Repository, action: Action) -> None:
        try:
            held = await self._in_thread(partial(claim, self._repositories, repository, self._resources.owner))
            if held is not None:
                await self._work_under(held, action)
                self._changed.set()
        except CodeCompassError as error:
            self._log.warning(NOT_ANSWERED, repository=repository.name, cause=error.message)
        finally:
            self._working.discard(repository.repo_id)

    async def _work_under(self, held: Claim, action: Action) -> None:
        """Does one piece of work and releases the repository, whether it succeeds or not."""
        name = held.repository.name
        self._log.info("repository_claimed", repository=name, action=action)
        began = trio.current_time()
        turn = Turn(self._resources, held)
        ending: Change = turn.unfinished
        outcome: Outcome = "lost"
        self._measures.began()
        try:
            with whole(self._options.traces, action, values={REPOSITORY: name}):
                async with open_nursery() as nursery:
                    nursery.start_soon(self._renew, held, action, nursery.cancel_scope)
                    ending, outcome = await self._end_of(turn, held, action)
                    note({OUTCOME: outcome})
                    nursery.cancel_scope.cancel()
        finally:
            # Even if cancelled, because the lease would keep other workers away for LEASE_SECONDS.
            with trio.CancelScope(shield=True), trio.move_on_after(RELEASE_SECONDS):
                await self._release(held, ending)
            seconds = trio.current_time() - began
            self._measures.ended(action, outcome, seconds)
        self._log.info("repository_released", repository=name, action=action, seconds=round(seconds, 3))

    async def _end_of(self, turn: Turn, held: Claim, action: Action) -> tuple[Change, Outcome]:
        """Does the work, and returns the change of the document and how it ended. A failure is returned, not raised."""
        error: CodeCompassError
        try:
            with trio.fail_after(TURN_SECONDS):
                if action == "sweep":
                    ripe = held.repository.retired if held.repository.is_removed else self._schedule.ripe(held.repository)
                    return await remove_retired(self._resources, held, ripe), "done"
                done = await turn.run()
                ripe = self._schedule.ripe(held.repository)
                if not ripe:
                    return done, "done"
                swept = await remove_retired(self._resources, held, ripe)
                return lambda repository: swept(done(repository)), "done"
        except LeaseLost:
            self._log.warning("lease_lost", repository=held.repository.name)
            return turn.unfinished, "lost"
        except trio.TooSlowError:
            error = DeadlineExceeded(
                f"indexing took longer than {TURN_SECONDS / HOURS:.0f} hours. Workers try again by themselves."
            )
        except CodeCompassError as raised:
            error = raised
        except Exception as raised:  # noqa: BLE001 (one repository fails, not the worker)
            self._log.exception("turn_failed", repository=held.repository.name)
            error = InternalError(f"an unexpected error ({type(raised).__name__}); the worker's log has the details.")
        self._log.warning("repository_failed", repository=held.repository.name, action=action, cause=error.message)
        return lambda repository: failed(turn.unfinished(repository), error.message, time.time()), "failed"

    async def _renew(self, held: Claim, action: Action, scope: trio.CancelScope) -> None:
        """Renews the lease until cancelled. Cancels the work if the lease is lost, or a turn's repository was removed."""
        while True:
            await trio.sleep(self._schedule.times.lease / RENEWALS)
            try:
                await trio.to_thread.run_sync(held.renew, limiter=self._leases)
                if held.repository.is_removed and action == "turn":
                    self._log.info("work_given_up", repository=held.repository.name, cause="removed")
                    scope.cancel()
                    return
            except LeaseLost:
                self._log.warning("lease_lost", repository=held.repository.name)
                scope.cancel()
                return
            except EngineUnavailable as error:
                # The work continues: while leases cannot be renewed, other workers cannot find one abandoned either.
                self._log.warning(NOT_ANSWERED, repository=held.repository.name, cause=error.message)

    async def _release(self, held: Claim, ending: Change) -> None:
        try:
            released = await trio.to_thread.run_sync(held.release, ending, limiter=self._leases, abandon_on_cancel=True)
            if released.is_removed and not released.retired:
                await trio.to_thread.run_sync(
                    self._repositories.delete, released.repo_id, _is_swept, limiter=self._leases, abandon_on_cancel=True
                )
                self._log.info("repository_deleted", repository=released.name)
        except LeaseLost:
            pass  # already logged where it was noticed
        except CodeCompassError as error:
            self._log.warning(NOT_ANSWERED, repository=held.repository.name, cause=error.message)

    async def _keep_house(self) -> None:
        """Removes unneeded files from this machine every UPKEEP_SECONDS."""
        while True:
            try:
                await trio.to_thread.run_sync(self._clean_up)
                with suppress(OSError):
                    disk = await trio.to_thread.run_sync(shutil.disk_usage, self._resources.home.layout.root)
                    self._measures.saw_disk(disk.free, disk.total)
            except CodeCompassError as error:
                self._log.warning("upkeep_failed", cause=error.message)
            await trio.sleep(UPKEEP_SECONDS)

    async def _keep_catalog(self) -> None:
        """Creates the indexes of this program's version, and keeps the repositories in agreement with the catalog."""
        is_prepared = False
        while True:
            try:
                if not is_prepared:
                    await trio.to_thread.run_sync(prepare, self._resources.engine)
                    is_prepared = True
                if changed := await trio.to_thread.run_sync(self._repositories.reconcile):
                    self._log.info("catalog_followed", repositories=changed)
                    self._changed.set()
                if moved := await trio.to_thread.run_sync(finish_moves, self._repositories):
                    self._log.info("moves_advanced", repositories=moved)
                    self._changed.set()
            except CodeCompassError as error:
                self._log.warning(NOT_ANSWERED, cause=error.message)
            await trio.sleep(self._schedule.times.poll)

    async def _discover(self) -> None:
        """Follows the repositories of owners at code hosts."""
        cluster = self._settings.cluster
        await watch_sources(
            Sources(self._resources.engine),
            self._repositories,
            self._measures,
            SourceSchedule(trio.current_time, cluster.discover_seconds),
            Path(cluster.host_tokens) if cluster.host_tokens else None,
            self._options.look_seconds,
        )

    async def _look_for_orphans(self) -> None:
        """Searches for documents of unknown repositories, at random intervals so that not all workers do so at once."""
        while True:
            await trio.sleep(self._schedule.times.orphans * random.uniform(0.5, 1.5))
            try:
                found = await trio.to_thread.run_sync(
                    add_tombstones, self._resources.engine, self._repositories, self._resources.store
                )
            except CodeCompassError as error:
                self._log.warning(NOT_ANSWERED, cause=error.message)
            else:
                if found:
                    self._log.warning("orphans_found", repositories=found)

    def _clean_up(self) -> None:
        known = {each.repo_id for each in self._repositories.listed()}
        freed = self._resources.home.forget_all_but(known) + self._resources.home.trim(self._settings.storage.max_size)
        if freed:
            self._log.info("copies_removed", freed_bytes=freed)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=self._looks)


def _is_swept(repository: Repository) -> bool:
    return repository.is_removed and not repository.retired and repository.lease is None
