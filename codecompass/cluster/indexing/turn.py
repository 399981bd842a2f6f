"""The work of a worker on a repository that it has claimed: fetch, index and publish, and remove retired generations.

    list the remote's refs -> fetch commits into the mirror -> for each ref that moved: build the index of its commit, as a fork
    of the nearest one here -> write a generation to the store of segments -> make it visible by one compare-and-set

Nothing is visible before the last step, which fails if the lease was lost. A generation that was not published is noted in
`retired`, by this worker or by the one that takes the lease over.
"""

import secrets
import time
from collections.abc import Collection
from functools import partial
from typing import Final

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.worker_pool import WorkerPool
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.indexing.histories import fetch_history
from codecompass.cluster.indexing.home import WorkerHome
from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.cluster.indexing.publishing import NewGeneration, publish
from codecompass.cluster.indexing.remote_refs import MAX_REFS, RemoteRef, Selection, select_refs
from codecompass.cluster.indexing.remotes import Mirror, RemoteLimits, list_remote
from codecompass.cluster.indexing.sweeping import sweep
from codecompass.cluster.repositories.leases import Claim, with_attempt
from codecompass.cluster.repositories.manifests import Manifest, ManifestReader
from codecompass.cluster.repositories.repository import MADE_BY, Change, RefHead, Repository, RepositoryFailure
from codecompass.cluster.stores.measures import MeasuredStore
from codecompass.errors import CodeCompassError, IndexDamaged, IndexIncompatible, IndexNotReady, RefNotIndexed
from codecompass.scan.git_remotes import parse_url
from codecompass.scan.git_repository import GitError
from codecompass.scan.git_revisions import NamedCommit, resolve_commit
from codecompass.tracing import note, part

REF: Final = "vcs.ref.head.name"
COMMIT: Final = "vcs.ref.head.revision"
REFS: Final = "codecompass.n_refs"
"""Attributes of spans, by OpenTelemetry's names where it has them."""


class TurnResources(Struct, frozen=True, kw_only=True):
    """Resources that the turns of one worker share."""

    engine: Engine
    manifests: ManifestReader
    home: WorkerHome
    pool: WorkerPool
    limits: IndexLimits
    remotes: RemoteLimits
    blocking: BlockingCalls
    threads: trio.CapacityLimiter
    """Limits the threads that publish and sweep."""
    owner: str
    """Host and process, for people."""
    history: int = 0
    """Generations of commits of a default branch that are published; 0 for none."""
    measures: WorkerMeasures
    store: MeasuredStore
    """Where finished indexes are published."""


class Turn:
    """One turn at one repository. Await `run()` once; `unfinished` then records a generation that was not published."""

    def __init__(self, resources: TurnResources, claim: Claim) -> None:
        self._resources = resources
        self._claim = claim
        self._begun = claim.repository
        self._is_rebuild = self._begun.rebuild > self._begun.done_changes
        self._attempt = ""
        self._fresh: set[str] = set()
        self._log = structlog.get_logger(__name__)

    def unfinished(self, repository: Repository) -> Repository:
        """Returns the repository with the unpublished generation of this turn, if any, added to `retired`."""
        return with_attempt(repository, self._attempt) if self._attempt else repository

    async def run(self) -> Change:
        """Brings the heads up to date with the remote. Returns the change of the document with which to release the repository.

        Raises LeaseLost, InvalidInput for a protocol that is not allowed, and the first CodeCompassError of a ref after the other
        refs were tried.
        """
        url, resources = self._begun.url, self._resources
        # Raises InvalidInput for a protocol that this worker may not use. Git would refuse too, without saying what to do.
        parse_url(url, resources.remotes.protocols)
        with part("list_remote", kind="client"):
            listing = await list_remote(url, self._begun.wanted_refs, resources.remotes)
        selection = select_refs(listing, self._begun.wanted_refs)
        mirror = Mirror(resources.home.mirror(self._begun.repo_id), resources.remotes)
        lock = resources.home.locked(self._begun.repo_id, resources.owner)
        await trio.to_thread.run_sync(lock.__enter__)
        try:
            return await self._run_alone(selection, mirror)
        finally:
            lock.__exit__(None, None, None)

    async def _run_alone(self, selection: Selection, mirror: Mirror) -> Change:
        moved = [ref for ref in selection.refs if not self._is_current(ref)]
        with part("fetch", {REFS: len(moved)}, kind="client"):
            await mirror.fetch(self._begun.url, moved)
        missing = list(selection.missing)
        failures: list[CodeCompassError] = []
        for ref in moved:
            try:
                commit = await self._resolve(mirror, ref)
                if commit is None:
                    missing.append(ref.name)
                else:
                    await self._bring(ref, commit, mirror, selection)
            except EngineUnavailable:
                raise
            except CodeCompassError as error:
                if isinstance(error, RefNotIndexed):
                    # Objects fetched earlier are missing or damaged, and git would not fetch them again into this mirror.
                    await trio.to_thread.run_sync(mirror.remove)
                self._log.warning("ref_failed", repository=self._begun.name, ref=ref.name, cause=error.message)
                failures.append(error)
        await self._settle(selection)
        await self._clean(selection, mirror)
        if failures:
            raise failures[0]
        return partial(_done, self._begun.changes, selection, tuple(missing))

    def _is_current(self, ref: RemoteRef) -> bool:
        head = self._claim.repository.heads.get(ref.name)
        return not self._is_rebuild and head is not None and head.commit == ref.object_id and head.made_by == MADE_BY

    async def _resolve(self, mirror: Mirror, ref: RemoteRef) -> NamedCommit | None:
        """Returns the fetched commit, which may be newer than the listed one, or None for a tag of something else."""
        repository = mirror.repository()
        if repository is None:
            raise RefNotIndexed(f"the mirror of {ref.name} was removed meanwhile. Workers try again by themselves.")
        try:
            found = await trio.to_thread.run_sync(partial(resolve_commit, repository, ref.local))
        except RefNotIndexed:
            return None
        except GitError as error:
            raise RefNotIndexed(f"{ref.name} cannot be read in the worker's mirror: {error}. Workers try again.") from error
        return NamedCommit(ref.name, found.commit, found.tree)

    async def _bring(self, ref: RemoteRef, commit: NamedCommit, mirror: Mirror, selection: Selection) -> None:
        """Indexes the commit if no head has it, and publishes it for the ref."""
        heads = self._claim.repository.heads
        head = next((each for each in heads.values() if self._serves(each, commit)), None)
        if head is None:
            head = await self._index(ref, commit, mirror, is_default=ref.name == selection.default)
        default = selection.default if selection.default in {*heads, ref.name} else self._claim.repository.default_ref or ref.name
        await self._publish(ref, head, default)

    def _serves(self, head: RefHead, commit: NamedCommit) -> bool:
        is_usable = not self._is_rebuild or head.generation in self._fresh
        return is_usable and head.commit == commit.commit and head.made_by == MADE_BY

    async def _index(self, ref: RemoteRef, commit: NamedCommit, mirror: Mirror, *, is_default: bool) -> RefHead:
        """Builds the index of a commit and writes it to the store as a generation that is not visible yet."""
        resources, repo_id = self._resources, self._begun.repo_id
        began = time.monotonic()
        context = JobContext(
            root=mirror.root,
            layout=resources.home.project(repo_id),
            pool=resources.pool,
            limits=resources.limits,
            blocking=resources.blocking,
        )
        order = JobOrder(job_id=f"{self._begun.name} {ref.name}", force=self._is_rebuild)
        with part("index", {REF: ref.name, COMMIT: commit.commit}):
            report = await CommitJob(context, order, commit).run()
            note({"codecompass.files_changed": report.files_changed})
        indexed = time.monotonic()
        generation = secrets.token_hex(8)
        self._attempt = generation
        with part("write", {REF: ref.name}):
            written = await self._write(generation, ref, commit, is_default=is_default)
        self._fresh.add(generation)
        self._log.info(
            "generation_written",
            repository=self._begun.name,
            ref=ref.name,
            commit=commit.commit,
            files=report.file_count,
            files_changed=report.files_changed,
            **written,
            index_seconds=round(indexed - began, 3),
            write_seconds=round(time.monotonic() - indexed, 3),
        )
        return RefHead(
            generation=generation,
            commit=commit.commit,
            published_at=time.time(),
            file_count=report.file_count,
            symbol_count=report.symbol_count,
            source_bytes=report.source_bytes,
            made_by=MADE_BY,
        )

    async def _write(self, generation: str, ref: RemoteRef, commit: NamedCommit, *, is_default: bool) -> dict[str, int]:
        """Writes the index of a commit as a generation, and returns what was written, for the log."""
        resources, repo_id = self._resources, self._begun.repo_id
        previous, layout = await self._previous(ref.name), resources.home.project(repo_id).commit(commit.commit)
        history = None
        if is_default and resources.history:
            place = resources.home.history(repo_id)
            history = await fetch_history(place, resources.remotes, resources.history, self._begun.url, ref, commit.commit)
        new = NewGeneration(
            repo_id=repo_id, generation=generation, layout=layout, project_id=repo_id, previous=previous, history=history
        )
        in_store = partial(publish, resources.engine, resources.store, new, trio.from_thread.check_cancelled)
        written = await trio.to_thread.run_sync(in_store, limiter=resources.threads)
        return {"segments_written": written.n_written, "bytes_written": written.written_bytes}

    async def _previous(self, ref: str) -> Manifest | None:
        """Returns the manifest of the ref's head, or of another one if it has none, or None if it cannot be reused."""
        repository = self._claim.repository
        head = repository.heads.get(ref) or repository.default_head or next(iter(repository.heads.values()), None)
        if head is None or head.made_by != MADE_BY or (self._is_rebuild and head.generation not in self._fresh):
            return None
        try:
            read = partial(self._resources.manifests.manifest, head.generation)
            return await trio.to_thread.run_sync(read, limiter=self._resources.threads)
        except (IndexNotReady, IndexIncompatible, IndexDamaged):
            return None

    async def _publish(self, ref: RemoteRef, head: RefHead, default: str) -> None:
        with part("publish", {REF: ref.name, COMMIT: head.commit}):
            await self._change_heads({ref.name: head}, default)
        if head.generation == self._attempt:
            self._resources.measures.published(head.source_bytes)
        self._attempt = ""
        self._log.info("ref_published", repository=self._begun.name, ref=ref.name, commit=head.commit, generation=head.generation)

    async def _settle(self, selection: Selection) -> None:
        """Removes the heads of refs that do not exist or are not wanted any more."""
        repository = self._claim.repository
        gone = repository.heads.keys() - selection.seen.keys()
        default = selection.default if selection.default in repository.heads else repository.default_ref
        if default in gone or default not in repository.heads:
            default = next((name for name in selection.seen if name in repository.heads), "")
        if gone or default != repository.default_ref:
            await self._change_heads({}, default, gone)

    async def _change_heads(self, heads: dict[str, RefHead], default: str, gone: Collection[str] = ()) -> None:
        change = partial(self._claim.publish, heads, default_ref=default, gone=gone)
        # Waits while the engine is busy: otherwise all that was written would be wasted.
        await trio.to_thread.run_sync(self._resources.engine.patiently, change, limiter=self._resources.threads)

    async def _clean(self, selection: Selection, mirror: Mirror) -> None:
        """Removes files from this machine that the next turn does not need."""
        commits = {head.commit for head in self._claim.repository.heads.values()}
        await trio.to_thread.run_sync(self._resources.home.keep_commits, self._begun.repo_id, commits)
        if mirror.repository() is not None:
            await mirror.keep_only(selection.refs)


async def remove_retired(resources: TurnResources, claim: Claim, ripe: Collection[str]) -> Change:
    """Removes what was published of a repository except its heads and the retired generations that are not in `ripe`.

    Returns the change of the document with which to release the repository. Raises LeaseLost, EngineUnavailable, IndexDamaged,
    StoreUnavailable.
    """
    repository = claim.repository
    keep = {head.generation for head in repository.heads.values()} | (set(repository.retired) - set(ripe))
    work = partial(
        sweep,
        resources.engine,
        resources.store,
        repository.repo_id,
        keep,
        confirm=claim.renew,
        checkpoint=trio.from_thread.check_cancelled,
    )
    with part("remove_retired"):
        n_removed = await trio.to_thread.run_sync(work, limiter=resources.threads)
    structlog.get_logger(__name__).info("retired_removed", repository=repository.name, generations=len(ripe), removed=n_removed)
    return partial(_without, frozenset(ripe))


def _without(ripe: frozenset[str], repository: Repository) -> Repository:
    left = tuple(entry for entry in repository.retired if entry not in ripe)
    # If no turn is pending, the earlier failure was one of sweeping, which has now succeeded.
    trouble = repository.trouble if repository.is_pending or not repository.failures else None
    return replace(repository, retired=left, trouble=trouble)


def _done(changes: int, selection: Selection, missing: tuple[str, ...], repository: Repository) -> Repository:
    message = _remark(selection, missing, repository)
    return replace(
        repository,
        done_changes=max(changes, repository.done_changes),
        seen=selection.seen,
        trouble=RepositoryFailure(message=message, at=time.time()) if message else None,
    )


def _remark(selection: Selection, missing: tuple[str, ...], repository: Repository) -> str:
    """Returns a message for the person who added the repository if something needs attention although nothing failed."""
    if not selection.refs and not repository.wanted_refs:
        return "the remote has no commit yet. It is indexed when something is pushed to its default branch."
    remarks = []
    if missing:
        remarks.append(f"the remote has no branch or tag of a commit called {', '.join(missing[:10])}")
    if selection.n_left_out:
        remarks.append(f"{selection.n_left_out:,} refs match beyond the {MAX_REFS} that are taken")
    return f"{'; '.join(remarks)}. Change what is wanted with: codecompass cluster add URL --ref NAME" if remarks else ""
